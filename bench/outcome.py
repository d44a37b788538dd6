"""What became of a replayed log, in a few numbers."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from bench.easy import Ride
from bench.federation import Machine

SLOWDOWN_BOUND_S = 10.0  # a job of one second that waits for ten has not been slowed down elevenfold


@dataclass(frozen=True, slots=True)
class Outcome:
    """`bsld` is the bounded slowdown: the time from submit to end, over the run time or ten seconds."""

    mean_wait_s: float
    mean_bsld: float
    p95_bsld: float
    cost: float
    moves: int
    mean_wait_s_of: dict[str, float]  # of the jobs of each log

    def as_data(self) -> dict[str, float | int]:
        data = asdict(self)
        del data["mean_wait_s_of"]
        return data


@dataclass(frozen=True, slots=True)
class Target:
    """The mean bounded slowdown of the one is to be at most such a share of the other's."""

    policy: str
    share: float
    of: str


TARGETS = (
    Target("earliest+move", 0.55, "least-loaded"),
    Target("earliest+move", 0.75, "earliest"),
    Target("earliest+move", 1.15, "clairvoyant"),
)


def outcome(rides: Sequence[Ride], machines: Iterable[Machine]) -> Outcome:
    prices = {machine.name: machine.price for machine in machines}
    slowdowns = sorted(map(bounded_slowdown, rides))
    waits: dict[str, list[float]] = {}
    for ride in rides:
        waits.setdefault(ride.home, []).append(ride.wait_s)
    return Outcome(
        mean_wait_s=round(_mean([ride.wait_s for ride in rides]), 1),
        mean_bsld=round(_mean(slowdowns), 3),
        p95_bsld=round(slowdowns[math.ceil(0.95 * len(slowdowns)) - 1], 3),
        cost=round(sum(prices[ride.cluster] * ride.processors * ride.job.run_s / 3600.0 for ride in rides), 2),
        moves=sum(ride.moves for ride in rides),
        mean_wait_s_of={home: round(_mean(of_home), 1) for home, of_home in waits.items()},
    )


def bounded_slowdown(ride: Ride) -> float:
    run_s = ride.job.run_s
    return max(1.0, (ride.wait_s + run_s) / max(SLOWDOWN_BOUND_S, run_s))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
