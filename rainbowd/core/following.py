"""Jobs that wait for other jobs: those that come after them, and members of an array that may not all be out.

Each held job keeps what is still unmet; when another begins or ends, only what is about that one is looked at. An array
that jobs come after counts as one: begun when all of its members have, over when all are, and well if all were.
"""

from rainbowd.core import waiting
from rainbowd.core.state import ArrayLine, Job, Tally, World
from rainbowd.core.transitions import TERMINAL, JobState, Trigger
from rainbowd.core.turn import Turn
from rainbowd.core.wishes import After

_BEGUN = frozenset({JobState.RUNNING, *TERMINAL})
_FOR = {"start": "to start", "any": "to end", "ok": "to end well"}
_NAMED_MAX = 3


def admit(turn: Turn, job: Job) -> None:
    """A new job, or one from before a restart: it gets an auction, or is held until others have got on."""
    world = turn.world
    for one in dict.fromkeys(job.wishes.after):
        state = _state_of(world, one.job)
        if _never(one, state):
            _reject(turn, job, one, state)
            return
        if not _met(one, state):
            job.unmet.append(one)
    if not job.unmet:
        _enter_array(turn, job)
        return
    for before in {one.job for one in job.unmet}:
        world.followers.setdefault(before, []).append(job.id)
    world.held[job.id] = None
    _tell(turn, job)


def release(turn: Turn) -> None:
    """Some jobs began to run or ended: let go of whom that concerns. A follower that ends here has followers, too."""
    world = turn.world
    while world.stirred:
        stirred = world.stirred.popleft()
        job = world.jobs.get(stirred)
        if job is not None and job.array is not None:
            _count(world, job)
            if job.state in TERMINAL:
                _leave_array(turn, job)
        state = _state_of(world, stirred)
        if stirred in world.followers:
            _got_on(turn, stirred, state)


def _got_on(turn: Turn, before: str, state: JobState | None) -> None:
    world = turn.world
    still: list[str] = []
    for job_id in world.followers.pop(before):
        if job_id not in world.held:
            continue  # cancelled, or rejected
        job = world.jobs[job_id]
        about = [one for one in job.unmet if one.job == before]
        never = next((one for one in about if _never(one, state)), None)
        if never is not None:
            _reject(turn, job, never, state)
            continue
        left = [one for one in about if not _met(one, state)]
        if len(left) == len(about):
            still.append(job_id)
            continue
        job.unmet = [one for one in job.unmet if one.job != before] + left
        if left:
            still.append(job_id)
        if job.unmet:
            _tell(turn, job)
        else:
            del world.held[job_id]
            _enter_array(turn, job)
    if still:
        world.followers[before] = still


def _state_of(world: World, name: str) -> JobState | None:
    """Of a job, or of an array as a whole; None for what ended so long ago that only the disk remembers it."""
    job = world.jobs.get(name)
    if job is not None:
        return job.state
    tally = world.tallies.get(name)
    if tally is not None:
        return JobState.PENDING if tally.unbegun else JobState.RUNNING
    return world.ended.get(name)


def _met(one: After, state: JobState | None) -> bool:
    if one.until == "ok":
        return state is JobState.COMPLETED
    return state is None or state in (_BEGUN if one.until == "start" else TERMINAL)


def _never(one: After, state: JobState | None) -> bool:
    return one.until == "ok" and (state is None or state in TERMINAL) and state is not JobState.COMPLETED


def _reject(turn: Turn, job: Job, one: After, state: JobState | None) -> None:
    how = "how it ended is not known" if state is None else f"that one was {state}"
    if state is JobState.FAILED:
        how = "that one failed"
    reason = f"it was to run only if job {one.job} ended well, and {how}"
    turn.move(job, Trigger.REJECT, reason)
    turn.record(job, "rejected", {"reason": reason, "clusters": []})


def _tell(turn: Turn, job: Job) -> None:
    named = ", ".join(f"job {one.job} {_FOR[one.until]}" for one in job.unmet[:_NAMED_MAX])
    more = f" and {len(job.unmet) - _NAMED_MAX} more" if len(job.unmet) > _NAMED_MAX else ""
    waiting.tell(turn, job, f"waits for {named}{more}")


# --- arrays ---------------------------------------------------------------


def joined(world: World, job: Job) -> None:
    """A member of an array is new here, or was alive at the restart."""
    if job.array is not None:
        tally = world.tallies.setdefault(job.array, Tally())
        tally.alive += 1
        job.has_begun = job.state is JobState.RUNNING
        tally.unbegun += not job.has_begun


def _count(world: World, job: Job) -> None:
    """A member began or ended. When that makes it so for all of them, the array has stirred, too."""
    name = job.array or ""
    tally = world.tallies.get(name)
    if tally is None or job.is_counted:
        return
    if not job.has_begun:
        job.has_begun = True
        tally.unbegun -= 1
        if not tally.unbegun:
            world.stirred.append(name)
    if job.state in TERMINAL:
        job.is_counted = True
        tally.alive -= 1
        tally.failed |= job.state is not JobState.COMPLETED
        if not tally.alive:
            del world.tallies[name]
            world.remember_end(name, JobState.FAILED if tally.failed else JobState.COMPLETED)
            world.stirred.append(name)


def _enter_array(turn: Turn, job: Job) -> None:
    if job.array is None or job.array_at_once is None:
        waiting.make_ready(turn, job)
        return
    line = turn.world.arrays.get(job.array)
    if line is None:
        line = turn.world.arrays[job.array] = ArrayLine(job.array_at_once)
    if line.out < line.at_once:
        line.out += 1
        job.is_out = True
        waiting.make_ready(turn, job)
        return
    line.held.append(job.id)
    turn.world.held[job.id] = None
    waiting.tell(turn, job, f"waits for others of its array: {line.at_once} may be out at once")


def count_out(world: World, job: Job) -> None:
    """After a restart: a member that is at a cluster takes one of its array's places."""
    if job.array is not None and job.array_at_once is not None:
        world.arrays.setdefault(job.array, ArrayLine(job.array_at_once)).out += 1
        job.is_out = True


def _leave_array(turn: Turn, job: Job) -> None:
    world = turn.world
    line = world.arrays.get(job.array or "")
    if line is None or not job.is_out:
        return
    job.is_out = False
    line.out -= 1
    while line.held and line.out < line.at_once:
        job_id = line.held.popleft()
        if job_id in world.held:  # and not cancelled since
            del world.held[job_id]
            _enter_array(turn, world.jobs[job_id])
    if not line.held and line.out == 0:
        del world.arrays[job.array or ""]
