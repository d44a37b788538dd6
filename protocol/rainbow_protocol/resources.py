"""What a job asks of a cluster's resource graph: a tree of counts, and the requirements at each of its levels.

Whatever form a request was written in (docs/resources.md lists them), it becomes this. The words follow the Flux
RFCs: a resource has a type, a count and what it must hold (`with`); a slot is where tasks run.
"""

from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from rainbow_protocol import limits
from rainbow_protocol.hostlist import Hostlist, HostlistError, Numbers
from rainbow_protocol.wire import Line, WireModel

TypeName = Annotated[str, Line, StringConstraints(min_length=1, max_length=limits.RESOURCE_NAME_CHARS_MAX)]
Text = Annotated[str, Line, StringConstraints(max_length=limits.RESOURCE_VALUE_CHARS_MAX)]
FieldName = Annotated[str, Line, StringConstraints(min_length=1, max_length=limits.RESOURCE_VALUE_CHARS_MAX)]
# bool before the numbers: True is an int for Python, not for the person who wrote it.
_Bounded = Field(ge=-limits.RESOURCE_NUMBER_MAX, le=limits.RESOURCE_NUMBER_MAX)
Scalar = bool | Annotated[int, _Bounded] | Annotated[float, _Bounded] | Text
Quantity = Annotated[int, Field(ge=1, le=limits.RESOURCE_COUNT_MAX)]


class CountRange(WireModel):
    """RFC 14: min, then min `operator` operand, and so on, up to max. Any of these counts will do."""

    min: Quantity
    max: Quantity | None = None
    operator: Literal["+", "*", "^"] = "+"
    operand: Quantity = 1

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.max is not None and self.max < self.min:
            raise ValueError(f"max ({self.max}) is less than min ({self.min})")
        return self


class CountSet(WireModel):
    """RFC 14's idset form, such as "4,9,16,25": any of these counts will do."""

    any_of: list[Quantity] = Field(min_length=1, max_length=limits.RESOURCE_VALUES_MAX)


Count = Quantity | CountRange | CountSet


def least(count: int | CountRange | CountSet) -> int:
    """The smallest count that satisfies. What holds more holds this, so it alone decides whether a request fits."""
    if isinstance(count, int):
        return count
    return count.min if isinstance(count, CountRange) else min(count.any_of)


class Condition(WireModel):
    """About one field of a subsystem vertex: every part that is given must hold.

    `min`, `max` are inclusive, `above`, `below` are not. Two numbers compare as numbers, anything else as versions.
    """

    field: FieldName
    any_of: list[Scalar] | None = Field(default=None, min_length=1, max_length=limits.RESOURCE_VALUES_MAX)
    none_of: list[Scalar] | None = Field(default=None, min_length=1, max_length=limits.RESOURCE_VALUES_MAX)
    min: Scalar | None = None
    max: Scalar | None = None
    above: Scalar | None = None
    below: Scalar | None = None
    present: bool | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        parts = (self.any_of, self.none_of, self.min, self.max, self.above, self.below, self.present)
        if all(part is None for part in parts):
            raise ValueError(f"the condition on {self.field!r} says nothing about it")
        return self


class Requirement(WireModel):
    """Of a subsystem: one of its vertices here satisfies all conditions; or, with `absent`, none does."""

    subsystem: TypeName
    conditions: list[Condition] = Field(default_factory=list, max_length=limits.RESOURCE_CONDITIONS_MAX)
    absent: bool = False


class Constraint(WireModel):
    """RFC 31: which nodes may be used. `values` belong to properties, hostlist and ranks, `args` to the others."""

    op: Literal["and", "or", "not", "properties", "hostlist", "ranks"]
    values: list[Text] = Field(default_factory=list, max_length=limits.CONSTRAINT_VALUES_MAX)
    args: list["Constraint"] = Field(default_factory=list, max_length=limits.RESOURCE_VALUES_MAX)

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.depth > limits.RESOURCE_DEPTH_MAX:
            raise ValueError(f"constraints are nested deeper than {limits.RESOURCE_DEPTH_MAX}")
        return self

    @property
    def depth(self) -> int:
        return 1 + max((one.depth for one in self.args), default=0)


def why_unreadable(constraint: Constraint) -> str | None:
    """What is wrong with the hosts or ranks that it names, or None."""
    try:
        if constraint.op == "hostlist":
            Hostlist(constraint.values)
        elif constraint.op == "ranks":
            Numbers(constraint.values)
    except HostlistError as cause:
        return f"{constraint.op}: {cause}"
    return next((words for part in constraint.args if (words := why_unreadable(part))), None)


class Resource(WireModel):
    """So many of a type, each holding what is in `with`. The type `slot` is where tasks run, not a thing.

    `exclusive` left out means: yes within a slot, no elsewhere (RFC 14).
    """

    # In Python `with` is a keyword; in every document it is the name of this field.
    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    type: TypeName
    count: Count = 1
    unit: Annotated[str, Line] = Field(default="", max_length=limits.RESOURCE_UNIT_CHARS_MAX)
    exclusive: bool | None = None
    label: TypeName | None = None
    requires: list[Requirement] = Field(default_factory=list, max_length=limits.RESOURCE_CONDITIONS_MAX)
    children: list["Resource"] = Field(default_factory=list, alias="with", max_length=limits.RESOURCE_CHILDREN_MAX)

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.depth > limits.RESOURCE_DEPTH_MAX:
            raise ValueError(f"resources are nested deeper than {limits.RESOURCE_DEPTH_MAX}")
        if self.type == "slot" and not self.children:
            raise ValueError("a slot must say what it holds (`with`)")
        return self

    @property
    def depth(self) -> int:
        return 1 + max((child.depth for child in self.children), default=0)


Forest = Annotated[list[Resource], Field(min_length=1, max_length=limits.RESOURCE_CHILDREN_MAX)]


class Need(WireModel):
    """One allocation: all resources of one of the alternatives, at the same time."""

    alternatives: list[Forest] = Field(min_length=1, max_length=limits.ALTERNATIVES_MAX)


# A job of several tasks may hold several needs, which must each fit, but need not at the same time.
Needs = Annotated[list[Need], Field(min_length=1, max_length=limits.NEEDS_MAX)]


def vertices(needs: list[Need]) -> int:
    """How many resources are written in all of them together."""

    def count(resource: Resource) -> int:
        return 1 + sum(count(child) for child in resource.children)

    return sum(count(one) for need in needs for forest in need.alternatives for one in forest)
