"""The site's rules: who may run what here, and when. Each No says the rule that it comes from."""

from dataclasses import dataclass
from fnmatch import fnmatchcase

from rainbow_agent.core.hours import Calendar, Window, utc
from rainbow_agent.core.model import Asked, Shape, Totals
from rainbow_agent.core.placement import nodes_min, taken

LOOK_AGAIN_S = 3600  # for a clock that leaps, as in spring


@dataclass(frozen=True, slots=True)
class Range:
    """Of a number that a job asks for; both ends belong to it."""

    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """Users are patterns as of file names; an empty `allow_users` means everybody. Hours: none means always."""

    allow_users: tuple[str, ...] = ()
    deny_users: tuple[str, ...] = ()
    nodes: Range = Range()
    cores: Range = Range()
    gpus: Range = Range()
    time_limit_s: Range = Range()
    require_time_limit: bool = False
    hours: tuple[Window, ...] = ()


class RuleBook:
    """The rules for this cluster, by this calendar."""

    def __init__(self, rules: Rules, totals: Totals, calendar: Calendar = utc) -> None:
        self._rules = rules
        self._totals = totals
        self._calendar = calendar
        self.look_again_at: float | None = None  # when a No because of the hour might become a Yes

    def objection(self, asked: Asked, now: float) -> str | None:
        """Which rule this job breaks, in words; None if it breaks none."""
        return self._who(asked.user) or self._how_much(asked.shape) or self._how_long(asked.shape) or self._when(now)

    def reopened(self, now: float) -> bool:
        """True once, when jobs were refused because of the hour, and it is the right one now."""
        if self.look_again_at is None or now < self.look_again_at:
            return False
        self.look_again_at = None
        return self._when(now) is None

    def _who(self, user: str) -> str | None:
        rules = self._rules
        allowed = not rules.allow_users or _matches(user, rules.allow_users)
        if allowed and not _matches(user, rules.deny_users):
            return None
        return f"the site does not take jobs of user '{user}'" if user else "the site takes only jobs of known users"

    def _how_much(self, shape: Shape) -> str | None:
        cores, gpus = taken(shape, self._totals)
        return (
            _outside(nodes_min(shape, self._totals), self._rules.nodes, "node")
            or _outside(cores, self._rules.cores, "core")
            or _outside(gpus, self._rules.gpus, "gpu")
        )

    def _how_long(self, shape: Shape) -> str | None:
        limit_s, allowed = shape.time_limit_s, self._rules.time_limit_s
        if limit_s is None:
            if allowed.most is not None:
                return f"the site takes only jobs with a time limit, of at most {_duration(allowed.most)}"
            return "the site takes only jobs with a time limit" if self._rules.require_time_limit else None
        if allowed.most is not None and limit_s > allowed.most:
            return f"asks for {_duration(limit_s)}, the site allows at most {_duration(allowed.most)}"
        if allowed.least is not None and limit_s < allowed.least:
            return f"asks for {_duration(limit_s)}, the site takes jobs of at least {_duration(allowed.least)}"
        return None

    def _when(self, now: float) -> str | None:
        hours = self._rules.hours
        if not hours:
            return None
        local = self._calendar(now)
        if any(window.holds(local) for window in hours):
            return None
        self.look_again_at = now + min(LOOK_AGAIN_S, *(window.begins_in_s(local) for window in hours))
        return f"the site takes new jobs only {'; '.join(str(window) for window in hours)}"


def _matches(user: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(user, pattern) for pattern in patterns)


def _outside(number: int, allowed: Range, noun: str) -> str | None:
    if allowed.most is not None and number > allowed.most:
        return f"asks for {_count(number, noun)}, the site allows at most {allowed.most:g} a job"
    if allowed.least is not None and number < allowed.least:
        return f"asks for {_count(number, noun)}, the site takes jobs of at least {allowed.least:g}"
    return None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _duration(seconds: float) -> str:
    for unit, name in ((24 * 3600, "d"), (3600, "h"), (60, "min")):
        if seconds >= unit and seconds % unit == 0:
            return f"{seconds / unit:g} {name}"
    return f"{seconds:g} s"
