"""Equal subtrees are one class: same type, size, properties, attributes, attachments, and same children.

`describe` boils a whole graph down to its classes. What the daemon keeps of a cluster is that description: its size
follows the number of different kinds of node, not the number of nodes. Leaves that differ only in their place (the
64 cores of a node) are one pool.
"""

from array import array
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import orjson

from rainbow_protocol import limits
from rainbowd.resources.graph import GraphRefusedError, Limits, ResourceGraph, Scalar, SubsystemGraph
from rainbowd.resources.traits import Trait, traits_of

VERSION = 1
HOST = "node"  # the type whose vertices have names, and in which a slot must fit

# type, size, unit, properties, attributes, position of its trait set, ((position of a child's class, how many), …)
Form = tuple[str, int | float, str, tuple[str, ...], tuple[tuple[str, Scalar], ...], int, tuple[tuple[int, int], ...]]


class _Forms:
    """Classes in the order in which they were met: children before parents."""

    def __init__(self) -> None:
        self.forms: list[Form] = []
        self._positions: dict[Form, int] = {}
        self.trait_sets: list[tuple[Trait, ...]] = [()]
        self._trait_positions: dict[tuple[Trait, ...], int] = {(): 0}

    def add(self, form: Form) -> int:
        position = self._positions.get(form)
        if position is None:
            position = self._positions[form] = len(self.forms)
            self.forms.append(form)
            if position >= limits.GRAPH_KINDS_MAX:
                raise GraphRefusedError(
                    f"the graph has more than {limits.GRAPH_KINDS_MAX} different kinds of subtree; "
                    "leave out of the attributes what is different on every node, such as serial numbers"
                )
        return position

    def add_traits(self, traits: tuple[Trait, ...]) -> int:
        position = self._trait_positions.setdefault(traits, len(self.trait_sets))
        if position == len(self.trait_sets):
            self.trait_sets.append(traits)
        return position

    def pooled(self, children: Counter[int]) -> tuple[tuple[int, int], ...]:
        """Leaves that are alike but for their size become one: cores are counted, not told apart."""
        if not any(not self.forms[child][6] for child in children):
            return tuple(sorted(children.items()))
        pools: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
        kept: Counter[int] = Counter()
        for child, count in children.items():
            form = self.forms[child]
            if form[6] or form[0] == HOST:
                kept[child] += count
            else:
                pools.setdefault((form[0], *form[2:6]), []).append((child, count))
        for (kind, unit, properties, attributes, traits), members in pools.items():
            size = sum(self.forms[child][1] * count for child, count in members)
            if size > limits.GRAPH_SIZE_MAX:
                raise GraphRefusedError(
                    f"the sizes of type {kind!r} in one place add up to more than 10^18; use a larger unit"
                )
            kept[self.add((kind, size, unit, properties, attributes, traits, ()))] += 1
        return tuple(sorted(kept.items()))


def describe(graph: ResourceGraph | Limits, subsystems: Sequence[SubsystemGraph] = ()) -> bytes:
    """What the daemon keeps of a cluster. The same resources give the same bytes, however they were written."""
    if isinstance(graph, Limits):
        return _describe_limits(graph, "limits", subsystems)
    forms = _Forms()
    traits_at = _attachments(graph, subsystems, forms)
    class_of = array("I", bytes(4 * len(graph)))
    children: list[Counter[int] | None] = [None] * len(graph)
    for told in graph.kinds:
        if told.type == HOST and told.size != 1:
            raise GraphRefusedError(f"a node has size {told.size}; nodes are told one by one, each with size 1")
    kinds = [(k.type, whole(k.size), k.unit, k.properties, plain(k.attributes)) for k in graph.kinds]
    leaves: dict[tuple[int, int], int] = {}  # most vertices are leaves of a few kinds: met before, nothing to do
    for vertex in range(len(graph) - 1, -1, -1):
        kind, traits, below = graph.kind_of[vertex], traits_at.get(vertex, 0), children[vertex]
        if below is None:
            known = leaves.get((kind, traits))
            if known is None:
                known = leaves[kind, traits] = forms.add((*kinds[kind], traits, ()))
            own = known
        else:
            own = forms.add((*kinds[kind], traits, forms.pooled(below)))
            children[vertex] = None
        class_of[vertex] = own
        parent = graph.parents[vertex]
        if parent >= 0:
            above = children[parent]
            if above is None:
                above = children[parent] = Counter()
            above[own] += 1
    return _as_bytes(forms, class_of[0], _skeleton(graph, class_of), "graph", subsystems, graph)


