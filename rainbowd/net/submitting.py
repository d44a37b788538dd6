"""From what a user submits to new jobs for the core: what may not be is refused here, one by one, and arrays unfold."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

from rainbow_protocol import limits
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.indices import IndicesError, indices
from rainbow_protocol.messages import client as wire
from rainbow_protocol.messages.common import error
from rainbow_protocol.program import why_never
from rainbow_protocol.resources import why_unreadable
from rainbowd.core.commands import NewJob
from rainbowd.core.transitions import TERMINAL, JobState
from rainbowd.net import translate
from rainbowd.net.grants import Grants
from rainbowd.net.pending import Part
from rainbowd.net.services import Services
from rainbowd.policies import why_not


async def unfolded(
    services: Services, grants: Grants, user: str, items: Sequence[wire.Submission]
) -> tuple[list[NewJob], list[Part]]:
    """All new jobs, and for every submission what its answer is made of."""
    jobs: list[NewJob] = []
    parts: list[Part] = []
    full = False
    for submission in items:
        try:
            numbers = [] if full else _numbers(services, submission)
            # Once one does not fit, what comes after it is not even looked at: it would cost time for nothing.
            full = full or len(jobs) + max(len(numbers), 1) > limits.SUBMIT_JOBS_MAX
            if full:
                most = f"{limits.SUBMIT_JOBS_MAX:,} jobs, those of arrays counted"
                raise ProtocolError(ErrorCode.TOO_MANY, f"one request may submit {most}: submit this one in another")
            made = await _job_of(services, grants, user, submission)
        except ProtocolError as refusal:
            parts.append(wire.SubmitResult(error=error(refusal.code, refusal.message)))
            continue
        if submission.array is None:
            jobs.append(made)
            parts.append(None)
        else:
            jobs += _members(services, made, numbers, submission.array.at_once)
            parts.append(len(numbers))
    return jobs, parts


def _numbers(services: Services, submission: wire.Submission) -> list[int]:
    """The indices of its array, if it is one that there could be room for."""
    if submission.array is None:
        return []
    try:
        numbers = indices(submission.array.indices)
    except IndicesError as mistake:
        raise ProtocolError(ErrorCode.INVALID, f"array: {mistake}") from None
    world = services.engine.core.world
    # With a key it may be one that is there already, and needs no room: the core finds out.
    alive = len(world.jobs) if submission.key is None else 0
    if alive + len(numbers) > (limit := world.settings.live_jobs_max):
        raise ProtocolError(ErrorCode.OVERLOADED, f"there is no room beyond {limit} jobs that are alive")
    return numbers


async def _job_of(services: Services, grants: Grants, user: str, submission: wire.Submission) -> NewJob:
    request = submission.request
    named = frozenset(request.clusters or grants.usable)
    if strange := sorted(named - grants.usable):
        words = f"cluster {strange[0]!r} does not exist, or you have no token for it"
        raise ProtocolError(ErrorCode.UNKNOWN_CLUSTER, words)
    if request.program is not None and (never := why_never(request.program, len(request.needs or ()))):
        raise ProtocolError(ErrorCode.INVALID, f"request.program: {never}")
    if request.constraint is not None and (odd := why_unreadable(request.constraint)):
        raise ProtocolError(ErrorCode.INVALID, f"request.constraint: {odd}")
    _check_wishes(services, submission)
    # A job belongs to the tokens of the clusters that it may go to, and to no others.
    owner, may_use = grants.owner(named)
    now = services.engine.clock()
    job = services.job_ids.next(now)
    made = translate.new_job(job, owner, may_use, submission, services.credentials.deletions, user)
    return await _following(services, grants, made) if made.wishes.after else made


def _check_wishes(services: Services, submission: wire.Submission) -> None:
    wishes = submission.request.wishes
    groups = services.engine.core.world.settings.groups
    if wishes.group is not None and wishes.group not in groups:
        near = get_close_matches(wishes.group, groups, n=1)
        known = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(groups)) or 'none'}"
        raise ProtocolError(ErrorCode.INVALID, f"there is no group {wishes.group!r}; {known}")
    if (mistake := why_not(wishes, services.policies, services.site)) is not None:
        raise ProtocolError(ErrorCode.INVALID, mistake)


async def _following(services: Services, grants: Grants, job: NewJob) -> NewJob:
    """The jobs that it comes after must be there, or be arrays that are."""
    named = list(dict.fromkeys(one.job for one in job.wishes.after))
    rows = await services.repo.find_jobs(named, grants.seeing)
    others = [one for one in named if one not in rows]
    arrays = await services.repo.arrays(others, grants.seeing) if others else {}
    if strange := [one for one in others if one not in arrays]:
        raise ProtocolError(ErrorCode.UNKNOWN_JOB, f"it is to come after job {strange[0]}, which you cannot see")
    ends = {name: JobState(row["state"]) for name, row in rows.items() if row["state"] in TERMINAL}
    return replace(job, ends=ends | {name: state for name, state in arrays.items() if state in TERMINAL})


def _members(services: Services, whole: NewJob, numbers: Sequence[int], at_once: int | None) -> list[NewJob]:
    """The whole one's id is the array's; the members have ids of their own, and share all that they can.

    Only the first has the key: it stands for all of them.
    """
    now = services.engine.clock()
    return [
        replace(
            whole,
            id=services.job_ids.next(now),
            key=whole.key if place == 0 else None,
            array=whole.id,
            array_index=number,
            array_at_once=at_once,
            array_begins=place == 0,
        )
        for place, number in enumerate(numbers)
    ]
