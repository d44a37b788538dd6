"""Whether what stands in a group could ever fit into what the group has. Only what is certain is said."""

from collections.abc import Sequence
from math import inf

from rainbow_protocol.resources import CountRange, CountSet, Resource, least

# Types of which nothing more is inside; of anything else that is taken whole, nobody knows how much it holds.
_LEAVES = ("core", "gpu", "pu", "memory", "storage")
_KINDS = ("node", "core", "gpu")
_Forest = Sequence[Resource]


def why_never_within(inner: Sequence[_Forest], outer: Sequence[_Forest]) -> str | None:
    """In words; None if one of the inner alternatives may fit into one of the outer ones."""
    found = ""
    for mine in inner:
        for around in outer:
            words = _why_not(mine, around)
            if words is None:
                return None
            found = found or words
    return found


def _why_not(inner: _Forest, outer: _Forest) -> str | None:
    for kind in _KINDS:
        asked, there = _at_least(inner, kind), _at_most(outer, kind)
        if asked > there:
            return f"needs {_counted(asked, kind)}, and the group that it runs in has {_counted(int(there), kind)}"
    return None


def _counted(number: int, kind: str) -> str:
    return f"{number or 'no'} {kind}{'s' if number != 1 else ''}"


def _at_least(forest: _Forest, kind: str) -> int:
    return sum(least(one.count) * (1 if one.type == kind else _at_least(one.children, kind)) for one in forest)


def _at_most(forest: _Forest, kind: str) -> float:
    if kind != "gpu" and not _at_least(forest, kind):
        return inf  # on how many nodes, it does not say; and a task has a core also where none are asked for
    return sum(_most_within(one, kind, in_slot=False) for one in forest)


def _most_within(resource: Resource, kind: str, *, in_slot: bool) -> float:
    number = _most(resource.count)
    if resource.type == kind:
        return number
    if resource.type in _LEAVES or resource.unit:
        return 0
    if resource.type == "slot":
        in_slot = True
    elif not resource.children or (in_slot if resource.exclusive is None else resource.exclusive):
        return inf
    inside = sum(_most_within(child, kind, in_slot=in_slot) for child in resource.children)
    return number * inside if inside else 0


def _most(count: int | CountRange | CountSet) -> float:
    if isinstance(count, int):
        return count
    if isinstance(count, CountSet):
        return max(count.any_of)
    return inf if count.max is None else count.max
