"""Yes with when and how much, or No in words. Nothing here changes anything; a Yes is held by the machine."""

from dataclasses import dataclass

from rainbow_agent.core.model import Asked, Shape
from rainbow_agent.core.placement import why_never
from rainbow_agent.core.pricing import NoPrice, Pricing
from rainbow_agent.core.schedule import Estimate, Schedule

ETA_S_MAX = 10 * 366 * 24 * 3600.0  # as on the wire
ETA_DECIMALS = 3
ETA_S_STEP = 0.001
PAUSE_S = 10.0  # after a job that the cluster could not begin: time to heal, and for others to take the jobs


@dataclass(frozen=True, slots=True)
class Yes:
    """`eta_s` is what is expected. The others say how sure that is; without them nothing was learned about it yet."""

    eta_s: float
    cost: float
    eta_low_s: float | None = None  # one in ten starts by then
    eta_high_s: float | None = None  # if all jobs run to their limits


@dataclass(frozen=True, slots=True)
class No:
    reason: str


class Bidder:
    def __init__(self, schedule: Schedule, pricing: Pricing, queue_max: int) -> None:
        self._schedule = schedule
        self._pricing = pricing
        self._queue_max = queue_max
        self.paused_until: float | None = None
        self._paused_for = ""

    def pause(self, reason: str, now: float) -> None:
        """The cluster itself is not fit to run jobs. Without this it would win them again and again."""
        self.paused_until = now + PAUSE_S
        self._paused_for = reason

    def resume(self, now: float) -> bool:
        """True once, when a pause is over."""
        if self.paused_until is None or now < self.paused_until:
            return False
        self.paused_until = None
        return True

    def hindrance(self, now: float) -> str | None:
        """Why no job at all is taken just now, or None."""
        if self.paused_until is None or now >= self.paused_until:
            return None
        return f"jobs cannot be started here: {self._paused_for}"

    def objection(self, shape: Shape) -> str | None:
        """Why this job cannot be taken at all, or None."""
        never = why_never(shape, self._schedule.totals)
        if never is not None:
            return never
        ahead = self._schedule.ahead
        if ahead >= self._queue_max:
            wait = "1 job waits" if ahead == 1 else f"{ahead} jobs wait"
            return f"queue is full: {wait} here, the limit is {self._queue_max}"
        return None

    def price(self, asked: Asked, estimate: Estimate, now: float) -> Yes | No:
        eta_s, eta_high_s = eta(estimate.expected, now), eta(estimate.start, now)
        if eta_high_s > ETA_S_MAX:
            return No("could not start within ten years")
        price = self._pricing.cost(asked, self._schedule.duration_s(asked.shape), max(now, estimate.expected))
        if isinstance(price, NoPrice):
            return No(price.reason)
        eta_low_s = eta(estimate.low, now)
        if eta_low_s == eta_high_s:
            return Yes(eta_s, price)
        return Yes(eta_s, price, eta_low_s, eta_high_s)


def eta(start: float, now: float) -> float:
    """Exactly zero only for what can start now; a moment later is never rounded down to it."""
    if start <= now:
        return 0.0
    return max(ETA_S_STEP, round(start - now, ETA_DECIMALS))
