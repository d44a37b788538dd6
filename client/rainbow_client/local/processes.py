"""Processes that outlive the command which started them, and are never mistaken for others.

A pid file holds the pid and the moment that process began. A pid that was given
to another process since then has another moment, and is left alone. Signals go
through a pidfd, opened before the check, so that nothing can change in between.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rainbow_client.private_files import write_private

LOG_TAIL_LINES = 12
_TAIL_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Process:
    name: str
    pid: int
    began: str  # clock ticks since boot, with the boot's id: together they name one process for ever

    @classmethod
    def of_file(cls, name: str, pid_file: Path) -> Self | None:
        """The process that the file names, if it is alive."""
        try:
            pid, began = pid_file.read_text().split()
            process = cls(name, int(pid), began)
        except (FileNotFoundError, ValueError):
            return None
        return process if process.alive() else None

    def alive(self) -> bool:
        return _began(self.pid) == self.began

    def write(self, pid_file: Path) -> None:
        write_private(pid_file, f"{self.pid} {self.began}\n")

    def signal(self, number: signal.Signals) -> None:
        descriptor = self._pidfd()
        if descriptor is None:
            return
        with closing(_Descriptor(descriptor)):
            try:
                signal.pidfd_send_signal(descriptor, number)
            except ProcessLookupError:
                return  # it ended by itself: that is what the signal was for

    async def ended(self) -> None:
        """Returns when the process is no more."""
        descriptor = self._pidfd()
        if descriptor is None:
            return
        loop = asyncio.get_running_loop()
        gone = asyncio.Event()
        with closing(_Descriptor(descriptor)):
            loop.add_reader(descriptor, gone.set)
            try:
                await gone.wait()
            finally:
                loop.remove_reader(descriptor)

    async def stop(self, grace_s: float) -> bool:
        """TERM, and KILL for one that has not ended after the grace. True if TERM was enough."""
        self.signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(grace_s):
                await self.ended()
        except TimeoutError:
            self.signal(signal.SIGKILL)
            await self.ended()
            return False
        return True

    def _pidfd(self) -> int | None:
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return None
        if self.alive():
            return descriptor
        os.close(descriptor)
        return None


@dataclass(slots=True)
class _Descriptor:
    number: int

    def close(self) -> None:
        os.close(self.number)


def spawn(name: str, command: Sequence[str], pid_file: Path, log_file: Path) -> Process:
    """Starts the command in a session of its own: a Ctrl-C in this terminal is not meant for it."""
    descriptor = os.open(log_file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with closing(_Descriptor(descriptor)):
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            start_new_session=True,
            env=_environment(),
            cwd="/",
        )
    _children.append(child)
    process = Process(name, child.pid, _began(child.pid) or "ended")
    process.write(pid_file)
    return process


def reap() -> None:
    """Collects the children that have ended; init does it for those that outlive this command."""
    _children[:] = [child for child in _children if child.poll() is None]


def log_size(log_file: Path) -> int:
    return log_file.stat().st_size if log_file.exists() else 0


def log_tail(log_file: Path, since: int = 0) -> str:
    """The last lines of the log, none from before the byte `since`: those are about an earlier life."""
    try:
        with log_file.open("rb") as file:
            file.seek(max(since, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            lines = file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return ""
    return "\n".join(lines[-LOG_TAIL_LINES:])


_children: list["subprocess.Popen[bytes]"] = []


def _environment() -> dict[str, str]:
    """Without RAINBOW_* and systemd's variables: those were meant for the command, not for what it starts."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RAINBOW_", "WATCHDOG_")) and name != "NOTIFY_SOCKET"
    }


def _began(pid: int) -> str | None:
    """None when there is no such process, or only its unclaimed remains."""
    try:
        # The name, in parentheses, may itself hold blanks and parentheses: what counts comes after the last one.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, ticks = fields[0], fields[19]
    return None if state in ("Z", "X") else f"{boot}/{ticks}"
