"""Small clusters and requests at random, and how an explicit tree becomes what the daemon keeps."""

from random import Random

from rainbow_protocol.job import JobRequest
from rainbow_protocol.resources import Condition, Constraint, CountRange, Need, Requirement, Resource, least
from rainbowd.resources.classes import describe
from rainbowd.resources.graph import Kind, ResourceGraph, SubsystemGraph, SubsystemVertex
from rainbowd.resources.model import ClassTable, ClusterModel
from tests.unit.daemon.resources.brute import Vertex, numbered

PACKAGES = ("openssl", "cmake")
PROPERTIES = ("amd", "big")


# --- clusters


def facts(dice: Random) -> list[dict[str, object]]:
    chosen = [(dice.choice(PACKAGES), dice.randint(1, 3)) for _ in range(dice.randint(0, 2))]
    return [{"subsystem": "spack", "type": "package", "name": name, "version": number} for name, number in chosen]


def seldom(dice: Random, one_in: int) -> bool:
    return dice.randint(1, one_in) == 1


def node(dice: Random) -> Vertex:
    properties = frozenset([dice.choice(PROPERTIES)] if dice.randint(0, 1) else [])
    one = Vertex("node", properties=properties, attached=facts(dice))
    one.children = [Vertex(dice.choice(["core", "gpu"])) for _ in range(dice.randint(0, 3))]
    if dice.randint(0, 1):
        one.children.append(Vertex("memory", size=dice.randint(1, 3)))
    for _ in range(dice.randint(0, 2)):
        socket = Vertex("socket", attached=facts(dice) if seldom(dice, 5) else [])
        for _ in range(dice.randint(0, 2)):
            socket.children.append(Vertex("core", attached=facts(dice) if seldom(dice, 7) else []))
        if dice.randint(0, 1):
            socket.children.append(Vertex("gpu"))
        one.children.append(socket)
    return one


def cluster(dice: Random) -> Vertex:
    if seldom(dice, 30):
        return node(dice)
    if seldom(dice, 30):
        return Vertex("node", attached=facts(dice), children=[node(dice) for _ in range(dice.randint(1, 2))])
    root = Vertex("cluster", attached=facts(dice) if seldom(dice, 4) else [])
    if dice.randint(0, 1):
        root.children = [node(dice) for _ in range(dice.randint(1, 3))]
    else:
        for _ in range(dice.randint(1, 2)):
            rack = Vertex("rack", attached=facts(dice) if seldom(dice, 5) else [])
            rack.children = [node(dice) for _ in range(dice.randint(0, 2))]
            root.children.append(rack)
    if seldom(dice, 4):
        root.children.append(Vertex("licence", size=dice.randint(1, 2)))
    if seldom(dice, 6):
        inner = Vertex("rack", children=[node(dice) for _ in range(dice.randint(0, 1))])
        root.children.append(Vertex("rack", children=[inner]))
    return root


def graph_of(root: Vertex) -> tuple[ResourceGraph, list[SubsystemGraph]]:
    graph = ResourceGraph()
    kinds: dict[Kind, int] = {}
    every = numbered(root)
    spack = SubsystemGraph("spack")
    for vertex in every:
        kind = Kind(vertex.type, vertex.size, "", tuple(sorted(vertex.properties)))
        position = kinds.setdefault(kind, len(kinds))
        if position == len(graph.kinds):
            graph.kinds.append(kind)
        if vertex.type == "node":
            graph.names[vertex.order] = f"n{vertex.order}"
            graph.ranks[vertex.order] = vertex.order
        graph.ids.append(str(vertex.order))
        graph.parents.append(-1 if vertex.parent is None else vertex.parent.order)
        graph.kind_of.append(position)
        for one in vertex.attached:
            attributes = (("name", str(one["name"])), ("version", int(str(one["version"]))))
            spack.vertices.append(SubsystemVertex(f"s{len(spack.vertices)}", "package", attributes))
            spack.attached.setdefault(str(vertex.order), []).append(len(spack.vertices) - 1)
    return graph, [spack] if spack.vertices else []


def model_of(root: Vertex, table: ClassTable | None = None) -> ClusterModel:
    return (table or ClassTable()).load(describe(*graph_of(root)))


# --- requests


def requirements(dice: Random) -> list[Requirement]:
    if not seldom(dice, 4):
        return []
    conditions = [Condition(field="name", any_of=[dice.choice(PACKAGES)])]
    low, high = sorted((dice.randint(1, 3), dice.randint(1, 3)))
    kind = dice.randint(0, 3)
    if kind == 0:
        conditions.append(Condition(field="version", min=low, max=high))
    elif kind == 1:
        conditions = [Condition(field="version", none_of=[low]), Condition(field="version", present=True)]
    elif kind == 2:
        conditions.append(Condition(field="version", any_of=[low, high]))
    return [Requirement(subsystem="spack", conditions=conditions, absent=seldom(dice, 5))]


