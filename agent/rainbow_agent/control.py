"""The running agent's socket for its site's people: one order, one answer, each a line of JSON.

It is in the state directory, for the agent's own account alone. What an order changes is on disk before it is
answered, and before the agent acts on it.
"""

import asyncio
import os
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import structlog

from rainbow_agent.core.site_state import Keys
from rainbow_agent.site_file import Site, SiteFile, SiteFileError
from rainbow_agent.site_orders import ORDER_BYTES_MAX, OrderError, Shown, obey, read_order

SOCKET = "control"
ORDER_TIMEOUT_S = 5.0
ORDERS_AT_ONCE_MAX = 8
_CREDENTIALS = struct.Struct("3i")  # pid, uid, gid

log = structlog.get_logger()


@contextmanager
def socket_address(directory: Path) -> Iterator[str]:
    """By way of the directory's descriptor: a path in it may be longer than a socket's address can be."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}/{SOCKET}"
    finally:
        os.close(fd)


class Control:
    """`on_change` is told what the site says now, after it was written; `beneath` asks for the keys that the
    agent tells by itself."""

    def __init__(
        self,
        directory: Path,
        site: Site,
        file: SiteFile,
        on_change: Callable[[Site], None],
        beneath: Callable[[], Keys],
    ) -> None:
        self._directory = directory
        self._site = site
        self._file = file
        self._on_change = on_change
        self._beneath = beneath
        self._server: asyncio.Server | None = None
        self._one_at_a_time = asyncio.Lock()
        self._talks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Whoever left a socket here is gone: the directory's lock is ours. Without one the agent works all the same:
        not every file system has sockets."""
        try:
            await self._listen()
        except OSError as cause:
            words = "`rainbow-agent drain`, `resume` and `state` cannot reach this agent while it runs"
            log.warning(words, directory=str(self._directory), cause=str(cause))

    async def _listen(self) -> None:
        (self._directory / SOCKET).unlink(missing_ok=True)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        try:
            with socket_address(self._directory) as address:
                listening.bind(address)
            (self._directory / SOCKET).chmod(0o600)
            self._server = await asyncio.start_unix_server(self._accept, sock=listening, limit=ORDER_BYTES_MAX)
        except BaseException:
            listening.close()
            raise

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            for talk in list(self._talks):
                talk.cancel()
            await asyncio.gather(*self._talks, return_exceptions=True)
            await self._server.wait_closed()
            (self._directory / SOCKET).unlink(missing_ok=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._talks) >= ORDERS_AT_ONCE_MAX:
            writer.close()
            return
        task = asyncio.create_task(self._talk(reader, writer))
        self._talks.add(task)
        task.add_done_callback(self._talks.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            answer = await self._answer(reader, writer)
            writer.write(answer.model_dump_json().encode() + b"\n")
            async with asyncio.timeout(ORDER_TIMEOUT_S):
                await writer.drain()
        except (OSError, TimeoutError) as cause:
            log.warning("an order was not finished", cause=str(cause) or type(cause).__name__)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Shown:
        uid = _peer_uid(writer)
        if uid != os.geteuid():
            log.warning("an order from another account, refused", uid=uid)
            return Shown(error="only the agent's own account may do this")
        try:
            async with asyncio.timeout(ORDER_TIMEOUT_S):
                line = await reader.readuntil(b"\n")
        except (asyncio.LimitOverrunError, asyncio.IncompleteReadError):
            return Shown(error=f"expected one line of JSON of at most {ORDER_BYTES_MAX} bytes")
        try:
            async with self._one_at_a_time:
                await self._obey(line)
        except (OrderError, SiteFileError) as cause:
            return Shown(error=str(cause))
        told = {**self._beneath(), **self._site.keys}
        return Shown(draining=self._site.draining, keys=self._site.keys, told=told, running=True)

    async def _obey(self, line: bytes) -> None:
        order = read_order(line)
        site = obey(order, self._site)
        if site == self._site:
            return
        await asyncio.get_running_loop().run_in_executor(None, self._file.save, site)
        self._site = site
        self._on_change(site)
        log.info("the site has spoken", order=order.order, draining=site.draining, keys=len(site.keys))


def _peer_uid(writer: asyncio.StreamWriter) -> int:
    peer: socket.socket = writer.get_extra_info("socket")
    _, uid, _ = _CREDENTIALS.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return int(uid)
