"""From the steady clock that the core reckons with to the wall's, which people and other machines read."""

import time

import structlog

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
