"""A matcher that is small and obviously right: it tries every way to place every single thing of a request.

It works on the request as it was written and on a graph of explicit vertices, and shares no code with the real one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from rainbow_protocol.resources import Requirement, Resource, least


@dataclass(eq=False)
class Vertex:
    type: str
    size: int = 1
    properties: frozenset[str] = frozenset()
    attached: list[dict[str, object]] = field(default_factory=list)  # {"subsystem": s, "type": t, field: value}
    children: list["Vertex"] = field(default_factory=list)
    parent: "Vertex | None" = None
    order: int = 0

    def above(self) -> Iterator["Vertex"]:
        one = self.parent
        while one is not None:
            yield one
            one = one.parent

    def below(self) -> Iterator["Vertex"]:
        for child in self.children:
            yield child
            yield from child.below()


@dataclass(eq=False)
class Thing:
    """One single thing that is wanted: one vertex, or one unit of a pool."""

    resource: Resource
    exclusive: bool
    parent: "Thing | None"
    slot: object | None  # things with the same slot come from one node, as far as nodes hold such things
    copy: int = 0  # other copies may stand on the same vertex, unless one of them wants it for itself
    twin: "Thing | None" = None  # an equal thing before it: it needs no earlier vertex than that

    def ancestors(self) -> Iterator["Thing"]:
        one = self.parent
        while one is not None:
            yield one
            one = one.parent


def numbered(root: Vertex) -> list[Vertex]:
    every = [root, *root.below()]
    for order, vertex in enumerate(every):
        vertex.order = order
        for child in vertex.children:
            child.parent = vertex
    return every


def fits(root: Vertex, forest: list[Resource], may_use: "frozenset[Vertex] | None" = None, copies: int = 1) -> bool:
    """`may_use` are the nodes that a constraint or a requirement of the whole job lets it use."""
    every = numbered(root)
    things: list[Thing] = []
    for copy in range(copies):
        for resource in forest:
            _expand(resource, None, False, False, None, things, copy)
    return _place(things, 0, every, {}, may_use)


def _expand(
    resource: Resource,
    parent: Thing | None,
    in_slot: bool,
    in_node: bool,
    slot: object | None,
    things: list[Thing],
    copy: int,
) -> None:
    twin: Thing | None = None
    for _ in range(least(resource.count)):
        if resource.type == "slot":
            packed = slot is None and not in_node and not _holds(resource, "node")
            inner = object() if packed else slot
            for child in resource.children:
                held = child.model_copy(update={"requires": [*resource.requires, *child.requires]})
                _expand(held, parent, True, in_node, inner, things, copy)
            continue
        exclusive = in_slot if resource.exclusive is None else resource.exclusive
        thing = Thing(resource, exclusive, parent, slot, copy, twin if not resource.children else None)
        things.append(thing)
        twin = thing
        for child in resource.children:
            _expand(child, thing, in_slot, in_node or resource.type == "node", None, things, copy)


def _holds(resource: Resource, kind: str) -> bool:
    return any(child.type == kind or _holds(child, kind) for child in resource.children)


def _place(
    things: list[Thing], index: int, every: list[Vertex], placed: dict[Thing, Vertex], may_use: frozenset[Vertex] | None
) -> bool:
    if index == len(things):
        return True
    thing = things[index]
    for vertex in every:
        if _may(thing, vertex, placed, every, may_use):
            placed[thing] = vertex
            if _place(things, index + 1, every, placed, may_use):
                return True
            del placed[thing]
    return False


def _may(
    thing: Thing, vertex: Vertex, placed: dict[Thing, Vertex], every: list[Vertex], may_use: frozenset[Vertex] | None
) -> bool:
    above = list(vertex.above())
    if vertex.type != thing.resource.type:
        return False
    if thing.twin is not None and vertex.order < placed[thing.twin].order:
        return False
    if thing.parent is not None and placed[thing.parent] not in above:
        return False
    if may_use is not None and any(one.type == "node" and one not in may_use for one in (vertex, *above)):
        return False
    if not all(_satisfied(one, (vertex, *above)) for one in thing.resource.requires):
        return False
    here = [other for other, where in placed.items() if where is vertex]
    if thing.resource.children:
        if any(other.copy == thing.copy or other.exclusive or thing.exclusive for other in here):
            return False
        if any(not other.resource.children for other in here):
            return False
    elif any(other.resource.children for other in here) or len(here) >= vertex.size:
        return False
    for other, where in placed.items():
        if other.exclusive and where in above and other not in thing.ancestors():
            return False
        if thing.exclusive and vertex in where.above() and thing not in other.ancestors():
            return False
    return _slot_agrees(thing, vertex, placed, every)


def _slot_agrees(thing: Thing, vertex: Vertex, placed: dict[Thing, Vertex], every: list[Vertex]) -> bool:
    if thing.slot is None:
        return True
    container = placed[thing.parent] if thing.parent is not None else None
    scope = every if container is None else list(container.below())
    in_nodes = {deep.type for one in scope if one.type == "node" for deep in one.below()}
    if thing.resource.type not in in_nodes:
        return True
    host = _host(vertex, scope)
    if host is None:
        return False
    return all(
        _host(where, scope) is host
        for other, where in placed.items()
        if other.slot is thing.slot and other.resource.type in in_nodes
    )


def _host(vertex: Vertex, scope: list[Vertex]) -> Vertex | None:
    """The outermost node around it, within what contains the slot."""
    nodes = [one for one in vertex.above() if one.type == "node" and one in scope]
    return nodes[-1] if nodes else None


def _satisfied(requirement: Requirement, places: tuple[Vertex, ...]) -> bool:
    found = any(
        facts["subsystem"] == requirement.subsystem and all(_true(c, facts) for c in requirement.conditions)
        for place in places
        for facts in place.attached
    )
    return found != requirement.absent


def _true(condition: object, facts: dict[str, object]) -> bool:
    value = facts.get(condition.field)  # type: ignore[attr-defined]
    present, any_of, none_of, low, high = (
        getattr(condition, name) for name in ("present", "any_of", "none_of", "min", "max")
    )
    if present is not None and (value is not None) != present:
        return False
    if none_of is not None and value in none_of:
        return False
    if any_of is not None and value not in any_of:
        return False
    if low is not None and (value is None or value < low):  # type: ignore[operator]
        return False
    return not (high is not None and (value is None or value > high))  # type: ignore[operator]


def node_suits(node: Vertex, requires: list[Requirement]) -> bool:
    return all(_satisfied(one, (node, *node.above())) for one in requires)
