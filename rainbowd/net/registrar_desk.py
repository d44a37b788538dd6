"""What only the holder of the registration secret may do: clusters and subsystems come, change and go.

Reading a document takes long, so it runs beside the session's reader, which goes on taking requests.
"""

import asyncio
from typing import Final

import structlog

from rainbow_protocol import limits
from rainbow_protocol.codec import encode
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.messages import client as wire
from rainbowd.net.describing import Outcome
from rainbowd.net.services import Services
from rainbowd.net.session import Session
from rainbowd.net.spool import Document, Spool, SpoolRefusedError

_log = structlog.get_logger()
_AT_WORK_MAX: Final = 8  # requests of one session
Request = wire.RegisterCluster | wire.RegisterSubsystem | wire.DeleteSubsystem | wire.DeleteCluster | wire.SetState


class RegistrarDesk:
    def __init__(self, session: Session, services: Services) -> None:
        self._session = session
        self._services = services
        self._work: set[asyncio.Task[None]] = set()
        self._number: int | None = None  # of the document that is coming
        self._spool: Spool | None = None  # None if it was refused

    @property
    def at_work(self) -> int:
        return len(self._work)

    def close(self) -> None:
        for task in self._work:
            task.cancel()
        self._drop()

    async def take_part(self, message: wire.DocumentPart) -> None:
        if message.document != self._number:
            self._drop()
            self._number, self._spool = message.document, self._services.spools.new()
        if self._spool is None:
            words = f"document {message.document} was refused before; begin anew with another number"
            raise ProtocolError(ErrorCode.INVALID, words, message.id)
        try:
            await self._spool.add(message.data)
        except SpoolRefusedError as refusal:
            self._spool.remove()
            self._spool = None
            raise ProtocolError(refusal.code, str(refusal), message.id) from None
        self._session.send(wire.Done(ref=message.id))

    def take(self, message: Request) -> None:
        if len(self._work) >= _AT_WORK_MAX:
            words = f"{_AT_WORK_MAX} registrations of this session are under way"
            raise ProtocolError(ErrorCode.TOO_MANY, words, message.id)
        # The document leaves the desk here and now: the next one may come while it is read.
        reference = message.document if isinstance(message, wire.RegisterCluster | wire.RegisterSubsystem) else None
        document = None if reference is None else self._take_document(reference, message.id)
        task = asyncio.create_task(self._answer(message, document))
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        if document is not None:  # however the work ends, and even if it never begins
            task.add_done_callback(lambda _: document.spool.remove())

    def _take_document(self, reference: wire.DocumentRef, ref: int) -> Document:
        if reference.document != self._number or self._spool is None or not self._spool.size:
            words = f"document {reference.document} has not been sent in this session, or was used already"
            raise ProtocolError(ErrorCode.INVALID, words, ref)
        document = Document(self._spool, reference.bytes)
        self._number = self._spool = None
        return document

    async def _answer(self, message: Request, document: Document | None) -> None:
        try:
            answer = await self._done(message, document)
            if document is not None:  # nothing of it is left when its sender hears of it
                document.spool.remove()
            self._session.send(answer)
        except ProtocolError as problem:
            self._session.refuse(problem.code, problem.message, message.id)
        except Exception:
            _log.exception("a registration failed", session=self._session.id, request=message.type)
            words = f"'{message.type}' failed; `rainbow clusters show` tells whether anything was changed"
            self._session.refuse(ErrorCode.INTERNAL, words, message.id)

    async def _done(self, message: Request, document: Document | None) -> wire.Answer:
        describing, session = self._services.describing, self._session.id
        match message:
            case wire.RegisterCluster():
                outcome = await describing.register(session, message.name, message.resources, document, _rehearsed)
                return _registered(message.id, outcome)
            case wire.RegisterSubsystem():
                if document is None:
                    raise ProtocolError(ErrorCode.INVALID, "a subsystem needs a document", message.id)
                outcome = await describing.attach(session, message.cluster, message.name, document, _rehearsed)
                return _registered(message.id, outcome)
            case wire.DeleteSubsystem():
                await describing.detach(session, message.cluster, message.name)
            case wire.DeleteCluster():
                await describing.delete(session, message.name, force=message.force)
            case wire.SetState():
                await describing.set_state(session, message.cluster, message.keys, message.unset)
        return wire.Done(ref=message.id)

    def _drop(self) -> None:
        if self._spool is not None:
            self._spool.remove()
        self._number = self._spool = None


def _rehearsed(outcome: Outcome) -> None:
    """Raises what would go wrong with the answer: credentials that cannot be told are lost."""
    encode(_registered(limits.REQUEST_ID_MAX, outcome))


def _registered(ref: int, outcome: Outcome) -> wire.Registered:
    return wire.Registered(
        ref=ref,
        cluster=outcome.cluster,
        secret=outcome.secret,
        token=outcome.token,
        counts=dict(outcome.counts),
        warnings=outcome.warnings,
    )
