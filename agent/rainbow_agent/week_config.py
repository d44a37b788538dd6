"""Times of the week as a person writes them: days as in `mon-fri` or `sat,sun`, from and to as in 18:00."""

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from rainbow_agent.core.hours import DAY_S, DAYS, EVERY_DAY, Window

WINDOWS_MAX = 64
_CLOCK = re.compile(r"([01]?\d|2[0-4]):([0-5]\d)")
_MINUTES_OF_A_DAY = 24 * 60


def _second(value: Any) -> int:
    """YAML 1.1 takes 18:00 for the number 18 × 60 (and 08:00 for text): both mean the clock."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MINUTES_OF_A_DAY:
        return value * 60
    found = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    second = DAY_S + 1 if found is None else int(found[1]) * 3600 + int(found[2]) * 60
    if second > DAY_S:
        raise ValueError(f"{value!r} is not a time of day such as '08:00' or '24:00'")
    return second


def _days(value: Any) -> frozenset[int]:
    words = ",".join(str(part) for part in value) if isinstance(value, list) else value
    if not isinstance(words, str) or not words.strip():
        raise ValueError("expected days such as mon-fri or sat,sun")
    days: set[int] = set()
    for part in words.lower().split(","):
        first, dash, last = (word.strip()[:3] for word in part.partition("-"))
        unknown = [word for word in (first, last if dash else first) if word not in DAYS]
        if unknown:
            raise ValueError(f"{part.strip()!r}: the days are {', '.join(DAYS)}, or a range such as mon-fri")
        begin = DAYS.index(first)
        length = (DAYS.index(last) - begin) % 7 + 1 if dash else 1
        days |= {(begin + step) % 7 for step in range(length)}
    return frozenset(days)


class Hours(BaseModel):
    """Every day and all day if nothing is said."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    days: Annotated[frozenset[int], BeforeValidator(_days)] = EVERY_DAY
    begin_s: Annotated[int, BeforeValidator(_second)] = Field(default=0, alias="from")
    end_s: Annotated[int, BeforeValidator(_second)] = Field(default=DAY_S, alias="to")

    @model_validator(mode="after")
    def _is_not_empty(self) -> "Hours":
        if self.begin_s == self.end_s or self.begin_s == DAY_S:
            raise ValueError("it ends when it begins; leave from and to out for the whole day")
        return self

    def window(self) -> Window:
        return Window(self.days, self.begin_s, self.end_s)
