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
    """The number as it was written, without the rounding that floats bring: 0.3 is three tenths."""
    if isinstance(number, int):
        return number
    return int(number) if number.is_integer() else Fraction(repr(number))


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


def in_bytes(count: int, unit: str) -> tuple[int, str]:
    """The same amount in bytes, if it is an amount of bytes: so that 1 GB and 500 MB can be added."""
    size = factor(unit) if unit else None
    return (count, unit) if size is None else (count * size, "B")


def shown(amount: Number, unit: str) -> str:
    """For people: bytes in the largest unit that needs at most three decimals."""
    if unit == "B":
        for name in ("EB", "PB", "TB", "GB", "MB", "kB"):
            if amount and Fraction(amount, factor(name) or 1) * 1000 % 1 == 0 and amount >= (factor(name) or 1):
                return f"{float(Fraction(amount, factor(name) or 1)):g} {name}"
    number = str(amount) if isinstance(amount, int) else f"{float(amount):g}"
    return f"{number} {unit}" if unit else number
