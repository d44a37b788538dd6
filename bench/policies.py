"""The ways to place jobs that are compared, by the names under which results are told."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.baselines import LeastLoaded, Random, RoundRobin, StayHome
from bench.easy import EasyCluster
from bench.federation import Machine, Placer
from bench.through_core import ThroughCore
from rainbowd.core.selection.earliest import Earliest
from rainbowd.core.selection.first import First
from rainbowd.core.state import Settings

# As a site has them, but for one: that no change goes untold, nobody has to look for here.
AS_SHIPPED = Settings(kept_retry_s=1e9)
# Every job goes to a cluster at once, and stays there.
BOUND = Settings(kept_retry_s=1e9, queue_ahead_max=0, moves_max=0)

Make = Callable[[Mapping[str, EasyCluster], Mapping[str, float]], Placer]


@dataclass(frozen=True, slots=True)
class Way:
    make: Make
    toil: int  # how long it takes compared with others: the longest go first


WAYS: Mapping[str, Way] = {
    "stay-home": Way(lambda clusters, _: StayHome(clusters), 1),
    "random": Way(lambda clusters, _: Random(clusters), 1),
    "round-robin": Way(lambda clusters, _: RoundRobin(clusters), 5),
    "least-loaded": Way(lambda clusters, _: LeastLoaded(clusters), 1),
    "first": Way(lambda clusters, prices: ThroughCore(clusters, prices, First(), BOUND), 20),
    "earliest": Way(lambda clusters, prices: ThroughCore(clusters, prices, Earliest(), BOUND), 40),
    "earliest+move": Way(lambda clusters, prices: ThroughCore(clusters, prices, Earliest(), AS_SHIPPED), 100),
    "clairvoyant": Way(
        lambda clusters, prices: ThroughCore(clusters, prices, Earliest(), AS_SHIPPED, clairvoyant=True), 100
    ),
}


def made(name: str, machines: list[Machine]) -> Placer:
    clusters = {machine.name: EasyCluster(machine.name, machine.processors) for machine in machines}
    return WAYS[name].make(clusters, {machine.name: machine.price for machine in machines})
