"""Amounts as people and Kubernetes write them: 64, "64GB", "256Gi", "3900m". Exact, never rounded up."""

import re
from fractions import Fraction

from rainbow_protocol import limits
from rainbowd.resources.reading.words import refused, shown

_AMOUNT = re.compile(r"\s*([0-9]{1,18}(?:\.[0-9]{1,18})?)(?:[eE]([+]?[0-9]{1,2}))?\s*([A-Za-z]{0,8})\s*")
_DECIMAL = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5, "e": 6}


def count(value: object, where: str) -> int:
    """Whole things. Kubernetes writes parts of a cpu in thousandths: what is left of a whole one is not counted."""
    if isinstance(value, str):
        found = _AMOUNT.fullmatch(value)
        if found is None or found[3] not in ("", "m", "k"):
            raise refused(f"{where} is {shown(value)}, and must be a count")
        value = _number(found) * (Fraction(1, 1000) if found[3] == "m" else 1000 if found[3] == "k" else 1)
    return _whole(value, where, "a count")


def memory_bytes(value: object, where: str) -> int:
    """A number is bytes; a text may have a unit: k, M, G (also with B) count in thousands, Ki, Mi, Gi in 1024."""
    if not isinstance(value, str):
        return _whole(value, where, "bytes, or text such as '64GB' or '256Gi'")
    found = _AMOUNT.fullmatch(value)
    unit = found[3].lower() if found else "?"
    if unit in ("b", "byte", "bytes"):
        unit = ""
    binary = unit.endswith(("i", "ib"))
    prefix = unit.removesuffix("b").removesuffix("i") if binary else unit.removesuffix("b")
    if found is None or prefix not in _DECIMAL or (binary and not prefix):
        raise refused(f"{where} is {shown(value)}, and must be bytes, or text such as '64GB' or '256Gi'")
    # Kubernetes has thousandths of a byte too; nobody means megabytes with a small m alone.
    base = Fraction(1, 1000) if found[3] == "m" else Fraction(1024 if binary else 1000) ** _DECIMAL[prefix]
    return _whole(_number(found) * base, where, "bytes")


def _number(found: re.Match[str]) -> Fraction:
    return Fraction(found[1]) * Fraction(10) ** int(found[2] or 0)


def _whole(value: object, where: str, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        raise refused(f"{where} is {shown(value)}, and must be {what}")
    if not 0 <= value <= limits.GRAPH_SIZE_MAX:  # what is no number at all is not within either
        shown_value = float(value) if isinstance(value, Fraction) else value
        raise refused(f"{where} is {shown(shown_value)}, and must be between 0 and {limits.GRAPH_SIZE_MAX:.0e}")
    if isinstance(value, float) and not value.is_integer():
        raise refused(f"{where} is {value}, and must be a whole number")
    return int(value)
