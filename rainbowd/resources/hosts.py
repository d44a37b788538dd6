"""Nodes by name or rank: which of a cluster's nodes a constraint names. Hostlists as in RFC 29: `node[1-3,7]`."""

import re

from rainbow_protocol import limits
from rainbow_protocol.resources import Constraint
from rainbowd.resources.model import ClusterModel
from rainbowd.resources.requirements import mark_of, named_nodes

_ITEM = re.compile(r"[^\[\],]*(?:\[[^\]]*\][^\[\],]*)*")
_NUMBERS = re.compile(r"(\d+)(?:-(\d+))?$")
_WIDEST_DIGITS = 18


def marks_of(constraint: Constraint, model: ClusterModel) -> dict[str, frozenset[int]]:
    """For every part of the constraint that names nodes: its mark, and the places of these nodes."""
    marks: dict[str, frozenset[int]] = {}
    for part in named_nodes(constraint):
        mark = mark_of(part)
        if mark not in marks:
            marks[mark] = _places(part, model)
    return marks


def _places(part: Constraint, model: ClusterModel) -> frozenset[int]:
    skeleton = model.skeleton
    if skeleton is None:
        return frozenset()
    if part.op == "hostlist":
        hosts = Hosts(part.values)
        return frozenset(place for place, name in enumerate(skeleton.names) if name and name in hosts)
    ranges = [span for text in part.values for span in _spans(text)]
    return frozenset(
        place
        for place, rank in enumerate(skeleton.ranks)
        if rank >= 0 and any(low <= rank <= high for low, high, _ in ranges)
    )


class Hosts:
    """A hostlist that is asked, never expanded: `node[1-999999999]` costs no more than `node1`."""

    def __init__(self, texts: list[str]) -> None:
        self._plain: set[str] = set()
        self._ranged: list[tuple[re.Pattern[str], list[list[tuple[int, int, int]]]]] = []
        for text in texts:
            for item in _items(text):
                self._add(item)

    def __contains__(self, name: str) -> bool:
        return name in self._plain or any(_is_of(name, pattern, spans) for pattern, spans in self._ranged)

    def _add(self, item: str) -> None:
        if "[" not in item:
            self._plain.add(item)
            return
        pattern, spans = "", []
        for literal, ranges in re.findall(r"([^\[]*)(?:\[([^\]]*)\])?", item):
            pattern += re.escape(literal)
            if ranges:
                pattern += r"(\d+)"
                spans.append(_spans(ranges))
        if len(self._ranged) < limits.CONSTRAINT_VALUES_MAX:
            self._ranged.append((re.compile(pattern), spans))


def _items(text: str) -> list[str]:
    """Commas separate hosts, except within brackets."""
    return [item for item in _ITEM.findall(text.strip()) if item]


def _spans(text: str) -> list[tuple[int, int, int]]:
    """`1-3,7` as (low, high, width); what is no number names nothing. A leading zero fixes the width."""
    spans = []
    for part in text.strip("[] ").split(","):
        found = _NUMBERS.match(part.strip())
        if found and len(part) <= 2 * _WIDEST_DIGITS:
            low, high = found.group(1), found.group(2) or found.group(1)
            spans.append((int(low), int(high), len(low) if low.startswith("0") and len(low) > 1 else 0))
    return spans


def _is_of(name: str, pattern: re.Pattern[str], spans: list[list[tuple[int, int, int]]]) -> bool:
    found = pattern.fullmatch(name)
    if not found:
        return False
    return all(
        any(
            low <= int(number) <= high and (len(number) == width if width else str(int(number)) == number)
            for low, high, width in allowed
        )
        for number, allowed in zip((digits[:_WIDEST_DIGITS] for digits in found.groups()), spans, strict=True)
    )
