"""Time limits as people write them, and durations as people read them."""

import re
from collections.abc import Sequence

from rainbow_client.errors import InvalidRequest
from rainbow_protocol import limits

_UNIT_S = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SECONDS = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_WITH_UNITS = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?", re.ASCII)
_CLOCK = re.compile(r"(\d+):([0-5]\d)(?::([0-5]\d))?", re.ASCII)
_DAYS_AND_CLOCK = re.compile(r"(\d+)-([01]?\d|2[0-3])(?::([0-5]\d))?(?::([0-5]\d))?", re.ASCII)
_CHARS_MAX = 32
FORMS = "Seconds (90), units (90s, 5m, 1h30m, 2d), or as Slurm does: MM:SS, HH:MM:SS, D-HH, D-HH:MM, D-HH:MM:SS."
EXPECTED = f"Write one of these: {FORMS[0].lower()}{FORMS[1:]}"


def parse_duration_s(text: str) -> float:
    """Seconds from any of the forms above. What could be read in two ways, such as `1h30`, is no duration."""
    value = text.strip().lower()
    if len(value) > _CHARS_MAX:
        raise InvalidRequest(f"{text[:_CHARS_MAX]!r}… is not a duration", EXPECTED)
    if _SECONDS.fullmatch(value):
        seconds = float(value)
    elif clock := _CLOCK.fullmatch(value):
        first, second, third = clock.groups()
        seconds = _added(("0", "0", first, second) if third is None else ("0", first, second, third))
    elif value and (found := _DAYS_AND_CLOCK.fullmatch(value) or _WITH_UNITS.fullmatch(value)):
        seconds = _added(found.groups("0"))
    else:
        raise InvalidRequest(f"{text!r} is not a duration", EXPECTED)
    if not 0 < seconds <= limits.TIME_LIMIT_S_MAX:
        raise InvalidRequest(
            f"a time limit of {text!r} is out of range",
            f"It must be more than 0 and at most {format_duration(limits.TIME_LIMIT_S_MAX)}.",
        )
    return seconds


def _added(days_to_seconds: Sequence[str]) -> float:
    return sum(float(number) * scale for number, scale in zip(days_to_seconds, _UNIT_S.values(), strict=True))


def format_duration(seconds: float) -> str:
    """Two neighbouring units at most: `0.4s`, `12s`, `5m 3s`, `2h 10m`, `3d 4h`; two hours and a second are `2h`."""
    if seconds < 10:
        return f"{seconds:.1f}".rstrip("0").rstrip(".") + "s"
    whole = round(seconds)
    counts: list[tuple[int, str]] = []
    for unit, scale in _UNIT_S.items():
        count, whole = divmod(whole, scale)
        if count or counts:
            counts.append((count, unit))
    return " ".join(f"{count}{unit}" for count, unit in counts[:2] if count)
