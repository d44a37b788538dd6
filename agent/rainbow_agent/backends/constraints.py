"""Which of the local backend's nodes a constraint (RFC 31) allows: node0, node1, …, which differ by name only."""

import re
from collections.abc import Iterator

from rainbow_protocol.limits import CONSTRAINT_HOSTS_MAX
from rainbow_protocol.resources import Constraint

NODE_PREFIX = "node"

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_OUTSIDE_COMMA = re.compile(r",(?![^\[]*\])")
_RANGE = re.compile(r"^([0-9]+)(?:-([0-9]+))?$")


def node_name(index: int) -> str:
    return f"{NODE_PREFIX}{index}"


def allowed(constraint: Constraint, nodes: int, properties: frozenset[str]) -> frozenset[int]:
    """Positions of the nodes that satisfy it. ValueError, in words, if it cannot be read."""
    every = frozenset(range(nodes))
    match constraint.op:
        case "and":
            return every.intersection(*(allowed(one, nodes, properties) for one in constraint.args))
        case "or":
            return frozenset().union(*(allowed(one, nodes, properties) for one in constraint.args))
        case "not":
            # Of several, none may hold (RFC 31 gives `not` one argument, as a list).
            return every.difference(*(allowed(one, nodes, properties) for one in constraint.args))
        case "properties":
            return every if all(_has(properties, value) for value in constraint.values) else frozenset()
        case "ranks":
            return every.intersection(_numbers(constraint.values, nodes))
        case "hostlist":
            places = {node_name(index): index for index in range(nodes)}
            return frozenset(places[host] for host in _hosts(constraint.values, nodes) if host in places)


def _has(properties: frozenset[str], value: str) -> bool:
    """`^name` is satisfied by a node without that property."""
    return value[1:] not in properties if value.startswith("^") else value in properties


def _numbers(values: list[str], below: int) -> Iterator[int]:
    for value in values:
        for text in _ranges(value.strip("[]"), below):
            yield int(text)


def _hosts(values: list[str], nodes: int) -> Iterator[str]:
    """Every name that could be one of ours. Numbers too long to stand in such a name are not counted through."""
    below = 10 ** len(str(nodes))
    budget = CONSTRAINT_HOSTS_MAX
    for value in values:
        for word in _OUTSIDE_COMMA.split(value):
            if set("[]") & set(_BRACKETS.sub("", word)):
                raise ValueError(f"{word!r} in the constraint is not a list of hosts")
            for host in _expanded(word.strip(), below):
                budget -= 1
                if budget < 0:
                    raise ValueError(f"the constraint names more than {CONSTRAINT_HOSTS_MAX} hosts")
                yield host


def _expanded(word: str, below: int) -> Iterator[str]:
    found = _BRACKETS.search(word)
    if found is None:
        yield word
        return
    for number in _ranges(found[1], below):
        yield from _expanded(f"{word[: found.start()]}{number}{word[found.end() :]}", below)


def _ranges(text: str, below: int) -> Iterator[str]:
    """The numbers of "0-3,7", as they are written: 00-03 keeps its zeros."""
    for part in text.split(","):
        bounds = _RANGE.match(part.strip())
        if bounds is None or (bounds[2] and int(bounds[2]) < int(bounds[1])):
            raise ValueError(f"{part!r} in the constraint is not a range of numbers")
        width = len(bounds[1]) if bounds[1].startswith("0") else 0
        last = int(bounds[2] or bounds[1])
        for number in range(int(bounds[1]), min(last, below) + 1):
            yield str(number).zfill(width)
