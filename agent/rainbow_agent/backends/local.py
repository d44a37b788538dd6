"""Jobs as processes of this machine, which may play a cluster of any declared size.

Each job runs under its own runner process that outlives the agent. The agent watches runners by pidfd, its own
children and adopted ones alike, and reads the truth from what the runner left in its directory.
"""

import asyncio
import os
import py_compile
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog

from rainbow_agent.backends import processes
from rainbow_agent.backends.base import OnBug, OutputFiles, Post, RunNews
from rainbow_agent.backends.demands import objection
from rainbow_agent.backends.launching import (
    DRIVER,
    RUNNER,
    LocalSettings,
    UnableError,
    kill_child,
    spawn,
    specification,
)
from rainbow_agent.backends.own_nodes import node_list
from rainbow_agent.backends.retention import Retention
from rainbow_agent.backends.rundir import Claim, RunDir, latest_run, tell
from rainbow_agent.core.commands import Fate, RunBegan, RunEnded, RunFenced
from rainbow_agent.core.effects import AttemptRow, Launch
from rainbow_agent.core.model import Key, Totals
from rainbow_protocol.job import JobRequest
from rainbow_protocol.messages.agent import Offer

LAUNCHES_MAX = 3  # of one attempt, when its runner keeps ending before it begins

log = structlog.get_logger()


@dataclass(slots=True)
class _Watched:
    """A living runner. `child` is ours to reap; an adopted one is not."""

    directory: RunDir
    pid: int
    pidfd: int | None  # None once it has ended: its number may be somebody else's by now
    time_limit_s: float | None
    child: bool
    ready: int | None = None  # where it says that it has claimed its run


