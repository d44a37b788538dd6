"""Tells the daemon what this cluster has: its description, when asked for it and when it has changed.

A description that cannot be sent, or that is refused, is the operator's to mend: it is told in the log and in the
status, and the agent goes on with what the daemon has.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import structlog

from rainbow_agent.description import Description, DescriptionChangedError, DescriptionError, Source, parts, survey
from rainbow_agent.session import Link
from rainbow_protocol.limits import REASON_CHARS_MAX
from rainbow_protocol.messages.agent import GraphTaken
from rainbow_protocol.wire import one_line

PAUSE_S = (5.0, 15.0)  # before it is sent again to a daemon that was busy
TRIES_MAX = 3  # to send a file that is being written meanwhile

log = structlog.get_logger()


class Announcer:
    """`on_news` is called when `trouble` has changed, `on_bug` for what nobody foresaw."""

    def __init__(
        self,
        describe: Callable[[], Source],
        on_news: Callable[[], None],
        on_bug: Callable[[BaseException], None],
        rand: Callable[[], float] = random.random,
    ) -> None:
        self._describe = describe
        self._random = rand
        self.pause_s = PAUSE_S
        self._on_news = on_news
        self._on_bug = on_bug
        self._current: Description | None = None
        self._told: str | None = None  # the digest in this session's hello
        self._link: Link | None = None  # of a session that was welcomed
        self._sendings: set[asyncio.Task[None]] = set()  # one, and perhaps one that waits for it
        self._looking: asyncio.Task[None] | None = None
        self._unsent: str | None = None  # why what describes the cluster now could not be sent
        self._refused: str | None = None  # why the daemon did not take it

    @property
    def trouble(self) -> str | None:
        """Why the daemon does not have the current description; None if it has, or will soon."""
        return self._unsent or self._refused

    async def look(self) -> None:
        """Before the first hello. DescriptionError if there is no description that could be sent."""
        self._current = await asyncio.to_thread(lambda: survey(self._describe()))

    def introduce(self) -> str | None:
        """The digest for a hello."""
        self._told = None if self._current is None else self._current.digest
        return self._told

    def welcomed(self, link: Link, wanted: bool) -> None:
        self._link = link
        if self._current is not None and (wanted or self._current.digest != self._told):
            self._send()

    def taken(self, message: GraphTaken) -> None:
        if self._current is None or message.digest != self._current.digest:
            return  # about one that was replaced meanwhile
        if message.busy and self._link is not None:
            log.info("the daemon is too busy to read this cluster's description, it is sent again in a while")
            self._begin_sending(self._send_again(self._link, set(self._sendings)))
            return
        if message.error is None:
            log.info("the daemon has taken this cluster's description", digest=message.digest)
        refused = None if message.error is None else f"the daemon refused this cluster's description: {message.error}"
        self._note(None, refused)

    def gone(self) -> None:
        """The session is over."""
        self._link = None
        self._stop(*self._sendings)

    def look_again(self) -> None:
        """The cluster may have changed: read its description again, and send it if it is another one."""
        if self._looking is not None:
            self._stop(self._looking)
        self._looking = self._begin(self._look_again())

    async def close(self) -> None:
        tasks = {*self._sendings} if self._looking is None else {*self._sendings, self._looking}
        self._stop(*tasks)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _look_again(self) -> None:
        before = self._current
        try:
            await self.look()
        except DescriptionError as cause:
            self._note(f"the cluster's description stays as it was: {cause}", self._refused)
            return
        if self._current == before:
            log.info("this cluster's description has not changed")
            self._note(None, self._refused)
            return
        log.info("this cluster's description has changed")
        self._note(None, None)
        if self._link is not None:
            self._send()

    def _send(self) -> None:
        self._stop(*self._sendings)
        if self._link is not None:
            self._begin_sending(self._send_parts(self._link))

    async def _send_again(self, link: Link, before: "set[asyncio.Task[None]]") -> None:
        """Not at once, nor all clusters at the same time. What is being sent is sent to its end, so that the next
        part that the daemon gets is a first one."""
        if before:
            await asyncio.wait(before)
        soonest_s, latest_s = self.pause_s
        await asyncio.sleep(soonest_s + (latest_s - soonest_s) * self._random())
        await self._send_parts(link)

    async def _send_parts(self, link: Link) -> None:
        for _ in range(TRIES_MAX):
            if self._current is None:
                return
            cut = parts(self._current)
            try:
                while (part := await asyncio.to_thread(next, cut, None)) is not None:
                    await link.send_whole(part)
            except DescriptionChangedError:
                try:
                    await self.look()
                except DescriptionError as cause:
                    self._note(str(cause), self._refused)
                    return
            except DescriptionError as cause:
                self._note(str(cause), self._refused)
                return
            else:
                return
        self._note(f"the cluster's description changed {TRIES_MAX} times while it was sent; send SIGHUP when it rests")

    def _note(self, unsent: str | None, refused: str | None = None) -> None:
        before = self.trouble
        self._unsent, self._refused = _fit_to_show(unsent), _fit_to_show(refused)
        if unsent is not None or (refused is not None and self.trouble != before):
            log.error("the daemon does not have this cluster's description", words=self.trouble)
        if self.trouble != before:
            self._on_news()

    def _begin(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        task.add_done_callback(self._done)
        return task

    def _begin_sending(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._begin(work)
        self._sendings.add(task)
        task.add_done_callback(self._sendings.discard)

    def _stop(self, *tasks: "asyncio.Task[None]") -> None:
        for task in tasks:
            task.cancel()

    def _done(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (cause := task.exception()) is not None:
            self._on_bug(cause)


def _fit_to_show(words: str | None) -> str | None:
    """Others have written parts of it, and a line end would let them say more than a status to systemd."""
    return None if words is None else one_line(words)[:REASON_CHARS_MAX]
