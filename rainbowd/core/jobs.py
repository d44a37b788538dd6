"""Submit and cancel: what users do to jobs."""

from collections import Counter

from rainbowd.core import auctions, awards, following, moving
from rainbowd.core.commands import Cancel, Known, NewJob, Submit
from rainbowd.core.effects import (
    AnswerCancel,
    AnswerSubmit,
    CancelOutcome,
    SendCancel,
    SendRelease,
    SubmitOutcome,
)
from rainbowd.core.state import Job
from rainbowd.core.transitions import STARTED, TERMINAL, JobState, Trigger
from rainbowd.core.turn import Turn


def submit(turn: Turn, command: Submit) -> None:
    created: list[tuple[int, Job]] = []
    outcomes: list[SubmitOutcome | None] = []
    arrays = Counter(item.array for item in command.items if item.array is not None)
    for position, item in enumerate(command.items):
        known = command.known.get(position)
        outcome = _repeated(turn, item, known) or _deleted(turn, item) or _overloaded(turn, item, arrays)
        outcomes.append(outcome)
        if outcome is None:
            created.append((position, _create(turn, item)))
    auctions.open_ready(turn)
    for position, job in created:
        outcomes[position] = SubmitOutcome(job.id, job.state, array=job.array)
    turn.emit(AnswerSubmit(command.origin, [outcome for outcome in outcomes if outcome is not None]))


def _repeated(turn: Turn, item: NewJob, known: Known | None) -> SubmitOutcome | None:
    """The answer for a key that was used before: the first job, or a refusal if it asked for something else."""
    if item.key is None:
        return None
    live = turn.world.jobs.get(turn.world.keys.get((item.owner, item.key), ""))
    if live is not None:
        known = Known(live.id, live.state, live.payload == item.payload, live.array)
    if known is None:
        return None
    if not known.same:
        words = f"the key {item.key!r} belongs to job {known.job}, which asks for something else"
        return SubmitOutcome(None, None, code="key_reused", message=words)
    return SubmitOutcome(known.job, known.state, duplicate=True, array=known.array)


def _deleted(turn: Turn, item: NewJob) -> SubmitOutcome | None:
    """The edge looked at the sender's grants a moment ago: a cluster of these may be gone, or its name another's."""
    world = turn.world
    if item.deletions_seen == world.deletions:
        return None
    gone = [name for name in item.grants if world.deleted.get(name, 0) > item.deletions_seen]
    if not gone:
        return None
    return SubmitOutcome(None, None, code="unknown_cluster", message=f"cluster {gone[0]!r} has just been deleted")


def _overloaded(turn: Turn, item: NewJob, arrays: "Counter[str]") -> SubmitOutcome | None:
    """An array is taken as a whole, or not at all: its first member needs room for all of those to come."""
    limit = turn.world.settings.live_jobs_max
    wanted = 1 if item.array is None else arrays[item.array]
    if len(turn.world.jobs) + wanted <= limit and (item.array is None or item.array_begins or wanted == 0):
        if item.array is not None:
            arrays[item.array] = 0  # from here on its members need no room any more: they have it
        return None
    return SubmitOutcome(None, None, code="overloaded", message=f"there is no room beyond {limit} jobs that are alive")


def _create(turn: Turn, item: NewJob) -> Job:
    job = Job(
        id=item.id,
        owner=item.owner,
        grants=item.grants,
        key=item.key,
        name=item.name,
        shape=item.shape,
        payload=item.payload,
        submitted_at=turn.now,
        ask=item.ask,
        terms=item.terms,
        user=item.user,
        wishes=item.wishes,
        facts=item.facts,
        array=item.array,
        array_index=item.array_index,
        array_at_once=item.array_at_once,
    )
    world = turn.world
    world.jobs[job.id] = job
    if job.key is not None:
        world.keys[job.owner, job.key] = job.id
    shape = job.shape
    data = {
        "name": job.name,
        "nodes": shape.nodes,
        "tasks": shape.tasks,
        "cores_per_task": shape.cores_per_task,
        "gpus_per_task": shape.gpus_per_task,
        "time_limit_s": shape.time_limit_s,
    }
    turn.record(job, "submitted", data)
    for before, state in item.ends.items():
        if before not in world.jobs:
            world.ended.setdefault(before, state)
    following.admit(turn, job)
    return job


def cancel(turn: Turn, command: Cancel) -> None:
    turn.emit(AnswerCancel(command.origin, [_cancel(turn, job) for job in command.jobs]))
    auctions.open_ready(turn)


def _cancel(turn: Turn, job_id: str) -> CancelOutcome:
    job = turn.world.jobs.get(job_id)
    if job is None:
        return CancelOutcome(job_id, "already_over", turn.world.ended.get(job_id))
    if job.state in TERMINAL:
        return CancelOutcome(job_id, "already_over", job.state)
    if job.state in STARTED:
        # Only the cluster can end it now; if it is away, it hears of this when it returns.
        if not job.cancel_requested:
            job.cancel_requested = True
            turn.save(job)
            turn.record(job, "cancel_requested", {})
            moving.drop(turn, job)
        session = turn.world.clusters[job.cluster or ""].session
        if session is None:
            return CancelOutcome(
                job_id, "cancelling", job.state, f"{job.cluster} is offline and hears of it when it is back"
            )
        turn.emit(SendCancel(session, job.id, job.attempt))
        return CancelOutcome(job_id, "cancelling", job.state)
    if job.state is JobState.AWARDED:
        session = turn.world.clusters[job.cluster or ""].session
        if session is not None:
            turn.emit(SendRelease(session, job.id, job.attempt))
    awards.drop(turn, job)
    turn.move(job, Trigger.CANCEL, "cancelled by the user before any cluster started it")
    turn.record(
        job,
        "cancelled",
        {"attempt": job.attempt, "cluster": job.cluster, "exit_code": None, "reason": job.reason},
    )
    return CancelOutcome(job_id, "cancelled", job.state)
