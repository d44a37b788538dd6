"""Puts the daemon together, runs it until it is told to stop, and takes it apart in order."""

import asyncio
import errno
import gc
import os
import signal
import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import structlog
from websockets.asyncio.server import Server as WebSocketServer

from rainbow_protocol import limits
from rainbow_protocol.ids import JobIds
from rainbow_protocol.service.notify import keep_watchdog_fed, notify
from rainbowd import __version__
from rainbowd.config import DaemonSettings
from rainbowd.core.machine import Core
from rainbowd.core.state import Job, Settings
from rainbowd.core.transitions import TERMINAL, JobState
from rainbowd.engine import Engine, steady_clock
from rainbowd.net.auth import Credentials
from rainbowd.net.describing import Describing
from rainbowd.net.pending import PendingAnswers
from rainbowd.net.relay import OutputRelay
from rainbowd.net.router import Router
from rainbowd.net.server import Server
from rainbowd.net.services import Services
from rainbowd.net.spool import SpoolFolder
from rainbowd.net.watchers import Watchers
from rainbowd.policies import PolicyRefusedError, of_site
from rainbowd.resources.asking import ask_of
from rainbowd.resources.match import GraphMatcher
from rainbowd.resources.model import ClassTable, UnreadableDescriptionError
from rainbowd.resources.workshop import Workshop
from rainbowd.store.db import lock
from rainbowd.store.repo import Repo
from rainbowd.store.stored import RetiredCluster

_log = structlog.get_logger()


class StartRefusedError(Exception):
    """The daemon cannot start, for a reason that the person who starts it can mend."""


def core_settings(settings: DaemonSettings) -> Settings:
    return Settings(
        bid_window_s=settings.bid_window_ms / 1000,
        fanout=settings.fanout,
        award_window_s=settings.award_window_s,
        restart_grace_s=settings.restart_grace_s,
        lost_after_s=settings.lost_after_s,
        groups={name: frozenset(members) for name, members in settings.groups.items()},
        policy_options=settings.policy_options,
        choose_offline=settings.choose_offline,
        site_keys_max=limits.STATE_KEYS_MAX,
        queue_ahead_max=settings.queue_ahead_max,
        bind_within_s=settings.bind_within_s,
        move_gain_s=settings.move_gain_s,
        move_gain_share=settings.move_gain_share,
        moves_max=settings.moves_max,
        move_pause_s=settings.move_pause_s,
        move_asks_max=settings.move_asks_max,
        history_events_max=limits.HISTORY_EVENTS_MAX,
        reason_chars_max=limits.REASON_CHARS_MAX,
    )


async def run(settings: DaemonSettings) -> None:
    """Returns after a graceful stop. Raises when the daemon must not or cannot go on."""
    secret = settings.read_registration_secret()
    folder = settings.database.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise StartRefusedError(f"database: the directory {folder} cannot be made: {cause.strerror}") from None
    with lock(settings.database):
        repo = await Repo.open(settings.database)
        try:
            await _serve(settings, secret, repo)
        finally:
            await repo.close()


async def _serve(settings: DaemonSettings, secret: str | None, repo: Repo) -> None:
    stop = _stop_on_signals()
    try:
        policies, site, default = of_site(settings.policy, settings.policies_allowed, settings.policy_options)
    except PolicyRefusedError as cause:
        raise StartRefusedError(str(cause)) from None
    core = Core(core_settings(settings), GraphMatcher(), default, policies.by_name())
    clock, table = steady_clock(), ClassTable()
    try:
        clusters = await repo.load_clusters(table.load)
    except UnreadableDescriptionError as cause:
        raise StartRefusedError(f"{settings.database}: {cause}; start the rainbowd that wrote it") from None
    jobs, retired = await repo.load_live_jobs(ask_of), await repo.load_retired()
    ends, failed_arrays = await _what_went_before(repo, jobs)
    restored = core.restore(clusters, jobs, clock(), _next_generations(retired), ends, failed_arrays)
    credentials, watchers, pending = Credentials(secret, clusters), Watchers(), PendingAnswers()
    for one in retired:
        credentials.retire(one.token_hash, one.retired)
    router = Router(credentials, watchers, pending)
    engine = Engine(core, repo, router, clock, limits.INBOX_COMMANDS_MAX)
    await engine.commit_first(restored)
    job_ids = JobIds(await repo.newest_job())
    spools = SpoolFolder(settings.database)
    spools.sweep()
    workshop = Workshop()
    describing = Describing(engine, repo, pending, workshop, table)
    services = Services(
        engine,
        repo,
        credentials,
        watchers,
        pending,
        OutputRelay(),
        router.sessions,
        job_ids,
        describing,
        spools,
        policies,
        site,
    )
    _calm_the_collector()
    engine_task = asyncio.create_task(engine.run(), name="engine")
    server = Server(services, lambda: not engine_task.done())
    try:
        listener = await server.listen(settings.host, settings.port)
    except OSError as cause:
        engine_task.cancel()
        raise StartRefusedError(f"listen: {settings.listen}: {_why_not(cause)}") from None
    try:
        url = _url(settings, listener)
        _announce(settings.ready_file, url)
        _log.info("rainbowd is ready", url=url, version=__version__, clusters=len(clusters), jobs_alive=len(jobs))
        if secret is None:
            _log.warning("no registration secret is set: no cluster can be registered")
        if settings.registration_secret_file is not None and settings.registration_secret_file.stat().st_mode & 0o007:
            _log.warning("others can read the registration secret", fix=f"chmod o= {settings.registration_secret_file}")
        await _until_stopped(engine, engine_task, stop)
    finally:
        notify("STOPPING=1")
        _withdraw(settings.ready_file)
        listener.close(close_connections=False)
        await workshop.aclose()
        await server.say_goodbye("the daemon is stopping")
        listener.close()
        await listener.wait_closed()
        _log.info("rainbowd has stopped")


