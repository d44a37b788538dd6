"""A resource of a document, with all that it holds. Every form writes these in nearly the same words."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rainbow_protocol import limits
from rainbow_protocol.jobspec.counts import count_of, singular
from rainbow_protocol.jobspec.errors import JobspecError
from rainbow_protocol.jobspec.place import Fields, Place
from rainbow_protocol.jobspec.requirements import requirements_of
from rainbow_protocol.resources import CountRange, CountSet, Requirement, Resource


@dataclass(frozen=True, slots=True)
class Dialect:
    """What one form asks of its resources, or allows, that another does not."""

    counts_left_out: bool = False
    replicas: bool = False  # the earlier word for count
    requires: bool = False
    labels_left_out: bool = False


FLUX = Dialect()
NEXTGEN = Dialect(counts_left_out=True, replicas=True, requires=True, labels_left_out=True)


def resource_of(fields: Fields, dialect: Dialect, *, in_slot: bool = False) -> Resource:
    """From the fields that nobody has taken yet."""
    place = fields.place
    kind = singular(fields.need("type", _without_type(place)).text())
    count = _count(fields, dialect)
    unit, exclusive, label = fields.take("unit"), fields.take("exclusive"), fields.take("label")
    requires: list[Requirement] = []
    if dialect.requires and (wanted := fields.take("requires")) is not None:
        requires = requirements_of(wanted)
    held = fields.take("with")
    fields.unused("which one it is is up to the cluster; not used", "id")
    fields.done()
    if kind == "slot" and label is None and not dialect.labels_left_out:
        raise JobspecError(f"{place.path}.label", "is missing: a slot needs one, so that a task can name it")
    if kind == "slot" and in_slot:
        place.remark("a slot inside a slot is taken as part of the outer one")
    in_slot = in_slot or kind == "slot"
    inner = held.one_or_many() if held is not None else []
    children = [resource_of(one.fields(), dialect, in_slot=in_slot) for one in inner]
    return place.built(
        Resource,
        type=kind,
        count=count,
        unit=unit.text() if unit is not None else "",
        exclusive=exclusive.boolean() if exclusive is not None else None,
        label=label.text() if label is not None else None,
        requires=requires,
        **{"with": children},  # by the name that a mistake is told with
    )


def _without_type(place: Place) -> str:
    """What people write for short: `core: 4`."""
    [(name, number), *more] = place.value.items() or [("", None)]
    short = not more and type(number) is int and len(name) <= limits.RESOURCE_NAME_CHARS_MAX
    return f"; write {{type: {name}, count: {number}}}" if short else ""


def forest_of(place: Place, dialect: Dialect) -> list[Resource]:
    entries = place.items()
    if not entries:
        raise place.wrong("must name at least one resource")
    return [resource_of(one.fields(), dialect) for one in entries]


def _count(fields: Fields, dialect: Dialect) -> int | CountRange | CountSet:
    if not dialect.counts_left_out:
        return count_of(fields.need("count"))
    place = fields.take("count", *(["replicas"] if dialect.replicas else []))
    return count_of(place) if place is not None else 1


def every(forest: Iterable[Resource]) -> Iterator[Resource]:
    for resource in forest:
        yield resource
        yield from every(resource.children)


def slot_labels(place: Place, forest: Iterable[Resource]) -> list[str]:
    labels = [one.label for one in every(forest) if one.type == "slot" and one.label is not None]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise place.wrong(f"two slots have the label {twice!r}; a task could not say which it means")
    return labels


def slot_named(place: Place, labels: list[str]) -> str:
    """The slot that a task names, which must be there."""
    label = place.text()
    if label not in labels:
        there = ", ".join(labels[:20])
        raise place.wrong(f"names no slot; there are: {there}" if there else "names a slot, and no slot has a label")
    return label
