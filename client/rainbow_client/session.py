"""One connection to the daemon: the handshake, hello, and answers matched to requests.

A session never mends itself: when it breaks, everything that waits on it gets
`SessionLost`, and `link.py` decides what to do about that.
"""

import asyncio
import itertools
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.protocol import State
from websockets.typing import Subprotocol

from rainbow_client.errors import ConfigError, ConnectionFailed, Refused, SessionLost, Unauthorized
from rainbow_client.feed import Feed
from rainbow_client.identity import login_name
from rainbow_protocol import CLIENT_PATH, SUBPROTOCOL, limits
from rainbow_protocol.codec import encode, to_client
from rainbow_protocol.errors import ProtocolError
from rainbow_protocol.messages.client import Answer, ClientHello, ClientWelcome, Events, Request, Unwatch, Watch
from rainbow_protocol.messages.common import Error, Goodbye

log = logging.getLogger("rainbow_client")

OPEN_S_MAX = 10.0
CLOSE_S_MAX = 2.0
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def refusal(error: Error) -> Refused:
    return Refused(error.code, error.message, error.hint)


class Session:
    def __init__(self, websocket: ClientConnection) -> None:
        self.clusters: list[str] = []
        self.unknown_tokens: list[int] = []
        self._websocket = websocket
        self._ids = itertools.count(1)
        self._slots = asyncio.Semaphore(limits.REQUESTS_IN_FLIGHT_MAX)  # more wait here instead of in the daemon
        self._waiting: dict[int, asyncio.Future[Answer | Error]] = {}
        self._feeds: dict[int, Feed] = {}
        self._watched: dict[int, frozenset[str]] = {}
        self._lost: SessionLost | None = None
        self._reader = asyncio.create_task(self._read(), name="rainbow session reader")

    @classmethod
    async def open(cls, url: str, credential: str, further_tokens: list[str]) -> "Session":
        session = cls(await _handshake(url, credential))
        try:
            async with asyncio.timeout(limits.HELLO_TIMEOUT_S):
                answer = await session.ask(ClientHello(id=0, tokens=further_tokens, user=login_name()))
            if isinstance(answer, Error):
                raise refusal(answer)
            if not isinstance(answer, ClientWelcome):
                raise ConnectionFailed(f"the daemon answered hello with {type(answer).__name__}")
        except TimeoutError:
            await session.close()
            raise SessionLost(f"{url} did not answer hello within {limits.HELLO_TIMEOUT_S:g} s") from None
        except BaseException:
            await session.close()
            raise
        session.clusters, session.unknown_tokens = answer.clusters, answer.unknown_tokens
        return session

    @property
    def lost(self) -> bool:
        return self._lost is not None

    async def ask(self, request: Request) -> Answer | Error:
        """Sends the request under a fresh id and waits for what answers it."""
        async with self._slots:
            number = next(self._ids)
            answer: asyncio.Future[Answer | Error] = asyncio.get_running_loop().create_future()
            self._waiting[number] = answer
            try:
                await self._send(request, number)
                return await answer
            finally:
                del self._waiting[number]
                if answer.done() and not answer.cancelled():
                    answer.exception()  # seen: when sending failed too, nobody else will look at it

    async def watch(self, jobs: list[str], since: int, feed: Feed) -> int:
        """Events of these jobs go to the feed from now on. Returns the number to end that by."""
        number = next(self._ids)
        self._feeds[number] = feed
        self._watched[number] = frozenset(jobs)
        await self._send(Watch(id=0, jobs=jobs, since=since), number)
        return number

    async def unwatch(self, watches: list[int]) -> None:
        """Ends these watches; a job that another watch of this session follows stays watched."""
        mine = [self._watched.pop(number) for number in watches]
        for number in watches:
            del self._feeds[number]
        others = frozenset().union(*self._watched.values())
        for jobs in mine:
            if jobs - others and not self.lost:
                await self.ask(Unwatch(id=0, jobs=sorted(jobs - others)))

    async def close(self) -> None:
        if not self.lost:
            await self._shut()
        await self._reader

    async def _shut(self, code: int = 1000) -> None:
        with suppress(ConnectionClosed), _closed_transport_is_closed(self._websocket):
            await self._websocket.close(code)

    async def _send(self, request: Request, number: int) -> None:
        if self._websocket.state is not State.OPEN:
            await asyncio.shield(self._reader)  # about to say why
        if self._lost is not None:
            raise self._lost
        try:
            with _closed_transport_is_closed(self._websocket):
                await self._websocket.send(encode(request.model_copy(update={"id": number})), text=True)
        except ConnectionClosed as cause:
            raise self._lost or SessionLost(_words(cause)) from None

    async def _read(self) -> None:
        farewell: Goodbye | None = None
        try:
            while True:
                message = to_client.decode(await self._websocket.recv())
                if isinstance(message, Goodbye):
                    farewell = message
                elif isinstance(message, Error) and message.ref is None:
                    log.warning("the daemon reports: %s (%s)", message.message, message.code)
                else:
                    self._deliver(message)
        except ConnectionClosed as cause:
            reason = farewell.reason if farewell else _words(cause)
            lost = SessionLost(f"the daemon closed the connection: {reason}", farewell.reconnect if farewell else True)
        except ProtocolError as cause:
            # A daemon that speaks another language will not get better by asking again.
            lost = SessionLost(f"the daemon sent what this client cannot read: {cause.message}", reconnect=False)
            await self._shut(1002)
        self._lost = lost
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(lost)
        for feed in self._feeds.values():
            feed.end()

    def _deliver(self, message: Any) -> None:
        feed = self._feeds.get(message.ref)
        if feed is not None:
            if isinstance(message, Events):
                feed.push(message)
            elif isinstance(message, Error):
                feed.end(refusal(message))
            return
        answer = self._waiting.get(message.ref)
        if answer is not None and not answer.done():  # else: the asker gave up
            answer.set_result(message)


