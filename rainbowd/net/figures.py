"""Numbers as the wire can carry them, and how much a cluster has in such numbers."""

from fractions import Fraction
from typing import Final

from rainbow_protocol.job import Totals
from rainbowd.core.state import Cluster
from rainbowd.resources.model import ClusterModel

EXACT_MAX: Final = 2**53 - 1  # the largest whole number that every reader of JSON has exactly


def number(amount: int | float | Fraction) -> int | float:
    """Beyond what is exact everywhere, about as much: JSON has no more than 64 bits for a whole number, if that."""
    if isinstance(amount, int) and abs(amount) <= EXACT_MAX:
        return amount
    return float(amount)


def whole(amount: int) -> int:
    """For what must be a whole number: at least so many."""
    return min(amount, EXACT_MAX)


def counts(model: ClusterModel | None) -> dict[str, int | float]:
    """How many of each type, all nodes together."""
    if model is None:
        return {}
    return {name: number(amount) for name, amount in model.counts.items()}


def totals(cluster: Cluster) -> Totals | None:
    """For a cluster that told no more than this: of others, the nodes need not be equal."""
    if cluster.form != "totals":
        return None
    found = counts(cluster.resources)
    nodes = int(found["node"])
    cores, gpus = int(found["core"]), int(found.get("gpu", 0))
    return Totals(nodes=nodes, cores_per_node=cores // nodes, gpus_per_node=gpus // nodes)
