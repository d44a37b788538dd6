"""Jobs that wait for other jobs: those that come after them, and members of an array that may not all be out."""

from rainbowd.core import waiting
from rainbowd.core.state import ArrayLine, Job, World
from rainbowd.core.transitions import TERMINAL, JobState, Trigger
from rainbowd.core.turn import Turn
from rainbowd.core.wishes import After

_BEGUN = frozenset({JobState.RUNNING, *TERMINAL})
_FOR = {"start": "to start", "any": "to end", "ok": "to end well"}
_NAMED_MAX = 3


def admit(turn: Turn, job: Job) -> None:
    """A new job, or one from before a restart: it gets an auction, or is held until others have got on."""
    unmet = [one for one in job.wishes.after if not _met(turn.world, one)]
    if unmet:
        for one in unmet:
            turn.world.followers.setdefault(one.job, []).append(job.id)
        turn.world.held[job.id] = None
        _tell_or_reject(turn, job)
        return
    _enter_array(turn, job)


def release(turn: Turn) -> None:
    """Some jobs began to run or ended: let go of whom that concerns. A follower that ends here has followers, too."""
    world = turn.world
    while world.stirred:
        stirred = world.stirred.popleft()
        before = world.jobs.get(stirred)
        if before is not None and before.state in TERMINAL:
            _leave_array(turn, before)
        for job_id in world.followers.pop(stirred, ()):
            if job_id in world.held:
                _reconsider(turn, world.jobs[job_id], stirred)


def _reconsider(turn: Turn, job: Job, stirred: str) -> None:
    world = turn.world
    unmet = [one for one in job.wishes.after if not _met(world, one)]
    if not unmet:
        del world.held[job.id]
        _enter_array(turn, job)
        return
    if any(one.job == stirred for one in unmet):
        world.followers.setdefault(stirred, []).append(job.id)  # it has only begun, and must end
    _tell_or_reject(turn, job)


def _state_of(world: World, job_id: str) -> JobState | None:
    job = world.jobs.get(job_id)
    return job.state if job is not None else world.ended.get(job_id)


def _met(world: World, one: After) -> bool:
    state = _state_of(world, one.job)
    if one.until == "ok":
        return state is JobState.COMPLETED
    if state is None:  # it ended so long ago that only the disk remembers it
        return True
    return state in (_BEGUN if one.until == "start" else TERMINAL)


def _tell_or_reject(turn: Turn, job: Job) -> None:
    world = turn.world
    unmet = [one for one in job.wishes.after if not _met(world, one)]
    for one in unmet:
        state = _state_of(world, one.job)
        if one.until == "ok" and (state is None or state in TERMINAL):
            how = "how it ended is not known" if state is None else f"that one was {state}"
            if state is JobState.FAILED:
                how = "that one failed"
            reason = f"it was to run only if job {one.job} ended well, and {how}"
            turn.move(job, Trigger.REJECT, reason)
            turn.record(job, "rejected", {"reason": reason, "clusters": []})
            return
    named = ", ".join(f"job {one.job} {_FOR[one.until]}" for one in unmet[:_NAMED_MAX])
    more = f" and {len(unmet) - _NAMED_MAX} more" if len(unmet) > _NAMED_MAX else ""
    waiting.tell(turn, job, f"waits for {named}{more}")


# --- arrays ---------------------------------------------------------------


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
