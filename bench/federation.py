"""Virtual time over several simulated clusters: logs are submitted, somebody places each job, clusters run them."""

import heapq
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.easy import EasyCluster, Ride
from bench.swf import Job


@dataclass(frozen=True, slots=True)
class Machine:
    """`price` is per processor and hour."""

    name: str
    processors: int
    price: float
    jobs: Sequence[Job]


class Placer(ABC):
    """Decides where jobs go. Whoever starts by what it does is told with `begins`."""

    def __init__(self, clusters: Mapping[str, EasyCluster]) -> None:
        self.clusters = clusters
        self._began: list[Ride] = []

    @abstractmethod
    def submitted(self, ride: Ride, now: float) -> None: ...

    def ended(self, ride: Ride, now: float) -> None:
        """The default is for those who never look back: the cluster goes on with its queue."""
        self.begins(self.clusters[ride.cluster].end(ride, now))

    def next_deadline(self) -> float:
        """When the placer wants a `tick` although nothing happened."""
        return math.inf

    def tick(self, now: float) -> None:
        """Only for those who name a deadline."""
        raise ValueError(f"nobody wanted to be woken at {now}")

    def begins(self, rides: Iterable[Ride]) -> None:
        self._began += rides

    def take_begun(self) -> list[Ride]:
        begun, self._began = self._began, []
        return begun


def rides_of(machines: Iterable[Machine]) -> list[Ride]:
    """All jobs of all logs in one order. Each may go to any machine that is large enough."""
    jobs = [(job.submit_s, machine.name, job.number, job) for machine in machines for job in machine.jobs]
    jobs.sort(key=lambda entry: entry[:3])
    return [
        Ride(order, f"{home}-{number}", home, job, f"{home}/{job.user}")
        for order, (_, home, number, job) in enumerate(jobs)
    ]


def replay(rides: Sequence[Ride], placer: Placer) -> None:
    """Until every job has ended. Of what happens at the same moment, ends come first, then arrivals, then clocks."""
    ends: list[tuple[float, int, Ride]] = []
    arrivals = iter(rides)
    ride = next(arrivals, None)
    while ride is not None or ends:
        arrives = math.inf if ride is None else ride.job.submit_s
        now = min(arrives, ends[0][0] if ends else math.inf)
        deadline = placer.next_deadline()
        if deadline < now:
            placer.tick(deadline)
        elif ends and ends[0][0] <= arrives:
            placer.ended(heapq.heappop(ends)[2], now)
        elif ride is not None:
            placer.submitted(ride, now)
            ride = next(arrivals, None)
        for begun in placer.take_begun():
            if begun.started is not None:
                heapq.heappush(ends, (begun.started + begun.job.run_s, begun.order, begun))
