"""How good forecasts were: what was told when a bid was made, against when the job then started."""

from collections import deque
from typing import NamedTuple

SCORED_MAX = 500  # the latest ones; what was true months ago says little
LOW_QUANTILE = 0.1
LOW_MIN = 20  # fewer forecasts say nothing about how much too late they usually are
_DECIMALS = 1


class Told(NamedTuple):
    """A forecast: made at `at`, for a start at `start`. Times of the same clock."""

    at: float
    start: float


class Scores:
    def __init__(self) -> None:
        self._late_s: deque[float] = deque(maxlen=SCORED_MAX)  # started so much later than told; negative: sooner
        self._shares: deque[float] = deque(maxlen=SCORED_MAX)  # of the wait that was told, where one was
        self._low: float | None = None

    def add(self, told: Told, started: float) -> None:
        self._late_s.append(started - told.start)
        if told.start > told.at:
            self._shares.append(max(0.0, started - told.at) / (told.start - told.at))
            self._low = None

    def low(self, told: Told) -> float:
        """A start that is as early as one in ten turned out to be, in proportion to the wait."""
        if len(self._shares) < LOW_MIN or told.start <= told.at:
            return told.start
        if self._low is None:
            self._low = min(1.0, _quantile(sorted(self._shares), LOW_QUANTILE))
        return told.at + (told.start - told.at) * self._low

    def keys(self) -> dict[str, float]:
        """For a cluster's state; empty until there is something to tell."""
        if not self._late_s:
            return {}
        errors = sorted(map(abs, self._late_s))
        return {
            "forecast_n": float(len(errors)),
            "forecast_error_p50_s": round(_quantile(errors, 0.5), _DECIMALS),
            "forecast_error_p90_s": round(_quantile(errors, 0.9), _DECIMALS),
            "forecast_bias_s": round(sum(self._late_s) / len(self._late_s), _DECIMALS),
        }


def _quantile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
