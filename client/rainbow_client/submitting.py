"""Jobs on their way to the daemon: each with a key, as many in a frame as it takes, and frames in no great hurry."""

import asyncio
import uuid
from collections.abc import Iterable, Sequence
from typing import TypeVar

from pydantic import ValidationError

from rainbow_client.arrays import read_array
from rainbow_client.errors import InvalidRequest, Refused
from rainbow_client.link import Link
from rainbow_client.requests import batches, invalid
from rainbow_protocol.job import JobRequest
from rainbow_protocol.messages.client import Array, Submission, Submit, SubmitResult, Submitted

SUBMIT_FRAMES_IN_FLIGHT = 4

T = TypeVar("T")


def submissions(
    jobs: Iterable[JobRequest],
    keys: Sequence[str | None] | None = None,
    arrays: Sequence[Array | str | None] | None = None,
) -> list[Submission]:
    """The jobs with their keys and arrays; who has no key gets one of its own."""
    requests = list(jobs)
    keys, arrays = _as_many(requests, keys, "key"), _as_many(requests, arrays, "array")
    try:
        return [
            Submission(
                key=key if key is not None else uuid.uuid4().hex,
                request=request,
                array=read_array(array) if isinstance(array, str) else array,
            )
            for request, key, array in zip(requests, keys, arrays, strict=True)
        ]
    except ValidationError as cause:
        raise invalid(cause) from None


async def submit_all(link: Link, items: Sequence[Submission], check: bool = False) -> list[SubmitResult]:
    """The results in the order of the items. One frame is one transaction of the daemon.

    With `check` nothing is submitted: a result has the error that it would have, or nothing.
    """
    gate = asyncio.Semaphore(SUBMIT_FRAMES_IN_FLIGHT)

    async def send(batch: list[Submission]) -> list[SubmitResult]:
        async with gate:
            answer = await link.call(Submit(id=0, items=batch, check=check), Submitted)
        if len(answer.items) != len(batch):
            raise Refused("internal", f"the daemon answered {len(answer.items)} of {len(batch)} jobs")
        return answer.items

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(send(batch)) for batch in batches(items)]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [result for task in tasks for result in task.result()]


def _as_many(requests: Sequence[JobRequest], given: Sequence[T | None] | None, what: str) -> Sequence[T | None]:
    if given is None:
        return [None] * len(requests)
    if len(given) != len(requests):
        raise InvalidRequest(f"{len(requests)} jobs were given with {len(given)} {what}s", f"Give each job one {what}.")
    return given
