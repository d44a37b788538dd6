"""What a client's request needs again when the core has answered it: refusals made at the edge, who waits for what."""

import asyncio

from rainbow_protocol.messages.client import SubmitResult
from rainbowd.core.commands import DeleteCluster, DescribeCluster, Origin, RegisterCluster
from rainbowd.core.effects import Settled
from rainbowd.engine import Engine
from rainbowd.net.session import Session


class PendingAnswers:
    def __init__(self) -> None:
        self._refused: dict[Origin, dict[int, SubmitResult]] = {}
        self._cancels: dict[Origin, tuple[dict[str, str], list[str]]] = {}
        self._unsettled: dict[Origin, asyncio.Future[Settled]] = {}

    def keep_refused(self, origin: Origin, refused: dict[int, SubmitResult]) -> None:
        if refused:
            self._refused[origin] = refused

    def merge_submit(self, origin: Origin, answered: list[SubmitResult]) -> list[SubmitResult]:
        """Put the edge's refusals back at their positions among the core's answers."""
        refused = self._refused.pop(origin, {})
        rest = iter(answered)
        total = len(answered) + len(refused)
        return [refused[position] if position in refused else next(rest) for position in range(total)]

    def keep_cancel(self, origin: Origin, states: dict[str, str], unknown: list[str]) -> None:
        self._cancels[origin] = (states, unknown)

    def cancel_states(self, origin: Origin) -> tuple[dict[str, str], list[str]] | None:
        return self._cancels.pop(origin, None)

    async def settled(self, engine: Engine, command: RegisterCluster | DescribeCluster | DeleteCluster) -> Settled:
        """Hand a command in, and wait until what came of it is on disk."""
        future: asyncio.Future[Settled] = asyncio.get_running_loop().create_future()
        self._unsettled[command.origin] = future
        try:
            await engine.put(command)
            return await future
        finally:
            self._unsettled.pop(command.origin, None)

    def settle(self, outcome: Settled) -> None:
        future = self._unsettled.pop(outcome.origin, None)
        if future is not None and not future.done():
            future.set_result(outcome)

    def forget(self, session: Session) -> None:
        """A session's requests in flight have nobody to answer any more."""
        for kept in (self._refused, self._cancels):
            for origin in [origin for origin in kept if origin.session == session.id]:
                del kept[origin]
