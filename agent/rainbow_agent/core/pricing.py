"""What a job costs here: a price per node-, core- and gpu-hour, times what it asks, times how long.

Which price, its queue and the time of its start decide. A site may have a function of its own in place of all this.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from rainbow_agent.core.hours import Calendar, LocalTime, Window, utc
from rainbow_agent.core.model import Asked, Shape, Totals
from rainbow_agent.core.placement import nodes_min, taken

COST_DECIMALS = 6
COST_MAX = 1e15


@dataclass(frozen=True, slots=True)
class Prices:
    per_node_hour: float = 0.0
    per_core_hour: float = 0.0
    per_gpu_hour: float = 0.0

    def times(self, factor: float) -> "Prices":
        return Prices(self.per_node_hour * factor, self.per_core_hour * factor, self.per_gpu_hour * factor)


@dataclass(frozen=True, slots=True)
class Period:
    """Other prices for jobs that start in this window."""

    window: Window
    prices: Prices


@dataclass(frozen=True, slots=True)
class PriceList:
    """Of the periods the first one that holds counts. No job costs less than the minimum."""

    prices: Prices = Prices()
    periods: tuple[Period, ...] = ()
    minimum: float = 0.0

    def at(self, time: LocalTime) -> Prices:
        return next((period.prices for period in self.periods if period.window.holds(time)), self.prices)


@dataclass(frozen=True, slots=True)
class NoPrice:
    """What the job would cost cannot be said, so it is not taken."""

    reason: str


class Pricing(Protocol):
    def cost(self, asked: Asked, duration_s: float, start: float) -> float | NoPrice:
        """Of a job that is expected to start then; `start` is a time of the core's clock."""
        ...


@dataclass(frozen=True, slots=True)
class Tariff:
    """`queues` have price lists of their own, in place of the cluster's."""

    totals: Totals
    base: PriceList = PriceList()
    queues: Mapping[str, PriceList] = field(default_factory=dict)
    calendar: Calendar = utc

    def cost(self, asked: Asked, duration_s: float, start: float) -> float:
        prices = self.base if asked.queue is None else self.queues.get(asked.queue, self.base)
        now = prices.at(self.calendar(start)) if prices.periods else prices.prices
        return min(COST_MAX, max(prices.minimum, cost(asked.shape, duration_s, now, self.totals)))


def cost(shape: Shape, duration_s: float, prices: Prices, totals: Totals) -> float:
    """A job that names no number of nodes pays for as few as could hold it; an exclusive one for all that they have."""
    cores, gpus = taken(shape, totals)
    nodes = nodes_min(shape, totals)
    hourly = prices.per_node_hour * nodes + prices.per_core_hour * cores + prices.per_gpu_hour * gpus
    return min(COST_MAX, round(hourly * duration_s / 3600.0, COST_DECIMALS))
