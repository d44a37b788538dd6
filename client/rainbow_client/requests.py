"""What the user asks for, checked here first: a mistake is told before anything is sent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from rainbow_client.errors import InvalidRequest
from rainbow_protocol import limits
from rainbow_protocol.codec import describe, encode
from rainbow_protocol.ids import is_job_id
from rainbow_protocol.indices import indices
from rainbow_protocol.job import JobRequest, Shape
from rainbow_protocol.messages.client import Submission

if TYPE_CHECKING:
    from rainbow_protocol.jobspec import Reading
    from rainbow_protocol.resources import Requirement

# Room for the frame around the items of a batch.
_ENVELOPE_BYTES = 1024


def job_request(
    command: Sequence[str],
    *,
    nodes: int | None = None,
    tasks: int | None = None,
    cores_per_task: int = 1,
    gpus_per_task: int = 0,
    time_limit_s: float | None = None,
    name: str | None = None,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
    clusters: Sequence[str] | None = None,
    image: str | None = None,
    requires: Sequence["Requirement"] = (),
) -> JobRequest:
    """A job from its parts. `nodes` without `tasks` means one task on each node."""
    if isinstance(command, str):
        raise InvalidRequest("command: a list of words is expected, not one string", "Try shlex.split(command).")
    try:
        return JobRequest(
            command=list(command),
            shape=Shape(
                nodes=nodes,
                tasks=tasks if tasks is not None else nodes or 1,
                cores_per_task=cores_per_task,
                gpus_per_task=gpus_per_task,
                time_limit_s=time_limit_s,
            ),
            name=name,
            cwd=cwd,
            env=dict(env or {}),
            clusters=list(clusters) if clusters else None,
            image=image,
            requires=list(requires),
        )
    except ValidationError as cause:
        raise invalid(cause) from None


def read_jobspec(text: str, *, format: str | None = None, name: str = "") -> "Reading":  # noqa: A002 - as people say it
    """A job from a document of any form that is known (docs/jobspecs.md): its `request` can be submitted.

    `name` is that of the file, for messages. Its `warnings` tell what of the document is not used.
    """
    from rainbow_protocol.jobspec import JobspecError, read  # not everybody who submits has a document

    try:
        return read(text, format=format, name=name)
    except JobspecError as mistake:
        raise _not_as_written(mistake, name) from None


def read_compatibility(text: str, name: str = "") -> tuple[list["Requirement"], tuple[str, ...]]:
    """What a compatibility artifact requires, and what of it is not used."""
    from rainbow_protocol.jobspec import JobspecError, read_compat

    try:
        return read_compat(text, name)
    except JobspecError as mistake:
        raise _not_as_written(mistake, name) from None


def _not_as_written(mistake: Exception, name: str) -> InvalidRequest:
    return InvalidRequest(
        f"{name}: {mistake}" if name else str(mistake), "docs/jobspecs.md has an example of every form that is known."
    )


def with_changes(request: JobRequest, time_limit_s: float | None = None, **changes: Any) -> JobRequest:
    """The same job with some of its parts replaced; None leaves a part as it is."""
    parts = {name: value for name, value in changes.items() if value is not None}
    if time_limit_s is not None:
        parts["shape"] = request.shape.model_copy(update={"time_limit_s": time_limit_s})
    try:
        return JobRequest.model_validate({**dict(request), **parts})
    except ValidationError as cause:
        raise invalid(cause) from None


def invalid(cause: ValidationError, hint: str = "Correct the field that the message names.") -> InvalidRequest:
    return InvalidRequest(describe(cause), hint)


def job_ids(jobs: str | Iterable[str]) -> list[str]:
    """The ids without repetitions, in the order given; anything that cannot be an id is an error here."""
    ids = list(dict.fromkeys(job.strip().lower() for job in ([jobs] if isinstance(jobs, str) else jobs)))
    for job in ids:
        if not is_job_id(job):
            raise InvalidRequest(
                f"{job[:64]!r} is not a job id",
                f"A job id has {limits.JOB_ID_CHARS} letters and digits; `rainbow jobs` lists yours.",
            )
    if not ids:
        raise InvalidRequest("no job was named", "`rainbow jobs` lists the jobs that you can see.")
    return ids


def pages(ids: Sequence[str]) -> Iterator[list[str]]:
    for start in range(0, len(ids), limits.BATCH_ITEMS_MAX):
        yield list(ids[start : start + limits.BATCH_ITEMS_MAX])


def batches(submissions: Iterable[Submission]) -> Iterator[list[Submission]]:
    """Cuts submissions into frames that the daemon takes, by number and by bytes."""
    batch: list[Submission] = []
    used, jobs = _ENVELOPE_BYTES, 0
    for submission in submissions:
        size = len(encode(submission)) + 1
        if size + _ENVELOPE_BYTES > limits.FRAME_BYTES_MAX:
            raise InvalidRequest(
                f"job {submission.request.display_name!r} takes {size} bytes on the wire, more than a frame holds",
                "Put long input into a file that the job reads.",
            )
        members = 1 if submission.array is None else len(indices(submission.array.indices))
        full = len(batch) == limits.BATCH_ITEMS_MAX or jobs + members > limits.SUBMIT_JOBS_MAX
        if batch and (full or used + size > limits.FRAME_BYTES_MAX):
            yield batch
            batch, used, jobs = [], _ENVELOPE_BYTES, 0
        batch.append(submission)
        used += size
        jobs += members
    if batch:
        yield batch
