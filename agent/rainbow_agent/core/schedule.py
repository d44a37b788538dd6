"""Who runs where, who waits, who may jump ahead: FIFO with conservative backfill.

The head of the queue starts as soon as the nodes hold it; that needs no plan. Somebody behind it starts early only
if the plan, in which everyone before has a place, says that this delays none of them. The plan is rebuilt lazily:
at once while it is small, at most every REPLAN_S when it is not. Between rebuilds it errs on the late side.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

from rainbow_agent.core.forecast import Profile, Slot
from rainbow_agent.core.model import Assignment, Free, Key, Shape, Totals
from rainbow_agent.core.nodes import Nodes
from rainbow_agent.core.placement import place, taken, taken_of_a_node

REPLAN_S = 0.25
REPLAN_S_PER_CELL = 5e-5  # a plan of many attempts on many nodes is laid out less often, or it would do nothing else
SMALL_PLAN = 64  # up to so many attempts a rebuild costs next to nothing
PLANNED_MAX = 500  # attempts with an exact place; those behind are estimated from the work before them
EXACT_RELEASE_SEGMENTS_MAX = 256  # in a longer profile, giving places back one by one costs more than a rebuild
OVERRUN_SHARE = 0.1  # a job past its expected end is taken to need so much of its age again
OVERRUN_S_MIN = 1.0


class Estimate(NamedTuple):
    """When an attempt would start; `slot` is None for one behind the exactly planned."""

    start: float
    slot: Slot | None


@dataclass(slots=True)
class _Running:
    shape: Shape
    assignment: Assignment
    since: float


@dataclass(slots=True)
class _Waiting:
    """A bid or an acceptance: it occupies the plan, but not the nodes."""

    shape: Shape
    estimate: Estimate


class Schedule:
    def __init__(self, totals: Totals, default_time_limit_s: float) -> None:
        self.totals = totals
        self._default_time_limit_s = default_time_limit_s
        self._nodes = Nodes(totals)
        self._running: dict[Key, _Running] = {}
        self._queue: OrderedDict[Key, Shape] = OrderedDict()  # a plain dict is slow at taking the first again and again
        self._waiting: OrderedDict[Key, _Waiting] = OrderedDict()
        self._profile: Profile | None = None
        self._planned_at = 0.0
        self._planned = 0
        self._backlog_core_s = 0.0  # of those behind the exactly planned
        self._outdated_at = 0.0  # when the first running job passes its expected end
        self._dirty = True  # the plan no longer tells what runs or waits
        self._untried = False  # something changed since backfill was last tried
        self.version = 0  # grows with every change of what runs or is queued

    # --- questions

    @property
    def running(self) -> int:
        return len(self._running)

    @property
    def queued(self) -> int:
        return len(self._queue)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def ahead(self) -> int:
        """How many a newcomer would find waiting, bids among them."""
        return len(self._queue) + len(self._waiting)

    def free(self) -> Free:
        return Free(
            nodes=self._nodes.wholly_free,
            cores=max(0, self._nodes.cores_free),
            gpus=max(0, sum(self._nodes.gpus)),
            queued=len(self._queue),
            running=len(self._running),
        )

    def duration_s(self, shape: Shape) -> float:
        """For planning. A job without a limit is not ended at the default; it is only expected to."""
        return self._default_time_limit_s if shape.time_limit_s is None else shape.time_limit_s

    def _core_s(self, shape: Shape) -> float:
        return taken(shape, self.totals)[0] * self.duration_s(shape)

    def earliest(self, shape: Shape, now: float) -> Estimate:
        """When a newcomer of this shape would start, behind everybody here. It must fit the empty cluster."""
        profile = self._fresh(now)
        return self._estimate(profile, shape, now)

    def retry_at(self) -> float | None:
        """When `due` should be asked again although nothing new came in, or None."""
        return self._replan_at() if self._backfill_may_help else None

    @property
    def _backfill_may_help(self) -> bool:
        return len(self._queue) > 1 and self._untried and self._nodes.cores_free > 0

    # --- bids and acceptances

    def hold(self, key: Key, shape: Shape, now: float) -> Estimate:
        estimate = self.earliest(shape, now)
        self._add_waiting(self._fresh(now), key, shape, estimate)
        return estimate

    def drop_hold(self, key: Key) -> None:
        gone = self._waiting.pop(key, None)
        if gone is None or self._profile is None:
            return
        if self._profile.segments > EXACT_RELEASE_SEGMENTS_MAX:
            self._dirty = True
        elif gone.estimate.slot is None:
            self._backlog_core_s -= self._core_s(gone.shape)
        else:
            self._planned -= 1
            self._profile.release(gone.shape, gone.estimate.slot)

    # --- started attempts

    def enqueue(self, key: Key, shape: Shape) -> None:
        """It has been started: from here on it waits for the nodes, in the order of arrival."""
        self._waiting.pop(key, None)  # its place in the plan stays until the next rebuild: it still needs one
        self._queue[key] = shape
        self._touch()

    def enqueue_first(self, key: Key, shape: Shape) -> None:
        self.enqueue(key, shape)
        self._queue.move_to_end(key, last=False)

    def dequeue(self, key: Key) -> None:
        if self._queue.pop(key, None) is not None:
            self._touch()

    def adopt(self, key: Key, shape: Shape, assignment: Assignment, since: float) -> None:
        """A job that ran already before this process began."""
        self._nodes.occupy(shape, assignment)
        self._running[key] = _Running(shape, assignment, since)
        self._touch()

    def end(self, key: Key) -> None:
        gone = self._running.pop(key, None)
        if gone is not None:
            self._nodes.give_back(gone.shape, gone.assignment)
            self._touch()

    def due(self, now: float) -> list[tuple[Key, Assignment]]:
        """Start everything that may start now: they leave the queue and occupy their nodes."""
        starts: list[tuple[Key, Assignment]] = []
        while self._queue:
            key = next(iter(self._queue))
            shape = self._queue[key]
            if taken(shape, self.totals)[0] > self._nodes.cores_free:
                break
            placement = place(shape, self._nodes.cores, self._nodes.gpus, self.totals)
            if placement is None:
                break
            starts.append((key, self._start(key, placement, now)))
        if self._backfill_may_help and self._may_replan(now):
            self._rebuild(now, starts)
        return starts

    # --- the plan

    def _touch(self) -> None:
        self._dirty = True
        self._untried = True
        self.version += 1

    def _start(self, key: Key, placement: tuple[tuple[int, int], ...], now: float) -> Assignment:
        shape = self._queue.pop(key)
        assignment = self._nodes.take(shape, placement)
        self._running[key] = _Running(shape, assignment, now)
        self._touch()
        return assignment

    def _replan_at(self) -> float:
        return self._planned_at + max(REPLAN_S, REPLAN_S_PER_CELL * self._planned * self.totals.nodes)

    def _may_replan(self, now: float) -> bool:
        small = len(self._queue) + len(self._running) + len(self._waiting) <= SMALL_PLAN
        return self._profile is None or small or now >= self._replan_at()

    def _fresh(self, now: float) -> Profile:
        outdated = self._dirty or now >= self._outdated_at
        if self._profile is None or (outdated and self._may_replan(now)):
            return self._rebuild(now, None)
        return self._profile

    def _rebuild(self, now: float, starts: list[tuple[Key, Assignment]] | None) -> Profile:
        """Lay out everybody anew. With `starts`, those whose turn is now are started and added to it."""
        profile = self._profile = Profile(self.totals, now)
        self._planned_at = now
        self._planned = 0
        self._backlog_core_s = 0.0
        self._outdated_at = float("inf")
        for job in self._running.values():
            end = self._expected_end(job, now)
            self._outdated_at = min(self._outdated_at, end)
            placement = tuple((node, tasks) for node, tasks, _ in job.assignment if node < self.totals.nodes)
            profile.occupy(job.shape, Slot(now, end, placement))
        for key, shape in list(self._queue.items()):
            estimate = self._estimate(profile, shape, now)
            if starts is not None and estimate.slot is not None and estimate.start <= now:
                starts.append((key, self._start(key, estimate.slot.placement, now)))
                self._outdated_at = min(self._outdated_at, estimate.slot.end)
            self._lay(profile, shape, estimate)
        for waiting in self._waiting.values():
            waiting.estimate = self._estimate(profile, waiting.shape, now)
            self._lay(profile, waiting.shape, waiting.estimate)
        self._dirty = False
        if starts is not None:
            self._untried = False
        return profile

    def _expected_end(self, job: _Running, now: float) -> float:
        age = now - job.since
        end = job.since + self.duration_s(job.shape)
        return end if end > now else now + max(OVERRUN_S_MIN, OVERRUN_SHARE * age)

    def _estimate(self, profile: Profile, shape: Shape, now: float) -> Estimate:
        if self._planned < PLANNED_MAX and self._backlog_core_s <= 0:
            slot = profile.earliest(shape, self.duration_s(shape), now)
            if slot is not None:
                return Estimate(slot.start, slot)
        ahead_s = max(0.0, self._backlog_core_s) / self.totals.cores
        return Estimate(max(now, profile.horizon) + ahead_s, None)

    def _lay(self, profile: Profile, shape: Shape, estimate: Estimate) -> None:
        if estimate.slot is None:
            self._backlog_core_s += self._core_s(shape)
        else:
            self._planned += 1
            profile.occupy(shape, estimate.slot)

    def _add_waiting(self, profile: Profile, key: Key, shape: Shape, estimate: Estimate) -> None:
        self._waiting[key] = _Waiting(shape, estimate)
        self._lay(profile, shape, estimate)

    # --- for tests and simulations

    def problems(self) -> list[str]:
        """What is inconsistent here; empty unless there is a bug (or the cluster was declared smaller)."""
        found = []
        cores = [self.totals.cores_per_node] * self.totals.nodes
        gpus = [self.totals.gpus_per_node] * self.totals.nodes
        for job in self._running.values():
            for node, tasks, devices in job.assignment:
                cores_taken, gpus_taken = taken_of_a_node(job.shape, tasks, self.totals)
                cores[node] -= cores_taken
                gpus[node] -= gpus_taken
                if len(devices) != tasks * job.shape.gpus_per_task:
                    found.append(f"node {node}: {tasks} tasks were given the devices {devices}")
        if min(cores) < 0 or min(gpus) < 0:
            found.append(f"overcommitted: free cores {cores}, free gpus {gpus}")
        if cores != self._nodes.cores or gpus != self._nodes.gpus or sum(cores) != self._nodes.cores_free:
            found.append("the nodes' free counts do not match what runs")
        return found
