"""A subsystem's graph: software, storage, networks and the like, attached to vertices of a cluster or to each other.

A subsystem that is attached nowhere speaks of the whole cluster.
"""

from collections.abc import Container, Iterable
from typing import Any

import igraph  # type: ignore[import-untyped]

from rainbow_protocol import limits
from rainbowd.resources.graph import Scalar, SubsystemGraph, SubsystemVertex
from rainbowd.resources.reading import jgf, natural, tree
from rainbowd.resources.reading.documents import read_graph
from rainbowd.resources.reading.edges import every_edge
from rainbowd.resources.reading.vertex import PLACE, flattened, properties_of, size_of, sorted_facts, type_of
from rainbowd.resources.reading.words import listed, refused, shown, vertex

_NO_FACTS = (PLACE - {"name"}) | {"type", "properties", "attributes", "subsystem"}


def read_subsystem(name: str, buffer: Any, cluster_ids: Container[str]) -> SubsystemGraph:
    document = read_graph(buffer)
    vertices: dict[str, SubsystemVertex] = {}
    paths: dict[str, str | None] = {}
    for vertex_id, metadata in jgf.metadata_of(document):
        if vertex_id in vertices:
            raise refused(f"two vertices have the id {shown(vertex_id)}; every vertex needs an id of its own")
        if vertex_id in cluster_ids:
            raise refused(f"{vertex(vertex_id)}: the cluster has a vertex of this id already; give it another id")
        vertices[vertex_id] = _vertex(vertex_id, metadata)
        paths[vertex_id] = jgf.path_of(metadata)
        if len(vertices) > limits.SUBSYSTEM_VERTICES_MAX:
            raise refused(f"the subsystem has more than {limits.SUBSYSTEM_VERTICES_MAX:,} vertices")
    if not vertices:
        raise refused("the subsystem has no vertices")
    ids = sorted(tree.index(list(vertices)), key=natural.key)
    positions = {vertex_id: position for position, vertex_id in enumerate(ids)}
    if document.has_edges:
        held, attached = _read_edges(document, positions, cluster_ids)
    else:
        held, attached = _held_by_path(ids, paths), {}
    _refuse_cycles(ids, held)
    everywhere: list[int] = []
    if attached:
        _refuse_unreachable(name, ids, [vertices[one].type for one in ids], held, attached)
    else:
        below = {target for _, target in held}
        everywhere = [position for position in range(len(ids)) if position not in below]
    return SubsystemGraph(
        name=name,
        vertices=[vertices[vertex_id] for vertex_id in ids],
        children=_grouped(held),
        attached=dict(sorted(attached.items(), key=lambda item: natural.key(item[0]))),
        everywhere=everywhere,
    )


def _vertex(vertex_id: str, metadata: object) -> SubsystemVertex:
    if not isinstance(metadata, dict):
        raise refused(f"{vertex(vertex_id)} has no metadata, which must be an object with at least a type")
    if "size" in metadata:
        size_of(vertex_id, metadata["size"])
    properties, facts = properties_of(vertex_id, metadata.get("properties"))
    told = {key for key, _ in facts}
    facts.extend((one, True) for one in properties if not any(key == one or key.startswith(f"{one}.") for key in told))
    attributes = metadata.get("attributes")
    if attributes is not None and not isinstance(attributes, dict):
        raise refused(f"{vertex(vertex_id)}: its attributes are {shown(attributes)}, and must be an object")
    for nested in ({key: value for key, value in metadata.items() if key not in _NO_FACTS}, attributes or {}):
        facts.extend(_without_empty(flattened(vertex_id, nested)))
    return SubsystemVertex(vertex_id, type_of(vertex_id, metadata), sorted_facts(vertex_id, facts))


def _without_empty(facts: Iterable[tuple[str, Scalar]]) -> Iterable[tuple[str, Scalar]]:
    """An empty text, such as the unit of most vertices, says nothing."""
    return (fact for fact in facts if fact[1] != "")


