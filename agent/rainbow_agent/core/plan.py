"""One layout of everybody: who runs until when, and then those who wait, each in the earliest hole, in their order.

A plan is made at once and then only added to; it does not know which durations it is made with. The schedule makes
one with limits, which decides, and one with what is expected, which forecasts.
"""

from collections.abc import Iterable
from typing import NamedTuple

from rainbow_agent.core.forecast import Profile, Slot
from rainbow_agent.core.model import Key, Placement, Shape, Totals
from rainbow_agent.core.placement import taken

PLANNED_MAX = 500  # attempts with an exact place; those behind are estimated from the work before them
EXACT_RELEASE_SEGMENTS_MAX = 256  # in a longer profile, giving places back one by one costs more than a new plan


class Place(NamedTuple):
    """When an attempt would start; `slot` is None for one behind the exactly planned."""

    start: float
    slot: Slot | None


class Plan:
    def __init__(self, totals: Totals, now: float, running: Iterable[tuple[Shape, Placement, float]]) -> None:
        """`running` with the time when each will have ended, which is later than now."""
        self._totals = totals
        self._profile = Profile(totals, now)
        self._backlog_core_s = 0.0  # of those behind the exactly planned
        self.made_at = now
        self.planned = 0
        self.outdated_at = float("inf")  # when the first running job passes its end
        self.stale = False  # it no longer tells what runs or waits
        self.starts: dict[Key, float] = {}  # of those who were in the queue when it was made
        slots = []
        for shape, placement, end in running:
            slots.append((shape, Slot(now, end, placement)))
            self.outdated_at = min(self.outdated_at, end)
        self._profile.begin(slots)

    def find(self, shape: Shape, duration_s: float, now: float) -> Place:
        """The earliest place behind everybody here. The shape must fit the empty cluster."""
        if self.planned < PLANNED_MAX and self._backlog_core_s <= 0:
            slot = self._profile.earliest(shape, duration_s, now)
            if slot is not None:
                return Place(slot.start, slot)
        ahead_s = max(0.0, self._backlog_core_s) / self._totals.cores
        return Place(max(now, self._profile.horizon) + ahead_s, None)

    def lay(self, shape: Shape, duration_s: float, place: Place) -> None:
        if place.slot is None:
            self._backlog_core_s += self._core_s(shape, duration_s)
        else:
            self.planned += 1
            self._profile.occupy(shape, place.slot)

    def drop(self, shape: Shape, duration_s: float, place: Place) -> None:
        """Somebody who was laid out goes away."""
        if self._profile.segments > EXACT_RELEASE_SEGMENTS_MAX:
            self.stale = True
        elif place.slot is None:
            self._backlog_core_s -= self._core_s(shape, duration_s)
        else:
            self.planned -= 1
            self._profile.release(shape, place.slot)

    def _core_s(self, shape: Shape, duration_s: float) -> float:
        return taken(shape, self._totals)[0] * duration_s
