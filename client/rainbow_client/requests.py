"""What the user asks for, checked here first: a mistake is told before anything is sent."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import ValidationError

from rainbow_client.errors import InvalidRequest
from rainbow_protocol import limits
from rainbow_protocol.codec import describe, encode
from rainbow_protocol.ids import is_job_id
from rainbow_protocol.job import JobRequest, Shape
from rainbow_protocol.messages.client import Submission

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
        )
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
    used = _ENVELOPE_BYTES
    for submission in submissions:
        size = len(encode(submission)) + 1
        if size + _ENVELOPE_BYTES > limits.FRAME_BYTES_MAX:
            raise InvalidRequest(
                f"job {submission.request.display_name!r} takes {size} bytes on the wire, more than a frame holds",
                "Put long input into a file that the job reads.",
            )
        if batch and (len(batch) == limits.BATCH_ITEMS_MAX or used + size > limits.FRAME_BYTES_MAX):
            yield batch
            batch, used = [], _ENVELOPE_BYTES
        batch.append(submission)
        used += size
    if batch:
        yield batch
