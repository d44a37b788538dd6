"""One WebSocket connection: a bounded queue outward, and a writer that empties it."""

import asyncio
from abc import ABC, abstractmethod
from itertools import count
from typing import Final

import structlog
from pydantic import BaseModel
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

from rainbow_protocol import limits
from rainbow_protocol.codec import encode
from rainbow_protocol.errors import ErrorCode
from rainbow_protocol.messages.common import Goodbye, error

_log = structlog.get_logger()
_ids: Final = count(1)
CLOSE_NORMAL, CLOSE_GOING_AWAY, CLOSE_POLICY = 1000, 1001, 1008
CLOSE_S: Final = 5.0  # for the last frames and the closing handshake
_CUT_OFF_S: Final = 1.0
_WRITE_S: Final = limits.PING_INTERVAL_S + limits.PING_TIMEOUT_S  # pings wait behind a frame that nobody reads


class Session(ABC):
    """What agents' and clients' sessions share. `send` never waits; who reads too slowly is cut off."""

    def __init__(self, connection: ServerConnection) -> None:
        self.id = next(_ids)
        self.connection = connection
        self._queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._close_code = CLOSE_NORMAL
        self._close_reason = ""
        self.closing = False
        self._deadline: asyncio.TimerHandle | None = None
        self._frames_written = 0
        self._writing = False

    def send(self, message: BaseModel) -> None:
        self.send_frame(encode(message))

    def send_frame(self, frame: bytes) -> None:
        if self.closing:
            return
        if self._queue.qsize() >= limits.SEND_QUEUE_FRAMES_MAX:
            _log.warning("session cut off: it reads too slowly", session=self.id)
            self._empty()
            self.close(CLOSE_POLICY, "reads too slowly", within_s=_CUT_OFF_S)
            return
        self._queue.put_nowait(frame)

    def refuse(self, code: ErrorCode, message: str, ref: int | None = None) -> None:
        self.send(error(code, message, ref))

    def farewell(self, reason: str, *, reconnect: bool = True) -> None:
        """Say goodbye and close once everything queued before has been written."""
        self.send(Goodbye(reason=reason, reconnect=reconnect))
        self.close(CLOSE_GOING_AWAY, reason)

    def close(self, code: int, reason: str, within_s: float = CLOSE_S) -> None:
        if not self.closing:
            self.closing = True
            self._close_code, self._close_reason = code, reason[:100]
            self._queue.put_nowait(None)
            # Who does not read takes no close frame either.
            self._deadline = asyncio.get_running_loop().call_later(within_s, self._abort)

    def cluster_deleted(self, name: str, generation: int, grant: str) -> None:  # noqa: B027 - most need not care
        """A cluster is no more; who holds its token has this grant instead."""

    @abstractmethod
    async def read(self) -> None:
        """Take frames until the connection ends."""

    async def write(self) -> None:
        """Runs beside the reader until the session ends."""
        watch = asyncio.create_task(self._cut_off_who_does_not_read())
        try:
            while (frame := await self._queue.get()) is not None:
                self._writing = True
                await self.connection.send(frame, text=True)
                self._writing = False
                self._frames_written += 1
            await self.connection.close(self._close_code, self._close_reason)
        except ConnectionClosed:
            self.closing = True
        except AttributeError:
            # Python 3.11 aborts a transport that is closed already in this way: websockets then means "closed".
            if self.connection.state is not State.CLOSED:
                raise
            self.closing = True
        finally:
            watch.cancel()
            if self._deadline is not None:
                self._deadline.cancel()

    async def _cut_off_who_does_not_read(self) -> None:
        """One look now and then is cheaper than a time limit on every frame."""
        seen = -1
        while not (self._writing and self._frames_written == seen):
            seen = self._frames_written
            await asyncio.sleep(_WRITE_S)
        _log.warning("session cut off: it does not read", session=self.id)
        self.closing = True
        self._abort()

    def _abort(self) -> None:
        if self.connection.state is not State.CLOSED:
            self.connection.transport.abort()

    def _empty(self) -> None:
        while not self._queue.empty():
            self._queue.get_nowait()
