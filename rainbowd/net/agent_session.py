"""The session of a cluster's agent: hello, inventory, then whatever happens, as commands for the engine."""

import asyncio
from dataclasses import replace

import structlog
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from rainbow_protocol import limits
from rainbow_protocol.codec import from_agent
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.messages import agent as wire
from rainbow_protocol.messages.common import Error, Goodbye
from rainbowd.core import commands
from rainbowd.net import translate
from rainbowd.net.auth import AgentOf
from rainbowd.net.graph_desk import GraphDesk
from rainbowd.net.services import Services
from rainbowd.net.session import CLOSE_POLICY, Session

_log = structlog.get_logger()
_INVENTORY_ITEMS_MAX = 1_000_000


class AgentSession(Session):
    def __init__(self, connection: ServerConnection, principal: AgentOf, services: Services) -> None:
        super().__init__(connection)
        self.cluster = principal.cluster
        self._generation = principal.generation
        self._engine = services.engine
        self._relay = services.relay
        self._describing = services.describing
        self._log = _log.bind(session=self.id, cluster=principal.cluster)
        self._graph = GraphDesk(self, services)

    async def read(self) -> None:
        """Until the connection ends. The engine hears of the end whatever the way it came."""
        try:
            if await self._introduce():
                async for frame in self.connection:
                    await self._take(frame)
        except ConnectionClosed as end:
            self._log.debug("connection ended", end=str(end))
        finally:
            self._graph.close()
            self._relay.gone(self)
            self._engine.put_now(commands.AgentGone(self.id))
            self._log.info("agent gone", code=self.connection.close_code, reason=self.connection.close_reason)

    async def _introduce(self) -> bool:
        """Hello and the whole inventory, within a time limit. Only then may the cluster be offered anything."""
        try:
            async with asyncio.timeout(limits.HELLO_TIMEOUT_S):
                hello = from_agent.decode(await self.connection.recv())
                if not isinstance(hello, wire.AgentHello):
                    return self._turn_away("the first message of an agent must be 'hello'")
                held: list[commands.Held] = []
                last = False
                while not last:
                    part = from_agent.decode(await self.connection.recv())
                    if not isinstance(part, wire.Inventory):
                        return self._turn_away("after 'hello' the agent must tell its 'inventory'")
                    held += [commands.Held(item.job, item.attempt, item.phase) for item in part.items]
                    last = part.last
                    if len(held) > _INVENTORY_ITEMS_MAX:
                        return self._turn_away(f"an inventory may have {_INVENTORY_ITEMS_MAX} items")
        except ProtocolError as problem:
            self.refuse(problem.code, problem.message)
            return self._turn_away("the introduction could not be read")
        except TimeoutError:
            return self._turn_away(f"no complete introduction within {limits.HELLO_TIMEOUT_S:g} s")
        totals = self._describing.totals(hello.resources, "agent")
        ready = commands.AgentReady(
            self.id, self.cluster, hello.agent_id, totals, hello.free, held, hello.graph, self._generation
        )
        told = translate.state_facts(hello.free, dict(hello.keys))
        ready = replace(ready, facts=told, draining=hello.draining)
        await self._engine.put(ready)
        return True

    def _turn_away(self, words: str) -> bool:
        self._log.warning("agent turned away", reason=words)
        self.refuse(ErrorCode.INVALID, words)
        self.close(CLOSE_POLICY, words)
        return False

    async def _take(self, frame: str | bytes) -> None:
        try:
            message = from_agent.decode(frame)
        except ProtocolError as problem:
            self._log.warning("bad frame from agent", code=problem.code.value, problem=problem.message)
            self.refuse(problem.code, problem.message, problem.ref)
            return
        match message:
            case wire.Bids():
                await self._engine.put(translate.bids(self.id, message))
            case wire.AwardAnswers():
                await self._engine.put(translate.answers(self.id, message))
            case wire.Reports():
                await self._engine.put(translate.reports(self.id, message))
            case wire.ClusterState():
                await self._engine.put(translate.agent_state(self.id, message))
            case wire.GraphPart():
                await self._graph.take_part(message)
            case wire.Output():
                self._relay.answer(self, message)
            case Goodbye():
                self._log.info("agent says goodbye", reason=message.reason)
            case Error():
                self._log.warning("agent reports an error", code=message.code, message=message.message)
            case wire.AgentHello() | wire.Inventory():
                self.refuse(ErrorCode.INVALID, f"'{message.type}' belongs to the beginning of a session")