class LocalBackend:
    name = "local"

    def __init__(
        self, settings: LocalSettings, post: Post, on_bug: OnBug, to_wall_s: Callable[[], float] = lambda: 0.0
    ) -> None:
        self._settings = settings
        self._post = post
        self._on_bug = on_bug
        self._to_wall_s = to_wall_s
        self._watched: dict[tuple[Key, int], _Watched] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="launch")
        self._janitor = ThreadPoolExecutor(1, thread_name_prefix="janitor")
        self._retention = Retention(settings.jobs_dir, settings.kept_jobs_max, settings.kept_bytes_max)
        settings.jobs_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Compiled once here, and not by every job for itself. It also keeps those that fit this agent while
        # an upgrade replaces the files around it.
        self._compiled = {source: settings.jobs_dir.parent / f"{source.stem}.pyc" for source in (RUNNER, DRIVER)}
        for source, compiled in self._compiled.items():
            py_compile.compile(str(source), cfile=str(compiled), doraise=True)

    def totals(self) -> Totals:
        return self._settings.totals

    def describe(self) -> Path | bytes:
        return self._settings.nodes_json or node_list(self._settings)

    def objection(self, asked: Offer | JobRequest) -> str | None:
        return objection(asked, self._settings)

    # --- running

    async def launch(self, launch: Launch) -> None:
        directory = RunDir(self._settings.jobs_dir, launch.key, launch.run)
        loop = asyncio.get_running_loop()
        try:
            spec = specification(launch, self._settings)
        except UnableError as cause:
            self._not_begun(launch, "returned", str(cause))
            return
        except ValueError as cause:
            self._not_begun(launch, "failed", f"the agent does not understand the job's request: {cause}")
            return
        runner, driver = self._runner(launch.run), self._driver(launch.run)
        try:
            pid, ready = await loop.run_in_executor(
                self._threads, spawn, runner, driver, directory, spec, self._settings.workdir
            )
        except OSError as cause:
            self._not_begun(launch, "returned", f"the agent could not start the job's runner: {cause}")
            return
        try:
            pidfd = os.pidfd_open(pid)
        except OSError as cause:  # no more file descriptors: what cannot be watched must not run
            log.error("cannot watch a runner, it is killed", pid=pid, cause=str(cause))
            os.close(ready)
            await loop.run_in_executor(self._threads, kill_child, pid)
            self._post(await self._fate(directory, launch.shape.time_limit_s))
            return
        watched = _Watched(directory, pid, pidfd, launch.shape.time_limit_s, child=True, ready=ready)
        loop.add_reader(ready, self._said_ready, watched)
        self._watch(watched)

    def _not_begun(self, launch: Launch, fate: Fate, words: str) -> None:
        log.warning("a job could not be started", job=launch.key.job, attempt=launch.key.attempt, words=words)
        self._post(RunEnded(launch.key, launch.run, fate, None, words))

    def _runner(self, run: int) -> Path:
        """The source for a second try, in case the first failed because the interpreter itself was replaced."""
        return self._compiled[RUNNER] if run == 1 else RUNNER

    def _driver(self, run: int) -> Path:
        return self._compiled[DRIVER] if run == 1 else DRIVER

    def kill(self, key: Key, run: int) -> None:
        """To the runner, which ends its job and says how. One that is gone already has said so."""
        watched = self._watched.get((key, run))
        if watched is not None and watched.pidfd is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(watched.pidfd, signal.SIGTERM)

    def output(self, key: Key) -> OutputFiles | None:
        directory = latest_run(self._settings.jobs_dir, key)
        if directory is None:
            return None
        result = directory.result()
        truncated = result is not None and (result["stdout_truncated"] or result["stderr_truncated"])
        return OutputFiles(directory.path / "stdout", directory.path / "stderr", result is not None, truncated)

    def discard(self, key: Key) -> None:
        self._janitor.submit(self._retention.add, key).add_done_callback(_log_failure)

    async def close(self) -> None:
        for watched in self._watched.values():
            self._unwatch(watched)
            self._forget_ready(watched)
        self._watched.clear()
        for task in self._ending:
            task.cancel()
        await asyncio.gather(*self._ending, return_exceptions=True)
        self._threads.shutdown()
        self._janitor.shutdown()

    # --- after a restart

    async def recover(self, rows: Sequence[AttemptRow], alive: frozenset[Key], same_boot: bool) -> list[RunNews]:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._janitor, self._retention.adopt, alive)
        news: list[RunNews] = []
        for row in rows:
            news += await self._recover_one(row, same_boot)
        return news

    async def _recover_one(self, row: AttemptRow, same_boot: bool) -> list[RunNews]:
        directory = RunDir(self._settings.jobs_dir, row.key, row.run)
        result = directory.result()
        if result is not None:
            fate = await self._fate(directory, row.shape.time_limit_s)
            return self._with_its_beginning(fate, directory, directory.claim())
        if not same_boot:
            # Whether it had begun cannot be told for sure any more, so it is not run again.
            return [RunEnded(row.key, row.run, "lost", None, "the machine was restarted before the job had ended")]
        while (claim := directory.claim()) is None:
            if directory.fence():
                return [RunFenced(row.key, row.run)]
        if claim.pid is None:
            return [RunFenced(row.key, row.run)]
        still_here = claim.boot_id == processes.boot_id()
        pidfd = processes.open_process(claim.pid, claim.ticks) if still_here else None
        if pidfd is not None:
            self._watch(_Watched(directory, claim.pid, pidfd, row.shape.time_limit_s, child=False))
            return [RunBegan(row.key, row.run, str(claim.pid))]
        fate = await self._fate(directory, row.shape.time_limit_s)
        return self._with_its_beginning(fate, directory, claim)

    def _with_its_beginning(self, fate: RunNews, directory: RunDir, claim: Claim | None) -> list[RunNews]:
        if isinstance(fate, RunEnded) and fate.fate == "returned":
            return [fate]
        native_id = None if claim is None or claim.pid is None or claim.pid < 0 else str(claim.pid)
        return [RunBegan(directory.key, directory.run, native_id, self._began_at(directory)), fate]

    def _began_at(self, directory: RunDir) -> float | None:
        result = directory.result()
        return None if result is None else result["started_at"] - self._to_wall_s()

    # --- watching

    def _watch(self, watched: _Watched) -> None:
        if watched.pidfd is not None:
            self._watched[watched.directory.key, watched.directory.run] = watched
            asyncio.get_running_loop().add_reader(watched.pidfd, self._ended, watched)

    def _unwatch(self, watched: _Watched) -> None:
        if watched.pidfd is not None:
            asyncio.get_running_loop().remove_reader(watched.pidfd)
            os.close(watched.pidfd)
            watched.pidfd = None

    def _said_ready(self, watched: _Watched) -> None:
        if watched.ready is not None and os.read(watched.ready, 1):
            self._post(RunBegan(watched.directory.key, watched.directory.run, str(watched.pid)))
        self._forget_ready(watched)  # at the end of file its pidfd has the news

    def _forget_ready(self, watched: _Watched) -> None:
        if watched.ready is not None:
            asyncio.get_running_loop().remove_reader(watched.ready)
            os.close(watched.ready)
            watched.ready = None

    def _ended(self, watched: _Watched) -> None:
        if watched.ready is not None:
            self._said_ready(watched)  # its word may have come together with its end
        if watched.child:
            os.waitpid(watched.pid, 0)
        self._unwatch(watched)
        task = asyncio.create_task(self._tell_end(watched))
        self._ending.add(task)
        task.add_done_callback(self._told)

    def _told(self, task: asyncio.Task[None]) -> None:
        self._ending.discard(task)
        if not task.cancelled() and (cause := task.exception()) is not None:
            self._on_bug(cause)

    async def _tell_end(self, watched: _Watched) -> None:
        news = await self._fate(watched.directory, watched.time_limit_s)
        del self._watched[watched.directory.key, watched.directory.run]
        self._post(news)

    async def _fate(self, directory: RunDir, time_limit_s: float | None) -> RunNews:
        """How a run ended whose runner is gone."""
        key, run = directory.key, directory.run
        result = directory.result()
        if result is not None:
            if result["kind"] in ("spawn", "unbegun"):
                words = result["words"]
                log.warning("a job could not be started", job=key.job, attempt=key.attempt, words=words)
            return tell(result, key, run, time_limit_s, result["finished_at"] - self._to_wall_s())
        claim = directory.claim()
        if claim is None and not directory.fence():
            claim = directory.claim()
        elif claim is None:
            words = directory.last_words()
            log.warning("a runner ended before it began", job=key.job, attempt=key.attempt, run=run, words=words)
            if run < LAUNCHES_MAX:
                return RunFenced(key, run)
            return RunEnded(key, run, "returned", None, f"the job's runner could not begin: {words}")
        if claim is not None and claim.pid is None:
            return RunFenced(key, run)
        killed = 0
        if claim is not None and claim.pid is not None:
            loop = asyncio.get_running_loop()
            killed = await loop.run_in_executor(self._threads, processes.kill_leftovers, claim.pid, claim.ticks, key)
        words = directory.last_words()
        log.warning("a runner vanished", job=key.job, attempt=key.attempt, run=run, killed=killed, words=words)
        reason = "the job's runner vanished without leaving a result" + (f": {words}" if words else "")
        return RunEnded(key, run, "lost", None, reason)


def _log_failure(done: Any) -> None:
    if (cause := done.exception()) is not None:
        log.warning("could not tidy up kept output", cause=str(cause))
