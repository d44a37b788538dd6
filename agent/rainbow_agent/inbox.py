"""The engine's inbox: bounded towards the socket, never refusing the process's own news.

What the backend posts is bounded by what runs. What the socket brings is not, so its reader waits while the inbox
is full, and TCP pushes back.
"""

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Inbox(Generic[T]):
    def __init__(self, items_max: int) -> None:
        self._items_max = items_max
        self._items: deque[T] = deque()
        self._filled = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()

    def post(self, item: T) -> None:
        self._items.append(item)
        self._filled.set()
        if len(self._items) >= self._items_max:
            self._room.clear()

    async def put(self, item: T) -> None:
        while not self._room.is_set():
            await self._room.wait()
        self.post(item)

    async def drain(self, items_max: int) -> list[T]:
        """Wait until there is something, then take as much as there is, up to so much."""
        await self._filled.wait()
        taken = [self._items.popleft() for _ in range(min(items_max, len(self._items)))]
        if not self._items:
            self._filled.clear()
        if len(self._items) < self._items_max:
            self._room.set()
        return taken
