"""What one vertex of a resource graph is, from the metadata that a document has of it."""

import math
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from rainbow_protocol import limits
from rainbowd.resources.graph import Kind, Scalar
from rainbowd.resources.reading.words import is_line, refused, shown, vertex

# Where a vertex is and what it is called: nothing that makes it a different kind of thing.
PLACE = frozenset({"basename", "containment", "exclusive", "id", "label", "name", "paths", "rank", "status", "uniq_id"})
_OWN_FIELDS = PLACE | {"type", "size", "unit", "properties", "attributes", "subsystem"}
_DOWN = (1, "1", "down")
_UP = (None, 0, "0", "up")
_NESTED_MAX = 8


class Described(NamedTuple):
    kind: Kind
    name: str | None
    rank: int | None
    down: bool


def described(vertex_id: str, metadata: object) -> Described:
    """Checks everything that the metadata says; the error names the vertex."""
    if not isinstance(metadata, dict):
        raise refused(f"{vertex(vertex_id)} has no metadata, which must be an object with at least a type")
    name = metadata.get("name")
    if name is not None and not isinstance(name, str):
        raise refused(f"{vertex(vertex_id)}: its name is {shown(name)}, and must be text")
    rank = rank_of(vertex(vertex_id), metadata.get("rank"))
    found, down = kind(vertex_id, metadata), is_down(vertex_id, metadata.get("status"))
    if found.type != "node":
        return Described(found, None, None, down)  # what other things are called is not kept
    if not name:  # as Fluxion makes it up
        number = metadata.get("id")
        name = f"{metadata.get('basename') or found.type}{vertex_id if number is None else number}"
    checked_text(vertex_id, "name", name, 2 * limits.RESOURCE_VALUE_CHARS_MAX)
    return Described(found, name, bounded_rank(vertex(vertex_id), rank), down)


def rank_of(where: str, rank: object) -> int | None:
    if rank is not None and (not isinstance(rank, int) or isinstance(rank, bool)):
        raise refused(f"{where}: its rank is {shown(rank)}, and must be a whole number")
    return rank


def bounded_rank(where: str, rank: int | None) -> int | None:
    if rank is not None and abs(rank) > limits.NODES_MAX:
        raise refused(f"{where}: its rank is {shown(rank)}, and must be at most {limits.NODES_MAX:,}")
    return rank


def kind(vertex_id: str, metadata: Mapping[str, Any]) -> Kind:
    properties, facts = properties_of(vertex_id, metadata.get("properties"))
    extras = {key: value for key, value in metadata.items() if key not in _OWN_FIELDS}
    for nested in (metadata.get("attributes"), extras):
        if nested is not None and not isinstance(nested, dict):
            raise refused(f"{vertex(vertex_id)}: its attributes are {shown(nested)}, and must be an object")
        facts.extend(flattened(vertex_id, nested or {}))
    return Kind(
        type_of(vertex_id, metadata),
        size_of(vertex_id, metadata.get("size", 1)),
        unit_of(vertex_id, metadata.get("unit")),
        properties,
        sorted_facts(vertex_id, facts),
    )


def type_of(vertex_id: str, metadata: Mapping[str, Any]) -> str:
    found = metadata.get("type")
    if not isinstance(found, str) or not found:
        said = "has no type" if found is None else f"has {shown(found)} for a type, which must be text"
        raise refused(f"{vertex(vertex_id)} {said} (metadata.type)")
    return checked_text(vertex_id, "type", found, limits.RESOURCE_NAME_CHARS_MAX)


def size_of(vertex_id: str, size: object) -> int | float:
    if size is None:
        return 1
    if isinstance(size, bool) or not isinstance(size, int | float):
        raise refused(f"{vertex(vertex_id)}: its size is {shown(size)}, and must be a number")
    if not 0 <= size <= limits.GRAPH_SIZE_MAX:  # nor is NaN
        raise refused(
            f"{vertex(vertex_id)}: its size is {shown(size)}, and must be between 0 and {limits.GRAPH_SIZE_MAX:.0e}"
        )
    return int(size) if isinstance(size, float) and size.is_integer() else size


def unit_of(vertex_id: str, unit: object) -> str:
    if unit is None:
        return ""
    if not isinstance(unit, str):
        raise refused(f"{vertex(vertex_id)}: its unit is {shown(unit)}, and must be text")
    return checked_text(vertex_id, "unit", unit, limits.RESOURCE_UNIT_CHARS_MAX)


