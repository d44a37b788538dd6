"""Does a place of the cluster satisfy what a job requires of it?

A requirement names a subsystem. What can satisfy it at a vertex: the subsystem's vertices attached there or to what
contains it; and the vertex's own attributes, and those of what contains it, under their type's name (`node`) or
with the subsystem's name in front (`os.name`).
"""

from collections.abc import Iterable, Iterator
from math import isfinite

from rainbow_protocol.resources import Condition, Constraint, Requirement
from rainbowd.resources.graph import Scalar
from rainbowd.resources.model import SubtreeClass
from rainbowd.resources.traits import Trait
from rainbowd.resources.versions import compare

Chain = tuple[SubtreeClass, ...]  # a vertex's class, after those of what contains it; what says nothing is left out
_CONTAINMENT = "containment"


def satisfied_at(requirement: Requirement, place: SubtreeClass) -> bool:
    """Is there something at this very place that fulfils all conditions? Says nothing of `absent`."""
    subsystem = requirement.subsystem
    return any(
        all(holds(condition, subsystem, trait) for condition in requirement.conditions)
        for trait in candidates(subsystem, place)
    )


def candidates(subsystem: str, place: SubtreeClass) -> Iterator[Trait]:
    yield from place.traits_of.get(subsystem, ())
    own = _own(place, subsystem)
    if own is not None:
        yield own


def _own(place: SubtreeClass, subsystem: str) -> Trait | None:
    """The vertex itself as something that a requirement may speak of."""
    if subsystem in (place.type, _CONTAINMENT):
        properties = tuple((name, "true") for name in sorted(place.properties))
        return subsystem, place.type, (*place.attributes, *properties)
    prefix = f"{subsystem}."
    facts = tuple((key, value) for key, value in place.attributes if key.startswith(prefix))
    return (subsystem, place.type, facts) if facts else None


def holds(condition: Condition, subsystem: str, trait: Trait) -> bool:
    values = list(_values(condition.field, subsystem, trait))
    if condition.present is not None and bool(values) != condition.present:
        return False
    if condition.none_of is not None and any(_equal(value, no) for value in values for no in condition.none_of):
        return False
    if condition.any_of is None and not _has_bounds(condition):
        return True
    return any(_value_holds(condition, value) for value in values)


def _has_bounds(condition: Condition) -> bool:
    return any(bound is not None for bound in (condition.min, condition.max, condition.above, condition.below))


def _value_holds(condition: Condition, value: Scalar) -> bool:
    if condition.any_of is not None and not any(_equal(value, one) for one in condition.any_of):
        return False
    return (
        (condition.min is None or _order(value, condition.min) >= 0)
        and (condition.max is None or _order(value, condition.max) <= 0)
        and (condition.above is None or _order(value, condition.above) > 0)
        and (condition.below is None or _order(value, condition.below) < 0)
    )


def _values(field: str, subsystem: str, trait: Trait) -> Iterator[Scalar]:
    """People write `name`, `os.name` or `attributes.name` for the same."""
    short = field.removeprefix("attributes.").removeprefix(f"{subsystem}.")
    names = {field, short, f"{subsystem}.{short}"}
    if short == "type":
        yield trait[1]
    for key, value in trait[2]:
        if key in names or key.removeprefix("attributes.") in names:
            yield value


def _equal(value: Scalar, wanted: Scalar) -> bool:
    if isinstance(wanted, bool):
        return str(value).lower() == str(wanted).lower()
    if isinstance(value, int | float) and isinstance(wanted, int | float):
        return value == wanted
    return str(value) == str(wanted)


def _order(value: Scalar, bound: Scalar) -> int:
    """Numbers by size, anything else as versions."""
    numbers = (_number(value), _number(bound))
    if numbers[0] is not None and numbers[1] is not None and not (isinstance(value, str) and isinstance(bound, str)):
        return (numbers[0] > numbers[1]) - (numbers[0] < numbers[1])
    return compare(str(value), str(bound))


def _number(value: Scalar) -> float | None:
    if isinstance(value, int | float):
        return value
    try:
        number = float(value)
    except ValueError:
        return None
    return number if isfinite(number) else None


def admits(constraint: Constraint, node: SubtreeClass) -> bool:
    """RFC 31, for one node. Hosts and ranks were made properties of the nodes that they name (`marks`)."""
    match constraint.op:
        case "properties":
            return all(_has_property(node, name) for name in constraint.values)
        case "hostlist" | "ranks":
            return mark_of(constraint) in node.properties
        case "and":
            return all(admits(one, node) for one in constraint.args)
        case "or":
            return any(admits(one, node) for one in constraint.args)
        case "not":
            return not all(admits(one, node) for one in constraint.args)


def _has_property(node: SubtreeClass, name: str) -> bool:
    """A leading ^ negates. A label counts as the property `key=value`."""
    if name.startswith("^"):
        return not _has_property(node, name[1:])
    if name in node.properties:
        return True
    key, equals, value = name.partition("=")
    return bool(equals) and any(known == key and _equal(fact, value) for known, fact in node.attributes)


def mark_of(constraint: Constraint) -> str:
    """The property that stands for being one of these hosts. No document can spell it: names hold no NUL."""
    return f"\0{constraint.op}:{','.join(constraint.values)}"


def named_nodes(constraint: Constraint | None) -> Iterator[Constraint]:
    """The parts of a constraint that tell nodes apart by who they are."""
    if constraint is not None:
        if constraint.op in ("hostlist", "ranks"):
            yield constraint
        for one in constraint.args:
            yield from named_nodes(one)


def in_words(requirements: Iterable[Requirement]) -> str:
    return " and ".join(_requirement_words(one) for one in requirements)


def _requirement_words(requirement: Requirement) -> str:
    conditions = ", ".join(condition_words(one) for one in requirement.conditions)
    words = f"{requirement.subsystem}" + (f" ({conditions})" if conditions else "")
    return f"no {words}" if requirement.absent else words


def condition_words(condition: Condition) -> str:
    parts = []
    if condition.any_of is not None:
        parts.append(" or ".join(str(value) for value in condition.any_of[:8]))
    if condition.none_of is not None:
        parts.append("not " + " or ".join(str(value) for value in condition.none_of[:8]))
    for bound, word in ((condition.min, "from"), (condition.max, "to"), (condition.above, ">"), (condition.below, "<")):
        if bound is not None:
            parts.append(f"{word} {bound}")
    if condition.present is not None:
        parts.append("present" if condition.present else "absent")
    return f"{condition.field} {' '.join(parts)}"


def constraint_words(constraint: Constraint) -> str:
    """As in "no node …"."""
    named = ", ".join(constraint.values[:8]) + (" …" if len(constraint.values) > 8 else "")
    match constraint.op:
        case "properties":
            return f"has the property {named}" if len(constraint.values) == 1 else f"has the properties {named}"
        case "hostlist":
            return f"is named {named}"
        case "ranks":
            return f"has the rank {named}"
        case "not":
            return "is free of: " + " and ".join(constraint_words(one) for one in constraint.args)
        case _:
            return f" {constraint.op} ".join(constraint_words(one) for one in constraint.args)
