"""From the steady clock that the core reckons with to the wall's, which people and other machines read."""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import structlog

from rainbow_agent.core.hours import LocalTime

STEP_S = 1.0  # smaller differences are the two clocks' drift, and not worth a jump in the reports

log = structlog.get_logger()


class WallClock:
    """Follows the wall clock when it is set or the machine was suspended, which the steady clock does not see."""

    def __init__(self) -> None:
        self._offset_s = time.time() - time.monotonic()

    def offset_s(self) -> float:
        """What to add to the steady time of an event."""
        offset_s = time.time() - time.monotonic()
        if abs(offset_s - self._offset_s) > STEP_S:
            log.warning("the wall clock jumped", seconds=round(offset_s - self._offset_s, 3))
            self._offset_s = offset_s
        return self._offset_s


def zone(name: str) -> ZoneInfo:
    """ValueError, in words, if this machine does not know it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"{name!r} is not a time zone that this machine knows, such as Europe/Berlin (package tzdata)"
        ) from None


class SiteClock:
    """The core's time as the site reads it; without a zone as this machine does."""

    def __init__(self, zone_name: str | None, to_wall_s: Callable[[], float]) -> None:
        self._zone = None if zone_name is None else zone(zone_name)
        self._to_wall_s = to_wall_s

    def when(self, at: float) -> datetime:
        return datetime.fromtimestamp(at + self._to_wall_s(), UTC).astimezone(self._zone)

    def calendar(self, at: float) -> LocalTime:
        there = self.when(at)
        return LocalTime(there.weekday(), there.hour * 3600 + there.minute * 60 + there.second)
