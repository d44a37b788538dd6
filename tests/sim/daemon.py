"""The daemon in the simulation: the real core, and a disk that keeps exactly what was committed."""

from collections.abc import Callable
from dataclasses import fields, replace

from rainbowd.core import effects as fx
from rainbowd.core.commands import Command, Known, Submit, Tick
from rainbowd.core.invariants import check
from rainbowd.core.machine import Core
from rainbowd.core.selection.earliest import Earliest
from rainbowd.core.state import Cluster, Job, Settings
from rainbowd.core.transitions import STARTED, TERMINAL, JobState
from tests.sim.clockwork import Clockwork
from tests.totals import TotalsMatcher

# What a restart may forget.
_FORGOTTEN = {
    "failures",
    "not_before",
    "retry_at",
    "is_ready",
    "numbered",
    "asked_at",
    "stay_told",
    "is_out",
    "kept",
    "unmet",
    "has_begun",
    "is_counted",
    "is_charged",
}
_KEPT = [field.name for field in fields(Job) if field.name not in _FORGOTTEN]


def on_disk(job: Job) -> Job:
    return Job(**{name: getattr(job, name) for name in _KEPT})


class Daemon:
    """`deliver` gets every effect that leaves the process, after its commit."""

    def __init__(self, clockwork: Clockwork, settings: Settings, deliver: Callable[[fx.Effect], None]) -> None:
        self._clockwork = clockwork
        self._settings = settings
        self._deliver = deliver
        self.crash_chance = 0.0
        self.checks = True  # after every step; too slow for a thousand jobs
        self.disk_jobs: dict[str, Job] = {}
        self.disk_clusters: dict[str, Cluster] = {}
        self.generations: dict[str, int] = {}
        self.deletions_told = 0  # in this life
        self.history: dict[str, list[fx.Happened]] = {}
        self.up = False
        self.life = 0
        self._inbox: list[Command] = []
        self.core: Core
        self._armed: float | None = None

    def start(self) -> None:
        self.up = True
        self.life += 1
        self.deletions_told = 0
        self.core = Core(self._settings, TotalsMatcher(), Earliest())
        gone = {"session": None, "agent_id": None, "free": None, "draining": None, "missed": 0, "running": 0}
        clusters = [replace(cluster, **gone, jobs=set()) for cluster in self.disk_clusters.values()]
        live = [on_disk(job) for job in self.disk_jobs.values() if job.state not in TERMINAL]
        self._commit(
            self.core.restore(clusters, live, self._clockwork.now, self.generations, self.ends(), self.failed_arrays())
        )
        check(self.core.world)
        self._arm()

    def ends(self) -> dict[str, JobState]:
        return {job.id: job.state for job in self.disk_jobs.values() if job.state in TERMINAL}

    def failed_arrays(self) -> set[str]:
        over = (job for job in self.disk_jobs.values() if job.array is not None and job.state in TERMINAL)
        return {job.array for job in over if job.array is not None and job.state is not JobState.COMPLETED}

    def crash(self) -> None:
        self.up = False
        self._inbox.clear()

    def take(self, command: Command) -> None:
        if self.up:
            self._inbox.append(command)
            if len(self._inbox) == 1:
                life = self.life
                self._clockwork.after(0.002, lambda: self._turn(life))

    def _turn(self, life: int) -> None:
        if not self.up or life != self.life:
            return
        batch, self._inbox = self._inbox, []
        effects = []
        for command in [*batch, Tick()]:
            if isinstance(command, Submit):
                command = replace(command, known=self._known(command))
            effects += self.core.step(command, self._clockwork.now)
            if self.checks:
                check(self.core.world)
        if self._clockwork.chance(self.crash_chance):
            self.crash()
            return
        self._commit(effects)
        self.core.forget_over()
        if self.checks:
            check(self.core.world)
        for effect in effects:
            if self._clockwork.chance(self.crash_chance / 10):
                self.crash()
                return
            self._may_leave(effect)
            self.deletions_told += isinstance(effect, fx.RetireCluster)
            self._deliver(effect)
        self._arm()

    def _arm(self) -> None:
        deadline = self.core.next_deadline()
        if deadline is not None and deadline != self._armed:
            self._armed = deadline
            life = self.life
            self._clockwork.at(deadline, lambda: self._turn(life))

    def _known(self, command: Submit) -> dict[int, Known]:
        by_key = {(job.owner, job.key): job for job in self.disk_jobs.values() if job.key is not None}
        found = {}
        for position, item in enumerate(command.items):
            job = by_key.get((item.owner, item.key))
            if job is not None:
                found[position] = Known(job.id, job.state, job.payload == item.payload)
        return found

    def _commit(self, effects: list[fx.Effect]) -> None:
        for effect in effects:
            if isinstance(effect, fx.SaveJob):
                old = self.disk_jobs.get(effect.job.id)
                ended = old is not None and old.state in TERMINAL
                assert not ended or old == on_disk(effect.job), f"{effect.job.id} was over and changed"
                self.disk_jobs[effect.job.id] = on_disk(effect.job)
            elif isinstance(effect, fx.SaveCluster):
                self.disk_clusters[effect.cluster.name] = replace(effect.cluster)
            elif isinstance(effect, fx.RetireCluster):
                self._retire(effect)
            elif isinstance(effect, fx.Happened):
                lines = self.history.setdefault(effect.job, [])
                assert effect.seq == len(lines) + 1, f"{effect.job}: line {effect.seq} follows {len(lines)}"
                lines.append(effect)

    def _retire(self, effect: fx.RetireCluster) -> None:
        """As the store does it: whoever could see the old cluster's jobs has another grant for that now."""
        del self.disk_clusters[effect.name]
        self.generations[effect.name] = effect.generation + 1
        for job in self.disk_jobs.values():
            job.grants = tuple(effect.retired if grant == effect.name else grant for grant in job.grants)

    def _may_leave(self, effect: fx.Effect) -> None:
        """I3: whatever a message tells is on disk already."""
        if isinstance(effect, fx.SendStart):
            job = self.disk_jobs[effect.job]
            # A repeated start may leave together with what made it stale: the cluster handed the job back.
            assert job.attempt >= effect.attempt, "a start of an attempt that is not on disk"
            if job.attempt == effect.attempt and job.cluster is not None:
                assert job.state in STARTED | TERMINAL, f"a start of a job that is {job.state} on disk"
        elif isinstance(effect, fx.SendAward):  # an offer is a question, and dies with its session
            assert self.disk_jobs[effect.job].attempt >= effect.attempt, "a message of an attempt not on disk"
        elif isinstance(effect, fx.AnswerSubmit):
            for outcome in effect.items:
                assert outcome.job is None or outcome.job in self.disk_jobs, "an answered job is not on disk"
