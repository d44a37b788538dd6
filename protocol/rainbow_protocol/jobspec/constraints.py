"""Which nodes may be used, as RFC 31 writes it: one operator an object, and its values."""

from rainbow_protocol.jobspec.place import Place
from rainbow_protocol.resources import Constraint

_OF_VALUES = ("properties", "hostlist", "ranks")
_OF_CONSTRAINTS = ("and", "or", "not")


def constraint_of(place: Place) -> Constraint | None:
    """None for an empty object, which every node satisfies."""
    parts = [_one(operator, values) for operator, values in place.entries().items()]
    if len(parts) > 1:
        return place.built(Constraint, op="and", args=parts)
    return parts[0] if parts else None


def _one(operator: str, place: Place) -> Constraint:
    if operator in _OF_VALUES:
        # A plain text where a list of one is meant: for hostlist and ranks that is common.
        values = [_value(one) for one in place.one_or_many()]
        return place.built(Constraint, op=operator, values=values)
    if operator in _OF_CONSTRAINTS:
        found = [constraint_of(one) for one in place.one_or_many()]
        args = [one if one is not None else Constraint(op="and") for one in found]
        return place.built(Constraint, op=operator, args=args)
    known = ", ".join((*_OF_VALUES, *_OF_CONSTRAINTS))
    raise place.wrong(f"is not an operator that is known; there are: {known}")


def _value(place: Place) -> str:
    if type(place.value) is int and place.value >= 0:  # a rank may be written as the number that it is
        return place.spelling()
    text = place.text()
    if not text.strip("^"):
        raise place.wrong("must not be empty")
    return text
