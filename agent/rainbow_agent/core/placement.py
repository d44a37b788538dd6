"""Where a shape's tasks go, given what each node has free; and, in words, why they never could."""

from collections.abc import Sequence

from rainbow_agent.core.model import Placement, Shape, Totals


def place(shape: Shape, cores: Sequence[int], gpus: Sequence[int], totals: Totals) -> Placement | None:
    """A placement on nodes with `cores[i]` and `gpus[i]` free, or None. Deterministic: low nodes first."""
    if shape.exclusive:
        # Every task has a core, so a node with all of its cores free has nobody on it.
        cores = [free if free == totals.cores_per_node else 0 for free in cores]
    if shape.nodes is None:
        return _pack(shape, cores, gpus)
    return _spread(shape, shape.nodes, cores, gpus)


def _pack(shape: Shape, cores: Sequence[int], gpus: Sequence[int]) -> Placement | None:
    left = shape.tasks
    chosen: list[tuple[int, int]] = []
    for node, free in enumerate(cores):
        room = free // shape.cores_per_task
        if shape.gpus_per_task:
            room = min(room, gpus[node] // shape.gpus_per_task)
        if room > 0:
            taken = min(room, left)
            chosen.append((node, taken))
            left -= taken
            if left == 0:
                return tuple(chosen)
    return None


def _spread(shape: Shape, nodes: int, cores: Sequence[int], gpus: Sequence[int]) -> Placement | None:
    """Evenly: `extra` nodes get one task more than the others. Nodes with the least room take the small share."""
    low, extra = divmod(shape.tasks, nodes)
    tight: list[int] = []  # room for exactly the small share
    roomy: list[int] = []
    for node, free in enumerate(cores):
        room = free // shape.cores_per_task
        if shape.gpus_per_task:
            room = min(room, gpus[node] // shape.gpus_per_task)
        if room > low:
            roomy.append(node)
        elif room == low:
            tight.append(node)
        if len(roomy) >= extra and len(roomy) + len(tight) >= nodes:
            break
    if len(roomy) < extra or len(roomy) + len(tight) < nodes:
        return None
    big = roomy[:extra]
    small = (tight + roomy[extra:])[: nodes - extra]
    return tuple(sorted([(node, low + 1) for node in big] + [(node, low) for node in small]))


def tasks_per_node_max(shape: Shape, totals: Totals) -> int:
    """How many of these tasks an empty node holds."""
    room = totals.cores_per_node // shape.cores_per_task
    if shape.gpus_per_task:
        room = min(room, totals.gpus_per_node // shape.gpus_per_task)
    return room


def nodes_min(shape: Shape, totals: Totals) -> int:
    """On how many nodes it runs: as it says, or on as few as hold it."""
    if shape.nodes is not None:
        return shape.nodes
    return -(-shape.tasks // max(1, tasks_per_node_max(shape, totals)))


def taken_of_a_node(shape: Shape, tasks: int, totals: Totals) -> tuple[int, int]:
    """The cores and gpus of a node that nobody else can have while so many of its tasks are there."""
    if shape.exclusive:
        return totals.cores_per_node, totals.gpus_per_node
    return tasks * shape.cores_per_task, tasks * shape.gpus_per_task


def taken(shape: Shape, totals: Totals) -> tuple[int, int]:
    """The same of all its nodes together. Nodes are equal, so an exclusive job has as few as could hold it."""
    if shape.exclusive:
        nodes = nodes_min(shape, totals)
        return nodes * totals.cores_per_node, nodes * totals.gpus_per_node
    return shape.cores, shape.gpus


def why_never(shape: Shape, totals: Totals) -> str | None:
    """Why this cluster could not hold the shape even when empty, with the numbers; None if it could."""
    per_node = 1 if shape.nodes is None else -(-shape.tasks // shape.nodes)
    cores = per_node * shape.cores_per_task
    gpus = per_node * shape.gpus_per_task
    if cores > totals.cores_per_node:
        return f"needs {_count(cores, 'core')} on one node, nodes have {totals.cores_per_node}"
    if gpus > totals.gpus_per_node:
        return f"needs {_count(gpus, 'gpu')} on one node, nodes have {totals.gpus_per_node}"
    if shape.nodes is not None:
        if shape.nodes > totals.nodes:
            return f"needs {_count(shape.nodes, 'node')}, there are {totals.nodes}"
        return None
    room = tasks_per_node_max(shape, totals) * totals.nodes
    if shape.tasks > room:
        each = _count(shape.cores_per_task, "core")
        if shape.gpus_per_task:
            each += f" and {_count(shape.gpus_per_task, 'gpu')}"
        return f"needs room for {_count(shape.tasks, 'task')} of {each}, the cluster has room for {room}"
    return None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
