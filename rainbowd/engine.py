"""The only loop that changes state: drain the inbox, step the core, commit once, then tell the world.

While a commit is under way the sockets go on filling the inbox, so a busy
daemon writes bigger batches instead of more of them. If a commit fails or the
core finds a bug, the engine stops: nothing of that batch was told to anybody,
and the next start takes up what is on disk.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

import structlog

from rainbowd.core.commands import Command, Known, NewJob, Submit, Tick
from rainbowd.core.effects import (
    Effect,
    Happened,
    RetireCluster,
    SaveCluster,
    SaveDescription,
    SaveJob,
    StoreEffect,
)
from rainbowd.core.machine import Core

_log = structlog.get_logger()
BATCH_COMMANDS_MAX = 2_000


class Store(Protocol):
    async def commit(self, effects: Iterable[StoreEffect]) -> None: ...
    async def find_keys(self, items: Sequence[NewJob]) -> dict[int, Known]: ...


class Outbox(Protocol):
    def deliver(self, effects: Sequence[Effect]) -> None:
        """Send what is now on disk. Must not wait."""
        ...


def steady_clock() -> Callable[[], float]:
    """Seconds since 1970 that never jump: the wall clock is read once, then time only passes."""
    offset = time.time() - time.monotonic()
    return lambda: time.monotonic() + offset


class Engine:
    def __init__(
        self, core: Core, store: Store, outbox: Outbox, clock: Callable[[], float], inbox_commands_max: int
    ) -> None:
        self.core = core
        self.clock = clock
        self._store = store
        self._outbox = outbox
        self._inbox: deque[Command] = deque()
        self._inbox_max = inbox_commands_max
        self._something = asyncio.Event()
        self._space = asyncio.Event()
        self._space.set()
        self._stopping = False
        self._ended = False
        self._ahead = False  # the core, of the disk
        self._caught_up = asyncio.Event()

    async def put(self, command: Command) -> None:
        """Hand a command in; waits while the inbox is full, which makes the socket push back."""
        while len(self._inbox) >= self._inbox_max and not self._ended:
            self._space.clear()
            await self._space.wait()
        self.put_now(command)

    def put_now(self, command: Command) -> None:
        """For the few commands that must not be held up, such as the end of a session."""
        if not self._ended:
            self._inbox.append(command)
            self._something.set()

    async def on_disk(self) -> bool:
        """Waits until nothing is in the core that is not on disk: what is answered from it now, at once, stays true.

        No if that will never be, because a commit failed and the daemon ends.
        """
        while self._ahead and not self._ended:
            await self._caught_up.wait()
        return not self._ahead

    def stop(self) -> None:
        """Finish what is in the inbox now, then return from `run`."""
        self._stopping = True
        self._something.set()

    async def run(self) -> None:
        try:
            while not self._stopping:
                await self._wait()
                await self._turn()
            for _ in range(1 + len(self._inbox) // BATCH_COMMANDS_MAX):  # sessions may go on filling it: no more
                await self._turn()
        finally:
            # A session that waits for room would wait for ever now, and the daemon's end with it.
            self._ended = True
            self._space.set()
            self._caught_up.set()

    async def commit_first(self, effects: list[Effect]) -> None:
        """What restoring the core wants written, before any session exists."""
        await self._store.commit(_to_store(effects))

    async def _wait(self) -> None:
        """Until there is something to do: a command, a deadline of the core, or the end."""
        if not (self._inbox or self._stopping):
            self._something.clear()
            deadline = self.core.next_deadline()
            timer = None
            if deadline is not None:
                timer = asyncio.get_running_loop().call_later(max(0.0, deadline - self.clock()), self._something.set)
            await self._something.wait()
            if timer is not None:
                timer.cancel()
        # What arrived together is one batch: every socket that is readable now has its say first.
        await asyncio.sleep(0)

    async def _turn(self) -> None:
        batch = [self._inbox.popleft() for _ in range(min(len(self._inbox), BATCH_COMMANDS_MAX))]
        self._space.set()
        batch = await self._look_up_keys(batch)
        now = self.clock()
        effects: list[Effect] = []
        self._ahead = True
        self._caught_up.clear()
        for command in batch:
            effects += self.core.step(command, now)
        # Only then what is due: an answer that was here in time is not late because we were slow.
        deadline = self.core.next_deadline()
        if deadline is not None and deadline <= now:
            effects += self.core.step(Tick(), now)
        if effects:
            await self._store.commit(_to_store(effects))
            self.core.forget_over()
        self._ahead = False
        self._caught_up.set()
        if effects:
            self._outbox.deliver(effects)

    async def _look_up_keys(self, batch: list[Command]) -> list[Command]:
        """Jobs that have ended are on disk only, so a repeated key has to be looked for there."""
        submits = [command for command in batch if isinstance(command, Submit)]
        items = [item for submit in submits for item in submit.items]
        known = await self._store.find_keys(items) if items else {}
        if not known:
            return batch
        enriched: list[Command] = []
        offset = 0
        for command in batch:
            if isinstance(command, Submit):
                count = len(command.items)
                mine = {p: known[p + offset] for p in range(count) if p + offset in known}
                command, offset = replace(command, known=mine), offset + count
            enriched.append(command)
        return enriched


_STORED = (SaveJob, SaveCluster, SaveDescription, RetireCluster, Happened)


def _to_store(effects: Iterable[Effect]) -> list[StoreEffect]:
    return [effect for effect in effects if isinstance(effect, _STORED)]
