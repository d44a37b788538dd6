"""Heavy work on descriptions, away from the daemon's loop: one job at a time, each in a process of its own.

So live auctions are not held up, the memory that a big graph takes is given back, and a document that needs too much
of anything is refused instead of harming the daemon.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import structlog

from rainbowd.resources import workshop_process as process
from rainbowd.resources.graph import GraphRefusedError

TIME_LIMIT_S = 120.0
MEMORY_BYTES_MAX = 1536 * 1024 * 1024
WAITING_MAX = 16
EXPORTS_MAX = 4  # of these: who may only look at clusters must not keep others from registering theirs

# What Python needs to find its libraries. Nothing else of the daemon's environment: there are secrets in it.
_ENVIRONMENT = ("PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "LANG", "LC_ALL", "TZ")

_log = structlog.get_logger()


class WorkshopFailedError(GraphRefusedError):
    """The document may be right, but the work on it was not finished: it took too long, or too much memory."""


class WorkshopBusyError(WorkshopFailedError):
    """Too many wait already."""


class WorkshopClosedError(WorkshopFailedError):
    """The daemon is stopping."""

    def __init__(self) -> None:
        super().__init__("the daemon is stopping; try again when it is back")


@dataclass(frozen=True, slots=True)
class Described:
    """`graph` and `subsystem` are packed, and empty where the job made none; `description` is of `classes.py`.

    `warnings` are about the document that was read, not about what was there before.
    """

    description: bytes
    graph: bytes = b""
    subsystem: bytes = b""
    vertices: int = 0
    warnings: list[str] = field(default_factory=list)


class Workshop:
    def __init__(
        self,
        time_limit_s: float = TIME_LIMIT_S,
        memory_bytes_max: int = MEMORY_BYTES_MAX,
        waiting_max: int = WAITING_MAX,
        exports_max: int = EXPORTS_MAX,
    ) -> None:
        self._time_limit_s = time_limit_s
        self._bounds = process.Bounds(memory_bytes_max, int(time_limit_s) + 5)
        self._waiting_max = waiting_max
        self._exports_max = exports_max
        self._waiting = 0
        self._exports = 0
        self._turn = asyncio.Lock()
        self._running: asyncio.subprocess.Process | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The process at work, if there is one."""
        return None if self._running is None else self._running.pid

    async def describe_cluster(self, spool: Path, length: int, packed_subsystems: Sequence[bytes] = ()) -> Described:
        """`spool` has the zlib-compressed document, `length` is that of the document itself."""
        document = process.Document(str(spool), length)
        return _told(await self._work(process.DescribeCluster(self._bounds, document, list(packed_subsystems))))

    async def attach_subsystem(
        self, packed_graph: bytes, others: Sequence[bytes], name: str, spool: Path, length: int
    ) -> Described:
        """One of `others` with the same name is replaced."""
        document = process.Document(str(spool), length)
        job = process.AttachSubsystem(self._bounds, packed_graph, list(others), name, document)
        return _told(await self._work(job))

    async def detach(self, packed_graph: bytes, remaining: Sequence[bytes]) -> Described:
        return _told(await self._work(process.Detach(self._bounds, packed_graph, list(remaining))))

    async def export(self, packed_graph: bytes, packed_subsystems: Sequence[bytes], name: str) -> bytes:
        """The zlib-compressed JSON document that tells all of it."""
        if self._exports >= self._exports_max:
            raise WorkshopBusyError("too many graphs are being fetched right now; try again in a minute")
        self._exports += 1
        try:
            job = process.Export(self._bounds, packed_graph, list(packed_subsystems), name)
            return (await self._work(job)).exported
        finally:
            self._exports -= 1

    async def aclose(self) -> None:
        """Ends what is under way and refuses what waits."""
        self._closed = True
        if self._running is not None and self._running.returncode is None:
            self._running.kill()
        async with self._turn:
            pass

    async def _work(self, job: process.Job) -> process.Done:
        if self._waiting >= self._waiting_max:
            raise WorkshopBusyError("too many descriptions are being read right now; try again in a minute")
        self._waiting += 1
        try:
            async with self._turn:
                return await self._alone(job)
        finally:
            self._waiting -= 1

    async def _alone(self, job: process.Job) -> process.Done:
        if self._closed:
            raise WorkshopClosedError
        # With -P, nothing of the directory where the daemon was started is taken for a library.
        child = self._running = await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            process.__name__,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(self._time_limit_s):
                answer, complaints = await child.communicate(msgspec.msgpack.encode(job))
        except TimeoutError as error:
            raise WorkshopFailedError(
                f"reading the document took longer than {self._time_limit_s:g} s, and was given up"
            ) from error
        finally:
            self._running = None
            if child.returncode is None:
                child.kill()
                await child.wait()
        if child.returncode == 0:
            return self._understood(msgspec.msgpack.decode(answer, type=process.Answer))
        raise self._broken(child.returncode, complaints)

    def _understood(self, answer: process.Answer) -> process.Done:
        if isinstance(answer, process.Refused):
            raise GraphRefusedError(answer.words)
        if isinstance(answer, process.OutOfMemory):
            raise self._too_much_memory()
        return answer

    def _too_much_memory(self) -> WorkshopFailedError:
        mebibytes = self._bounds.memory_bytes // 2**20
        return WorkshopFailedError(
            f"reading the document needed more than {mebibytes:,} MiB of memory; "
            "describe cores as pools (one vertex of type core with a size) instead of one by one"
        )

    def _broken(self, status: int | None, complaints: bytes) -> WorkshopFailedError:
        words = complaints.decode(errors="replace").strip()
        if self._closed:
            return WorkshopClosedError()
        if "MemoryError" in words or status == -signal.SIGKILL:
            return self._too_much_memory()
        if status == -signal.SIGXCPU:
            return WorkshopFailedError(f"reading the document took longer than {self._time_limit_s:g} s of computing")
        _log.error("workshop_broken", status=status, stderr=words[-4_000:])
        return WorkshopFailedError("reading the document failed; the daemon's log says why")


def _told(done: process.Done) -> Described:
    return Described(done.description, done.graph, done.subsystem, done.vertices, done.warnings)
