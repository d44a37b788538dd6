"""A line to the daemon that mends itself: reconnects, says hello again, repeats what was not answered.

It knows nothing about jobs. Repeating is safe because reads change nothing and
every submission carries a key.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TypeVar

from rainbow_client.errors import ConnectionFailed, RainbowError, SessionLost, Unauthorized
from rainbow_client.patience import Patience
from rainbow_client.session import Session, refusal
from rainbow_protocol.errors import ErrorCode
from rainbow_protocol.messages.client import Answer, Request
from rainbow_protocol.messages.common import Error

log = logging.getLogger("rainbow_client")

ANSWER_S_MAX = 60.0
HANDSHAKES_PER_CONNECT_MAX = 8  # tokens tried as the first one before giving up

A = TypeVar("A", bound=Answer)


class Link:
    def __init__(
        self,
        url: str,
        credentials: Sequence[str],
        *,
        retry_s: float,
        connect_retry_s: float,
        on_lost: Callable[[str], None] | None = None,
    ) -> None:
        self.url = url
        self._credentials = list(credentials)
        self._retry_s = retry_s
        self._first_retry_s = connect_retry_s
        self._on_lost = on_lost
        self._session: Session | None = None
        self._connecting: asyncio.Task[Session] | None = None
        self._closed = False

    def patience(self) -> Patience:
        return Patience(self._retry_s)

    async def session(self) -> Session:
        """The live session; opens one if there is none. Concurrent callers share one attempt."""
        if self._closed:
            raise ConnectionFailed("this client is closed")
        if self._session is not None and not self._session.lost:
            return self._session
        if self._connecting is None:
            if self._session is not None and self._on_lost is not None:
                self._on_lost(self.url)
            self._connecting = asyncio.create_task(self._connect(), name="rainbow connect")
            self._connecting.add_done_callback(self._connected)
        return await asyncio.shield(self._connecting)

    async def call(
        self, request: Request, expected: type[A], *, repeatable: bool = True, answer_s: float = ANSWER_S_MAX
    ) -> A:
        patience = self.patience()
        while True:
            session = await self.session()
            try:
                async with asyncio.timeout(answer_s):
                    answer = await session.ask(request)
            except TimeoutError:
                raise ConnectionFailed(f"{self.url} did not answer the request within {answer_s:g} s") from None
            except SessionLost as cause:
                if not repeatable or not cause.reconnect:
                    raise
                await patience.pause_or_raise(cause)
                continue
            if isinstance(answer, expected):
                return answer
            if not isinstance(answer, Error):
                raise ConnectionFailed(f"the daemon answered with {type(answer).__name__}, which does not fit")
            if answer.code not in (ErrorCode.OVERLOADED, ErrorCode.SHUTTING_DOWN):
                raise refusal(answer)
            await patience.pause_or_raise(refusal(answer))

    async def close(self) -> None:
        self._closed = True
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.wait([self._connecting])
        if self._session is not None:
            await self._session.close()

    def _connected(self, task: asyncio.Task[Session]) -> None:
        self._connecting = None
        if not task.cancelled() and task.exception() is None:
            self._session = task.result()

    async def _connect(self) -> Session:
        if self._session is not None:
            await self._session.close()
        patience = Patience(self._retry_s if self._session is not None else self._first_retry_s)
        while True:
            try:
                return await self._open()
            except SessionLost as cause:
                failure = ConnectionFailed(
                    cause.message, "Is rainbowd running there? `rainbow up` starts one on this machine."
                )
                if not cause.reconnect:
                    raise failure from None
                await patience.pause_or_raise(failure)

    async def _open(self) -> Session:
        """Opens with the first token that the daemon knows: one withdrawn token must not lock out the others."""
        refused: RainbowError | None = None
        for position in range(min(len(self._credentials), HANDSHAKES_PER_CONNECT_MAX)):
            credential = self._credentials[position]
            try:
                session = await Session.open(
                    self.url, credential, [other for other in self._credentials if other != credential]
                )
            except Unauthorized as cause:
                refused = cause
                continue
            if position or session.unknown_tokens:
                log.warning("the daemon does not know %d of the tokens", position or len(session.unknown_tokens))
                self._credentials.insert(0, self._credentials.pop(position))
            return session
        raise refused or Unauthorized("there is no credential to open a session with")
