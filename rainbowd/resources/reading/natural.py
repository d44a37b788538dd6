"""An order of ids that people expect, node2 before node10, and that nothing but the ids decides."""

import re

NUMBER_MAX = 10**18  # fits into 64 bits, and so do differences
_DIGITS = re.compile(r"[0-9]+")


def order(ids: list[str]) -> list[int]:
    """Positions of the ids, in natural order. The ids are different from each other."""
    keys: list[int] | list[str] = numbers(ids) or [key(one) for one in ids]
    return sorted(range(len(ids)), key=keys.__getitem__)


def numbers(ids: list[str]) -> list[int] | None:
    """The ids as numbers, if every one of them is one and can be had back from it."""
    try:
        found = list(map(int, ids))
    except ValueError:
        return None
    if not found or max(map(abs, found)) > NUMBER_MAX or list(map(str, found)) != ids:
        return None
    return found


def key(text: str) -> str:
    """Compares as text, with numbers in it by their value; the text itself decides what is left."""
    return _DIGITS.sub(_by_length, text) + "\0" + text


def _by_length(digits: re.Match[str]) -> str:
    value = digits.group().lstrip("0")
    # The length comes first, and is itself written so that a longer number compares greater.
    return f"{len(value):04}{value}"
