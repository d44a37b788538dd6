"""A cluster for people: its kinds of node, and its graph in brief. Equal things are told once, with their number."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rainbow_protocol.amounts import bytes_words, number_words
from rainbowd.resources.classes import HOST
from rainbowd.resources.graph import Scalar
from rainbowd.resources.model import ClusterModel, SubtreeClass
from rainbowd.resources.units import Number, factor

KINDS_SHOWN_MAX = 20
LINES_SHOWN_MAX = 200
ATTRIBUTES_SHOWN_MAX = 24
HOSTS_SHOWN_CHARS_MAX = 120
_NUMBERED = re.compile(r"^(.*?)(\d+)$")


@dataclass(frozen=True, slots=True)
class NodeKind:
    nodes: int
    contents: dict[str, int | float]
    properties: list[str]
    attributes: dict[str, Scalar]
    subsystems: list[str]
    hosts: str


def node_kinds(model: ClusterModel) -> tuple[list[NodeKind], int]:
    """The most numerous ones, and how many kinds there are besides."""
    found = [(one, number) for one, number in model.occurrences() if one.type == HOST]
    found.sort(key=lambda pair: (-pair[1], _content_key(pair[0])))
    shown = found[:KINDS_SHOWN_MAX]
    hosts: dict[SubtreeClass, list[str]] = {one: [] for one, _ in shown}
    if model.skeleton is not None:
        for one, name in zip(model.skeleton.classes, model.skeleton.names, strict=True):
            if one in hosts and name:
                hosts[one].append(name)
    return [_kind(one, number, hosts[one]) for one, number in shown], len(found) - len(shown)


def _kind(one: SubtreeClass, number: int, names: list[str]) -> NodeKind:
    return NodeKind(
        nodes=number,
        contents={kind: _plain(amount) for kind, amount in sorted(one.counts.items()) if kind != HOST},
        properties=sorted(one.properties),
        attributes=dict(one.attributes[:ATTRIBUTES_SHOWN_MAX]),
        subsystems=sorted({trait[0] for trait in one.traits}),
        hosts=hostlist(names, HOSTS_SHOWN_CHARS_MAX),
    )


def _content_key(one: SubtreeClass) -> str:
    return repr((sorted((kind, str(amount)) for kind, amount in one.counts.items()), sorted(one.properties)))


def hostlist(names: Sequence[str], chars_max: int) -> str:
    """`node[1-3,7]`, cut at the end if it is long."""
    numbers: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        found = _NUMBERED.match(name)
        stem, number = found.groups() if found else (name, "")
        numbers.setdefault(stem, []).append(number)
    text = ""
    for stem, members in numbers.items():
        text += ("," if text else "") + _ranges(stem, members)
        if len(text) > chars_max:
            return text[: chars_max - 1] + "…"
    return text


def _ranges(stem: str, members: list[str]) -> str:
    spans: list[list[str]] = []
    for number in sorted(members, key=lambda text: (int(text or 0), len(text))):
        if spans and number and len(spans[-1][1]) <= len(number) and int(spans[-1][1] or -2) + 1 == int(number):
            spans[-1][1] = number
        else:
            spans.append([number, number])
    if len(spans) == 1 and spans[0][0] == spans[0][1]:
        return stem + spans[0][0]
    return f"{stem}[{','.join(low if low == high else f'{low}-{high}' for low, high in spans)}]"


def tree_lines(model: ClusterModel) -> list[str]:
    """The graph, equal subtrees once: `node × 1000`, and below it what each of them holds."""
    lines: list[str] = []
    for line in _lines(model.root, 1, "", ""):
        if len(lines) == LINES_SHOWN_MAX:
            return [*lines, "… and more; --json has all of it"]
        lines.append(line)
    return lines


def _lines(one: SubtreeClass, number: int, lead: str, indent: str) -> Iterator[str]:
    yield lead + _title(one, number)
    last = len(one.children) - 1
    for position, (child, count) in enumerate(one.children):
        branch, deeper = ("└─ ", "   ") if position == last else ("├─ ", "│  ")
        yield from _lines(child, count, indent + branch, indent + deeper)


def _title(one: SubtreeClass, number: int) -> str:
    words = one.type
    if one.size != 1 and (amount := _amount(one)):
        words += f" {amount}"
    elif one.size != 1:
        number *= int(one.size) if isinstance(one.size, int) else 1
    if number != 1:
        words += f" × {number}"
    extra = sorted(one.properties) + [f"{key}={value}" for key, value in one.attributes[:ATTRIBUTES_SHOWN_MAX]]
    attached = Counter(trait[0] for trait in one.traits)
    extra += [f"+{name}" + (f" × {count}" if count > 1 else "") for name, count in sorted(attached.items())]
    return words + (f"  [{', '.join(extra)}]" if extra else "")


def _amount(one: SubtreeClass) -> str | None:
    """None for what is only counted. Bytes are told in a unit that can be read."""
    if one.unit:
        return bytes_words(_plain(one.size)) if factor(one.unit) == 1 else f"{_shown(one.size)} {one.unit}"
    words = number_words(one.type, _plain(one.size))
    return words if " " in words else None


def _shown(amount: Number) -> str:
    return str(amount) if isinstance(amount, int) else f"{float(amount):g}"


def _plain(amount: Number) -> int | float:
    return amount if isinstance(amount, int) else float(amount)
