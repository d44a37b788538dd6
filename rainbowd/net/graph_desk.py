"""Takes the document in which a cluster's agent describes it: piece by piece, then read beside the session's reader."""

import asyncio
from typing import TYPE_CHECKING

import structlog

from rainbow_protocol import limits
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.messages.agent import GraphPart, GraphTaken
from rainbowd.net.services import Services
from rainbowd.net.spool import Document, Spool, SpoolRefusedError

if TYPE_CHECKING:
    from rainbowd.net.agent_session import AgentSession

_log = structlog.get_logger()


class GraphDesk:
    """One document at a time: what comes under another digest takes the place of what was there."""

    def __init__(self, session: "AgentSession", services: Services) -> None:
        self._session = session
        self._services = services
        self._log = _log.bind(session=session.id, cluster=session.cluster)
        self._digest: str | None = None
        self._spool: Spool | None = None  # None if it was refused
        self._reading: asyncio.Task[None] | None = None

    def close(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
        self._drop()

    async def take_part(self, part: GraphPart) -> None:
        if part.digest != self._digest:
            self._drop()
            self._digest, self._spool = part.digest, self._services.spools.new()
        spool = self._spool
        if spool is not None:
            try:
                await spool.add(part.data)
            except SpoolRefusedError as refusal:
                spool.remove()
                spool = self._spool = None
                self._refuse(part.digest, str(refusal), refusal.code)
        if part.last:
            self._digest = self._spool = None
            if spool is not None:
                self._start(part.digest, Document(spool, part.bytes))

    def _start(self, digest: str, document: Document) -> None:
        if self._reading is not None:
            self._reading.cancel()  # of what the cluster was before
        self._reading = asyncio.create_task(self._read(digest, document))
        self._reading.add_done_callback(lambda _: document.spool.remove())

    async def _read(self, digest: str, document: Document) -> None:
        try:
            outcome = await self._services.describing.from_agent(
                self._session.id, self._session.cluster, digest, document
            )
        except ProtocolError as problem:
            self._refuse(digest, problem.message, problem.code)
        except Exception:
            self._log.exception("reading the graph of a cluster failed")
            self._refuse(digest, f"{ErrorCode.INTERNAL}: the daemon's log has the details", ErrorCode.INTERNAL)
        else:
            for warning in outcome.warnings:
                self._log.warning("the graph of a cluster is odd", warning=warning)
            self._log.info("cluster described", counts=dict(outcome.counts))
            self._session.send(GraphTaken(digest=digest))

    def _refuse(self, digest: str, words: str, code: ErrorCode) -> None:
        self._log.warning("the graph of a cluster was refused", problem=words)
        busy = code in (ErrorCode.READING_BUSY, ErrorCode.SHUTTING_DOWN)
        self._session.send(GraphTaken(digest=digest, error=words[: limits.REASON_CHARS_MAX], busy=busy))

    def _drop(self) -> None:
        if self._spool is not None:
            self._spool.remove()
        self._digest = self._spool = None
