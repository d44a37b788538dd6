"""What a job asks of a subsystem, in the forms that people write: entries, or fields with their values.

- {name: spack, field: version, min: "0.5.1", max: "0.5.5"}
- {name: spack, field: type, match: package, attribute: name, value: openssl}
{os: {os.name: ubuntu, os.version: {min: "20.04"}}}
"""

from dataclasses import dataclass, field
from typing import Any

from rainbow_protocol import limits
from rainbow_protocol.jobspec.place import Fields, Place
from rainbow_protocol.resources import Condition, Requirement, Scalar

# What a comparison may be called, and what it becomes.
_COMPARISONS: dict[str, tuple[str, ...]] = {
    "min": ("min", "ge", "minimum"),
    "max": ("max", "le", "maximum"),
    "above": ("above", "gt"),
    "below": ("below", "lt"),
}
_VALUES = ("value", "match", "equals", "any_of", "in")
_NEGATIONS = ("not", "none_of", "not_in")
_PRESENCE = ("exists", "present")
WORDS = frozenset((*_VALUES, *_NEGATIONS, *_PRESENCE, *(name for names in _COMPARISONS.values() for name in names)))
TYPE = "type"


@dataclass
class Gathered:
    """Requirements as they grow. What is said of one subsystem is about one vertex of it, until it cannot be.

    A vertex has one value of each field: when another value is required of the same field, another vertex is meant.
    """

    place: Place
    _found: list[tuple[str, list[Condition], bool]] = field(default_factory=list)

    def add(self, subsystem: str, conditions: list[Condition], absent: bool = False) -> None:
        latest = next((one for one in reversed(self._found) if one[0] == subsystem and not one[2]), None)
        if latest is None or absent or not conditions or any(_contradicts(one, latest[1]) for one in conditions):
            if conditions or absent or latest is None:
                self._found.append((subsystem, conditions, absent))
        else:
            latest[1].extend(one for one in conditions if one not in latest[1])
        if len(self._found) > limits.RESOURCE_CONDITIONS_MAX:
            raise self.place.wrong(f"has more than {limits.RESOURCE_CONDITIONS_MAX} requirements")
        if latest is not None and len(latest[1]) > limits.RESOURCE_CONDITIONS_MAX:
            raise self.place.wrong(f"has more than {limits.RESOURCE_CONDITIONS_MAX} conditions on {subsystem[:80]!r}")

    def requirements(self) -> list[Requirement]:
        return [
            self.place.built(Requirement, subsystem=subsystem, conditions=conditions, absent=absent)
            for subsystem, conditions, absent in self._found
        ]


def _contradicts(condition: Condition, others: list[Condition]) -> bool:
    return condition.any_of is not None and any(
        other.field == condition.field and other.any_of is not None and other.any_of != condition.any_of
        for other in others
    )


def requirements_of(place: Place) -> list[Requirement]:
    gathered = Gathered(place)
    if isinstance(place.value, dict) and not _is_entry(place.value):
        for subsystem, fields in place.entries().items():
            gathered.add(subsystem, fields_of(fields))
    else:
        for entry in place.one_or_many():
            _entry(entry, gathered)
    return gathered.requirements()


def _is_entry(value: dict[str, Any]) -> bool:
    return isinstance(value.get("name"), str) and not any(isinstance(part, dict) for part in value.values())


def _entry(place: Place, gathered: Gathered) -> None:
    fields = place.fields()
    name = fields.take("name", "subsystem")
    if name is None:
        raise place.wrong("has no `name`, which says of which subsystem it is")
    conditions, absent = conditions_of(fields)
    gathered.add(name.text(), conditions, absent)


def fields_of(place: Place) -> list[Condition]:
    """Of one vertex: each field with the value that it must have, or with comparisons."""
    if not isinstance(place.value, dict):
        return [value_condition(TYPE, place)]
    return [value_condition(name, value) for name, value in place.entries().items()]


def value_condition(name: str, place: Place) -> Condition:
    if not isinstance(place.value, dict):
        return place.built(Condition, field=name, any_of=_values(place))
    fields = place.fields()
    parts = _comparisons(fields, name)
    if (values := fields.take(*_VALUES)) is not None:
        parts["any_of"] = _values(values)
    _presence(fields, parts)
    fields.done()
    return place.built(Condition, field=name, **(parts or {"present": True}))


def conditions_of(fields: Fields, default: str = TYPE) -> tuple[list[Condition], bool]:
    """Of one entry: the conditions, and whether no vertex may satisfy them.

    `match` belongs to `field`; so does `value`, unless an `attribute` is named, to which then the rest belongs.
    """
    place = fields.place
    named, attribute = fields.take("field"), fields.take("attribute")
    match, value = fields.take("match"), fields.take(*(name for name in _VALUES if name != "match"))
    first = named.text() if named is not None else default
    about = attribute.text() if attribute is not None else first
    parts = _comparisons(fields, about)
    _presence(fields, parts)
    absent = fields.take("absent")
    negated = absent is not None and absent.boolean()
    fields.done()
    found: list[Condition] = []
    if attribute is not None:
        if match is not None:
            found.append(match.built(Condition, field=first, any_of=_values(match)))
        elif named is not None:
            found.append(named.built(Condition, field=first, present=True))
    elif match is not None and value is not None:
        raise value.wrong("says the same as match; keep one of them, or name the `attribute` that has this value")
    wanted = value if attribute is not None else match or value
    if wanted is not None:
        parts["any_of"] = _values(wanted)
    if not parts and (named is not None or attribute is not None):
        parts["present"] = True
    if named is None and attribute is None and parts.keys() == {"present"}:
        return [], negated or not parts["present"]  # of the subsystem as a whole
    if parts:
        found.append(place.built(Condition, field=about, **parts))
    return found, negated


def _comparisons(fields: Fields, about: str) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    for part, names in _COMPARISONS.items():
        if (place := fields.take(*names)) is not None:
            parts[part] = _bound(place, about)
    if (place := fields.take(*_NEGATIONS)) is not None:
        parts["none_of"] = _values(place)
    return parts


def _bound(place: Place, about: str) -> Scalar:
    value = place.scalar()
    if type(value) is float and "version" in about.lower():
        return place.spelling()  # 1.10 is more than 1.9; and a text compares with a number as a number
    if place.written is not None:
        place.remark(f"is read as {_read_as(value)}; write {place.written[:40]!r} in quotes if you mean the text")
    return value


def _read_as(value: Scalar) -> str:
    return str(value).lower() if isinstance(value, bool) else f"the number {value}"


def _presence(fields: Fields, parts: dict[str, Any]) -> None:
    if (place := fields.take(*_PRESENCE)) is not None:
        parts["present"] = place.boolean()


def _values(place: Place) -> list[Scalar]:
    values: list[Scalar] = []
    for one in place.one_or_many():
        value = one.scalar()
        values.append(value)
        if one.written is not None:  # either may be meant, and a cluster may have either
            values.append(one.written)
            text = repr(one.written[:40])
            one.remark(f"is {_read_as(value)} or the text {text}; write it in quotes if you mean only the text")
    if not values:
        raise place.wrong("must name at least one value")
    return values
