"""A cluster's whole description as JSON Graph Format v2, written piece by piece: it is read back as the same graph."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

import msgspec

from rainbowd.resources.graph import Limits, ResourceGraph, Scalar, SubsystemGraph

_BATCH = 2_000
_encode = msgspec.json.encode


def as_jgf(graph: ResourceGraph | Limits, subsystems: Sequence[SubsystemGraph], name: str) -> Iterator[bytes]:
    """Vertices and edges of a subsystem say so in their metadata, so that they are told from containment."""
    if isinstance(graph, Limits):
        yield from _limits(graph, subsystems, name)
        return
    yield b'{"name": %b, "graph": {"directed": true, "nodes": {\n' % _encode(name)
    yield from _joined(chain(_nodes(graph), chain.from_iterable(map(_subsystem_nodes, subsystems))))
    yield b'\n}, "edges": [\n'
    yield from _joined(chain(_edges(graph), chain.from_iterable(map(_subsystem_edges, subsystems))))
    yield b"\n]}}\n"


def _joined(members: Iterator[bytes]) -> Iterator[bytes]:
    before = b""
    while batch := list(islice(members, _BATCH)):
        yield before + b",\n".join(batch)
        before = b",\n"


def _nodes(graph: ResourceGraph) -> Iterator[bytes]:
    fields = [
        {
            "type": kind.type,
            "size": kind.size,
            **({"unit": kind.unit} if kind.unit else {}),
            **({"properties": kind.properties} if kind.properties else {}),
            **({"attributes": _nested(kind.attributes)} if kind.attributes else {}),
        }
        for kind in graph.kinds
    ]
    common = [b'{"metadata":%b}' % _encode(one) for one in fields]
    for vertex, vertex_id in enumerate(graph.ids):
        kind = graph.kind_of[vertex]
        text = common[kind]
        if vertex in graph.names or vertex in graph.ranks or vertex in graph.down:
            metadata: dict[str, Any] = dict(fields[kind])
            if vertex in graph.names:
                metadata["name"] = graph.names[vertex]
            if vertex in graph.ranks:
                metadata["rank"] = graph.ranks[vertex]
            if vertex in graph.down:
                metadata["status"] = 1
            text = b'{"metadata":%b}' % _encode(metadata)
        yield b"%b: %b" % (_encode(vertex_id), text)


def _edges(graph: ResourceGraph) -> Iterator[bytes]:
    for vertex, parent in enumerate(graph.parents):
        if parent >= 0:
            yield _edge(graph.ids[parent], graph.ids[vertex], None)


def _subsystem_nodes(subsystem: SubsystemGraph) -> Iterator[bytes]:
    for vertex in subsystem.vertices:
        metadata = {"type": vertex.type, "subsystem": subsystem.name, "attributes": _nested(vertex.attributes)}
        yield b'%b: {"metadata":%b}' % (_encode(vertex.id), _encode(metadata))


def _subsystem_edges(subsystem: SubsystemGraph) -> Iterator[bytes]:
    for place, there in subsystem.attached.items():
        for vertex in there:
            yield _edge(place, subsystem.vertices[vertex].id, subsystem.name)
    for upper, below in subsystem.children.items():
        for lower in below:
            yield _edge(subsystem.vertices[upper].id, subsystem.vertices[lower].id, subsystem.name)


def _edge(source: str, target: str, subsystem: str | None) -> bytes:
    metadata = b"" if subsystem is None else b',"metadata":{"subsystem":%b}' % _encode(subsystem)
    return b'{"source":%b,"target":%b,"relation":"contains"%b}' % (_encode(source), _encode(target), metadata)


def _nested(attributes: Iterable[tuple[str, Scalar]]) -> dict[str, Any]:
    """A field that stands there several times is a list."""
    found: dict[str, list[Scalar]] = {}
    for key, value in attributes:
        found.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in found.items()}


def _limits(graph: Limits, subsystems: Sequence[SubsystemGraph], name: str) -> Iterator[bytes]:
    document: dict[str, Any] = {"name": name}
    if graph.nodes is not None:
        document["max_nodes"] = graph.nodes
    for kind, amount, _ in graph.per_node:
        document[f"{kind}_per_node"] = amount
    if graph.properties:
        document["properties"] = graph.properties
    if graph.attributes:
        document["attributes"] = _nested(graph.attributes)
    if subsystems:
        document["subsystems"] = [
            {
                "name": subsystem.name,
                "vertices": {
                    vertex.id: {"type": vertex.type, "attributes": _nested(vertex.attributes)}
                    for vertex in subsystem.vertices
                },
            }
            for subsystem in subsystems
        ]
    yield _encode(document)
    yield b"\n"