def from_totals(nodes: int, cores_per_node: int, gpus_per_node: int) -> bytes:
    """For a cluster that told counts only."""
    per_node = [("core", cores_per_node, "")] + ([("gpu", gpus_per_node, "")] if gpus_per_node else [])
    return _describe_limits(Limits(nodes, tuple(per_node)), "totals", ())


def _describe_limits(described: Limits, source: str, subsystems: Sequence[SubsystemGraph]) -> bytes:
    forms = _Forms()
    traits: set[Trait] = set()
    for subsystem in subsystems:
        if subsystem.attached:
            raise _not_there(subsystem.name, next(iter(sorted(subsystem.attached))))
        traits |= traits_of(subsystem, tuple(subsystem.everywhere))
    everywhere = forms.add_traits(tuple(sorted(traits, key=repr)))
    per_node = [(name, whole(size), unit) for name, size, unit in described.per_node if size]
    pools = Counter(forms.add((*pool, (), (), 0, ())) for pool in per_node)
    node = forms.add((HOST, 1, "", described.properties, plain(described.attributes), 0, forms.pooled(pools)))
    count = limits.NODES_MAX if described.nodes is None else described.nodes
    root = forms.add(("cluster", 1, "", (), (), everywhere, ((node, count),)))
    return _as_bytes(forms, root, None, source, subsystems, None)


def _attachments(graph: ResourceGraph, subsystems: Sequence[SubsystemGraph], forms: _Forms) -> dict[int, int]:
    """The trait set of each vertex that something is attached to."""
    if not subsystems:
        return {}
    wanted = {vertex_id for subsystem in subsystems for vertex_id in subsystem.attached}
    places = {vertex_id: vertex for vertex, vertex_id in enumerate(graph.ids) if vertex_id in wanted}
    found: dict[int, set[Trait]] = {}
    for subsystem in subsystems:
        known: dict[tuple[int, ...], frozenset[Trait]] = {}  # thousands of nodes may have the same attached
        for vertex_id, attached in subsystem.attached.items():
            if vertex_id not in places:
                raise _not_there(subsystem.name, vertex_id)
            key = tuple(sorted(attached))
            if key not in known:
                known[key] = traits_of(subsystem, key)
            found.setdefault(places[vertex_id], set()).update(known[key])
        if subsystem.everywhere:
            found.setdefault(0, set()).update(traits_of(subsystem, tuple(subsystem.everywhere)))
    return {vertex: forms.add_traits(tuple(sorted(traits, key=repr))) for vertex, traits in found.items()}


def _not_there(subsystem: str, vertex_id: str) -> GraphRefusedError:
    return GraphRefusedError(
        f"subsystem {subsystem!r} is attached to vertex {vertex_id!r}, which the cluster does not have; "
        "register that subsystem anew, or delete it first"
    )


def _skeleton(graph: ResourceGraph, class_of: "array[int]") -> dict[str, Any] | None:
    """Nodes and what is above them, one by one: who they are matters when a request names hosts or ranks."""
    host_kinds = {position for position, kind in enumerate(graph.kinds) if kind.type == HOST}
    kept: set[int] = set()
    for vertex, kind in enumerate(graph.kind_of):
        if kind in host_kinds:
            while vertex >= 0 and vertex not in kept:
                kept.add(vertex)
                vertex = graph.parents[vertex]
    if not kept:
        return None
    order = sorted(kept)
    place = {vertex: position for position, vertex in enumerate(order)}
    return {
        "parents": [place.get(graph.parents[vertex], -1) for vertex in order],
        "classes": [class_of[vertex] for vertex in order],
        "names": [graph.names.get(vertex, "") for vertex in order],
        "ranks": [graph.ranks.get(vertex, -1) for vertex in order],
    }


