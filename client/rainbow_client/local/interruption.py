"""Ctrl-C, TERM and HUP as something to wait for, so that cleaning up is never itself interrupted."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruption:
    def __init__(self) -> None:
        self._event = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self._event.set)

    async def wait(self) -> None:
        await self._event.wait()

    async def spares(self, work: Coroutine[Any, Any, Any]) -> bool:
        """Does the work. False if it was interrupted, and then cancelled and left in order."""
        doing = asyncio.create_task(work)
        interrupted = asyncio.create_task(self.wait())
        try:
            await asyncio.wait({doing, interrupted}, return_when=asyncio.FIRST_COMPLETED)
            if doing.done():
                await doing
                return True
            doing.cancel()
            await asyncio.wait({doing})
            return False
        finally:
            interrupted.cancel()