def exclusive(dice: Random) -> bool | None:
    return dice.choice([None, None, None, True, False])


def leaf(dice: Random) -> Resource:
    kind = dice.choice(["core", "core", "core", "gpu", "memory", "licence"])
    return Resource(type=kind, count=count(dice, 2), requires=requirements(dice), exclusive=exclusive(dice))


def count(dice: Random, most: int) -> int | CountRange:
    number = dice.randint(1, most)
    return CountRange(min=number, max=number + dice.randint(0, 5)) if seldom(dice, 8) else number


def resource(dice: Random, level: int = 0, in_slot: bool = False) -> Resource:
    kinds = ["rack", "node", "node", "socket", "leaf", "leaf"] + ([] if in_slot else ["slot", "slot"])
    kind = dice.choice(kinds) if level < 3 else "leaf"
    if kind == "leaf":
        return leaf(dice)
    inside = in_slot or kind == "slot"
    children = [resource(dice, level + 1, inside) for _ in range(dice.randint(int(kind == "slot"), 2))]
    number = count(dice, 3) if level < 2 else 1
    if kind == "slot":
        return Resource(type="slot", count=number, children=children)
    return Resource(type=kind, count=number, children=children, requires=requirements(dice), exclusive=exclusive(dice))


def size(resource: Resource) -> int:
    own = 0 if resource.type == "slot" else 1
    return least(resource.count) * (own + sum(size(child) for child in resource.children))


def forest(dice: Random, things_max: int = 7) -> list[Resource]:
    while True:
        found = [resource(dice) for _ in range(dice.randint(1, 2))]
        if sum(map(size, found)) <= things_max:
            return found


LEVELS = ("cluster", "rack", "node", "socket", "core", "gpu", "memory", "licence")


def crowd(dice: Random, root: Vertex, things_max: int = 8) -> list[Resource]:
    """Wants that compete: only of types that the cluster has, and several that use the same ones."""
    present = [kind for kind in LEVELS if any(one.type == kind for one in numbered(root))] or ["node"]
    while True:
        found = [competitor(dice, present, 0) for _ in range(dice.randint(2, 3))]
        if sum(map(size, found)) <= things_max:
            return found


def competitor(dice: Random, present: list[str], level: int, slots: int = 0) -> Resource:
    """Things stand in what can hold them: a core in a socket, never a socket in a core."""
    kind = dice.choice(present[level:] or present[-1:])
    below = LEVELS.index(kind) + 1
    inner = [one for one in present if LEVELS.index(one) >= below] if below < 5 else []
    if slots < 2 and seldom(dice, 12 if slots else 3):
        held = [competitor(dice, present, level, slots + 1) for _ in range(dice.randint(1, 2))]
        requires = requirements(dice) if seldom(dice, 4) else []
        return Resource(type="slot", count=dice.randint(1, 2), children=held, requires=requires)
    children = [competitor(dice, inner, 0, slots) for _ in range(dice.randint(0, 2))] if inner else []
    return Resource(
        type=kind,
        count=dice.choice([1, 1, 1, 2, 3]),
        children=children,
        requires=requirements(dice) if seldom(dice, 4) else [],
        exclusive=exclusive(dice),
    )


def constraint(dice: Random, depth: int = 0) -> Constraint:
    kind = dice.choice(["properties", "hostlist", "ranks", "and", "or", "not"][: 6 if depth < 2 else 3])
    if kind == "properties":
        return Constraint(op="properties", values=[dice.choice(["", "^"]) + dice.choice(PROPERTIES)])
    if kind == "hostlist":
        low = dice.randint(1, 8)
        return Constraint(op="hostlist", values=[f"n[{low}-{low + dice.randint(0, 9)}]"])
    if kind == "ranks":
        return Constraint(op="ranks", values=[f"{dice.randint(1, 4)}-{dice.randint(4, 12)}"])
    return Constraint(op=kind, args=[constraint(dice, depth + 1) for _ in range(dice.randint(1, 2))])


def admits(constraint: Constraint, node: Vertex) -> bool:
    """As RFC 31 says, written once more."""
    if constraint.op == "properties":
        (name,) = constraint.values
        return (name.removeprefix("^") in node.properties) != name.startswith("^")
    if constraint.op in ("hostlist", "ranks"):
        low, high = constraint.values[0].removeprefix("n[").rstrip("]").split("-")
        return int(low) <= node.order <= int(high)
    each = [admits(one, node) for one in constraint.args]
    return {"and": all(each), "or": any(each), "not": not all(each)}[constraint.op]


def request(forest: list[Resource], **more: object) -> JobRequest:
    return JobRequest(command=["true"], needs=[Need(alternatives=[forest])], **more)
