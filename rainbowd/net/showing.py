"""Answers about clusters: what one of them is, all of its graph piece by piece, and which of them could hold a job."""

import asyncio
from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

from rainbow_protocol import limits
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.messages.client import (
    ClusterShown,
    Match,
    Mismatch,
    NodeKind,
    Satisfy,
    SatisfyAnswer,
    ShowCluster,
    SubsystemInfo,
)
from rainbowd.core.state import Cluster, World
from rainbowd.net import figures
from rainbowd.net.describing import Describing
from rainbowd.resources import overview
from rainbowd.resources.asking import ask_of
from rainbowd.resources.model import ClusterModel

EXPORTS_OF_SESSION_MAX: Final = 2  # being made, and held
EXPORT_IDLE_S: Final = 60.0

# Of ten thousand nodes it takes a moment, and a description never changes: it goes with the model that it is of.
_overviews: WeakKeyDictionary[ClusterModel, dict[str, Any]] = WeakKeyDictionary()


def satisfy(world: World, asked: Satisfy, names: Iterable[str]) -> SatisfyAnswer:
    """Of the empty clusters, whether they are online or not."""
    ask = ask_of(asked.request)
    matches: list[Match] = []
    mismatches: list[Mismatch] = []
    for name in names:
        cluster = world.clusters.get(name)
        if cluster is None or cluster.resources is None:
            mismatches.append(Mismatch(cluster=name, reason="it has not described its resources yet"))
            continue
        verdict = world.matcher.measure(ask, cluster.resources)
        if verdict.fits:
            match = Match(
                cluster=name,
                instances=figures.whole(verdict.instances),
                nodes_matched=verdict.nodes_matched,
                numbers={told: figures.number(amount) for told, amount in verdict.numbers.items()},
            )
            matches.append(match)
        else:
            needed, have = _told(verdict.needed), _told(verdict.have)
            mismatches.append(Mismatch(cluster=name, reason=verdict.reason, needed=needed, have=have))
    return SatisfyAnswer(ref=asked.id, matches=matches, mismatches=mismatches)


def _told(amount: int | float | str | None) -> int | float | str | None:
    return amount if amount is None or isinstance(amount, str) else figures.number(amount)


def summary(cluster: Cluster, ref: int, groups: Mapping[str, Collection[str]] | None = None) -> ClusterShown:
    model: ClusterModel | None = cluster.resources
    shown = ClusterShown(
        ref=ref,
        name=cluster.name,
        state="online" if cluster.online else "offline",
        described=cast(Any, cluster.form),
        described_by=cluster.described_by,
        described_at=cluster.described_at,
        free=cluster.free,
        draining=cluster.draining,
        keys=dict(cluster.state),
        groups=sorted(name for name, members in (groups or {}).items() if cluster.name in members),
    )
    if model is None:
        return shown
    told = _overviews.get(model)
    if told is None:
        told = _overviews[model] = _overview(model)
    return shown.model_copy(update=told)


def _overview(model: ClusterModel) -> dict[str, Any]:
    kinds, more = overview.node_kinds(model)
    return {
        "counts": figures.counts(model),
        "kinds": [_node_kind(kind) for kind in kinds],
        "kinds_more": more,
        "subsystems": [SubsystemInfo(**told) for told in model.subsystems],
        "tree": overview.tree_lines(model),
    }


def _node_kind(kind: overview.NodeKind) -> NodeKind:
    told = asdict(kind)
    told["contents"] = {name: figures.number(amount) for name, amount in kind.contents.items()}
    return NodeKind(**told)


@dataclass(slots=True)
class _Held:
    revision: int
    document: bytes
    until: asyncio.TimerHandle


class Exports:
    """The documents that a session is fetching, piece by piece: made for the first, let go of after the last.

    They may be large, so there are few of them, and one that nobody goes on fetching is let go of too.
    """

    def __init__(self, idle_s: float = EXPORT_IDLE_S) -> None:
        self._idle_s = idle_s
        self._held: dict[str, _Held] = {}

    def close(self) -> None:
        for name in list(self._held):
            self._let_go(name)

    async def begin(self, describing: Describing, cluster: Cluster) -> None:
        """Makes the document. Of more than a session may have, the one begun first goes."""
        revision, document = await describing.export(cluster.name)
        self._let_go(cluster.name)
        while len(self._held) >= EXPORTS_OF_SESSION_MAX:
            self._let_go(next(iter(self._held)))
        self._held[cluster.name] = _Held(revision, document, self._timer(cluster.name))

    def part(self, cluster: Cluster, asked: ShowCluster) -> ClusterShown:
        held, number = self._held.get(cluster.name), asked.part or 0
        if held is None:
            words = (
                f"a graph is fetched from its part 0 on, in order, with pauses of at most {self._idle_s:g} s, "
                f"and {EXPORTS_OF_SESSION_MAX} at a time"
            )
            raise ProtocolError(ErrorCode.INVALID, words)
        if held.revision != cluster.revision:
            self._let_go(cluster.name)
            raise ProtocolError(ErrorCode.CLUSTER_CHANGED, f"{cluster.name!r} was described anew; fetch it from part 0")
        size = limits.GRAPH_PART_BYTES_MAX
        parts = -(-len(held.document) // size)
        if number >= parts:
            raise ProtocolError(ErrorCode.INVALID, f"the graph of {cluster.name!r} has {parts} parts, from 0 on")
        piece = held.document[number * size : (number + 1) * size]
        if number == parts - 1:
            self._let_go(cluster.name)
        else:
            held.until.cancel()
            held.until = self._timer(cluster.name)
        shown = summary(cluster, asked.id)
        # The tree is for reading; who fetches the graph has better.
        return shown.model_copy(update={"tree": [], "part": b64encode(piece).decode(), "parts": parts})

    def _timer(self, name: str) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(self._idle_s, self._let_go, name)

    def _let_go(self, name: str) -> None:
        held = self._held.pop(name, None)
        if held is not None:
            held.until.cancel()
