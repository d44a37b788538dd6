"""Who runs where, who waits, who may jump ahead: FIFO with conservative backfill.

The head of the queue starts as soon as the nodes hold it; that needs no plan. Somebody behind it starts early only
if the plan, in which everyone before has a place, says that this delays none of them. The plan is made anew lazily:
at once while it is small, at most every REPLAN_S when it is not. In between it errs on the late side.

Limits decide. A second layout, the outlook, with run times as they are expected, only forecasts; it is made when
somebody asks and something was learned.
"""

from collections import OrderedDict
from typing import NamedTuple

from rainbow_agent.core.forecast import Slot
from rainbow_agent.core.learning import RunTimes, outlived
from rainbow_agent.core.model import Assignment, Free, Key, Placement, Shape, Totals
from rainbow_agent.core.nodes import Nodes
from rainbow_agent.core.placement import place, taken, taken_of_a_node
from rainbow_agent.core.plan import Plan
from rainbow_agent.core.scores import Scores, Told
from rainbow_agent.core.standing import Queued, Running, Waiting

REPLAN_S = 0.25
REPLAN_S_PER_CELL = 5e-5  # a plan of many attempts on many nodes is laid out less often, or it would do nothing else
SMALL_PLAN = 64  # up to so many attempts a new plan costs next to nothing
OVERRUN_SHARE = 0.1  # a job past its limit is taken to need so much of its age again
OVERRUN_S_MIN = 1.0


class Estimate(NamedTuple):
    """When an attempt would start: `start` if all jobs run to their limits, `expected` as jobs usually do.

    One in ten turned out to start by `low`. While nothing is learned, all three are the same. `slot` is the place of
    `start`, None for one behind the exactly planned.
    """

    start: float
    slot: Slot | None
    expected: float
    low: float


