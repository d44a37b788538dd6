"""The agent of a simulated cluster: answers offers with the real forecast, from what its cluster runs and queues.

The forecast is the agent's own: its plan with conservative backfill, run times as its learning expects them, and
offers that were answered Yes keep their place. What its scheduler would start at once, the cluster itself says.
"""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from bench.easy import EasyCluster, Ride
from rainbow_agent.core.forecast import Slot
from rainbow_agent.core.learning import RunTimes, outlived
from rainbow_agent.core.model import Key, Shape, Totals
from rainbow_agent.core.plan import Place, Plan

Expect = Callable[[Ride], float]
ETA_S_STEP = 0.001  # the least that is not at once
OVERRUN_S = 1.0  # a simulated cluster ends every job at its limit; that may be this very moment


class _Hold(NamedTuple):
    ride: Ride
    expected_s: float
    place: Place
    at_once: bool
    plan: Plan | None  # in which it has this place


class EasyAgent:
    """`clairvoyant` agents know how long jobs will run; the others learn it from those that ended here."""

    def __init__(self, cluster: EasyCluster, *, clairvoyant: bool = False) -> None:
        self.cluster = cluster
        self._totals = Totals(1, cluster.processors)  # logs say nothing of nodes
        self._run_times = RunTimes()
        self._expect: Expect = (lambda ride: max(1.0, ride.job.run_s)) if clairvoyant else self._learned
        self._expected: dict[Ride, float] = {}  # of those who run, as of their start
        self._holds: dict[Key, _Hold] = {}
        self._plan: Plan | None = None
        self._version = -1

    def eta_s(self, key: Key, ride: Ride, now: float) -> float:
        """When it would start here; the answer keeps its place until it is released."""
        self.release(key)
        promised = (hold.ride for hold in self._holds.values() if hold.at_once)
        at_once = self.cluster.starts_at_once(ride, now, promised)
        plan = None if at_once and not self._is_fresh(now) else self._fresh(now)  # none is made for what is known
        self._holds[key] = hold = self._held(plan, ride, at_once, now)
        return 0.0 if at_once else max(ETA_S_STEP, hold.place.start - now)

    def _held(self, plan: Plan | None, ride: Ride, at_once: bool, now: float) -> _Hold:
        shape, expected_s = _shape(ride.processors), self._expect(ride)
        if at_once or plan is None:
            place = Place(now, Slot(now, now + expected_s, ((0, ride.processors),)))
        else:
            place = plan.find(shape, expected_s, now)
        if plan is not None:
            plan.lay(shape, expected_s, place)
        return _Hold(ride, expected_s, place, at_once, plan)

    def waiting_eta_s(self, ride: Ride, now: float) -> float:
        """The same for one who is in the queue."""
        return max(0.0, self._fresh(now).starts[_key(ride)] - now)

    def release(self, key: Key) -> None:
        gone = self._holds.pop(key, None)
        if gone is not None and gone.plan is not None and gone.plan is self._plan:
            gone.plan.drop(_shape(gone.ride.processors), gone.expected_s, gone.place)

    def began(self, ride: Ride) -> None:
        self._expected[ride] = self._expect(ride)

    def ended(self, ride: Ride) -> None:
        del self._expected[ride]
        self._run_times.learn(ride.user, ride.job.requested_s, ride.job.run_s)

    def _learned(self, ride: Ride) -> float:
        return self._run_times.expect(ride.user, ride.job.requested_s)

    def _is_fresh(self, now: float) -> bool:
        plan = self._plan
        return (
            plan is not None
            and not plan.stale
            and self._version == self.cluster.version
            and (now == plan.made_at or now < plan.outdated_at)
        )

    def _fresh(self, now: float) -> Plan:
        if self._plan is None or not self._is_fresh(now):
            self._plan = self._laid_out(now)
            self._version = self.cluster.version
        return self._plan

    def _laid_out(self, now: float) -> Plan:
        running = [
            (_shape(ride.processors), ((0, ride.processors),), self._end(ride, now)) for _, _, ride in self.cluster.runs
        ]
        plan = Plan(self._totals, now, running)
        for ride in self.cluster.queue:
            shape, expected_s = _shape(ride.processors), self._expect(ride)
            place = plan.find(shape, expected_s, now)
            plan.starts[_key(ride)] = place.start
            plan.lay(shape, expected_s, place)
        for key, hold in self._holds.items():
            self._holds[key] = self._held(plan, hold.ride, hold.at_once, now)
        return plan

    def _end(self, ride: Ride, now: float) -> float:
        started = now if ride.started is None else ride.started
        end = started + self._expected[ride]
        if end <= now:
            end = started + outlived(now - started, ride.job.requested_s)
        return max(end, now + OVERRUN_S)


@cache
def _shape(processors: int) -> Shape:
    return Shape(tasks=processors)


def _key(ride: Ride) -> Key:
    return Key(ride.id, 0)
