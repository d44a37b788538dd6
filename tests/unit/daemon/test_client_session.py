"""What a client's session keeps count of, with a real store and without a socket."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rainbow_protocol import limits
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.messages import client as wire
from rainbowd.core import effects as fx
from rainbowd.core.state import Job, Settings
from rainbowd.core.transitions import JobState
from rainbowd.net import showing
from rainbowd.net.auth import Credentials, UserOf
from rainbowd.net.client_session import ClientSession
from rainbowd.net.pending import PendingAnswers
from rainbowd.net.relay import OutputRelay
from rainbowd.net.services import Services
from rainbowd.net.watchers import Watchers
from rainbowd.store.repo import Repo
from tests.unit.daemon import made
from tests.unit.daemon.fake_session import FakeSession

Take = Callable[[Any], Any]


class Session(FakeSession, ClientSession):
    """The real one, with a queue that the test reads instead of a socket."""

    def __init__(self, services: Services) -> None:
        ClientSession.__init__(self, cast(Any, None), UserOf("red"), services)
        self.frames = []


@pytest.fixture
async def session(repo: Repo) -> Session:
    unused = cast(Any, None)
    services = Services(
        unused,
        repo,
        Credentials(None, []),
        Watchers(),
        PendingAnswers(),
        OutputRelay(),
        {},
        unused,
        unused,
        unused,
        unused,
        unused,
    )
    opened = Session(services)
    await opened._take(wire.ClientHello(id=1))
    opened.frames.clear()
    return opened


class Describing:
    """Exports that are ready when the test says so."""

    def __init__(self) -> None:
        self.ready = asyncio.Event()
        self.document = b"x" * (2 * limits.GRAPH_PART_BYTES_MAX)

    async def export(self, cluster: str) -> tuple[int, bytes]:
        await self.ready.wait()
        return 7, self.document


@pytest.fixture
def describing(session: Session) -> Describing:
    exports = Describing()
    clusters = {name: made.cluster(name, revision=7) for name in ("red", "blue", "green")}
    world = SimpleNamespace(clusters=clusters, settings=Settings())

    async def on_disk() -> bool:
        return True

    session._services.engine = cast(Any, SimpleNamespace(core=SimpleNamespace(world=world), on_disk=on_disk))
    session._services.describing = cast(Any, exports)
    for name in ("blue", "green"):
        session._grants.add(UserOf(name))
    return exports


async def asked_for(session: Session, *requests: wire.ShowCluster) -> list[Any]:
    """What came of them, when all is done."""
    session.frames.clear()
    for request in requests:
        try:
            await session._take(request)
        except ProtocolError as problem:
            session.refuse(problem.code, problem.message, problem.ref)
    for tasks in list(session._running.values()):
        await asyncio.gather(*tasks)
    return session.to_client()


def part(number: int, name: str = "red", ref: int = 9) -> wire.ShowCluster:
    return wire.ShowCluster(id=ref, name=name, part=number)


async def test_a_session_begins_few_exports_at_a_time(session: Session, describing: Describing) -> None:
    for ref in (2, 3):
        await session._take(part(0, ref=ref))
    with pytest.raises(ProtocolError, match="graphs of 2 clusters at a time") as refused:
        await session._take(part(0, ref=4))
    assert (refused.value.code, refused.value.ref) == (ErrorCode.TOO_MANY, 4)
    (brief,) = [message for message in await _brief(session) if message.ref == 5]
    assert brief.part is None
    describing.ready.set()
    answers = await asked_for(session)
    assert [(message.ref, message.parts) for message in answers] == [(2, 2), (3, 2)]


async def _brief(session: Session) -> list[Any]:
    await session._take(wire.ShowCluster(id=5, name="red"))
    return session.to_client()


async def test_two_graphs_can_be_fetched_in_turns(session: Session, describing: Describing) -> None:
    describing.ready.set()
    for number in (0, 1):
        for name in ("red", "blue"):
            (answer,) = await asked_for(session, part(number, name))
            assert (answer.name, answer.part is not None) == (name, True)
    (answer,) = await asked_for(session, part(1))
    assert answer.code == ErrorCode.INVALID


async def test_of_three_graphs_the_first_is_let_go_of(session: Session, describing: Describing) -> None:
    describing.ready.set()
    await asked_for(session, *(part(0, name) for name in ("red", "blue")))
    await asked_for(session, part(0, "green"))
    answers = await asked_for(session, *(part(1, name) for name in ("red", "blue", "green")))
    assert [message.type for message in answers] == ["error", "cluster", "cluster"]


async def test_a_graph_that_nobody_goes_on_fetching_is_let_go_of(session: Session, describing: Describing) -> None:
    describing.ready.set()
    session._exports = showing.Exports(idle_s=0.0)
    await asked_for(session, part(0))
    while session._exports._held:  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0)
    (answer,) = await asked_for(session, part(1))
    assert answer.code == ErrorCode.INVALID


async def test_what_runs_beside_the_reader_is_bounded_in_all(
    session: Session, describing: Describing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "REQUESTS_IN_FLIGHT_MAX", 1)
    await session._take(part(0))
    with pytest.raises(ProtocolError, match="1 requests in flight") as refused:
        await session._take(wire.Logs(id=3, job=made.job().id))
    assert (refused.value.code, refused.value.ref) == (ErrorCode.TOO_MANY, 3)
    describing.ready.set()
    await asked_for(session)


async def stored(repo: Repo, *jobs: Job) -> list[str]:
    await repo.commit(made.saved(*jobs))
    return [job.id for job in jobs]


async def test_there_is_a_limit_to_what_one_session_watches(
    session: Session, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WATCHES_PER_SESSION_MAX", 3)
    jobs = await stored(repo, *(made.job() for _ in range(4)))
    await session._take(wire.Watch(id=2, jobs=jobs[:2]))
    with pytest.raises(ProtocolError) as refused:
        await session._take(wire.Watch(id=3, jobs=jobs[2:]))
    assert (refused.value.code, refused.value.ref) == (ErrorCode.TOO_MANY, 3)
    await session._take(wire.Unwatch(id=4, jobs=jobs[:1]))
    await session._take(wire.Watch(id=5, jobs=jobs[2:]))


async def test_a_watch_that_begins_behind_the_end_does_not_count_as_open(
    session: Session, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a client that asks again for what it has seen would run into the limit."""
    monkeypatch.setattr(limits, "WATCHES_PER_SESSION_MAX", 1)
    for _ in range(3):
        (job,) = await stored(repo, made.job(state=JobState.COMPLETED))
        await session._take(wire.Watch(id=2, jobs=[job], since=1))
    assert [message.live for message in session.to_client()] == [True] * 3


async def test_a_history_of_any_length_is_replayed_without_a_gap(session: Session, repo: Repo) -> None:
    job = made.job()
    await stored(repo, job)
    count = limits.HISTORY_EVENTS_MAX * 3 + 1
    await repo.commit([fx.Happened(job.id, seq, 1.0, "awarded", JobState.AWARDED, {}) for seq in range(2, count + 1)])
    await session._take(wire.Watch(id=2, jobs=[job.id], since=1))
    seqs = [event.seq for message in session.to_client() for event in message.items]
    assert seqs == list(range(2, count + 1))
