"""Graphs as short bytes, to be kept and handed between processes; the same graph always gives the same bytes.

Numbers that grow evenly, as ids and places do, are kept as steps, of which there are few different ones.
"""

import zlib
from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate, chain
from operator import sub

import msgspec

from rainbowd.resources.graph import Kind, Limits, ResourceGraph, Scalar, SubsystemGraph, SubsystemVertex
from rainbowd.resources.reading import natural

_LEVEL = 1  # nearly as short as the others here, and much quicker
_KindFields = tuple[str, int | float, str, tuple[str, ...], tuple[tuple[str, Scalar], ...]]
_BETWEEN = "\n"  # no id has one


class _PackedGraph(msgspec.Struct, tag="graph-1", array_like=True):
    numbers: bytes | None  # the ids, if all of them are numbers
    ids: bytes | None
    parents: bytes
    kind_of: bytes
    kinds: list[_KindFields]
    names: tuple[bytes, bytes]  # places and, in their order, names
    ranks: tuple[bytes, bytes]
    down: bytes
    warnings: list[str]


class _PackedLimits(msgspec.Struct, tag="limits-1", array_like=True):
    nodes: int | None
    per_node: tuple[tuple[str, int | float, str], ...]
    properties: tuple[str, ...]
    attributes: tuple[tuple[str, Scalar], ...]


class _PackedSubsystem(msgspec.Struct, tag="subsystem-1", array_like=True):
    name: str
    vertices: list[tuple[str, str, tuple[tuple[str, Scalar], ...]]]
    children: list[tuple[int, list[int]]]
    attached: list[tuple[str, list[int]]]
    everywhere: list[int]


_decoder = msgspec.msgpack.Decoder(_PackedGraph | _PackedLimits)
_subsystem_decoder = msgspec.msgpack.Decoder(_PackedSubsystem)


def pack(graph: ResourceGraph | Limits) -> bytes:
    if isinstance(graph, Limits):
        packed = _PackedLimits(graph.nodes, graph.per_node, graph.properties, graph.attributes)
        return msgspec.msgpack.encode(packed)
    numbers = natural.numbers(graph.ids)
    return msgspec.msgpack.encode(
        _PackedGraph(
            numbers=None if numbers is None else _steps(numbers),
            ids=_text(graph.ids) if numbers is None else None,
            parents=_steps(graph.parents),
            kind_of=zlib.compress(graph.kind_of.tobytes(), _LEVEL),
            kinds=[(one.type, one.size, one.unit, one.properties, one.attributes) for one in graph.kinds],
            names=(_steps(sorted(graph.names)), _text(graph.names[place] for place in sorted(graph.names))),
            ranks=(_steps(sorted(graph.ranks)), _steps([graph.ranks[place] for place in sorted(graph.ranks)])),
            down=_steps(sorted(graph.down)),
            warnings=graph.warnings,
        )
    )


def unpack(packed: bytes) -> ResourceGraph | Limits:
    found = _decoder.decode(packed)
    if isinstance(found, _PackedLimits):
        return Limits(found.nodes, found.per_node, found.properties, found.attributes)
    return ResourceGraph(
        ids=list(map(str, _summed(found.numbers))) if found.numbers is not None else _lines(found.ids or b""),
        parents=array("i", _summed(found.parents)),
        kind_of=array("I", zlib.decompress(found.kind_of)),
        kinds=[Kind(*fields) for fields in found.kinds],
        names=dict(zip(_summed(found.names[0]), _lines(found.names[1]), strict=True)),
        ranks=dict(zip(_summed(found.ranks[0]), _summed(found.ranks[1]), strict=True)),
        down=set(_summed(found.down)),
        warnings=found.warnings,
    )


def pack_subsystem(subsystem: SubsystemGraph) -> bytes:
    packed = _PackedSubsystem(
        subsystem.name,
        [(one.id, one.type, one.attributes) for one in subsystem.vertices],
        sorted(subsystem.children.items()),
        list(subsystem.attached.items()),
        subsystem.everywhere,
    )
    return zlib.compress(msgspec.msgpack.encode(packed), _LEVEL)


def unpack_subsystem(packed: bytes) -> SubsystemGraph:
    found = _subsystem_decoder.decode(zlib.decompress(packed))
    return SubsystemGraph(
        found.name,
        [SubsystemVertex(*fields) for fields in found.vertices],
        dict(found.children),
        dict(found.attached),
        found.everywhere,
    )


def _steps(numbers: Sequence[int]) -> bytes:
    differences = array("q", map(sub, numbers, chain((0,), numbers)))
    return zlib.compress(differences.tobytes(), _LEVEL)


def _summed(packed: bytes) -> Iterable[int]:
    differences = array("q")
    differences.frombytes(zlib.decompress(packed))
    return accumulate(differences)


def _text(lines: Iterable[str]) -> bytes:
    return zlib.compress(_BETWEEN.join(lines).encode(), _LEVEL)


def _lines(packed: bytes) -> list[str]:
    text = zlib.decompress(packed).decode()
    return text.split(_BETWEEN) if text else []
