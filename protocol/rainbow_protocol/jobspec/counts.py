"""How many: a number, a range or a set of numbers, in all the forms that RFC 14, 22 and 45 have."""

import re

from rainbow_protocol import limits
from rainbow_protocol.jobspec.place import Place
from rainbow_protocol.program import TaskCount
from rainbow_protocol.resources import CountRange, CountSet

Count = int | CountRange | CountSet

_RANGE = re.compile(r"([1-9]\d{0,15})(\+|-([1-9]\d{0,15}))?(?::([1-9]\d{0,15})(?::([+*^]))?)?$")
_MEMBER = re.compile(r"([1-9]\d{0,15})(?:-([1-9]\d{0,15}))?$")
_AMOUNT = re.compile(r"([1-9]\d{0,15}) ?([A-Za-z]{1,3})$")
_FORMS = 'a number, {min, max, operator, operand}, or a text such as "4,9,16", "2-8" or "2+"'


def count_of(place: Place) -> Count:
    value = place.value
    if type(value) is int:
        return place.integer(1, limits.RESOURCE_COUNT_MAX)
    if isinstance(value, dict):
        return _range(place)
    if isinstance(value, str):
        return _written(place, value)
    raise place.wrong(f"must be {_FORMS}")


def task_count_of(place: Place) -> TaskCount:
    if type(place.value) is int:
        raise place.wrong(f"must say of what: {{total: {place.value}}}, or {{per_slot: {place.value}}}")
    fields = place.fields()
    per_slot, total, per_resource = fields.take("per_slot"), fields.take("total"), fields.take("per_resource")
    fields.done()
    if [per_slot, total, per_resource].count(None) != 2:
        raise place.wrong("must have one of per_slot, total and per_resource")
    if per_resource is not None:
        parts = per_resource.fields()
        kind, number = parts.need("type"), parts.take("count")
        parts.done()
        count = number.integer(1, limits.TASKS_MAX) if number else 1
        return per_resource.built(TaskCount, per_resource=singular(kind.text()), per_resource_count=count)
    if total is not None:
        return TaskCount(total=total.integer(1, limits.TASKS_MAX))
    return TaskCount(per_slot=per_slot.integer(1, limits.TASKS_MAX) if per_slot is not None else 1)


# Types that people write in the plural; other types may end in an s of their own.
_PLURALS = {f"{name}s": name for name in ("core", "gpu", "node", "socket", "rack", "slot", "cluster", "numanode", "pu")}
_PLURALS |= {"switches": "switch"}


def singular(kind: str) -> str:
    return _PLURALS.get(kind, kind)


def _range(place: Place) -> CountRange:
    fields = place.fields()
    parts: dict[str, int | str] = {"min": fields.need("min").integer(1, limits.RESOURCE_COUNT_MAX)}
    for name in ("max", "operand"):
        if (part := fields.take(name)) is not None:
            parts[name] = part.integer(1, limits.RESOURCE_COUNT_MAX)
    if (operator := fields.take("operator")) is not None:
        if operator.value not in ("+", "*", "^"):
            raise operator.wrong('must be "+", "*" or "^"')
        parts["operator"] = operator.text()
    fields.done()
    return _grows(place, place.built(CountRange, **parts))


def _grows(place: Place, count: CountRange) -> CountRange:
    if count.operator != "+" and count.operand == 1 and count.max != count.min:
        raise place.wrong(f"with the operator {count.operator!r} and the operand 1 it stays at {count.min} forever")
    return count


def _written(place: Place, text: str) -> Count:
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    if match := _RANGE.match(inner):
        least, open_end, most, operand, operator = match.groups()
        if open_end is None and operand is None:
            return _bounded(place, least)
        if open_end is None:
            raise place.wrong(f"{text[:40]!r} has no maximum; write {least}+ or {least}-MAX before the operand")
        return _grows(
            place,
            place.built(
                CountRange,
                min=_bounded(place, least),
                max=_bounded(place, most) if most else None,
                operand=_bounded(place, operand) if operand else 1,
                operator=operator or "+",
            ),
        )
    members: set[int] = set()
    for part in inner.split(","):
        member = _MEMBER.match(part)
        if member is None and (amount := _AMOUNT.match(text)):
            raise place.wrong(f"{text[:40]!r} has a unit; write `count: {amount[1]}` and `unit: {amount[2]}`")
        if member is None:
            raise place.wrong(f"{text[:40]!r} must be {_FORMS}")
        low = _bounded(place, member[1])
        high = _bounded(place, member[2]) if member[2] else low
        if high < low:
            raise place.wrong(f"{part!r} counts backwards")
        if high - low >= limits.RESOURCE_VALUES_MAX or len(members) + high - low >= limits.RESOURCE_VALUES_MAX:
            raise place.wrong(f"stands for more than {limits.RESOURCE_VALUES_MAX} numbers; write it as a range")
        members.update(range(low, high + 1))
    return CountSet(any_of=sorted(members))


def _bounded(place: Place, digits: str) -> int:
    number = int(digits)
    if number > limits.RESOURCE_COUNT_MAX:
        raise place.wrong(f"must be at most {limits.RESOURCE_COUNT_MAX}")
    return number
