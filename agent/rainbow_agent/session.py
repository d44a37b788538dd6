"""The session to the daemon: connect, say who we are, carry frames both ways, and come back when it breaks."""

import asyncio
import ipaddress
import random
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import structlog
from pydantic import BaseModel
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.frames import CloseCode
from websockets.protocol import State
from websockets.typing import Subprotocol

from rainbow_agent import __version__
from rainbow_agent.core.backoff import Backoff
from rainbow_protocol import AGENT_PATH, SUBPROTOCOL, limits
from rainbow_protocol.codec import encode, to_agent
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.messages.agent import AgentWelcome, ToAgent
from rainbow_protocol.messages.common import Error, Goodbye, error

CLOSE_TIMEOUT_S = 2.0
# Refusals that will not pass by themselves: asking again soon would only be noise.
SLOW_CODES = frozenset({ErrorCode.CLUSTER_BUSY, ErrorCode.UNAUTHORIZED, ErrorCode.NOT_ALLOWED})

log = structlog.get_logger()


class RefusedError(Exception):
    """The daemon does not want this agent; the message says what to do."""


class Link:
    """The way out of one session. Frames wait here while the socket is slow; too many end the session."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection
        # With each frame, who waits until it is on its way, if anybody does.
        self._frames: asyncio.Queue[tuple[bytes, asyncio.Future[None] | None]] = asyncio.Queue(
            limits.SEND_QUEUE_FRAMES_MAX
        )
        self.closed = False

    def send(self, message: BaseModel) -> None:
        """To a session that is gone this does nothing: what matters is sent again in the next."""
        self._put(message, None)

    async def send_whole(self, message: BaseModel) -> None:
        """Returns when the socket has taken it: for large frames, of which only one should be in memory.

        In a session that breaks meanwhile it never returns; whoever calls it is told of the end, and cancels it.
        """
        if not self.closed:
            taken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._put(message, taken)
            await taken

    def _put(self, message: BaseModel, taken: "asyncio.Future[None] | None") -> None:
        if self.closed:
            return
        try:
            self._frames.put_nowait((encode(message), taken))
        except asyncio.QueueFull:
            log.warning("the daemon reads too slowly, the session is ended", frames=limits.SEND_QUEUE_FRAMES_MAX)
            self.closed = True

    async def write(self) -> None:
        while not self.closed:
            frame, taken = await self._frames.get()
            try:
                with _closed_transport_is_closed(self._connection):
                    await self._connection.send(frame, text=True)
                if taken is not None and not taken.done():
                    taken.set_result(None)
            except ConnectionClosed:
                self.closed = True
            finally:
                self._frames.task_done()
        await _close(self._connection)

    async def close(self) -> None:
        """Send what waits here, then end the session as one does."""
        await self._frames.join()
        await _close(self._connection, CloseCode.GOING_AWAY)


async def _close(connection: ClientConnection, code: CloseCode = CloseCode.NORMAL_CLOSURE) -> None:
    with suppress(ConnectionClosed), _closed_transport_is_closed(connection):
        await connection.close(code)


@contextmanager
def _closed_transport_is_closed(connection: ClientConnection) -> Iterator[None]:
    """Python 3.11 fails with AttributeError when a transport that closed with bytes unsent is aborted once more.

    websockets does that when the peer closes in the middle of a large frame. It means: closed.
    """
    try:
        yield
    except AttributeError:
        if connection.state is not State.CLOSED:
            raise
        raise connection.protocol.close_exc from None


class Receiver(Protocol):
    """What the session tells the app. `received` may wait: then the socket is not read."""

    async def opened(self, link: Link) -> None: ...
    async def received(self, message: ToAgent, link: Link) -> None: ...
    async def closed(self, link: Link) -> None: ...


@dataclass(frozen=True, slots=True)
class Target:
    url: str
    secret: str
    ca_file: Path | None = None

    @property
    def endpoint(self) -> str:
        parts = urlsplit(self.url)
        return self.url if parts.path not in ("", "/") else parts._replace(path=AGENT_PATH).geturl()

    @property
    def is_loopback(self) -> bool:
        host = urlsplit(self.url).hostname or ""
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost" or host.endswith(".localhost")

    def tls(self) -> ssl.SSLContext | None:
        if urlsplit(self.url).scheme != "wss":
            return None
        return ssl.create_default_context(cafile=self.ca_file)


class Connector:
    """Keeps a session, for ever: `run` never returns, and raises RefusedError if told not to come back."""

    def __init__(self, target: Target, receiver: Receiver, rand: Callable[[], float] = random.random) -> None:
        self._target = target
        self._receiver = receiver
        self._random = rand
        self._backoff = Backoff()
        self._ever_welcomed = False
        self._slow = False

    async def run(self) -> None:
        while True:
            self._slow = False
            try:
                await self._session()
            except InvalidStatus as refusal:
                self._handshake_refused(refusal)
            except (InvalidHandshake, InvalidURI, OSError, TimeoutError) as cause:
                log.warning(
                    "cannot reach the daemon", daemon=self._target.url, cause=str(cause) or type(cause).__name__
                )
            delay = self._backoff.slow_delay_s if self._slow else self._backoff.next_delay_s
            await asyncio.sleep(delay(self._random()))

    def _handshake_refused(self, refusal: InvalidStatus) -> None:
        status = refusal.response.status_code
        if status == 401:
            words = (
                f"the daemon at {self._target.url} does not know this cluster's secret (401). Use the secret that "
                "its registration returned (secret_file); if the cluster was deleted, or its secret is lost, register "
                "it anew with `rainbow register cluster NAME` (after `rainbow delete cluster NAME` if it still exists)"
            )
            if not self._ever_welcomed:
                raise RefusedError(words)
            # It knew us before: somebody is at work on the daemon, and jobs may be running here.
            self._slow = True
            log.error("refused by the daemon", words=words)
            return
        log.warning("the daemon refused the handshake", daemon=self._target.url, status=status)

    async def _session(self) -> None:
        target = self._target
        connection = await connect(
            target.endpoint,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            additional_headers={"Authorization": f"Bearer {target.secret}"},
            user_agent_header=f"rainbow-agent/{__version__}",
            compression=None,
            max_size=limits.FRAME_BYTES_MAX,
            ping_interval=limits.PING_INTERVAL_S,
            ping_timeout=limits.PING_TIMEOUT_S,
            close_timeout=CLOSE_TIMEOUT_S,
            proxy=None if target.is_loopback else True,
            ssl=target.tls(),
        )
        try:
            await self._converse(connection)
        finally:
            await _close(connection)

    async def _converse(self, connection: ClientConnection) -> None:
        if connection.subprotocol != SUBPROTOCOL:
            log.warning("the daemon does not speak our protocol", ours=SUBPROTOCOL, theirs=connection.subprotocol)
            self._slow = True
            return
        link = Link(connection)
        writer = asyncio.create_task(link.write())
        try:
            await self._receiver.opened(link)
            await self._read(connection, link)
        finally:
            link.closed = True
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
            await self._receiver.closed(link)

    async def _read(self, connection: ClientConnection, link: Link) -> None:
        try:
            async for frame in connection:
                try:
                    message = to_agent.decode(frame)
                except ProtocolError as cause:
                    log.warning("a frame from the daemon makes no sense", code=cause.code.value, words=cause.message)
                    link.send(error(cause.code, cause.message, cause.ref))
                    continue
                if not await self._take(message, link):
                    return
        except ConnectionClosed as cause:
            log.warning("the session broke", cause=str(cause))
            return
        log.info("the daemon closed the session")

    async def _take(self, message: ToAgent, link: Link) -> bool:
        """False ends the session."""
        match message:
            case Goodbye(reason=reason, reconnect=reconnect):
                log.info("the daemon says goodbye", reason=reason, reconnect=reconnect)
                if not reconnect:
                    raise RefusedError(f"the daemon at {self._target.url} sent this agent away: {reason}")
                return False
            case Error(code=code, message=words, hint=hint):
                self._slow = self._slow or code in SLOW_CODES
                log.warning("the daemon reports an error", code=code, words=words, hint=hint)
                return True
            case AgentWelcome():
                self._ever_welcomed = True
                self._backoff.welcomed()
        await self._receiver.received(message, link)
        return True
