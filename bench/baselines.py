"""How jobs are placed where nobody asks the clusters: each rule sees a job once, when it is submitted."""

import random
from abc import abstractmethod
from collections.abc import Mapping

from bench.easy import EasyCluster, Ride
from bench.federation import Placer

SEED = 4


class _Baseline(Placer):
    def submitted(self, ride: Ride, now: float) -> None:
        large_enough = [one for one in self.clusters.values() if one.processors >= ride.processors]
        self.begins(self._choose(ride, large_enough).submit(ride, now))

    @abstractmethod
    def _choose(self, ride: Ride, clusters: list[EasyCluster]) -> EasyCluster: ...


class StayHome(_Baseline):
    """Where it was submitted in the log."""

    def _choose(self, ride: Ride, clusters: list[EasyCluster]) -> EasyCluster:
        return self.clusters[ride.home]


class Random(_Baseline):
    """Any that is large enough; one with twice the processors is twice as likely."""

    def __init__(self, clusters: Mapping[str, EasyCluster]) -> None:
        super().__init__(clusters)
        self._random = random.Random(SEED)

    def _choose(self, ride: Ride, clusters: list[EasyCluster]) -> EasyCluster:
        return self._random.choices(clusters, [one.processors for one in clusters])[0]


class RoundRobin(_Baseline):
    """In turn. Machines that are too small are passed over, and it is the next one's turn."""

    def __init__(self, clusters: Mapping[str, EasyCluster]) -> None:
        super().__init__(clusters)
        self._turn = 0

    def _choose(self, ride: Ride, clusters: list[EasyCluster]) -> EasyCluster:
        everybody = list(self.clusters.values())
        while True:
            chosen = everybody[self._turn % len(everybody)]
            self._turn += 1
            if chosen in clusters:
                return chosen


class LeastLoaded(_Baseline):
    """The least work for each processor: what all who run or wait there have asked for, processors times time."""

    def _choose(self, ride: Ride, clusters: list[EasyCluster]) -> EasyCluster:
        return min(clusters, key=lambda one: (one.asked_s / one.processors, one.name))