def _as_bytes(
    forms: _Forms,
    root: int,
    skeleton: dict[str, Any] | None,
    source: str,
    subsystems: Sequence[SubsystemGraph],
    graph: ResourceGraph | None,
) -> bytes:
    used = _canonical(forms, root)
    place = {position: new for new, position in enumerate(used)}
    trait_sets = list(dict.fromkeys([0, *(forms.forms[position][5] for position in used)]))
    trait_place = {position: new for new, position in enumerate(trait_sets)}
    traits = sorted({trait for position in trait_sets for trait in forms.trait_sets[position]}, key=repr)
    trait_number = {trait: number for number, trait in enumerate(traits)}
    if skeleton is not None:
        skeleton["classes"] = [place[position] for position in skeleton["classes"]]
    document = {
        "version": VERSION,
        "source": source,
        "classes": [_renumbered(forms.forms[position], place, trait_place) for position in used],
        "traits": traits,
        "trait_sets": [[trait_number[trait] for trait in forms.trait_sets[position]] for position in trait_sets],
        "root": place[root],
        "skeleton": skeleton,
        "down": 0 if graph is None else _hosts_down(graph),
        "subsystems": [
            {
                "name": subsystem.name,
                "vertices": len(subsystem.vertices),
                "attached_to": len(subsystem.attached) + bool(subsystem.everywhere),
                "types": dict(sorted(Counter(vertex.type for vertex in subsystem.vertices).items())),
            }
            for subsystem in sorted(subsystems, key=lambda subsystem: subsystem.name)
        ],
    }
    return orjson.dumps(document)


def _renumbered(form: Form, place: dict[int, int], trait_place: dict[int, int]) -> tuple[Any, ...]:
    children = sorted((place[child], count) for child, count in form[6])
    return (*form[:5], trait_place[form[5]], children)


def _canonical(forms: _Forms, root: int) -> list[int]:
    """The classes of the finished graph, children first, in an order that only their content decides.

    Leaves that went into pools are in no tree any more, and left out.
    """
    seen = {root}
    stack = [root]
    while stack:
        for child, _ in forms.forms[stack.pop()][6]:
            if child not in seen:
                seen.add(child)
                stack.append(child)
    content: dict[int, tuple[int, bytes]] = {}  # height, digest
    types: dict[int, frozenset[str]] = {}
    facts = 0
    for position in sorted(seen):  # children were met before their parents
        form = forms.forms[position]
        types[position] = frozenset((form[0],)).union(*(types[child] for child, _ in form[6]))
        facts += len(types[position])
        if facts > limits.GRAPH_FACTS_MAX:
            raise GraphRefusedError(
                "the graph has too many kinds of subtree with too many types of vertex in them; "
                "tell things of the same sort by one type, and what is special about them by attributes"
            )
        below = sorted((content[child], count) for child, count in form[6])
        height = 1 + max((high for (high, _), _ in below), default=0)
        text = repr((form[:5], forms.trait_sets[form[5]], below))
        content[position] = (height, blake2b(text.encode(), digest_size=16).digest())
    return sorted(seen, key=content.__getitem__)


def _hosts_down(graph: ResourceGraph) -> int:
    host_kinds = {position for position, kind in enumerate(graph.kinds) if kind.type == HOST}
    return sum(1 for vertex in graph.down if graph.kind_of[vertex] in host_kinds)


def whole(number: int | float) -> int | float:
    """1 and 1.0 are the same size, and are written the same."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def plain(attributes: tuple[tuple[str, Scalar], ...]) -> tuple[tuple[str, Scalar], ...]:
    """True equals 1 for Python, but not for the person who wrote it: truth values are kept as words."""
    return tuple((key, str(value).lower() if isinstance(value, bool) else value) for key, value in attributes)
