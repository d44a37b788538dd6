"""Clusters as totals: so many equal nodes. A task never spans nodes, so a 65-core task needs a 65-core node."""

from dataclasses import dataclass
from typing import Any

from rainbowd.core.ports import Verdict
from rainbowd.core.state import Shape

_FITS = Verdict(True)


@dataclass(frozen=True, slots=True)
class Totals:
    nodes: int
    cores_per_node: int
    gpus_per_node: int = 0


class TotalsMatcher:
    """The `Matcher` for clusters that are described by `Totals`."""

    def match(self, shape: Shape, resources: Any) -> Verdict:
        if not isinstance(resources, Totals):
            raise TypeError(f"expected Totals, got {type(resources).__name__}")
        if shape.cores_per_task > resources.cores_per_node:
            return _no("cores on one node for a task", shape.cores_per_task, resources.cores_per_node)
        if shape.gpus_per_task > resources.gpus_per_node:
            return _no("gpus on one node for a task", shape.gpus_per_task, resources.gpus_per_node)
        per_node = tasks_per_node(shape, resources)
        if shape.nodes is None:
            if per_node * resources.nodes >= shape.tasks:
                return _FITS
            return _no("tasks of this size", shape.tasks, per_node * resources.nodes, "it holds")
        if shape.nodes > resources.nodes:
            return _no("nodes", shape.nodes, resources.nodes)
        fullest = -(-shape.tasks // shape.nodes)
        if fullest > per_node:
            return _no("tasks of this size on one node", fullest, per_node, "a node holds")
        return _FITS


def tasks_per_node(shape: Shape, resources: Totals) -> int:
    by_cores = resources.cores_per_node // shape.cores_per_task
    if shape.gpus_per_task == 0:
        return by_cores
    return min(by_cores, resources.gpus_per_node // shape.gpus_per_task)


def _no(what: str, needed: int, have: int, has: str = "it has") -> Verdict:
    return Verdict(False, f"needs {needed} {what}, {has} {have}")
