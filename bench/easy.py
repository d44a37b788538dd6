"""A simulated cluster: processors, a queue in the order of arrival, and EASY backfill.

Only the head of the queue has a reservation. A job behind it starts early if it ends, by the time that it asked for,
before the head can start, or uses processors that the head will not need. Pure: time is an argument.
"""

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from bench.swf import Job


@dataclass(slots=True, eq=False)
class Ride:
    """One job on its way through a simulation."""

    order: int  # of submission: the earlier is the older
    id: str
    home: str  # the machine whose log it is from
    job: Job
    user: str
    cluster: str = ""
    started: float | None = None
    moves: int = 0
    processors: int = field(init=False)

    def __post_init__(self) -> None:
        self.processors = self.job.processors

    @property
    def wait_s(self) -> float:
        if self.started is None:
            raise ValueError(f"{self.id} has not started")
        return self.started - self.job.submit_s


class _Runs(NamedTuple):
    """A running job, ordered by when it must have ended."""

    until: float
    order: int
    ride: Ride


class Shadow(NamedTuple):
    """When the head of the queue can start at the latest, and how many processors it will leave free then."""

    at: float
    extra: int


@dataclass(slots=True)
class EasyCluster:
    name: str
    processors: int
    free: int = field(init=False)
    runs: list[_Runs] = field(default_factory=list)  # in the order of their ends
    queue: list[Ride] = field(default_factory=list)
    asked_s: float = 0.0  # processor seconds asked for by all who run or wait
    version: int = 0  # grows with every change of who runs or waits
    _seen: Shadow = field(default_factory=lambda: Shadow(0.0, 0))
    _shadow_of: int = -1  # the version at which it was looked at

    def __post_init__(self) -> None:
        self.free = self.processors

    def submit(self, ride: Ride, now: float) -> list[Ride]:
        """Into the queue. Returns all who start by this, as the other changes do."""
        self.queue.append(ride)
        ride.cluster = self.name
        self.asked_s += ride.processors * ride.job.requested_s
        self.version += 1
        return self._start_due(now) if ride.processors <= self.free else []

    def end(self, ride: Ride, now: float) -> list[Ride]:
        if ride.started is None:
            raise ValueError(f"{ride.id} does not run")
        place = bisect_left(self.runs, (ride.started + ride.job.requested_s, ride.order))
        del self.runs[place]
        self.free += ride.processors
        self._leave(ride)
        return self._start_due(now)

    def withdraw(self, ride: Ride, now: float) -> list[Ride]:
        self.queue.remove(ride)
        self._leave(ride)
        return self._start_due(now)

    def starts_at_once(self, ride: Ride, now: float, promised: Iterable[Ride] = ()) -> bool:
        """Would it start now if it were submitted? `promised` are those who will be here before it and start now."""
        if ride.processors > self.free:
            return False
        promised = list(promised)
        if ride.processors > self.free - sum(one.processors for one in promised):
            return False
        if not self.queue:
            return True
        if self._shadow_of != self.version:
            self._seen, self._shadow_of = self._shadow(), self.version
        shadow = self._seen
        ends_before = now + ride.job.requested_s <= shadow.at
        extra = shadow.extra - sum(one.processors for one in promised if now + one.job.requested_s > shadow.at)
        return ends_before or ride.processors <= extra

    def _leave(self, ride: Ride) -> None:
        self.asked_s -= ride.processors * ride.job.requested_s
        self.version += 1

    def _start(self, ride: Ride, now: float) -> None:
        ride.started = now
        self.free -= ride.processors
        insort(self.runs, _Runs(now + ride.job.requested_s, ride.order, ride))

    def _start_due(self, now: float) -> list[Ride]:
        started: list[Ride] = []
        queue = self.queue
        while len(started) < len(queue) and queue[len(started)].processors <= self.free:
            ride = queue[len(started)]
            self._start(ride, now)
            started.append(ride)
        del queue[: len(started)]
        if len(queue) > 1 and self.free > 0:
            started += self._backfill(now)
        return started

    def _backfill(self, now: float) -> list[Ride]:
        shadow_at, extra = self._shadow()
        head, *others = self.queue
        started, stay = [], [head]
        for place, ride in enumerate(others):
            if self.free == 0:
                stay += others[place:]
                break
            lasts = now + ride.job.requested_s > shadow_at
            if ride.processors > self.free or (lasts and ride.processors > extra):
                stay.append(ride)
                continue
            if lasts:
                extra -= ride.processors
            self._start(ride, now)
            started.append(ride)
        self.queue = stay
        return started

    def _shadow(self) -> Shadow:
        """For the head of the queue, which does not fit now."""
        needed = self.queue[0].processors
        free, at = self.free, None
        for until, _, ride in self.runs:
            if at is not None and until > at:
                break
            free += ride.processors
            if at is None and free >= needed:
                at = until
        if at is None:
            raise ValueError(f"{self.queue[0].id} does not fit {self.name}")
        return Shadow(at, free - needed)
