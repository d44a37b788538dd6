"""How many processes a task has, and where each of them runs: on which node, with which devices."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rainbow_agent.backends.constraints import node_name
from rainbow_agent.core.model import Assignment, Shape
from rainbow_protocol.counting import cheapest, slots_of
from rainbow_protocol.program import TaskCount
from rainbow_protocol.resources import Need, Resource, least

# Of one job at once, where the job itself says how many; a shape's tasks are bounded by the nodes.
PROCESSES_MAX = 10_000

Place = tuple[str, tuple[int, ...]]  # a node's name, and the devices there


@dataclass(frozen=True, slots=True)
class Allocation:
    """What a job has: one slot for each task of its shape, with devices of its own."""

    shape: Shape
    assignment: Assignment

    def slots(self) -> list[Place]:
        each = self.shape.gpus_per_task
        return [
            (node_name(node), gpus[task * each : (task + 1) * each])
            for node, tasks, gpus in self.assignment
            for task in range(tasks)
        ]

    def nodes(self) -> list[Place]:
        return [(node_name(node), gpus) for node, _, gpus in self.assignment]


ONE_A_SLOT = TaskCount(per_slot=1)


def places(count: TaskCount | None, allocation: Allocation, need: Need | None, slot: str | None = None) -> list[Place]:
    """One for each process; ValueError in words. `need` is what the task asks for, if that is more than a shape.

    Without a count there is one for each slot, or for each of what stands at the top of the need if it has none.
    """
    count = count or ONE_A_SLOT
    nodes = allocation.nodes()
    wanted = _processes(count, allocation.shape, len(nodes), need, slot)
    if count.per_resource == "node" and wanted == len(nodes) * count.per_resource_count:
        return [place for place in nodes for _ in range(count.per_resource_count)]
    every = allocation.slots()
    # In blocks: the first ranks have the first slots. Where there are more slots than processes, each has several,
    # and the devices of those that are on its node.
    bounds = [rank * len(every) // wanted for rank in range(wanted + 1)]
    return [_block(every[begin : max(begin + 1, end)]) for begin, end in pairwise(bounds)]


def _block(slots: Sequence[Place]) -> Place:
    node = slots[0][0]
    return node, tuple(device for name, devices in slots if name == node for device in devices)


def _processes(count: TaskCount, shape: Shape, nodes: int, need: Need | None, slot: str | None) -> int:
    if count.total is not None:
        return _bounded(count.total)
    if count.per_slot is not None:
        slots = shape.tasks if need is None else _slots(need, slot)
        return _bounded(slots * count.per_slot)
    kind = count.per_resource or ""
    amount = _of_type(cheapest(need), kind) if need is not None else 0
    if not amount:
        amount = {"slot": shape.tasks, "node": nodes, "core": shape.cores, "gpu": shape.gpus}.get(kind, 0)
    if not amount:
        raise ValueError(f"the job has no {kind!r}, so it cannot have tasks for each of them")
    return _bounded(amount * count.per_resource_count)


def _bounded(processes: int) -> int:
    if processes > PROCESSES_MAX:
        raise ValueError(f"the job asks for {processes} processes at once, this cluster starts at most {PROCESSES_MAX}")
    return processes


def _slots(need: Need, label: str | None) -> int:
    """Of the alternative that the shape was made of, which is what was set aside."""
    forest = cheapest(need)
    labelled = _of_type(forest, "slot", label) if label is not None else 0
    return labelled or slots_of(forest)


def _of_type(forest: Sequence[Resource], kind: str, label: str | None = None) -> int:
    found = 0
    for resource in forest:
        number = least(resource.count)
        mine = resource.type == kind and label in (None, resource.label)
        found += number if mine else number * _of_type(resource.children, kind, label)
    return found
