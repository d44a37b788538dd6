"""What a job costs here: a price per node-, core- and gpu-hour, times what it asks, times how long."""

from dataclasses import dataclass

from rainbow_agent.core.model import Shape, Totals
from rainbow_agent.core.placement import nodes_min, taken

COST_DECIMALS = 6
COST_MAX = 1e15


@dataclass(frozen=True, slots=True)
class Prices:
    per_node_hour: float = 0.0
    per_core_hour: float = 0.0
    per_gpu_hour: float = 0.0


def cost(shape: Shape, duration_s: float, prices: Prices, totals: Totals) -> float:
    """A job that names no number of nodes pays for as few as could hold it; an exclusive one for all that they have."""
    cores, gpus = taken(shape, totals)
    nodes = nodes_min(shape, totals)
    hourly = prices.per_node_hour * nodes + prices.per_core_hour * cores + prices.per_gpu_hour * gpus
    return min(COST_MAX, round(hourly * duration_s / 3600.0, COST_DECIMALS))
