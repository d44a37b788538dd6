"""What a client's request needs again when the core has answered it: refusals made at the edge, who waits for what."""

import asyncio

from rainbow_protocol.messages.client import SubmitResult
from rainbowd.core.commands import DeleteCluster, DescribeCluster, Origin, RegisterCluster, SetState
from rainbowd.core.effects import Settled
from rainbowd.engine import Engine
from rainbowd.net.session import Session

# Of one submission: what the edge refused it with, how many members its array has, or None for one job by itself.
Part = SubmitResult | int | None


class PendingAnswers:
    def __init__(self) -> None:
        self._submits: dict[Origin, list[Part]] = {}
        self._cancels: dict[Origin, tuple[dict[str, str], list[str]]] = {}
        self._unsettled: dict[Origin, asyncio.Future[Settled]] = {}

    def keep_submit(self, origin: Origin, parts: list[Part]) -> None:
        """One part for every submission, in order."""
        if any(part is not None for part in parts):
            self._submits[origin] = parts

    def merge_submit(self, origin: Origin, answered: list[SubmitResult]) -> list[SubmitResult]:
        """Put the edge's refusals back at their positions among the core's answers; an array has one answer."""
        parts = self._submits.pop(origin, None)
        if parts is None:
            return answered
        rest = iter(answered)
        merged: list[SubmitResult] = []
        for part in parts:
            if isinstance(part, SubmitResult):
                merged.append(part)
            elif part is None:
                merged.append(next(rest))
            else:
                merged.append(_as_one([next(rest) for _ in range(part)]))
        return merged

    def keep_cancel(self, origin: Origin, states: dict[str, str], unknown: list[str]) -> None:
        self._cancels[origin] = (states, unknown)

    def cancel_states(self, origin: Origin) -> tuple[dict[str, str], list[str]] | None:
        return self._cancels.pop(origin, None)

    async def settled(
        self, engine: Engine, command: RegisterCluster | DescribeCluster | DeleteCluster | SetState
    ) -> Settled:
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
        for kept in (self._submits, self._cancels):
            for origin in [origin for origin in kept if origin.session == session.id]:
                del kept[origin]


def _as_one(members: list[SubmitResult]) -> SubmitResult:
    """An array is taken or refused as a whole, so the first of its members speaks for all."""
    first = members[0]
    return first if first.error is not None else first.model_copy(update={"job": first.array, "jobs": len(members)})
