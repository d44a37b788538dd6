"""The events of one `watch`, on their way from the session's reader to whoever iterates over them."""

import asyncio
from collections import deque

from rainbow_client.errors import RainbowError
from rainbow_protocol.messages.client import Events

FEED_FRAMES_MAX = 256  # a slower consumer is made to ask again from where it is


class Feed:
    """Ends when the session does, on a refusal, or when its consumer is too slow."""

    def __init__(self) -> None:
        self._frames: deque[Events] = deque()
        self._news = asyncio.Event()
        self._ended = False
        self._cause: RainbowError | None = None

    def push(self, frame: Events) -> None:
        if len(self._frames) < FEED_FRAMES_MAX and not self._ended:
            self._frames.append(frame)
        else:
            self._ended = True
        self._news.set()

    def end(self, cause: RainbowError | None = None) -> None:
        self._ended, self._cause = True, cause
        self._news.set()

    async def next(self) -> Events | None:
        """The next frame; None when there will be none. What arrived before the end still comes."""
        while not self._frames:
            if self._cause is not None:
                raise self._cause
            if self._ended:
                return None
            self._news.clear()
            await self._news.wait()
        return self._frames.popleft()
