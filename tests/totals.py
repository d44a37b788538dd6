"""The matcher's twin for tests of the core: clusters as so many equal nodes, and nothing else."""

from collections.abc import Iterable
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

    def match_all(self, shape: Shape, clusters: Iterable[Any]) -> list[Verdict]:
        return [self.match(shape, resources) for resources in clusters]

    def measure(self, shape: Shape, resources: Any) -> Verdict:
        return self.match(shape, resources)

    def match(self, shape: Shape, resources: Any) -> Verdict:
        if not isinstance(resources, Totals):
            raise TypeError(f"expected Totals, got {type(resources).__name__}")
        if shape.cores_per_task > resources.cores_per_node:
            return _no(shape.cores_per_task, "core", "on one node for a task", resources.cores_per_node)
        if shape.gpus_per_task > resources.gpus_per_node:
            return _no(shape.gpus_per_task, "gpu", "on one node for a task", resources.gpus_per_node)
        per_node = tasks_per_node(shape, resources)
        if shape.nodes is None:
            if per_node * resources.nodes >= shape.tasks:
                return _FITS
            return _no(shape.tasks, "task", "of this size", per_node * resources.nodes, "it holds")
        if shape.nodes > resources.nodes:
            return _no(shape.nodes, "node", "", resources.nodes)
        fullest = -(-shape.tasks // shape.nodes)
        if fullest > per_node:
            return _no(fullest, "task", "of this size on one node", per_node, "a node holds")
        return _FITS


def tasks_per_node(shape: Shape, resources: Totals) -> int:
    by_cores = resources.cores_per_node // shape.cores_per_task
    if shape.gpus_per_task == 0:
        return by_cores
    return min(by_cores, resources.gpus_per_node // shape.gpus_per_task)


def _no(needed: int, thing: str, where: str, have: int, has: str = "it has") -> Verdict:
    things = thing if needed == 1 else f"{thing}s"
    return Verdict(False, f"needs {needed} {things}{' ' + where if where else ''}, {has} {have}")
