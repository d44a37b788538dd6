"""How long to keep trying, and how long to pause between tries: doubling, with full jitter.

Jitter keeps a thousand clients of a restarted daemon from knocking at the same moment.
"""

import asyncio
import random
from collections.abc import Iterator

from rainbow_client.errors import RainbowError

PAUSE_FIRST_S = 0.05
PAUSE_S_MAX = 2.0


def pauses() -> Iterator[float]:
    ceiling = PAUSE_FIRST_S
    while True:
        yield random.uniform(ceiling / 4, ceiling)  # noqa: S311 - jitter, nothing secret
        ceiling = min(ceiling * 2, PAUSE_S_MAX)


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
