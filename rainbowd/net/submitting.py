"""From what a user submits to new jobs for the core: what may not be is refused here, one by one, and arrays unfold."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.indices import IndicesError, indices
from rainbow_protocol.messages import client as wire
from rainbow_protocol.messages.common import error
from rainbow_protocol.program import why_never
from rainbow_protocol.resources import why_unreadable
from rainbowd.core.commands import NewJob
from rainbowd.core.wishes import After, Wishes
from rainbowd.net import translate
from rainbowd.net.grants import Grants
from rainbowd.net.services import Services
from rainbowd.policies import why_not


async def unfolded(
    services: Services, grants: Grants, user: str, items: Sequence[wire.Submission]
) -> tuple[list[NewJob], list[wire.SubmitResult | int]]:
    """All new jobs, and for every submission its refusal, or how many jobs it became."""
    jobs: list[NewJob] = []
    parts: list[wire.SubmitResult | int] = []
    for submission in items:
        try:
            made = await _jobs_of(services, grants, user, submission)
        except ProtocolError as refusal:
            parts.append(wire.SubmitResult(error=error(refusal.code, refusal.message)))
            continue
        jobs += made
        parts.append(len(made))
    return jobs, parts


async def _jobs_of(services: Services, grants: Grants, user: str, submission: wire.Submission) -> list[NewJob]:
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
    if made.wishes.after:
        made = await _following(services, grants, made)
    return [made] if submission.array is None else _members(services, made, submission.array, submission.key)


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
    """The jobs that it comes after must be there; an array stands for all of its members."""
    named = list(dict.fromkeys(one.job for one in job.wishes.after))
    rows = await services.repo.find_jobs(named, grants.seeing)
    members = await services.repo.members([one for one in named if one not in rows], grants.seeing)
    for one in named:
        if one not in rows and one not in members:
            raise ProtocolError(ErrorCode.UNKNOWN_JOB, f"it is to come after job {one}, which you cannot see")
    wishes = with_members(job.wishes, members)
    ends = await services.repo.ends([one.job for one in wishes.after])
    return replace(job, wishes=wishes, ends=ends)


def with_members(wishes: Wishes, members: dict[str, list[str]]) -> Wishes:
    after = [After(job, one.until) for one in wishes.after for job in members.get(one.job, [one.job])]
    return replace(wishes, after=tuple(dict.fromkeys(after)))


def _members(services: Services, first: NewJob, array: wire.Array, key: str | None) -> list[NewJob]:
    """The first one's id is the array's; the members have ids of their own, and share all that they can."""
    try:
        numbers = indices(array.indices)
    except IndicesError as mistake:
        raise ProtocolError(ErrorCode.INVALID, f"array: {mistake}") from None
    now = services.engine.clock()
    return [
        replace(
            first,
            id=services.job_ids.next(now),
            key=None if key is None else f"{key}[{number}]",
            array=first.id,
            array_index=number,
            array_at_once=array.at_once,
            array_begins=place == 0,
        )
        for place, number in enumerate(numbers)
    ]
