"""The edges of a graph in JSON Graph Format: who contains whom, as versions 1 and 2 and Fluxion say it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from operator import attrgetter
from typing import Any, Literal

import msgspec

from rainbowd.resources.reading import careful, natural, tree
from rainbowd.resources.reading.pieces import decoded
from rainbowd.resources.reading.words import refused, shown, vertex

CONTAINMENT = "containment"


class _PlainName(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    containment: Literal["contains"] = "contains"


class _PlainMetadata(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    subsystem: Literal["containment"] = "containment"
    name: _PlainName | None = None


class EdgeMetadata(msgspec.Struct, gc=False):
    subsystem: str | None = None
    name: dict[str, Any] | str | None = None


class _PlainEdge(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """What nearly every edge of a big graph is. A piece with others in it is read the slower, general way."""

    source: str
    target: str
    relation: Literal["contains"] = "contains"
    directed: bool = True
    metadata: _PlainMetadata | None = None


class _NumberedEdge(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """The same for ids that are numbers."""

    source: int
    target: int
    relation: Literal["contains"] = "contains"
    directed: bool = True
    metadata: _PlainMetadata | None = None


class Edge(msgspec.Struct, gc=False):
    source: str | int
    target: str | int
    relation: str | None = None
    metadata: EdgeMetadata | None = None

    def meaning(self) -> tuple[str, str]:
        """Subsystem and relation. Where nothing is said, the source contains the target."""
        subsystem, relation = None, self.relation
        if self.metadata is not None:
            subsystem = self.metadata.subsystem
            name = self.metadata.name
            if isinstance(name, dict) and name:
                first = CONTAINMENT if CONTAINMENT in name else min(name)
                subsystem, relation = subsystem or first, relation or str(name[first])
            elif isinstance(name, str):
                relation = relation or name
        return subsystem or CONTAINMENT, relation or "contains"


_decode_edges = msgspec.json.Decoder(list[Edge]).decode
_decode_plain_edges = msgspec.json.Decoder(list[_PlainEdge]).decode
_decode_numbered_edges = msgspec.json.Decoder(list[_NumberedEdge], strict=False).decode
# Digits to 0, what may make a number of another form of them to e.
_FORMS = bytes(48 if 48 <= byte <= 57 else 101 if byte in b"eE." else 32 for byte in range(256))
_source_of, _target_of = attrgetter("source"), attrgetter("target")


def every_edge(edges: memoryview) -> Iterator[Edge]:
    for _, batch in decoded(edges, _decode_edges, _wrong_edges):
        yield from batch


class _GeneralEdges:
    def __init__(self, piece: bytes) -> None:
        try:
            self.edges = _decode_edges(piece)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.edges = _wrong_edges(piece)


class Containment:
    """Takes in the edges one piece after the other, and knows the parent of each vertex in the end."""

    def __init__(self, ids: list[Any], positions: dict[Any, int], foreign: Iterable[int] = ()) -> None:
        self.parents = [tree.NOWHERE] * len(ids)
        self._ids = ids
        self._positions = positions
        self._numbered = tree.are_numbers(ids)
        self._ignored: Counter[str] = Counter()
        self._touched = set(foreign)  # by what is no containment
        self._twice: tuple[int, int] | None = None

    def read(self, edges: memoryview, between: Callable[[], None]) -> None:
        """`between` is called after each piece."""
        batches: Iterator[tuple[bytes, Any]] = decoded(
            edges, _numbered_edges if self._numbered else _decode_plain_edges, _GeneralEdges
        )
        for _, batch in batches:
            between()
            if isinstance(batch, _GeneralEdges):
                self._take(batch.edges)
            else:
                self._take_plain(batch)

    def _take_plain(self, edges: list[_PlainEdge] | list[_NumberedEdge]) -> None:
        position = self._positions.get
        sources, targets = map(position, map(_source_of, edges)), map(position, map(_target_of, edges))
        parents, nowhere = self.parents, tree.NOWHERE
        for source, target in zip(sources, targets, strict=True):
            if source is None or target is None:
                edge = next(one for one in edges if None in (position(one.source), position(one.target)))
                raise self._ends_nowhere(edge.source, edge.target)
            if parents[target] == nowhere and source != target:
                parents[target] = source
            else:
                self._contains(source, target)

    def _take(self, edges: Iterable[Edge]) -> None:
        for edge in edges:
            ends = self._position(edge.source), self._position(edge.target)
            if ends[0] is None or ends[1] is None:
                raise self._ends_nowhere(edge.source, edge.target)
            subsystem, relation = edge.meaning()
            if subsystem == CONTAINMENT and relation == "contains":
                self._contains(ends[0], ends[1])
            elif subsystem == CONTAINMENT and relation == "in":
                self._contains(ends[1], ends[0])
            else:
                self._ignored[relation if subsystem == CONTAINMENT else subsystem] += 1
                self._touched.update((ends[0], ends[1]))

    def _position(self, end: str | int) -> int | None:
        text = str(end)
        if not self._numbered:
            return self._positions.get(text)
        number = natural.numbers([text])
        return self._positions.get(number[0]) if number else None

    def _ends_nowhere(self, source: str | int, target: str | int) -> Exception:
        missing = source if self._position(source) is None else target
        return refused(
            f"the edge from {shown(str(source))} to {shown(str(target))} ends nowhere: "
            f"there is no vertex {shown(str(missing))}"
        )

    def _contains(self, source: int, target: int) -> None:
        if source == target:
            raise refused(f"the graph has a cycle: {vertex(str(self._ids[source]))} contains itself")
        if self.parents[target] == tree.NOWHERE:
            self.parents[target] = source
        elif self.parents[target] != source and self._twice is None:
            self._twice = target, source

    def finish(self, warnings: list[str]) -> set[int]:
        """Returns the vertices that only other subsystems know."""
        if self._twice is not None:
            raise tree.contained_twice(self._ids, self.parents, *self._twice)
        for name, count in self._ignored.items():
            warnings.append(
                f"{count:,} edges are {shown(name)}, not containment, and were left out; register a subsystem for them"
            )
        holding = set(self.parents) if self._touched else set()
        left_out = {one for one in self._touched if self.parents[one] == tree.NOWHERE and one not in holding}
        if left_out and len(left_out) < len(self.parents):
            warnings.append(f"{len(left_out):,} vertices are contained nowhere, and were left out")
            return left_out
        return set()


def _numbered_edges(piece: bytes) -> list[_NumberedEdge]:
    """The decoder would take "1e3" and "1.0" for numbers, but they are no ids that numbers stand for."""
    if b'"-0"' in piece or b"0e" in piece.translate(_FORMS):
        raise msgspec.ValidationError("not as whole numbers are written")
    return _decode_numbered_edges(piece)


def _wrong_edges(piece: bytes) -> list[Edge]:
    """Names the first edge that is wrong."""
    for edge in careful.loads(piece):
        if not isinstance(edge, dict):
            raise refused(f"the edges have {shown(edge)} among them, which is no object with source and target")
        for end in ("source", "target"):
            if isinstance(edge.get(end), bool) or not isinstance(edge.get(end), str | int):
                raise refused(f"an edge has no {end} that is the id of a vertex: {shown(edge)}")
        try:
            msgspec.convert(edge, Edge)
        except msgspec.ValidationError as error:
            raise refused(f"the edge {shown(edge)} is not understood: {error}") from error
    raise refused("the edges could not be read")
