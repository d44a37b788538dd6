"""Starting, resuming and stopping a federation on this machine."""

import asyncio
import fcntl
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from rainbow_client.client import Client
from rainbow_client.config import Config, ConfiguredCluster, read_config, write_config
from rainbow_client.errors import ConfigError, FederationError
from rainbow_client.local.layout import DAEMON, Layout
from rainbow_client.local.presets import Preset, preset
from rainbow_client.local.processes import Process, log_size, log_tail, reap, spawn
from rainbow_client.private_files import write_private
from rainbow_protocol.ids import REGISTRATION_PREFIX, new_secret
from rainbow_protocol.job import JOB_STATES, TERMINAL_STATES, Totals

READY_S_MAX = 30.0
STOP_GRACE_S = 10.0
LOOK_AGAIN_S = 0.02
CLUSTERS_MAX = 64
OPEN_JOBS_MAX = 10_000

Tell = Callable[[str], None]


class Federation:
    def __init__(self, root: Path, tell: Tell = lambda _: None) -> None:
        self.layout = Layout(root.absolute())
        self.started: list[Process] = []
        self._tell = tell
        self._log_starts: dict[str, int] = {}

    @property
    def config(self) -> Config:
        return read_config(self.layout.client_config)

    @property
    def exists(self) -> bool:
        return self.layout.daemon_config.exists()

    async def up(self, clusters: int | None = None, presets: Callable[[int], Preset] = preset) -> None:
        """Makes what is missing and starts what is not running; returns when every cluster is online."""
        self._make_directory()
        with self._alone():
            await self._start_daemon()
            await self._put_aside_deleted()
            wanted = clusters if clusters is not None else len(self.layout.agents()) if self.config.clusters else 3
            await self._register(wanted, presets)
            for name in self.layout.agents():
                self._start_agent(name)
            await self._all_online()

    async def down(self, only: list[Process] | None = None) -> list[Process]:
        """Stops agents first, so that they say goodbye to a daemon that is there, and then the daemon."""
        if only is not None and not only:
            return []
        with self._alone():
            running = self.running() if only is None else [process for process in only if process.alive()]
            agents = [process for process in running if process.name != DAEMON]
            await asyncio.gather(*(self._stop(process) for process in agents))
            for process in running:
                if process.name == DAEMON:
                    await self._stop(process)
        return running

    def running(self) -> list[Process]:
        names = [DAEMON, *self.layout.agents()]
        found = (Process.of_file(name, self.layout.pid_file(name)) for name in names)
        return [process for process in found if process is not None]

    def client(self) -> Client:
        return Client.from_config(self.config)

    async def open_jobs(self) -> list[str]:
        """The jobs that are not over, as far as there is a daemon to tell."""
        if Process.of_file(DAEMON, self.layout.pid_file(DAEMON)) is None:
            return []
        states = [state for state in JOB_STATES if state not in TERMINAL_STATES]
        async with self.client() as client:
            return [status.job for status in await client.jobs(states=states, limit=OPEN_JOBS_MAX)]

    async def cancel_jobs(self, within_s: float) -> int:
        """Cancels what is not over and waits for it to end. Returns how many jobs have not."""
        jobs = await self.open_jobs()
        if not jobs:
            return 0
        async with self.client() as client:
            await client.cancel(jobs)
            try:
                async with asyncio.timeout(within_s):
                    await client.wait(jobs)
            except TimeoutError:
                return len(await self.open_jobs())
        return 0

    # --- starting ---------------------------------------------------------

    def _make_directory(self) -> None:
        root = self.layout.root
        try:
            if self.layout.is_foreign():
                raise FederationError(
                    f"{root} holds other things and no federation", "Name a new or empty directory with --dir."
                )
            self.layout.make()
        except OSError as cause:
            raise ConfigError(f"{root}: {cause.strerror}", "Name another directory with --dir.") from None

    async def _start_daemon(self) -> None:
        layout = self.layout
        if Process.of_file(DAEMON, layout.pid_file(DAEMON)):
            return
        if not layout.registration_secret.exists():
            write_private(layout.registration_secret, new_secret(REGISTRATION_PREFIX) + "\n")
        if not layout.daemon_config.exists():
            # The first start takes any free port; it is then written down, so that the next one takes the same.
            self._write_daemon_config("127.0.0.1:0")
        layout.ready_file.unlink(missing_ok=True)
        daemon = self._spawn(DAEMON, [sys.executable, "-m", "rainbowd", "--config", str(layout.daemon_config)])
        await self.unless_dead([daemon], self._daemon_ready(), READY_S_MAX, "rainbowd was not ready")
        url = layout.ready_file.read_text().strip()
        self._write_daemon_config(url.partition("://")[2])
        known = self.config.clusters if layout.client_config.exists() else ()
        secret = layout.registration_secret.read_text().strip()
        write_config(layout.client_config, Config(url, secret, known))
        self._tell(f"rainbowd listens at {url}")

    def _write_daemon_config(self, listen: str) -> None:
        layout = self.layout
        settings: dict[str, Any] = {}
        if layout.daemon_config.exists():  # what a person added there stays
            settings = yaml.safe_load(layout.daemon_config.read_text()) or {}
        settings = {
            "database": str(layout.database),
            "registration_secret_file": str(layout.registration_secret),
            "ready_file": str(layout.ready_file),
            "log_format": "text",
            **settings,
            "listen": listen,
        }
        write_private(layout.daemon_config, yaml.safe_dump(settings, sort_keys=False))

    async def _daemon_ready(self) -> None:
        while not self.layout.ready_file.exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(LOOK_AGAIN_S)

    async def _put_aside_deleted(self) -> None:
        """A cluster may have been deleted from the daemon: its agent would only be turned away, again and again.

        Only one whose token is in the configuration can be told: without a token the daemon shows nothing of it.
        """
        known, config = set(self.layout.agents()), self.config
        if not known or not config.tokens:
            return
        async with self.client() as client:
            there = {cluster.name for cluster in await client.clusters()}
        deleted = [one.name for one in config.clusters if one.token and one.name in known and one.name not in there]
        for name in deleted:
            running = Process.of_file(name, self.layout.pid_file(name))
            if running is not None:
                await self._stop(running)
            aside = self.layout.put_aside(name)
            config = config.without_cluster(name)
            write_config(self.layout.client_config, config)
            self._tell(f"{name} was deleted from the daemon; what its agent had is in {aside}")

    async def _register(self, wanted: int, presets: Callable[[int], Preset]) -> None:
        config = self.config
        known = set(self.layout.agents())
        missing = [one for one in map(presets, range(wanted)) if one.name not in known][: max(0, wanted - len(known))]
        if not missing:
            return
        async with Client(config.daemon, registration_secret=config.registration_secret) as client:
            for one in missing:
                totals = Totals(nodes=one.nodes, cores_per_node=one.cores_per_node, gpus_per_node=one.gpus_per_node)
                made = await client.register_cluster(one.name, totals)
                if made.secret is None:
                    raise FederationError(
                        f"cluster {one.name} is registered, but {self.layout.agent_config(one.name)} is missing",
                        "Put the file back, or start afresh in another --dir.",
                    )
                self._write_agent_config(one, config.daemon, made.secret)
                config = config.with_cluster(ConfiguredCluster(one.name, made.token, made.secret))
                write_config(self.layout.client_config, config)

    def _write_agent_config(self, one: Preset, daemon: str, secret: str) -> None:
        settings = {
            "daemon": daemon,
            "name": one.name,
            "secret": secret,
            "state_dir": str(self.layout.agent_state(one.name)),
            "nodes": one.nodes,
            "cores_per_node": one.cores_per_node,
            "gpus_per_node": one.gpus_per_node,
            "price": {
                "per_node_hour": one.per_node_hour,
                "per_core_hour": one.per_core_hour,
                "per_gpu_hour": one.per_gpu_hour,
            },
            "log_format": "text",
            **({"queue_max": one.queue_max} if one.queue_max is not None else {}),
        }
        write_private(self.layout.agent_config(one.name), yaml.safe_dump(settings, sort_keys=False))

    def _start_agent(self, name: str) -> None:
        if Process.of_file(name, self.layout.pid_file(name)) is None:
            path = str(self.layout.agent_config(name))
            self._spawn(name, [sys.executable, "-m", "rainbow_agent", "run", "--config", path])

    def _spawn(self, name: str, command: list[str]) -> Process:
        self._log_starts[name] = log_size(self.layout.log_file(name))
        process = spawn(name, command, self.layout.pid_file(name), self.layout.log_file(name))
        self.started.append(process)
        return process

    async def _all_online(self) -> None:
        ours = self.layout.agents()
        if not ours:
            return

        async def online() -> None:
            async with self.client() as client:
                while True:
                    states = {cluster.name: cluster.state for cluster in await client.clusters()}
                    if all(states.get(name) == "online" for name in ours):
                        return
                    await asyncio.sleep(LOOK_AGAIN_S)

        await self.unless_dead(self.running(), online(), READY_S_MAX, "not every cluster was online")

    async def unless_dead(
        self, processes: list[Process], awaited: Awaitable[None], within_s: float, too_late: str
    ) -> None:
        """Waits for something that needs these processes; fails at once when one dies, with its last words."""
        waiting = asyncio.ensure_future(awaited)
        deaths = {asyncio.ensure_future(process.ended()): process for process in processes}
        try:
            await asyncio.wait({waiting, *deaths}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                await waiting
                return
            dead = next((process for death, process in deaths.items() if death.done()), None)
            if dead is None:
                raise FederationError(f"{too_late} within {within_s:g} s", f"See {self.layout.root / 'logs'}.")
            log_file = self.layout.log_file(dead.name)
            last_words = log_tail(log_file, self._log_starts.get(dead.name, 0))
            raise FederationError(f"{dead.name} has stopped:\n{last_words}", f"Its log is {log_file}.")
        finally:
            for task in (waiting, *deaths):
                task.cancel()
            await asyncio.wait({waiting, *deaths})

    # --- stopping ---------------------------------------------------------

    async def _stop(self, process: Process) -> None:
        willing = await process.stop(STOP_GRACE_S)
        self.layout.pid_file(process.name).unlink(missing_ok=True)
        reap()
        self._tell(f"stopped {process.name}" + ("" if willing else f" (killed: it did not stop in {STOP_GRACE_S:g} s)"))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Two commands never start or stop the same federation at once."""
        try:
            descriptor = os.open(self.layout.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as cause:
            raise ConfigError(f"{self.layout.root}: {cause.strerror}", "Name another directory with --dir.") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise FederationError(
                f"another `rainbow up` or `rainbow down` is at work in {self.layout.root}", "Try again when it is done."
            ) from None
        try:
            yield
        finally:
            os.close(descriptor)
