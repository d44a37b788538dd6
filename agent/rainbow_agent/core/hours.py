"""Times of the week: when a site takes jobs, and when it asks another price. Local time is somebody else's to know."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

DAY_S = 24 * 3600
DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
EVERY_DAY = frozenset(range(7))


class LocalTime(NamedTuple):
    weekday: int  # Monday is 0
    second: int  # of the day


# From the core's clock to the site's; it may be asked about times to come.
Calendar = Callable[[float], LocalTime]


def utc(at: float) -> LocalTime:
    """For a core whose clock counts the seconds since 1970, which was a Thursday."""
    days, second = divmod(int(at), DAY_S)
    return LocalTime((days + 3) % 7, second)


@dataclass(frozen=True, slots=True)
class Window:
    """On these days, from here until there. One that ends before it begins goes on into the next day."""

    days: frozenset[int] = EVERY_DAY
    begin_s: int = 0
    end_s: int = DAY_S

    def holds(self, at: LocalTime) -> bool:
        if self.begin_s < self.end_s:
            return at.weekday in self.days and self.begin_s <= at.second < self.end_s
        if at.second >= self.begin_s:
            return at.weekday in self.days
        return at.second < self.end_s and (at.weekday - 1) % 7 in self.days

    def begins_in_s(self, at: LocalTime) -> int:
        """Until it next begins, by a calendar without leaps of the clock."""
        waits = [(day - at.weekday) % 7 * DAY_S + self.begin_s - at.second for day in self.days]
        return min(wait if wait > 0 else wait + 7 * DAY_S for wait in waits)

    def __str__(self) -> str:
        days = _days(self.days)
        if (self.begin_s, self.end_s) == (0, DAY_S):
            return days or "every day"
        hours = f"{_clock(self.begin_s)}–{_clock(self.end_s)}"
        return f"{days} {hours}" if days else hours


def _clock(second: int) -> str:
    return f"{second // 3600:02}:{second % 3600 // 60:02}"


def _days(days: frozenset[int]) -> str:
    """As people write them: mon–fri, or sat, sun."""
    if days == EVERY_DAY:
        return ""
    runs: list[list[int]] = []
    for day in sorted(days):
        if runs and day == runs[-1][-1] + 1:
            runs[-1].append(day)
        else:
            runs.append([day])
    parts = []
    for run in runs:
        parts += [f"{DAYS[run[0]]}–{DAYS[run[-1]]}"] if len(run) > 2 else [DAYS[day] for day in run]
    return ", ".join(parts)
