"""What a cluster that counts only nodes, cores and gpus would have to set aside for a job.

Exact where the request is uniform. Elsewhere it is never less than what is needed, and may be more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from pydantic import ValidationError

from rainbow_protocol.codec import describe
from rainbow_protocol.job import Shape
from rainbow_protocol.jobspec.errors import JobspecError
from rainbow_protocol.resources import Need, Resource, least


@dataclass(frozen=True, slots=True)
class _Part:
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


def shape_of(needs: Sequence[Need], time_limit_s: float | None = None) -> Shape:
    # Any alternative will do, so the one that takes least: a cluster without gpus must not wait for one that it need
    # not have.
    parts = [min((_together(forest) for forest in need.alternatives), key=_effort) for need in needs]
    # Needs are not held at the same time: the largest of each number is enough for any of them.
    nodes = max((part.nodes for part in parts if part.nodes is not None), default=None)
    if nodes is None:
        tasks = max(part.tasks for part in parts)
    else:
        anywhere = max((part.tasks for part in parts if part.nodes is None), default=0)
        tasks = nodes * max(ceil(anywhere / nodes), max(part.per_node for part in parts))
    try:
        return Shape(
            nodes=nodes,
            tasks=tasks,
            cores_per_task=max(1, *(part.cores for part in parts)),
            gpus_per_task=max(part.gpus for part in parts),
            exclusive=any(part.exclusive for part in parts),
            time_limit_s=time_limit_s,
        )
    except ValidationError as cause:
        raise JobspecError("resources", f"in all they are too many: {describe(cause)}") from None


def _effort(part: _Part) -> tuple[int, int, int]:
    return part.gpus * part.tasks, part.nodes or 0, part.cores * part.tasks


def slots_of(forest: Sequence[Resource]) -> int:
    """Where a task runs once for each: the slots, or what stands at the top where there are none."""
    total = sum(_slots(resource, 1) for resource in forest)
    return total or sum(least(resource.count) for resource in forest if _is_counted(resource)) or 1


def _slots(resource: Resource, times: int) -> int:
    times *= least(resource.count)
    return times if resource.type == "slot" else sum(_slots(child, times) for child in resource.children)


def _together(forest: Sequence[Resource]) -> _Part:
    """One part that has room for all resources of a forest at the same time."""
    parts = [part for resource in forest for part in _parts(resource, 1, in_slot=False)]
    parts = parts or [_Part(None, 1, 0, 0)]
    if len(parts) == 1:
        return parts[0]
    cores, gpus = max(part.cores * part.per_node for part in parts), max(part.gpus * part.per_node for part in parts)
    nodes = sum(part.nodes for part in parts if part.nodes is not None)
    anywhere = [part for part in parts if part.nodes is None]
    exclusive = any(part.exclusive for part in parts)
    if not nodes:
        return _Part(None, sum(part.tasks for part in anywhere), cores, gpus, exclusive)
    more = ceil(sum(part.tasks for part in anywhere) / nodes)
    return _Part(nodes, nodes * (1 + more), cores, gpus, exclusive)


def _parts(resource: Resource, times: int, *, in_slot: bool) -> list[_Part]:
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
    return [_Part(None, times, _within(resource, "core"), _within(resource, "gpu"))]


def _of_nodes(node: Resource, nodes: int, in_slot: bool) -> _Part:
    exclusive = node.exclusive if node.exclusive is not None else in_slot
    cores, gpus = _within(node, "core"), _within(node, "gpu")
    tasks, place = nodes, node
    while not in_slot and len(inner := [child for child in place.children if _is_counted(child)]) == 1:
        [place] = inner
        tasks *= least(place.count)
        if place.type == "slot":
            return _Part(nodes, tasks, _within(place, "core"), _within(place, "gpu"), exclusive)
    # One piece a node that takes all of what is asked of it: what lies within can then be laid out in any way.
    return _Part(nodes, nodes, cores, gpus, exclusive)


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
