"""An order of ids that people expect, node2 before node10, and that nothing but the ids decides."""

import re

_DIGITS = re.compile(r"[0-9]+")


def order(ids: list[str]) -> list[int]:
    """Positions of the ids, in natural order. The ids are different from each other."""
    keys: list[int] | list[str] = numbers(ids) or [key(one) for one in ids]
    return sorted(range(len(ids)), key=keys.__getitem__)


def numbers(ids: list[str]) -> list[int] | None:
    """The ids as numbers, if every one of them is one and can be had back from it."""
    if max(map(len, ids), default=0) > 18 or not all(map(str.isdecimal, ids)):
        return None
    found = list(map(int, ids))
    return found if list(map(str, found)) == ids else None


def key(text: str) -> str:
    """Compares as text, with numbers in it by their value; the text itself decides what is left."""
    return _DIGITS.sub(_by_length, text) + "\0" + text


def _by_length(digits: re.Match[str]) -> str:
    value = digits.group().lstrip("0")
    # The length comes first, and is itself written so that a longer number compares greater.
    return f"{len(value):04}{value}"
