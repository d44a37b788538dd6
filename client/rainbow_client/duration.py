"""Time limits as people write them, and durations as people read them."""

import re

from rainbow_client.errors import InvalidRequest
from rainbow_protocol import limits

_UNIT_S = {"d": 86_400, "h": 3_600, "m": 60, "s": 1}
_WITH_UNITS = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?", re.ASCII)
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+):(\d\d)(?::(\d\d))?", re.ASCII)
_CHARS_MAX = 32
EXPECTED = "Write seconds (90), units (90s, 5m, 1h30m, 2d), or a clock as Slurm does (MM:SS, HH:MM:SS, D-HH:MM:SS)."


def parse_duration_s(text: str) -> float:
    """Seconds from `90`, `90s`, `5m`, `1h30m`, `2d`, `MM:SS`, `HH:MM:SS` or `D-HH:MM:SS`."""
    value = text.strip().lower()
    if len(value) > _CHARS_MAX:
        raise InvalidRequest(f"{text[:_CHARS_MAX]!r}… is not a duration", EXPECTED)
    if clock := _CLOCK.fullmatch(value):
        days, first, second, third = clock.groups()
        if third is None and days is None:
            seconds = float(int(first) * 60 + int(second))
        elif third is None:  # D-HH:MM
            seconds = float(int(days) * 86_400 + int(first) * 3_600 + int(second) * 60)
        else:
            seconds = float(int(days or 0) * 86_400 + int(first) * 3_600 + int(second) * 60 + int(third))
    elif value and (units := _WITH_UNITS.fullmatch(value)):
        seconds = sum(float(number) * scale for number, scale in zip(units.groups("0"), _UNIT_S.values(), strict=True))
    else:
        raise InvalidRequest(f"{text!r} is not a duration", EXPECTED)
    if not 0 < seconds <= limits.TIME_LIMIT_S_MAX:
        raise InvalidRequest(
            f"a time limit of {text!r} is out of range",
            f"It must be more than 0 and at most {format_duration(limits.TIME_LIMIT_S_MAX)}.",
        )
    return seconds


def format_duration(seconds: float) -> str:
    """Two units at most: `0.4s`, `12s`, `5m 3s`, `2h 10m`, `3d 4h`."""
    if seconds < 10:
        return f"{seconds:.1f}".rstrip("0").rstrip(".") + "s"
    whole = round(seconds)
    parts = []
    for unit, scale in _UNIT_S.items():
        count, whole = divmod(whole, scale)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2])
