"""Hostlists as in RFC 29 (`node[1-3,7]`), read but never expanded more than a little.

A name is looked up by its parts around each number in it, so `node[1-999999999]` costs no more than `node1`.
"""

import re
from bisect import bisect_right
from itertools import product

EXPANDED_MAX = 4_096  # names that have to be written out, of all ranges together
SPANS_MAX = 16_384
_ITEM = re.compile(r"(?:[^\[\],]|\[[^\[\]]*\])+")
_SPAN = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_NUMBER = re.compile(r"[0-9]+")

Span = tuple[int, int, int]  # first, last, and the width of numbers that begin with a zero, else 0


class HostlistError(ValueError):
    """The text is no hostlist; the message says why."""


def spans(text: str) -> list[Span]:
    """`1-3,07-12`."""
    found = []
    for part in text.split(","):
        match = _SPAN.fullmatch(part.strip())
        if match is None:
            raise HostlistError(f"{part[:40]!r} is not a number or a range such as 1-9")
        low, high = match[1], match[2] or match[1]
        if int(high) < int(low):
            raise HostlistError(f"{part[:40]!r} ends before it begins")
        found.append((int(low), int(high), len(low) if len(low) > 1 and low.startswith("0") else 0))
    return found


class Hostlist:
    """Knows whether a name is in it."""

    def __init__(self, texts: list[str]) -> None:
        self._names: set[str] = set()
        self._ranges: dict[tuple[str, str, int], list[tuple[int, int]]] = {}
        self._spans = 0
        for text in texts:
            rest = _ITEM.sub("", text).strip(", ")
            if rest:
                raise HostlistError(f"{text[:60]!r}: a bracket is open, or closed without being opened")
            for item in _ITEM.findall(text):
                self._add(item.strip())
        for key, found in self._ranges.items():
            self._ranges[key] = _merged(found)

    def __contains__(self, name: str) -> bool:
        if name in self._names:
            return True
        for number in _NUMBER.finditer(name):
            digits = number.group()
            if len(digits) <= 18:
                around = (name[: number.start()], name[number.end() :])
                width = len(digits) if len(digits) > 1 and digits[0] == "0" else 0
                # In 08-11 the width holds for all of them, so 10 may be of either kind.
                if _within(self._ranges.get((*around, len(digits))), int(digits)):
                    return True
                if not width and _within(self._ranges.get((*around, 0)), int(digits)):
                    return True
        return False

    def _add(self, item: str) -> None:
        pieces = re.split(r"\[([^\[\]]*)\]", item)
        literals, ranges = pieces[::2], [spans(text) for text in pieces[1::2]]
        if not ranges:
            self._names.add(item)
            return
        # All but the last range are written out; so is the last where digits touch it, as in n1[0-9].
        touched = literals[-2][-1:].isdigit() or literals[-1][:1].isdigit()
        written_out = ranges if touched else ranges[:-1]
        if _size(written_out) + len(self._names) > EXPANDED_MAX:
            raise HostlistError(f"{item[:60]!r} has more than {EXPANDED_MAX} names that have to be written out")
        for numbers in product(*(list(_each(one)) for one in written_out)):
            filled = "".join(text + number for text, number in zip(literals, numbers, strict=False))
            if touched:
                self._names.add(filled + literals[-1])
                continue
            prefix = filled + literals[-2]
            for low, high, width in ranges[-1]:
                self._spans += 1
                if self._spans > SPANS_MAX:
                    raise HostlistError(f"the hostlist has more than {SPANS_MAX} ranges")
                self._ranges.setdefault((prefix, literals[-1], width), []).append((low, high))


def _size(ranges: list[list[Span]]) -> int:
    total = 1
    for one in ranges:
        total *= sum(high - low + 1 for low, high, _ in one)
    return total if ranges else 0


def _each(ranges: list[Span]) -> list[str]:
    return [f"{number:0{width}d}" for low, high, width in ranges for number in range(low, high + 1)]


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order, and without overlaps, so that one look finds whether a number is in one of them."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def _within(ranges: list[tuple[int, int]] | None, number: int) -> bool:
    if not ranges:
        return False
    place = bisect_right(ranges, (number, 10**18)) - 1
    return place >= 0 and number <= ranges[place][1]


class Numbers:
    """An idset of ranks, asked in the same way."""

    def __init__(self, texts: list[str]) -> None:
        found = [(low, high) for text in texts for low, high, _ in spans(text.strip("[] "))]
        if len(found) > SPANS_MAX:
            raise HostlistError(f"there are more than {SPANS_MAX} ranges")
        self._ranges = _merged(found)

    def __contains__(self, number: int) -> bool:
        return _within(self._ranges, number)