def is_down(vertex_id: str, status: object) -> bool:
    """As Fluxion writes it: 0 is up, 1 is down."""
    word = status.lower() if isinstance(status, str) else status
    if isinstance(word, bool) or word not in (*_UP, *_DOWN):
        raise refused(f"{vertex(vertex_id)}: its status is {shown(status)}, and must be 0 (up) or 1 (down)")
    return word in _DOWN


def properties_of(vertex_id: str, given: object) -> tuple[tuple[str, ...], list[tuple[str, Scalar]]]:
    """Names, sorted; and those with a value once more, as attributes."""
    if given is None:
        return (), []
    if isinstance(given, list):
        named: dict[object, object] = dict.fromkeys(map(_hashable, given), "")
    elif isinstance(given, dict):
        named = given
    else:
        raise refused(f"{vertex(vertex_id)}: its properties are {shown(given)}, and must be a list or an object")
    for name in named:
        if not isinstance(name, str) or not name:
            raise refused(f"{vertex(vertex_id)}: {shown(name)} is no name of a property")
        checked_text(vertex_id, "property", name, limits.RESOURCE_VALUE_CHARS_MAX)
    if len(named) > limits.RESOURCE_VALUES_MAX:
        raise refused(f"{vertex(vertex_id)} has more than {limits.RESOURCE_VALUES_MAX} properties")
    with_value = {key: value for key, value in named.items() if value not in ("", None)}
    return tuple(sorted(str(name) for name in named)), list(flattened(vertex_id, with_value))


def _hashable(value: object) -> object:
    return value if isinstance(value, str) else shown(value)


def flattened(vertex_id: str, nested: Mapping[Any, Any]) -> Iterator[tuple[str, Scalar]]:
    """Every value with its key, nested keys joined with dots; a list is the same key several times."""
    # One more than allowed is enough to refuse it: in YAML a few lines may stand for billions of values.
    return islice(_flat(vertex_id, nested, "", 1), limits.RESOURCE_VALUES_MAX + 1)


def _flat(vertex_id: str, nested: Mapping[Any, Any], prefix: str, depth: int) -> Iterator[tuple[str, Scalar]]:
    if depth > _NESTED_MAX:
        raise refused(f"{vertex(vertex_id)}: {shown(prefix)} is nested deeper than {_NESTED_MAX} levels")
    for key, value in nested.items():
        name = checked_text(vertex_id, "attribute", f"{prefix}{key}", limits.RESOURCE_VALUE_CHARS_MAX)
        if isinstance(value, dict):
            yield from _flat(vertex_id, value, f"{name}.", depth + 1)
            continue
        for one in value if isinstance(value, list) else [value]:
            if one is None:
                continue
            if isinstance(one, dict):
                yield from _flat(vertex_id, one, f"{name}.", depth + 1)
            elif isinstance(one, float) and not math.isfinite(one):
                raise refused(f"{vertex(vertex_id)}: {shown(name)} is {one}, which is no number")
            elif isinstance(one, int) and not -(2**63) <= one < 2**63:  # no format of ours has more
                raise refused(f"{vertex(vertex_id)}: {shown(name)} is {shown(one)}, which is too big")
            elif isinstance(one, str):
                yield name, checked_text(vertex_id, name, one, limits.RESOURCE_VALUE_CHARS_MAX)
            elif isinstance(one, bool | int | float):
                yield name, one
            else:
                raise refused(f"{vertex(vertex_id)}: {shown(name)} is {shown(one)}, and must be text or a number")


def sorted_facts(vertex_id: str, facts: list[tuple[str, Scalar]]) -> tuple[tuple[str, Scalar], ...]:
    if len(facts) > limits.RESOURCE_VALUES_MAX:
        raise refused(f"{vertex(vertex_id)} has more than {limits.RESOURCE_VALUES_MAX} attributes")
    # True and 1 are equal, and hash alike, but do not mean the same.
    once = {(key, type(value).__name__, value) for key, value in facts}
    return tuple((key, value) for key, _, value in sorted(once, key=repr))


def checked_text(vertex_id: str, what: str, text: str, chars_max: int) -> str:
    if len(text) > chars_max:
        raise refused(f"{vertex(vertex_id)}: {shown(what)} is longer than {chars_max} characters")
    if not is_line(text):
        raise refused(f"{vertex(vertex_id)}: {shown(what)} has control characters in it: {shown(text)}")
    return text
