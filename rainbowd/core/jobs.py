"""Submit and cancel: what users do to jobs."""

from collections.abc import Iterator, Sequence

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
    for position, items in _wholes(command.items):
        known = command.known.get(position)
        outcome = _repeated(turn, items, known) or _deleted(turn, items[0]) or _overloaded(turn, len(items))
        outcomes += [outcome] * len(items)
        if outcome is None:
            created += [(place, _create(turn, item)) for place, item in enumerate(items, position)]
    auctions.open_ready(turn)
    for position, job in created:
        outcomes[position] = SubmitOutcome(job.id, job.state, array=job.array)
    turn.emit(AnswerSubmit(command.origin, [outcome for outcome in outcomes if outcome is not None]))


def _wholes(items: Sequence[NewJob]) -> Iterator[tuple[int, Sequence[NewJob]]]:
    """What is taken or refused as one, with its position: a job by itself, or all members of an array."""
    begins = [place for place, item in enumerate(items) if item.array is None or item.array_begins]
    for begin, end in zip(begins, [*begins, len(items)][1:], strict=True):
        yield begin, items[begin:end]


def _repeated(turn: Turn, items: Sequence[NewJob], known: Known | None) -> SubmitOutcome | None:
    """The answer for a key that was used before: the first job, or a refusal if it asked for something else."""
    key = items[0].key
    if key is None:
        return None
    live = turn.world.jobs.get(turn.world.keys.get((items[0].owner, key), ""))
    if live is not None:
        # The disk knows also those members that are over; what it does not have is of this very batch, and all here.
        same = _asks_the_same(turn, live, items) if known is None else known.same
        known = Known(live.id, live.state, same, live.array)
    if known is None:
        return None
    if not known.same:
        whose = f"job {known.job}" if known.array is None else f"array {known.array}"
        words = f"the key {key!r} belongs to {whose}, which asks for something else"
        return SubmitOutcome(None, None, code="key_reused", message=words)
    return SubmitOutcome(known.job, known.state, duplicate=True, array=known.array)


def _asks_the_same(turn: Turn, live: Job, items: Sequence[NewJob]) -> bool:
    first = items[0]
    if live.payload != first.payload or live.array_at_once != first.array_at_once:
        return False
    if live.array is None or first.array is None:
        return live.array is first.array
    numbers: list[int | None] = []
    for job in reversed(turn.world.jobs.values()):  # in the order in which they came: no member is before the first
        if job.array == live.array:
            numbers.append(job.array_index)
        if job is live:
            break
    return numbers == [item.array_index for item in reversed(items)]


def _deleted(turn: Turn, item: NewJob) -> SubmitOutcome | None:
    """The edge looked at the sender's grants a moment ago: a cluster of these may be gone, or its name another's."""
    world = turn.world
    if item.deletions_seen == world.deletions:
        return None
    gone = [name for name in item.grants if world.deleted.get(name, 0) > item.deletions_seen]
    if not gone:
        return None
    return SubmitOutcome(None, None, code="unknown_cluster", message=f"cluster {gone[0]!r} has just been deleted")


def _overloaded(turn: Turn, wanted: int) -> SubmitOutcome | None:
    limit = turn.world.settings.live_jobs_max
    if len(turn.world.jobs) + wanted <= limit:
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
        if before not in world.jobs and before not in world.tallies and before not in world.ended:
            world.remember_end(before, state)
    following.joined(world, job)
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
