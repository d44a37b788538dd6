"""Kubernetes quantities: `500m`, `1.5`, `4Gi`, `1e3`."""

import re
from fractions import Fraction

from rainbow_protocol import limits
from rainbow_protocol.jobspec.place import Place

_FORM = re.compile(r"(\d{1,18}(?:\.\d{0,9})?|\.\d{1,9})(?:([eE][+-]?\d{1,2})|([numkMGTPE]|[KMGTPE]i)?)$")
_SUFFIXES: dict[str | None, Fraction] = {None: Fraction(1), "": Fraction(1)}
_SUFFIXES |= {suffix: Fraction(1, 1000**power) for power, suffix in enumerate("mun", 1)}
_SUFFIXES |= {suffix: Fraction(1000**power) for power, suffix in enumerate("kMGTPE", 1)}
_SUFFIXES |= {f"{suffix}i": Fraction(1024**power) for power, suffix in enumerate("KMGTPE", 1)}


def quantity_of(place: Place) -> Fraction:
    value = place.value
    text = value if isinstance(value, str) else repr(value) if type(value) in (int, float) else ""
    match = _FORM.match(text)
    if match is None:
        raise place.wrong(f'{str(value)[:40]!r} is not a quantity; write it like 2, "500m" or "4Gi"')
    number, exponent, suffix = match.groups()
    amount = Fraction(number) * (Fraction(10) ** int(exponent[1:]) if exponent else _SUFFIXES[suffix])
    if amount > limits.RESOURCE_COUNT_MAX:
        raise place.wrong(f"must be at most {limits.RESOURCE_COUNT_MAX}")
    return amount