@contextmanager
def _closed_transport_is_closed(websocket: ClientConnection) -> Iterator[None]:
    """Python 3.11 fails with AttributeError when a transport that closed with bytes unsent is aborted once more.

    websockets does that when the peer closes in the middle of a large frame. It means: closed.
    """
    try:
        yield
    except AttributeError:
        if websocket.state is not State.CLOSED:
            raise
        raise websocket.protocol.close_exc from None


async def _handshake(url: str, credential: str) -> ClientConnection:
    where = urlsplit(url)
    try:
        return await connect(
            url.rstrip("/") + CLIENT_PATH,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            additional_headers={"Authorization": f"Bearer {credential}"},
            compression=None,
            proxy=None if where.hostname in _LOOPBACK else True,
            max_size=limits.FRAME_BYTES_MAX,
            open_timeout=OPEN_S_MAX,
            close_timeout=CLOSE_S_MAX,
            ping_interval=limits.PING_INTERVAL_S,
            ping_timeout=limits.PING_TIMEOUT_S,
        )
    except InvalidURI:
        raise ConfigError(f"daemon: {url!r} is not a WebSocket address", "Write it as ws://HOST:PORT.") from None
    except InvalidStatus as cause:
        status = cause.response.status_code
        if status == 401:
            raise Unauthorized(f"the daemon at {url} does not know this credential") from None
        if status >= 500:
            raise SessionLost(f"{url} answered HTTP {status}") from None
        raise ConnectionFailed(
            f"{url} answered HTTP {status}: it does not seem to be a Rainbow daemon", "Check the daemon's address."
        ) from None
    except InvalidHandshake as cause:
        raise ConnectionFailed(
            f"{url} does not speak {SUBPROTOCOL}: {cause}", "Check the daemon's address and version."
        ) from None
    except TimeoutError:
        raise SessionLost(f"{url} did not answer within {OPEN_S_MAX:g} s") from None
    except OSError as cause:
        raise SessionLost(f"cannot reach the daemon at {url}: {_os_words(cause)}") from None


def _words(cause: ConnectionClosed) -> str:
    if cause.rcvd is None:
        return "the connection broke"
    return cause.rcvd.reason or f"code {cause.rcvd.code}"


def _os_words(cause: OSError) -> str:
    if isinstance(cause, socket.gaierror) or not cause.errno:
        # A name that does not resolve, or the failures of several addresses gathered into one message.
        return (cause.strerror or str(cause)).rstrip(".")
    return os.strerror(cause.errno).lower()
