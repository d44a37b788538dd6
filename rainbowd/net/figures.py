"""How much a cluster has, in the numbers of the wire."""

from rainbow_protocol.job import Totals
from rainbowd.core.state import Cluster
from rainbowd.resources.model import ClusterModel


def counts(model: ClusterModel | None) -> dict[str, int | float]:
    """How many of each type, all nodes together."""
    if model is None:
        return {}
    return {name: amount if isinstance(amount, int) else float(amount) for name, amount in model.counts.items()}


def totals(cluster: Cluster) -> Totals | None:
    """For a cluster that told no more than this: of others, the nodes need not be equal."""
    if cluster.form != "totals":
        return None
    found = counts(cluster.resources)
    nodes = int(found["node"])
    cores, gpus = int(found["core"]), int(found.get("gpu", 0))
    return Totals(nodes=nodes, cores_per_node=cores // nodes, gpus_per_node=gpus // nodes)
