"""Reading a policy's options, with words for what is wrong with them.

An option comes from a command line as often as from a file, so that a number may be written as a text.
"""

import math
from collections.abc import Callable, Sequence

from rainbowd.core.selection.base import Facts


class MistakenOptionError(Exception):
    """What is wrong with an option, in words. Never leaves this package."""


def mistake_in(read: Callable[[Facts], object], options: Facts) -> str | None:
    """What `read` finds wrong with the options, or None."""
    try:
        read(options)
    except MistakenOptionError as mistake:
        return str(mistake)
    return None


def unknown(options: Facts, known: Sequence[str]) -> str | None:
    """Names an option that the policy does not have."""
    strange = sorted(set(options) - set(known))
    if not strange:
        return None
    has = f"it has {', '.join(known)}" if known else "it has none"
    return f"there is no option {strange[0]!r}; {has}"


def number(options: Facts, name: str, default: float, *, above: float = 0.0, most: float) -> float:
    """A number from `above` to `most`, both included."""
    value = options.get(name, default)
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (ValueError, OverflowError):
        found = math.nan
    if not above <= found <= most:
        raise MistakenOptionError(f"{name}: expected a number from {above:g} to {most:g}, got {shown(value)}")
    return found


def text(options: Facts, name: str, *, chars_max: int) -> str:
    """A text, or "" if the option is not there. A number will do: `seed=7` is a text of one character."""
    value = options.get(name, "")
    found = value if isinstance(value, str) else str(value)
    if len(found) > chars_max:
        raise MistakenOptionError(f"{name}: is longer than {chars_max} characters")
    return found


def shown(value: object) -> str:
    """A value in an error: whole if it is short."""
    words = repr(value) if not isinstance(value, int) or abs(value) < 10**20 else "a huge number"
    return words if len(words) <= 60 else words[:59] + "…"