class Schedule:
    def __init__(self, totals: Totals, default_time_limit_s: float) -> None:
        self.totals = totals
        self._default_time_limit_s = default_time_limit_s
        self._nodes = Nodes(totals)
        self._run_times = RunTimes()
        self._scores = Scores()
        self._running: dict[Key, Running] = {}
        self._queue: OrderedDict[Key, Queued] = OrderedDict()  # a plain dict is slow at taking the first again, again
        self._waiting: OrderedDict[Key, Waiting] = OrderedDict()
        self._plan: Plan | None = None
        self._outlook: Plan | None = None
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

    def earliest(self, shape: Shape, now: float, user: str = "") -> Estimate:
        """When a newcomer of this shape would start, behind everybody here. It must fit the empty cluster."""
        found = self._fresh(now).find(shape, self.duration_s(shape), now)
        outlook = self._fresh_outlook(now)
        likely = None if outlook is None else outlook.find(shape, self._expected_s(shape, user), now).start
        return self._estimate(found.start, found.slot, likely, now)

    def waiting_start(self, key: Key, now: float) -> Estimate | None:
        """When an attempt that is in the queue will start; None if it is not there."""
        queued = self._queue.get(key)
        if queued is None:
            return None
        start = self._fresh(now).starts.get(key, queued.promised)
        if start is None:
            return self.earliest(queued.shape, now, queued.user)
        outlook = self._fresh_outlook(now)
        likely = None if outlook is None else outlook.starts.get(key, start)
        return self._estimate(max(now, start), None, likely, now)

    def forecast_keys(self) -> dict[str, float]:
        """How good forecasts were, for the cluster's state; empty until there is something to tell."""
        return self._scores.keys()

    def retry_at(self) -> float | None:
        """When `due` should be asked again although nothing new came in, or None."""
        return self._replan_at(self._plan) if self._backfill_may_help else None

    @property
    def _backfill_may_help(self) -> bool:
        return len(self._queue) > 1 and self._untried and self._nodes.cores_free > 0

    # --- bids and acceptances

    def hold(self, key: Key, shape: Shape, now: float, user: str = "") -> Estimate:
        plan, limit_s = self._fresh(now), self.duration_s(shape)
        found = plan.find(shape, limit_s, now)
        plan.lay(shape, limit_s, found)
        likely = None
        outlook = self._fresh_outlook(now)
        if outlook is not None:
            expected_s = self._expected_s(shape, user)
            likely = (outlook.find(shape, expected_s, now), expected_s)
            outlook.lay(shape, expected_s, likely[0])
        estimate = self._estimate(found.start, found.slot, None if likely is None else likely[0].start, now)
        self._waiting[key] = Waiting(shape, user, found, Told(now, estimate.expected), likely)
        return estimate

    def drop_hold(self, key: Key) -> None:
        gone = self._waiting.pop(key, None)
        if gone is None:
            return
        if self._plan is not None:
            self._plan.drop(gone.shape, self.duration_s(gone.shape), gone.place)
        if self._outlook is not None and gone.likely is not None:
            found, expected_s = gone.likely
            self._outlook.drop(gone.shape, expected_s, found)

    # --- started attempts

    def enqueue(self, key: Key, shape: Shape, user: str = "") -> None:
        """It has been started: from here on it waits for the nodes, in the order of arrival."""
        held = self._waiting.pop(key, None)  # its place in the plans stays until the next ones: it still needs one
        if held is None:
            self._queue[key] = Queued(shape, user)
        else:
            self._queue[key] = Queued(shape, user or held.user, held.told, held.place.start)
        self._touch()

    def enqueue_first(self, key: Key, shape: Shape, user: str = "") -> None:
        self.enqueue(key, shape, user)
        self._queue.move_to_end(key, last=False)

    def dequeue(self, key: Key) -> None:
        if self._queue.pop(key, None) is not None:
            self._touch()

    def adopt(self, key: Key, shape: Shape, assignment: Assignment, since: float, user: str = "") -> None:
        """A job that ran already before this process began."""
        self._nodes.occupy(shape, assignment)
        self._running[key] = Running(shape, user, assignment, since)
        self._touch()

    def end(self, key: Key, ran_s: float | None = None) -> None:
        """It runs no more. If it came to its own end after `ran_s`, there is something to learn from it."""
        gone = self._running.pop(key, None)
        if gone is not None:
            self._nodes.give_back(gone.shape, gone.assignment)
            if ran_s is not None:
                self._run_times.learn(gone.user, self.duration_s(gone.shape), ran_s)
            self._touch()

    def due(self, now: float) -> list[tuple[Key, Assignment]]:
        """Start everything that may start now: they leave the queue and occupy their nodes."""
        starts: list[tuple[Key, Assignment]] = []
        while self._queue:
            key = next(iter(self._queue))
            shape = self._queue[key].shape
            if taken(shape, self.totals)[0] > self._nodes.cores_free:
                break
            placement = place(shape, self._nodes.cores, self._nodes.gpus, self.totals)
            if placement is None:
                break
            starts.append((key, self._start(key, placement, now)))
        if self._backfill_may_help and self._may_replan(self._plan, now):
            self._plan_anew(now, starts)
        return starts

    # --- the plans

    def _touch(self) -> None:
        for plan in (self._plan, self._outlook):
            if plan is not None:
                plan.stale = True
        self._untried = True
        self.version += 1

    def _start(self, key: Key, placement: Placement, now: float) -> Assignment:
        queued = self._queue.pop(key)
        assignment = self._nodes.take(queued.shape, placement)
        self._running[key] = Running(queued.shape, queued.user, assignment, now)
        if queued.told is not None:
            self._scores.add(queued.told, now)
        self._touch()
        return assignment

    def _replan_at(self, plan: Plan | None) -> float:
        if plan is None:
            return 0.0
        return plan.made_at + max(REPLAN_S, REPLAN_S_PER_CELL * plan.planned * self.totals.nodes)

    def _may_replan(self, plan: Plan | None, now: float) -> bool:
        small = len(self._queue) + len(self._running) + len(self._waiting) <= SMALL_PLAN
        return plan is None or small or now >= self._replan_at(plan)

    def _fresh(self, now: float) -> Plan:
        plan = self._plan
        if plan is None or ((plan.stale or now >= plan.outdated_at) and self._may_replan(plan, now)):
            return self._plan_anew(now, None)
        return plan

    def _fresh_outlook(self, now: float) -> Plan | None:
        """None while nothing is learned: it would be the plan itself."""
        outlook = self._outlook
        if not self._run_times.known:
            return None
        if outlook is None or ((outlook.stale or now >= outlook.outdated_at) and self._may_replan(outlook, now)):
            return self._look_out_anew(now)
        return outlook

    def _plan_anew(self, now: float, starts: list[tuple[Key, Assignment]] | None) -> Plan:
        """Lay out everybody by limits. With `starts`, those whose turn is now are started and added to it."""
        running = [
            (job.shape, job.placement(self.totals), self._end_by_limit(job, now)) for job in self._running.values()
        ]
        plan = Plan(self.totals, now, running)
        for key, queued in list(self._queue.items()):
            found = plan.find(queued.shape, self.duration_s(queued.shape), now)
            if starts is not None and found.slot is not None and found.start <= now:
                starts.append((key, self._start(key, found.slot.placement, now)))
                plan.outdated_at = min(plan.outdated_at, found.slot.end)
            else:
                plan.starts[key] = found.start
            plan.lay(queued.shape, self.duration_s(queued.shape), found)
        for waiting in self._waiting.values():
            waiting.place = plan.find(waiting.shape, self.duration_s(waiting.shape), now)
            plan.lay(waiting.shape, self.duration_s(waiting.shape), waiting.place)
        self._plan = plan
        if starts is not None:
            self._untried = False
        return plan

    def _look_out_anew(self, now: float) -> Plan:
        """The same by expectation: nobody is started by it."""
        running = [
            (job.shape, job.placement(self.totals), self._likely_end(job, now)) for job in self._running.values()
        ]
        outlook = Plan(self.totals, now, running)
        for key, queued in self._queue.items():
            expected_s = self._expected_s(queued.shape, queued.user)
            found = outlook.find(queued.shape, expected_s, now)
            outlook.starts[key] = found.start
            outlook.lay(queued.shape, expected_s, found)
        for waiting in self._waiting.values():
            expected_s = self._expected_s(waiting.shape, waiting.user)
            found = outlook.find(waiting.shape, expected_s, now)
            waiting.likely = (found, expected_s)
            outlook.lay(waiting.shape, expected_s, found)
        self._outlook = outlook
        return outlook

    def _estimate(self, start: float, slot: Slot | None, likely: float | None, now: float) -> Estimate:
        expected = start if likely is None else min(start, max(now, likely))
        return Estimate(start, slot, expected, self._scores.low(Told(now, expected)))

    def _expected_s(self, shape: Shape, user: str) -> float:
        return self._run_times.expect(user, self.duration_s(shape))

    def _end_by_limit(self, job: Running, now: float) -> float:
        end = job.since + self.duration_s(job.shape)
        return end if end > now else now + max(OVERRUN_S_MIN, OVERRUN_SHARE * (now - job.since))

    def _likely_end(self, job: Running, now: float) -> float:
        end = job.since + self._expected_s(job.shape, job.user)
        if end <= now:
            end = job.since + outlived(now - job.since, self.duration_s(job.shape))
        return end if end > now else self._end_by_limit(job, now)

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
