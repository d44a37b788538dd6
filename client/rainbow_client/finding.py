"""From names to jobs: a job by its id, an array by its own, a member as `ARRAY[7]` or `ARRAY_7`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from rainbow_client.arrays import JobName, job_names
from rainbow_client.errors import UnknownJob
from rainbow_client.link import Link
from rainbow_client.requests import invalid, pages
from rainbow_protocol import limits
from rainbow_protocol.job import JobState
from rainbow_protocol.messages.client import Cancel, CancelAnswer, CancelResult, Jobs, JobStatus, ListJobs, Status


@dataclass(frozen=True, slots=True)
class Found:
    """What a name stands for. `whole`: it is an array, and these are its members, by index."""

    name: JobName
    jobs: tuple[JobStatus, ...]
    whole: bool = False


async def list_jobs(
    link: Link,
    *,
    states: Sequence[JobState] | None = None,
    cluster: str | None = None,
    array: str | None = None,
    before: str | None = None,
    limit: int = 100,
) -> list[JobStatus]:
    """The newest first, at most `limit`, page by page."""
    found: list[JobStatus] = []
    while len(found) < limit:
        page = min(limit - len(found), limits.JOBS_PAGE_MAX)
        try:
            request = ListJobs(
                id=0, states=list(states) if states else None, cluster=cluster, array=array, before=before, limit=page
            )
        except ValidationError as cause:
            raise invalid(cause) from None
        answer = await link.call(request, Jobs)
        found += answer.items
        if len(answer.items) < page:
            break
        before = answer.items[-1].job
    return found


async def members(link: Link, array: str, states: Sequence[JobState] | None = None) -> list[JobStatus]:
    """All jobs of an array by index; none if it is no array that these tokens may see."""
    found = await list_jobs(link, array=array, states=states, limit=limits.ARRAY_JOBS_MAX)
    # A daemon that does not know arrays would list all jobs there are.
    return sorted((one for one in found if one.array == array), key=lambda one: one.array_index or 0)


async def find(link: Link, names: str | Iterable[str]) -> list[Found]:
    """What each name stands for, in the order given; `UnknownJob` if one stands for nothing."""
    wanted = job_names(names)
    known: dict[str, JobStatus] = {}
    for page in pages([name.id for name in wanted if name.index is None]):
        answer = await link.call(Status(id=0, jobs=page), Jobs)
        known |= {one.job: one for one in answer.items}
    arrays: dict[str, list[JobStatus]] = {}
    found: list[Found] = []
    unknown: list[str] = []
    for name in wanted:
        if name.index is None and name.id in known:
            found.append(Found(name, (known[name.id],)))
            continue
        if name.id not in arrays:
            arrays[name.id] = await members(link, name.id)
        jobs = tuple(one for one in arrays[name.id] if name.index in (None, one.array_index))
        if jobs:
            found.append(Found(name, jobs, whole=name.index is None))
        else:
            unknown.append(str(name))
    if unknown:
        raise UnknownJob(unknown, found)
    return found


async def cancel(link: Link, names: str | Iterable[str]) -> list[CancelResult]:
    """Asks that these jobs end, and those of these arrays; `UnknownJob` names what does not exist, after the rest."""
    wanted = job_names(names)
    results: list[CancelResult] = []
    unknown = [name for name in wanted if name.index is not None]
    for page in pages([name.id for name in wanted if name.index is None]):
        answer = await link.call(Cancel(id=0, jobs=page), CancelAnswer)
        results += answer.items
        unknown += [JobName(job) for job in answer.unknown]
    if not unknown:
        return results
    missing: list[str] = []
    try:
        found = await find(link, map(str, unknown))
    except UnknownJob as none_such:
        missing, found = none_such.jobs, none_such.found
    for page in pages([one.job for each in found for one in each.jobs]):
        results += (await link.call(Cancel(id=0, jobs=page), CancelAnswer)).items
    if missing:
        raise UnknownJob(missing, results)
    return results
