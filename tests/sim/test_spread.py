"""A thousand jobs at once on ten equal, idle clusters: everybody gets a share, because bids account for each other."""

from collections import Counter

import pytest

from rainbowd.core import commands as cmd
from rainbowd.core import effects as fx
from rainbowd.core.state import Settings, Shape
from tests.sim.clockwork import Clockwork
from tests.sim.daemon import Daemon
from tests.sim.described import told
from tests.sim.real_agent import SHAPES, RealAgent
from tests.totals import Totals

CLUSTERS, JOBS = 10, 1_000
SHAPE = Shape(tasks=1, cores_per_task=1)


@pytest.mark.parametrize(("together", "fanout"), [(10, 5), (10, 16), (1_000, 16)])
def test_equal_clusters_share_what_comes(together: int, fanout: int) -> None:
    """In small batches, with half of them asked and with all; and all jobs at once."""
    clockwork = Clockwork(1)
    won: Counter[str] = Counter()
    agents: dict[int, RealAgent] = {}

    offers: dict[int, list[fx.SendOffer]] = {}

    def deliver(effect: fx.Effect) -> None:
        session = getattr(effect, "session", 0)
        if isinstance(effect, fx.SendOffer):
            if session not in offers:
                clockwork.after(0.001, lambda: agents[session].take_offers(offers.pop(session)))
            offers.setdefault(session, []).append(effect)
        elif session in agents:
            clockwork.after(0.001, lambda: agents[session].take(effect))

    def ran(job: str, attempt: int, cluster: str) -> None:
        won.update([cluster])

    daemon = Daemon(clockwork, Settings(fanout=fanout), deliver)
    daemon.checks = False
    daemon.start()
    names = tuple(f"c{number}" for number in range(CLUSTERS))
    for session, name in enumerate(names, start=1):
        totals = told(Totals(4, 4))
        daemon.take(cmd.RegisterCluster(cmd.Origin(0, session), name, totals, name.encode(), name[::-1].encode()))
        agents[session] = RealAgent(name, 4, clockwork, ran, queue_max=10_000)
        agents[session].checks = False
        agents[session].connected(session, lambda command: clockwork.after(0.001, lambda: daemon.take(command)))
    SHAPES[b"job"] = SHAPE
    items = [cmd.NewJob(f"j{n:04}", "me", names, None, "job", SHAPE, b"job", SHAPE) for n in range(JOBS)]
    for start in range(0, JOBS, together):
        batch = items[start : start + together]
        command = cmd.Submit(cmd.Origin(1, start), batch, {})
        clockwork.after(1.0 + 0.002 * start, lambda command=command: daemon.take(command))  # type: ignore[misc]
    while won.total() < JOBS and clockwork.step():
        pass
    mean = JOBS / CLUSTERS
    assert won.total() == JOBS
    assert all(abs(won[name] - mean) <= 0.15 * mean for name in names), won