def _read_edges(
    document: jgf.Document, positions: dict[str, int], cluster_ids: Container[str]
) -> tuple[set[tuple[int, int]], dict[str, list[int]]]:
    """Who holds whom among the subsystem's vertices, and which of them are attached to each of the cluster's."""
    held: set[tuple[int, int]] = set()
    attached: dict[str, set[int]] = {}
    for number, edge in enumerate(every_edge(document.edges)):
        if number >= limits.SUBSYSTEM_EDGES_MAX:
            raise refused(f"the subsystem has more than {limits.SUBSYSTEM_EDGES_MAX:,} edges")
        source, target = str(edge.source), str(edge.target)
        if edge.meaning()[1] == "in":
            source, target = target, source
        upper, lower = positions.get(source), positions.get(target)
        for end, position in ((source, upper), (target, lower)):
            if position is None and end not in cluster_ids:
                raise refused(
                    f"the edge from {shown(edge.source)} to {shown(edge.target)} ends nowhere: neither the subsystem "
                    f"nor the cluster has a vertex {shown(end)}"
                )
        if upper is not None and lower is not None:
            if upper == lower:
                raise refused(f"the subsystem has a cycle: {vertex(source)} contains itself")
            held.add((upper, lower))
        elif lower is not None:
            attached.setdefault(source, set()).add(lower)
        elif upper is not None:  # supplied from there: it is attached all the same
            attached.setdefault(target, set()).add(upper)
        else:
            raise refused(
                f"the edge from {shown(edge.source)} to {shown(edge.target)} joins two vertices of the cluster; "
                "it belongs into the cluster's own graph"
            )
    return held, {vertex_id: sorted(there) for vertex_id, there in attached.items()}


def _held_by_path(ids: list[str], paths: dict[str, str | None]) -> set[tuple[int, int]]:
    """Without edges, paths say it; vertices without paths stand beside each other."""
    places: dict[str, int] = {}
    for position, vertex_id in enumerate(ids):
        path = paths[vertex_id]
        if path is None:
            continue
        if path in places:
            raise refused(f"vertices {listed((ids[places[path]], vertex_id))} have the same path, {shown(path)}")
        places[path] = position
    uppers = ((places.get(path.rpartition("/")[0]), position) for path, position in places.items())
    return {(upper, position) for upper, position in uppers if upper is not None}


def _refuse_cycles(ids: list[str], held: set[tuple[int, int]]) -> None:
    graph = igraph.Graph(n=len(ids), edges=sorted(held), directed=True)
    if not graph.is_dag():
        circle = next(part for part in graph.connected_components(mode="strong") if len(part) > 1)
        raise refused(
            f"the subsystem has a cycle: {listed(ids[position] for position in sorted(circle))} contain each other"
        )
    depths = [1] * len(ids)
    below = _grouped(held)
    for position in graph.topological_sorting():
        if depths[position] > limits.GRAPH_DEPTH_MAX:
            raise refused(
                f"{vertex(ids[position])} is more than {limits.GRAPH_DEPTH_MAX} levels deep; "
                f"a subsystem has at most {limits.GRAPH_DEPTH_MAX} levels"
            )
        for child in below.get(position, ()):
            depths[child] = max(depths[child], depths[position] + 1)


def _refuse_unreachable(
    name: str, ids: list[str], types: list[str], held: set[tuple[int, int]], attached: dict[str, list[int]]
) -> None:
    """All must be reached from the cluster; only the subsystem's own root may hang free, as its examples show."""
    below = _grouped(held)
    reached = {position for there in attached.values() for position in there}
    stack = list(reached)
    while stack:
        for child in below.get(stack.pop(), ()):
            if child not in reached:
                reached.add(child)
                stack.append(child)
    has_parent = {target for _, target in held}
    free = [position for position in range(len(ids)) if position not in reached]
    roots = [position for position in free if position not in has_parent]
    own = [position for position in roots if types[position] == name] or roots
    lost = [ids[position] for position in free if position != own[0]]
    if lost:
        others = f", nor can {len(lost) - 1:,} others" if len(lost) > 1 else ""
        raise refused(
            f"{vertex(lost[0])} cannot be reached from the cluster{others}: "
            "add an edge to it from a vertex of the cluster, or from one that is attached there"
        )


def _grouped(held: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    children: dict[int, list[int]] = {}
    for upper, lower in sorted(held):
        children.setdefault(upper, []).append(lower)
    return children