async def _what_went_before(repo: Repo, jobs: Iterable[Job]) -> tuple[dict[str, JobState], set[str]]:
    """How the jobs and arrays ended that live jobs come after; and of which live arrays a member ended badly."""
    named = sorted({one.job for job in jobs for one in job.wishes.after})
    alive = {job.array for job in jobs if job.array is not None}
    arrays = await repo.arrays(sorted({*named, *alive}), None)
    failed = {name for name, state in arrays.items() if state is JobState.FAILED}
    ends = {name: state for name, state in arrays.items() if state in TERMINAL and name not in alive}
    return await repo.ends(named) | ends, failed


def _next_generations(retired: Iterable[RetiredCluster]) -> dict[str, int]:
    """By name. When they were deleted tells nothing: the clock may have been set back in between."""
    found: dict[str, int] = {}
    for one in retired:
        found[one.name] = max(found.get(one.name, 0), one.generation + 1)
    return found


def _calm_the_collector() -> None:
    """Jobs and messages hold no cycles, yet each round of the collector walks over all that are alive.

    With Python's defaults that took a fifth of a busy daemon's time. What was loaded is never looked at again, and
    what comes later seldom.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _why_not(cause: OSError) -> str:
    if cause.errno == errno.EADDRINUSE:
        return "the port is in use; choose another with --listen, or stop what uses it"
    return cause.strerror or str(cause)


def _stop_on_signals() -> asyncio.Event:
    """Set by SIGTERM and SIGINT. Asked for before anybody is told that the daemon is there to be stopped."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


async def _until_stopped(engine: Engine, engine_task: "asyncio.Task[None]", stop: asyncio.Event) -> None:
    """Until a signal says so, or until the engine fails."""
    notify("READY=1")
    watchdog = asyncio.create_task(keep_watchdog_fed(), name="watchdog")
    stopped = asyncio.create_task(stop.wait(), name="stop")
    try:
        await asyncio.wait({engine_task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        engine.stop()
        try:
            await engine_task
        except sqlite3.Error as cause:
            words = f"the database cannot be written ({cause}); nothing unwritten was told to anybody"
            raise StartRefusedError(words) from cause
    finally:
        for task in (watchdog, stopped):
            task.cancel()


def _url(settings: DaemonSettings, listener: WebSocketServer) -> str:
    port = next(iter(listener.sockets)).getsockname()[1]
    host = settings.host
    if host in ("0.0.0.0", "::", ""):  # noqa: S104 - compared, not bound
        host = "localhost"
    return f"ws://[{host}]:{port}" if ":" in host else f"ws://{host}:{port}"


def _announce(ready_file: Path | None, url: str) -> None:
    if ready_file is not None:
        fresh = ready_file.with_name(f"{ready_file.name}.{os.getpid()}")
        try:
            fresh.write_text(url + "\n")
            fresh.replace(ready_file)
        except OSError as cause:
            raise StartRefusedError(f"ready_file: {ready_file}: cannot be written: {cause.strerror}") from None


def _withdraw(ready_file: Path | None) -> None:
    if ready_file is not None:
        with suppress(FileNotFoundError):
            ready_file.unlink()
