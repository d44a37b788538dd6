"""Turns metadata into kinds, remembering what the same words meant before: few different ones, very many vertices."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from rainbowd.resources.reading import careful, tree
from rainbowd.resources.reading.edges import CONTAINMENT
from rainbowd.resources.reading.vertex import PLACE, described

_REMEMBERED_MAX = 10_000
_None = type(None)
_Plain = tuple[str, int | float, str]  # type, size, unit


class UsualMetadata(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """What vertices usually have, and no more. A piece with anything else in it is read the slower, general way."""

    type: str
    size: int | float = 1
    unit: str = ""
    name: str | None = None
    rank: int = -1
    basename: str = ""
    exclusive: bool = False
    id: int | str | None = None
    uniq_id: int | str | None = None
    status: int | str | None = None
    paths: Raw | UnsetType = UNSET
    properties: Raw | UnsetType = UNSET
    attributes: Raw | UnsetType = UNSET


class VerticesSeen:
    """Adds vertices to those of a document, as quickly as their metadata allow."""

    def __init__(self, into: tree.Vertices) -> None:
        self._into = into
        self._plain: dict[_Plain, int] = {}
        self._others: dict[tuple[Any, ...], tuple[int, bool]] = {}
        self._general: dict[tuple[Any, ...], int] = {}

    def take(self, vertex_id: str, metadata: Any) -> None:
        """A vertex in any form."""
        words = _words(metadata)
        number = None if words is None else self._general.get(words)
        if number is not None:  # no node, and nothing wrong with it
            self._into.ids.append(vertex_id)
            self._into.kind_of.append(number)
            return
        position = self._into.add(vertex_id, *described(vertex_id, metadata))
        if metadata.get("subsystem") not in (None, CONTAINMENT):
            self._into.foreign.add(position)
        elif words is not None:
            if len(self._general) >= _REMEMBERED_MAX:
                self._general.clear()
            self._general[words] = self._into.kind_of[position]

    def take_usual(self, told: list[UsualMetadata], first: int) -> None:
        """The metadata of vertices whose ids stand there already, from position `first` on."""
        numbers = self._numbers(told, first)
        self._into.kind_of.extend(numbers)
        nodes = {number for number in set(numbers) if self._into.kinds.all[number].type == tree.NODE}
        for place in (place for place, number in enumerate(numbers) if number in nodes):
            node = described(self._id(first + place), dict(_given(told[place])))
            self._into.note(first + place, tree.NODE, node.name, node.rank, False)

    def _id(self, position: int) -> str:
        return str(self._into.ids[position])

    def _numbers(self, told: list[UsualMetadata], first: int) -> list[int]:
        keys = [(metadata.type, metadata.size, metadata.unit) for metadata in told]
        for key in set(keys) - self._plain.keys():
            fields = dict(zip(("type", "size", "unit"), key, strict=True))
            found = described(self._id(first + keys.index(key)), fields)
            self._plain[key] = self._into.kinds.number(found.kind)
        numbers = list(map(self._plain.__getitem__, keys))
        for place, metadata in enumerate(told):
            if metadata.properties is not UNSET or metadata.attributes is not UNSET or metadata.status is not None:
                numbers[place], is_down = self._with_more(self._id(first + place), keys[place], metadata)
                if is_down:
                    self._into.down.add(first + place)
        return numbers

    def _with_more(self, vertex_id: str, key: _Plain, metadata: UsualMetadata) -> tuple[int, bool]:
        more = {
            field: bytes(raw)
            for field, raw in (("properties", metadata.properties), ("attributes", metadata.attributes))
            if isinstance(raw, Raw)
        }
        words = (key, metadata.status, *more.items())
        if words not in self._others:
            fields: dict[str, Any] = dict(zip(("type", "size", "unit"), key, strict=True))
            fields |= {field: careful.loads(text) for field, text in more.items()} | {"status": metadata.status}
            found = described(vertex_id, fields)
            if len(self._others) >= _REMEMBERED_MAX:
                self._others.clear()
            self._others[words] = self._into.kinds.number(found.kind), found.down
        return self._others[words]


def _given(metadata: UsualMetadata) -> Iterator[tuple[str, Any]]:
    for field in ("type", "name", "rank", "basename", "id"):
        yield field, getattr(metadata, field)


def _words(metadata: Any) -> tuple[Any, ...] | None:
    """What decides about the kind, if it can be remembered by it. A node is looked at each time: it has a name."""
    if not isinstance(metadata, dict) or metadata.get("type") == tree.NODE or metadata.get("status") is not None:
        return None
    if type(metadata.get("name")) not in (str, _None) or type(metadata.get("rank")) not in (int, _None):
        return None
    # True and 1 are equal, and hash alike, but do not mean the same.
    words = tuple((key, type(value), value) for key, value in metadata.items() if key not in PLACE)
    try:
        hash(words)
    except TypeError:
        return None
    return words
