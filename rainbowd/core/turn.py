"""One step of the core: the world, the time, and the effects collected so far."""

from typing import Any

from rainbowd.core.effects import Effect, Happened, SaveJob
from rainbowd.core.state import Job, World
from rainbowd.core.transitions import TERMINAL, JobState, Trigger, after

_QUEUED = frozenset({JobState.ASSIGNED, JobState.QUEUED})


class Turn:
    __slots__ = ("_changed", "_effects", "now", "world")

    def __init__(self, world: World, now: float) -> None:
        self.world = world
        self.now = now
        self._effects: list[Effect] = []
        self._changed: dict[str, Job] = {}

    def emit(self, effect: Effect) -> None:
        self._effects.append(effect)

    def save(self, job: Job) -> None:
        """However often a job changes in a step, it is saved once, as it is at the end."""
        self._changed[job.id] = job

    def done(self) -> list[Effect]:
        self._effects += [SaveJob(job) for job in self._changed.values()]
        return self._effects

    def move(self, job: Job, trigger: Trigger, reason: str = "") -> None:
        """Take a legal step and have it saved. A job that ends here leaves every list it was on."""
        before, job.state = job.state, after(job.state, trigger)
        job.reason = reason[: self.world.settings.reason_chars_max]
        world = self.world
        if job.state in _QUEUED:
            world.queued[job.id] = None
        else:
            world.queued.pop(job.id, None)
        if job.state is JobState.RUNNING:
            world.stirred.append(job.id)
        if job.cluster is not None and (before is JobState.RUNNING) != (job.state is JobState.RUNNING):
            world.clusters[job.cluster].running += 1 if job.state is JobState.RUNNING else -1
        if job.state in TERMINAL:
            job.finished_at = self.now
            world.stirred.append(job.id)
            world.waiting.discard(job.id)
            world.ready.discard(job.id)
            world.held.pop(job.id, None)
            if job.cluster is not None:
                world.clusters[job.cluster].jobs.discard(job.id)
            world.over.append(job.id)
        self._changed[job.id] = job

    def record(self, job: Job, event: str, data: dict[str, Any], *, detail: bool = False) -> None:
        """Write a line of the job's history. A long one leaves `detail` out, a very long one all but its end."""
        limit = self.world.settings.history_events_max
        if job.history_len >= (limit if detail else 2 * limit) and job.state not in TERMINAL:
            return
        job.history_len += 1
        self._effects.append(Happened(job.id, job.history_len, self.now, event, job.state, data))
        self._changed[job.id] = job
