"""Waiting for jobs to end, be they one or ten thousand: events tell that they ended, and their states are asked for
as many at a time as have ended meanwhile."""

import asyncio
from collections.abc import Callable, Sequence

from rainbow_client.following import follow_events
from rainbow_client.link import Link
from rainbow_client.requests import pages
from rainbow_protocol import limits
from rainbow_protocol.job import TERMINAL_STATES
from rainbow_protocol.messages.client import Jobs, JobStatus, Status


async def wait_for_all(
    link: Link, jobs: Sequence[JobStatus], on_end: Callable[[JobStatus], None] | None = None
) -> list[JobStatus]:
    """How each of these jobs ended, in the order given. `on_end` is told of each as it ends, once."""
    ended: dict[str, JobStatus] = {}

    def end(one: JobStatus) -> None:
        if one.job not in ended:
            ended[one.job] = one
            if on_end is not None:
                on_end(one)

    for one in jobs:
        if one.state in TERMINAL_STATES:
            end(one)
    going = list(dict.fromkeys(one.job for one in jobs if one.job not in ended))
    for start in range(0, len(going), limits.WATCHES_PER_SESSION_MAX):
        await _wait(link, going[start : start + limits.WATCHES_PER_SESSION_MAX], end)
    return [ended[one.job] for one in jobs]


async def _wait(link: Link, jobs: list[str], end: Callable[[JobStatus], None]) -> None:
    over: asyncio.Queue[str | None] = asyncio.Queue()  # holds each job at most once, so it is as bounded as they are

    async def follow() -> None:
        async for event in follow_events(link, jobs, 0):
            if event.state in TERMINAL_STATES:
                over.put_nowait(event.job)
        over.put_nowait(None)

    async def ask() -> None:
        more = True
        while more:
            named = [await over.get()]
            while not over.empty():
                named.append(over.get_nowait())
            more = None not in named
            for page in pages([job for job in named if job is not None]):
                for one in (await link.call(Status(id=0, jobs=page), Jobs)).items:
                    end(one)

    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(follow())
            group.create_task(ask())
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
