"""How much of nodes, tasks, cores and gpus a forest of resources comes to, and which alternative comes to least.

Apart from the readers of jobspecs, because an agent counts, too, and reads none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from rainbow_protocol.resources import Need, Resource, least


@dataclass(frozen=True, slots=True)
class Part:
    """Equal pieces that must each lie within one node: `tasks` in all, at most `per_node` together.

    With `nodes` each has a node of its own, or shares it with `per_node` others, and so many nodes it takes.
    """

    nodes: int | None
    tasks: int
    cores: int
    gpus: int
    exclusive: bool = False

    @property
    def per_node(self) -> int:
        return ceil(self.tasks / self.nodes) if self.nodes else 1


def part_of(need: Need) -> Part:
    return together(cheapest(need))


def cheapest(need: Need) -> list[Resource]:
    """The alternative that a job's shape is made of, and that its processes are counted by.

    Any will do, so the one that takes least (the first of several): a cluster without gpus must not wait for one that
    it need not have. Which one was matched, an award does not tell; what was set aside is this one's shape.
    """
    return min(need.alternatives, key=lambda forest: _effort(together(forest)))


def _effort(part: Part) -> tuple[int, int, int]:
    return part.gpus * part.tasks, part.nodes or 0, part.cores * part.tasks


def slots_of(forest: Sequence[Resource]) -> int:
    """Where a task runs once for each: the slots, or what stands at the top where there are none."""
    total = sum(_slots(resource, 1) for resource in forest)
    return total or sum(least(resource.count) for resource in forest if _is_counted(resource)) or 1


def _slots(resource: Resource, times: int) -> int:
    times *= least(resource.count)
    return times if resource.type == "slot" else sum(_slots(child, times) for child in resource.children)


def together(forest: Sequence[Resource]) -> Part:
    """One part that has room for all resources of a forest at the same time."""
    parts = [part for resource in forest for part in _parts(resource, 1, in_slot=False)]
    parts = parts or [Part(None, 1, 0, 0)]
    if len(parts) == 1:
        return parts[0]
    cores, gpus = max(part.cores * part.per_node for part in parts), max(part.gpus * part.per_node for part in parts)
    nodes = sum(part.nodes for part in parts if part.nodes is not None)
    anywhere = [part for part in parts if part.nodes is None]
    exclusive = any(part.exclusive for part in parts)
    if not nodes:
        return Part(None, sum(part.tasks for part in anywhere), cores, gpus, exclusive)
    more = ceil(sum(part.tasks for part in anywhere) / nodes)
    return Part(nodes, nodes * (1 + more), cores, gpus, exclusive)


def _parts(resource: Resource, times: int, *, in_slot: bool) -> list[Part]:
    """Of a resource that is not within a node."""
    if not _is_counted(resource):
        return []
    times *= least(resource.count)
    if resource.type == "node":
        return [_of_nodes(resource, times, in_slot)]
    is_slot = resource.type == "slot"
    if not is_slot and not in_slot and any(_holds(child, "slot") for child in resource.children):
        return [part for child in resource.children for part in _parts(child, times, in_slot=False)]
    if any(_holds(child, "node") for child in resource.children):
        return [part for child in resource.children for part in _parts(child, times, in_slot=in_slot or is_slot)]
    return [Part(None, times, _within(resource, "core"), _within(resource, "gpu"))]


def _of_nodes(node: Resource, nodes: int, in_slot: bool) -> Part:
    exclusive = node.exclusive if node.exclusive is not None else in_slot
    cores, gpus = _within(node, "core"), _within(node, "gpu")
    tasks, place = nodes, node
    while not in_slot and len(inner := [child for child in place.children if _is_counted(child)]) == 1:
        [place] = inner
        tasks *= least(place.count)
        if place.type == "slot":
            return Part(nodes, tasks, _within(place, "core"), _within(place, "gpu"), exclusive)
    # One piece a node that takes all of what is asked of it: what lies within can then be laid out in any way.
    return Part(nodes, nodes, cores, gpus, exclusive)


def _within(resource: Resource, kind: str) -> int:
    """How many of a type one of this resource holds, or is."""
    if resource.type == kind:
        return 1
    return sum(least(child.count) * _within(child, kind) for child in resource.children)


def _is_counted(resource: Resource) -> bool:
    """Bytes of memory and the like are amounts: nobody runs one task for each."""
    return not resource.unit and resource.type not in ("memory", "storage")


def _holds(resource: Resource, kind: str) -> bool:
    return resource.type == kind or any(_holds(child, kind) for child in resource.children)
