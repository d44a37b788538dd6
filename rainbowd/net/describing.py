"""Documents become descriptions: read by the workshop, beside the loop, then handed to the engine as commands.

What is read depends on what is on disk at that time. Should that change before the engine has it, it is read again.
"""

import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, Final, Literal

from rainbow_protocol import ids, limits
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.job import Totals
from rainbowd.core.commands import DeleteCluster, DescribeCluster, Description, Origin, RegisterCluster, SetState
from rainbowd.core.effects import Settled
from rainbowd.engine import Engine
from rainbowd.net import figures
from rainbowd.net.auth import fingerprint
from rainbowd.net.pending import PendingAnswers
from rainbowd.net.spool import Document
from rainbowd.resources.classes import from_totals
from rainbowd.resources.graph import GraphRefusedError
from rainbowd.resources.model import ClassTable, ClusterModel
from rainbowd.resources.reading.words import listed
from rainbowd.resources.workshop import Workshop, WorkshopBusyError, WorkshopClosedError, WorkshopFailedError
from rainbowd.store.repo import Repo
from rainbowd.store.stored import StoredDescription, StoredGraph

_serials: Final = count(1)
_ATTEMPTS_MAX: Final = 3  # to read a document while somebody else changes the same cluster
Teller = Literal["registration", "agent"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Secret and token are there if the cluster is a new one."""

    cluster: str
    counts: Mapping[str, int | float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    secret: str | None = None
    token: str | None = None


@dataclass(frozen=True, slots=True)
class _Made:
    """A description, made from what there was at the revision `basis`."""

    description: Description
    basis: int
    warnings: list[str]

    def outcome(self, cluster: str, credentials: tuple[str, str] | None = None) -> Outcome:
        counts = figures.counts(self.description.resources)
        return Outcome(cluster, counts, self.warnings, *(credentials or ()))


# What is not the document's fault; the first that fits.
_CODES: Final = {
    WorkshopBusyError: ErrorCode.READING_BUSY,
    WorkshopClosedError: ErrorCode.SHUTTING_DOWN,
    WorkshopFailedError: ErrorCode.READING_FAILED,
}

# Makes the answer of an outcome before it comes true: what could not be told must not happen either.
Rehearsal = Callable[[Outcome], object]


def _no_answer(_: Outcome) -> None:
    """For who answers in words that cannot fail."""


class Describing:
    """The methods raise `ProtocolError`, in words for whoever sent the document; then nothing was changed."""

    def __init__(
        self, engine: Engine, repo: Repo, pending: PendingAnswers, workshop: Workshop, table: ClassTable
    ) -> None:
        self._engine = engine
        self._repo = repo
        self._pending = pending
        self._workshop = workshop
        self._table = table

    def totals(self, told: Totals, by: Teller) -> Description:
        """For a cluster that told counts only: no document, and nothing to read."""
        description = from_totals(told.nodes, told.cores_per_node, told.gpus_per_node)
        digest = hashlib.sha256(description).hexdigest()
        return Description(
            self._table.load(description), "totals", by, StoredDescription(description, anew=True), digest
        )

    async def register(
        self,
        session: int,
        name: str,
        totals: Totals | None = None,
        document: Document | None = None,
        rehearse: Rehearsal = _no_answer,
    ) -> Outcome:
        """A new cluster, or a known one that is described anew. The name is taken only if the description is good."""
        credentials = ids.new_secret(ids.SECRET_PREFIX), ids.new_secret(ids.TOKEN_PREFIX)
        hashes = fingerprint(credentials[0]), fingerprint(credentials[1])
        read: Callable[[], Awaitable[_Made]] | None = None
        if document is not None:
            read = partial(self._read_graph, name, document, "registration")
        elif totals is not None:
            read = partial(self._count, name, totals)
        if read is None:
            outcome = Outcome(name, figures.counts(None), [], *credentials)
            rehearse(outcome)
            settled = await self._ask(RegisterCluster(_origin(session), name, None, *hashes))
        else:
            settled, made = await self._settle(
                read,
                lambda made: RegisterCluster(_origin(session), name, made.description, *hashes, made.basis),
                lambda made: rehearse(made.outcome(name, credentials)),
            )
            outcome = made.outcome(name, credentials)
        return outcome if settled.created else replace(outcome, secret=None, token=None)

    async def from_agent(self, session: int, name: str, digest: str, document: Document) -> Outcome:
        """What a cluster's own agent says of it, in the session of that number."""
        _, made = await self._settle(
            lambda: self._read_graph(name, document, "agent", digest),
            lambda made: DescribeCluster(_origin(session), name, made.description, made.basis, session),
        )
        return made.outcome(name)

    async def attach(
        self, session: int, cluster: str, name: str, document: Document, rehearse: Rehearsal = _no_answer
    ) -> Outcome:
        """A subsystem, new or in the place of the one that has this name."""

        async def read() -> _Made:
            known, graph = await self._graph_of(cluster)
            others = _others(known, name)
            if len(others) >= limits.SUBSYSTEMS_MAX:
                words = f"{cluster!r} has {limits.SUBSYSTEMS_MAX} subsystems, and that is the limit"
                raise ProtocolError(ErrorCode.TOO_MANY, words)
            spool, length = document.spool, document.length
            described = await self._workshop.attach_subsystem(graph, others, name, spool.path, length)
            model = self._table.load(described.description)
            stored = StoredDescription(described.description, subsystems={name: described.subsystem})
            return _Made(_added(model, stored), known.revision, described.warnings)

        return await self._describe(session, cluster, read, rehearse)

    async def detach(self, session: int, cluster: str, name: str) -> Outcome:
        async def read() -> _Made:
            known, graph = await self._graph_of(cluster)
            if name not in known.subsystems:
                raise ProtocolError(ErrorCode.UNKNOWN_SUBSYSTEM, f"{cluster!r} has no subsystem {name!r}")
            described = await self._workshop.detach(graph, _others(known, name))
            stored = StoredDescription(described.description, subsystems={name: None})
            model = self._table.load(described.description)
            return _Made(_added(model, stored), known.revision, described.warnings)

        return await self._describe(session, cluster, read)

    async def delete(self, session: int, cluster: str, *, force: bool) -> None:
        await self._ask(DeleteCluster(_origin(session), cluster, force))

    async def set_state(self, session: int, cluster: str, keys: Mapping[str, Any], unset: Sequence[str]) -> None:
        await self._ask(SetState(_origin(session), cluster, dict(keys), tuple(unset)))

    async def export(self, cluster: str) -> tuple[int, bytes]:
        """The whole graph as a compressed document, and the revision that it is of."""
        known, graph = await self._graph_of(cluster)
        try:
            exported = await self._workshop.export(graph, list(known.subsystems.values()), cluster)
        except GraphRefusedError as refusal:
            raise _refused(refusal) from None
        return known.revision, exported

    # --- how --------------------------------------------------------------

    async def _count(self, name: str, totals: Totals) -> _Made:
        """Counts have no vertices that a subsystem could hang on: it would be gone, and nobody had asked for that."""
        known = await self._repo.load_graph(name) or StoredGraph()
        if known.subsystems:
            words = (
                f"{name!r} has the subsystems {listed(sorted(known.subsystems))}, which a description by counts cannot "
                f"carry; delete them first with `rainbow delete subsystem NAME --cluster {name}`"
            )
            raise ProtocolError(ErrorCode.BAD_GRAPH, words)
        return _Made(self.totals(totals, "registration"), known.revision, [])

    async def _read_graph(self, name: str, document: Document, by: Teller, digest: str | None = None) -> _Made:
        known = await self._repo.load_graph(name) or StoredGraph()
        packed = list(known.subsystems.values())
        described = await self._workshop.describe_cluster(document.spool.path, document.length, packed)
        model = self._table.load(described.description)
        stored = StoredDescription(described.description, described.graph, dict(known.subsystems), anew=True)
        return _Made(Description(model, model.source, by, stored, digest), known.revision, described.warnings)

    async def _graph_of(self, cluster: str) -> tuple[StoredGraph, bytes]:
        known = await self._repo.load_graph(cluster)
        if known is None:
            raise ProtocolError(ErrorCode.UNKNOWN_CLUSTER, f"there is no cluster {cluster!r}")
        if known.graph is None:
            words = f"{cluster!r} was not described by a graph: register its resources with a document first"
            raise ProtocolError(ErrorCode.BAD_GRAPH, words)
        return known, known.graph

    async def _describe(
        self,
        session: int,
        cluster: str,
        read: Callable[[], Awaitable[_Made]],
        rehearse: Rehearsal = _no_answer,
    ) -> Outcome:
        _, made = await self._settle(
            read,
            lambda made: DescribeCluster(_origin(session), cluster, made.description, made.basis),
            lambda made: rehearse(made.outcome(cluster)),
        )
        return made.outcome(cluster)

    async def _settle(
        self,
        read: Callable[[], Awaitable[_Made]],
        command: Callable[[_Made], RegisterCluster | DescribeCluster],
        rehearse: Callable[[_Made], object] = lambda _: None,
    ) -> tuple[Settled, _Made]:
        attempts = 0
        while True:
            attempts += 1
            try:
                made = await read()
            except GraphRefusedError as refusal:
                raise _refused(refusal) from None
            rehearse(made)
            try:
                return await self._ask(command(made)), made
            except ProtocolError as refusal:
                if refusal.code is not ErrorCode.CLUSTER_CHANGED or attempts == _ATTEMPTS_MAX:
                    raise

    async def _ask(self, command: Any) -> Settled:
        settled = await self._pending.settled(self._engine, command)
        if settled.code is not None:
            raise ProtocolError(ErrorCode(settled.code), settled.message)
        return settled


def _added(model: ClusterModel, stored: StoredDescription) -> Description:
    return Description(model, model.source, None, stored)


def _others(known: StoredGraph, name: str) -> list[bytes]:
    return [packed for other, packed in known.subsystems.items() if other != name]


def _refused(refusal: GraphRefusedError) -> ProtocolError:
    for kind, code in _CODES.items():
        if isinstance(refusal, kind):
            return ProtocolError(code, str(refusal))
    return ProtocolError(ErrorCode.BAD_GRAPH, str(refusal))


def _origin(session: int) -> Origin:
    # Beside the requests that a session has numbered itself: these are of nobody's numbering.
    return Origin(session, -1, next(_serials))
