"""Reads a job's output from its cluster: one question to the agent, one answer back to whoever asked."""

import asyncio
from itertools import count

from rainbow_protocol.messages.agent import Output, ReadOutput
from rainbowd.net.session import Session


class ClusterGoneError(Exception):
    """The agent's session ended, or it did not answer."""


_ANSWER_S = 10.0


class OutputRelay:
    def __init__(self) -> None:
        self._numbers = count(1)
        self._waiting: dict[int, tuple[int, asyncio.Future[Output]]] = {}

    async def read(
        self, agent: Session, job: str, attempt: int, stdout_offset: int, stderr_offset: int, wait_s: float
    ) -> Output:
        number = next(self._numbers)
        future: asyncio.Future[Output] = asyncio.get_running_loop().create_future()
        self._waiting[number] = (agent.id, future)
        agent.send(
            ReadOutput(
                request=number,
                job=job,
                attempt=attempt,
                stdout_offset=stdout_offset,
                stderr_offset=stderr_offset,
                wait_s=wait_s,
            )
        )
        try:
            async with asyncio.timeout(wait_s + _ANSWER_S):
                return await future
        except TimeoutError:
            raise ClusterGoneError("the cluster did not answer") from None
        finally:
            self._waiting.pop(number, None)

    def answer(self, agent: Session, output: Output) -> None:
        session, future = self._waiting.get(output.request, (None, None))
        if future is not None and session == agent.id and not future.done():
            future.set_result(output)

    def gone(self, agent: Session) -> None:
        for session, future in self._waiting.values():
            if session == agent.id and not future.done():
                future.set_exception(ClusterGoneError("the cluster's session ended"))
