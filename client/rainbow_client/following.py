"""Following a job: its events and its output, across broken connections, each piece exactly once."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress

from rainbow_client.errors import InvalidRequest, Refused, SessionLost, UnknownJob
from rainbow_client.feed import Feed
from rainbow_client.link import ANSWER_S_MAX, Link
from rainbow_client.output import Output
from rainbow_client.patience import pauses
from rainbow_client.requests import pages
from rainbow_client.session import CLOSE_S_MAX, Session
from rainbow_protocol import limits
from rainbow_protocol.errors import ErrorCode
from rainbow_protocol.job import TERMINAL_STATES
from rainbow_protocol.messages.client import Event, Jobs, Logs, LogsAnswer, Status


async def follow_events(link: Link, jobs: list[str], since: int) -> AsyncGenerator[Event, None]:
    """Yields each event of (job, seq) once. After a break it asks again from the last one seen."""
    if len(jobs) > limits.WATCHES_PER_SESSION_MAX:
        raise InvalidRequest(
            f"{len(jobs)} jobs are too many to watch at once",
            f"Watch at most {limits.WATCHES_PER_SESSION_MAX} of them.",
        )
    seen = dict.fromkeys(jobs, since)  # the open jobs, each with the seq of its last event
    patience = link.patience()
    while seen:
        session = await link.session()
        feed = Feed()
        watches: list[int] = []
        try:
            for page in pages(list(seen)):
                watches.append(await session.watch(page, min(seen[job] for job in page), feed))
            while seen and (frame := await feed.next()) is not None:
                patience.progress()
                if frame.unknown:
                    raise UnknownJob(frame.unknown)
                for event in frame.items:
                    if event.job not in seen or event.seq <= seen[event.job]:
                        continue
                    seen[event.job] = event.seq
                    if event.state in TERMINAL_STATES:
                        del seen[event.job]
                    yield event
            if session.lost:
                raise SessionLost("the connection broke")
        except SessionLost as cause:
            if not cause.reconnect:
                raise
            await patience.pause_or_raise(cause)
        finally:
            await _unwatch(session, watches)


async def _unwatch(session: Session, watches: list[int]) -> None:
    """Politeness: a session that breaks or dawdles meanwhile has forgotten the watch anyway."""
    with suppress(SessionLost, TimeoutError):
        async with asyncio.timeout(CLOSE_S_MAX):
            await session.unwatch(watches)


async def follow_output(
    link: Link, job: str, follow: bool, on_away: Callable[[str], None] | None = None
) -> AsyncGenerator[Output, None]:
    """Reads on from where the last piece ended, so that nothing is repeated or missed.

    With `follow`, a job that has not started is waited for by its events, and a cluster that is away by asking now
    and then: its coming back is not an event of the job.
    """
    offsets = {"stdout": 0, "stderr": 0}
    wait_s = limits.OUTPUT_WAIT_S_MAX if follow else 0.0
    away, is_away = pauses(), False
    async with aclosing(follow_events(link, [job], 0)) as events:
        while True:
            request = Logs(
                id=0, job=job, stdout_offset=offsets["stdout"], stderr_offset=offsets["stderr"], wait_s=wait_s
            )
            try:
                answer = await link.call(request, LogsAnswer, answer_s=ANSWER_S_MAX + wait_s)
            except Refused as refused:
                if follow and refused.code == ErrorCode.NO_OUTPUT:
                    if await _started(events):
                        continue
                    return  # it ended without ever having run
                if follow and refused.code == ErrorCode.CLUSTER_OFFLINE and not await _has_ended(link, job):
                    if on_away is not None and not is_away:
                        on_away(refused.message)
                    is_away = True
                    await asyncio.sleep(next(away))
                    continue
                raise
            away, is_away = pauses(), False
            pieces = [Output.of(chunk) for chunk in answer.chunks if chunk.data]
            for piece in pieces:
                offsets[piece.stream] = piece.end
                yield piece
            if answer.done or (not follow and not pieces):
                return


async def _started(events: AsyncGenerator[Event, None]) -> bool:
    """Waits until the job runs. False when it has ended instead.

    Each call uses up an event, so a refusal is never answered by asking in a circle.
    """
    async for event in events:
        if event.event == "running":
            return True
    return False


async def _has_ended(link: Link, job: str) -> bool:
    found = (await link.call(Status(id=0, jobs=[job]), Jobs)).items
    return not found or found[0].state in TERMINAL_STATES
