"""Amounts of memory and the like: 4 GB asked of a pool of 64 GiB. Other units are only names that must agree."""

from fractions import Fraction
from functools import lru_cache

Number = int | Fraction

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}


@lru_cache(maxsize=256)
def factor(unit: str) -> int | None:
    """Bytes in one of these, or None if it is no unit of bytes."""
    text = unit.strip().lower()
    if text in ("b", "byte", "bytes"):
        return 1
    binary = text.endswith(("ib", "i"))
    prefix = text.removesuffix("b").removesuffix("i") if binary else text.removesuffix("b")
    if not prefix or prefix not in _POWERS:
        return None
    return int((1024 if binary else 1000) ** _POWERS[prefix])


def exact(number: int | float) -> Number:
    """The number itself, without the rounding that floats bring to sums."""
    if isinstance(number, int):
        return number
    return int(number) if number.is_integer() else Fraction(number)


def available(size: Number, unit: str, wanted_unit: str) -> Number:
    """How many of the wanted unit a pool of this size holds; 0 if they are different things.

    Where one side names no unit, the other's is taken.
    """
    if unit == wanted_unit or not unit or not wanted_unit:
        return size
    mine, theirs = factor(unit), factor(wanted_unit)
    if mine is None or theirs is None:
        return 0
    if mine == theirs:
        return size
    if isinstance(size, int):
        whole, rest = divmod(size * mine, theirs)
        return whole if rest == 0 else Fraction(size * mine, theirs)
    return size * mine / theirs
