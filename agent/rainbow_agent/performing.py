"""Does what the machine wants done, in the order that makes a restart safe: to disk first, then to anybody else."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import structlog

from rainbow_agent import translate
from rainbow_agent.backends.base import Backend, OnBug
from rainbow_agent.core import effects as e
from rainbow_agent.journal import Journal
from rainbow_agent.session import Link
from rainbow_protocol.messages import agent as wire

log = structlog.get_logger()


class Performer:
    """`hello` makes the first message of a session; `on_bug` is for what nobody foresaw."""

    def __init__(
        self,
        journal: Journal,
        backend: Backend,
        hello: Callable[[e.State], wire.AgentHello],
        to_wall_s: Callable[[], float],
        on_bug: OnBug,
    ) -> None:
        self._journal = journal
        self._journal_thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._backend = backend
        self._hello = hello
        self._to_wall_s = to_wall_s
        self._on_bug = on_bug
        self._launches: set[asyncio.Task[None]] = set()

    async def perform(self, steps: Sequence[tuple[Link | None, list[e.Effect]]], boot: str | None = None) -> None:
        """What is to be stored, all of the batch in one transaction; only then the rest."""
        stored = [effect for _, effects in steps for effect in effects if isinstance(effect, e.Stored)]
        if stored or boot is not None:
            await self.write(self._journal.commit, stored, boot)
        reports: list[e.Report] = []
        reporting: Link | None = None
        for link, effects in steps:
            for effect in effects:
                if isinstance(effect, e.SendReports) and link is not None:
                    if link is not reporting:
                        self._send_reports(reporting, reports)
                        reporting, reports = link, []
                    reports += effect.items
                else:
                    self._do(effect, link)
        self._send_reports(reporting, reports)

    async def write(self, what: Callable[..., None], *arguments: Any) -> None:
        """In the journal's own thread, one after the other."""
        await asyncio.get_running_loop().run_in_executor(self._journal_thread, what, *arguments)

    async def launched(self) -> None:
        """All launches that are on their way have got there."""
        await asyncio.gather(*self._launches, return_exceptions=True)

    def close(self) -> None:
        self._journal_thread.shutdown()

    def _send_reports(self, link: Link | None, reports: Sequence[e.Report]) -> None:
        if link is not None:
            for message in translate.reports(reports, self._to_wall_s()):
                link.send(message)

    def _do(self, effect: e.Effect, link: Link | None) -> None:
        match effect:
            case e.Launch():
                task = asyncio.create_task(self._backend.launch(effect))
                self._launches.add(task)
                task.add_done_callback(self._launch_done)
            case e.Kill(key, run):
                self._backend.kill(key, run)
            case e.Discard(key):
                self._backend.discard(key)
            case e.Note(event, key, details, warning):
                known: dict[str, Any] = {} if key is None else {"job": key.job, "attempt": key.attempt}
                (log.warning if warning else log.info)(event, **known, **details)
            case e.SendHello(state):
                if link is not None:
                    link.send(self._hello(state))
            case _:
                if link is not None and isinstance(effect, e.Sent):
                    for message in translate.messages(effect):
                        link.send(message)

    def _launch_done(self, task: asyncio.Task[None]) -> None:
        self._launches.discard(task)
        if not task.cancelled() and (cause := task.exception()) is not None:
            self._on_bug(cause)
