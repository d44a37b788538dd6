"""How long to keep trying, and how long to pause between tries: doubling, with full jitter.

Jitter keeps a thousand clients of a restarted daemon from knocking at the same moment.
"""

import asyncio
import random
from collections.abc import Iterator

from rainbow_client.errors import RainbowError

PAUSE_FIRST_S = 0.05
PAUSE_S_MAX = 2.0
BUSY_PAUSE_FIRST_S = 1.0
BUSY_RETRIES_MAX = 5  # half a minute in all, at most


def pauses() -> Iterator[float]:
    ceiling = PAUSE_FIRST_S
    while True:
        yield random.uniform(ceiling / 4, ceiling)  # noqa: S311 - jitter, nothing secret
        ceiling = min(ceiling * 2, PAUSE_S_MAX)


def busy_pauses() -> Iterator[float]:
    """For a daemon that has no time to read a document: as often as this, and longer each time."""
    for attempt in range(BUSY_RETRIES_MAX):
        ceiling = BUSY_PAUSE_FIRST_S * 2**attempt
        yield random.uniform(ceiling / 2, ceiling)  # noqa: S311 - jitter, nothing secret


class Patience:
    """Runs out `retry_s` after the first failure, unless there was progress in between."""

    def __init__(self, retry_s: float) -> None:
        self._retry_s = retry_s
        self.progress()

    def progress(self) -> None:
        self._until: float | None = None
        self._pauses = pauses()

    async def pause_or_raise(self, cause: RainbowError) -> None:
        now = asyncio.get_running_loop().time()
        if self._until is None:
            self._until = now + self._retry_s
        pause = next(self._pauses)
        if now + pause > self._until:
            raise cause
        await asyncio.sleep(pause)
