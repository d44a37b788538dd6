"""Sets of numbers and lists of hosts, as Flux writes them: "0-3,7" (RFC 22) and "node[186-189]" (RFC 29)."""

import re
from itertools import pairwise, product

from rainbow_protocol import limits
from rainbowd.resources.reading.words import refused, shown

_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_PARTS = re.compile(r"([^\[\],]*)(?:\[([^\[\]]*)\])?")


def idset(text: object, where: str) -> list[range]:
    """Ranges that do not overlap, in the order of their numbers."""
    if not isinstance(text, str):
        raise refused(f"{where} is {shown(text)}, and must be a set of numbers such as '0-3,7'")
    ranges: list[range] = []
    for part in text.strip().removeprefix("[").removesuffix("]").split(","):
        found = _RANGE.fullmatch(part.strip())
        if found is None:
            raise refused(f"{where} is {shown(text)}, and must be a set of numbers such as '0-3,7'")
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first:
            raise refused(f"{where}: the range {shown(part)} ends before it begins")
        ranges.append(range(first, last + 1))
    ranges.sort(key=lambda one: one.start)
    for one, following in pairwise(ranges):
        if following.start < one.stop:
            raise refused(f"{where}: {following.start} is in {shown(text)} more than once")
    return ranges


def count(ranges: list[range]) -> int:
    return sum(len(one) for one in ranges)


def hostlist(text: object, where: str) -> list[str]:
    """Every host, in the order written. Digits keep their zeros: node[08-10] is node08, node09, node10."""
    if not isinstance(text, str):
        raise refused(f"{where} is {shown(text)}, and must be names of hosts such as 'node[1-4]'")
    hosts: list[str] = []
    for entry in _entries(text, where):
        pieces: list[list[str]] = []
        for found in _PARTS.finditer(entry):
            if found[1]:
                pieces.append([found[1]])
            if found[2] is not None:
                pieces.append(_suffixes(found[2], where))
        size = 1
        for piece in pieces:
            size *= len(piece)
        if len(hosts) + size > limits.GRAPH_VERTICES_MAX:
            raise refused(f"{where} names more than {limits.GRAPH_VERTICES_MAX:,} hosts")
        hosts.extend("".join(parts) for parts in product(*pieces))
    return hosts


def _entries(text: str, where: str) -> list[str]:
    """Split at the commas that are not within brackets."""
    entries, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if depth not in (0, 1):
            raise refused(f"{where}: the brackets in {shown(text)} do not match")
        if character == "," and depth == 0:
            entries.append(text[start:position].strip())
            start = position + 1
    entries.append(text[start:].strip())
    if depth or not all(entries):
        raise refused(f"{where}: {shown(text)} is no list of hosts such as 'node[1-4],login'")
    return entries


def _suffixes(text: str, where: str) -> list[str]:
    suffixes: list[str] = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if found is None or last < first or len(suffixes) + last - first >= limits.GRAPH_VERTICES_MAX:
            raise refused(f"{where}: {shown(text)} is no list of numbers such as '1-4,7', or a too long one")
        suffixes.extend(f"{number:0{len(found[1])}}" for number in range(first, last + 1))
    return suffixes
