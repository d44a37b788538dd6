"""Reads the steps of `constraint` from their YAML text, whole or not at all.

    - priority: 1
      steps:
      - filter: "nodes_free > 0"
      - calc: "build_cost = cost_per_node_hour * hours"
      - sort_ascending: build_cost
      - select: first

Only the shape of the YAML is used: every value is a text, tags mean nothing and nothing is constructed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, cast, get_args

import yaml

from rainbowd.core.selection.arithmetic import ExpressionError
from rainbowd.core.selection.expressions import Expression, check_name, parsed
from rainbowd.core.selection.options import MistakenOptionError, shown

TEXT_CHARS_MAX = 16 * 1024
PRIORITIES_MAX = 16
STEPS_MAX = 32  # of one priority
PARTS_MAX = 256  # of all expressions together
_PRIORITY_PARTS = 10  # what it takes to begin with a priority, in parts
_EVENTS_MAX = 4_096
_DEPTH_MAX = 6
_REMEMBERED = 128  # texts that many jobs share are read once

Kind = Literal["filter", "calc", "sort_ascending", "sort_descending", "select"]
_KINDS = get_args(Kind)
_METHODS = ("first", "last", "random")
_ASSIGNMENT = re.compile(r"\s*([^=<>!]*?)\s*=(?!=)(.*)", re.DOTALL)
_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


@dataclass(frozen=True, slots=True)
class Step:
    """`name` is what a calc assigns to, or how a select selects."""

    number: int
    kind: Kind
    text: str
    name: str = ""
    expression: Expression | None = None


@dataclass(frozen=True, slots=True)
class Priority:
    number: int
    steps: tuple[Step, ...]
    select: Literal["first", "last", "random"]


@dataclass(frozen=True, slots=True)
class Plan:
    """`work` is what a cluster takes that goes through all of it, in parts of expressions."""

    priorities: tuple[Priority, ...]
    work: int


def plan_of(text: str) -> Plan:
    """Raises MistakenOptionError, which names the priority and the step."""
    if len(text) > TEXT_CHARS_MAX:
        raise MistakenOptionError(f"priorities: is longer than {TEXT_CHARS_MAX} characters")
    read = _read(text)
    if isinstance(read, str):
        raise MistakenOptionError(f"priorities: {read}")
    return read


def label(priority: int, step: Step) -> str:
    return f"priority {priority}, step {step.number} ({step.kind})"


@lru_cache(maxsize=_REMEMBERED)
def _read(text: str) -> Plan | str:
    """The plan, or what is wrong with it: both are worth remembering."""
    try:
        _check_events(text)
        found = _priorities(yaml.compose(text, Loader=_Loader))
    except (yaml.YAMLError, UnicodeError) as cause:
        return f"is not YAML: {_yaml_words(cause)}"
    except MistakenOptionError as mistake:
        return str(mistake)
    steps = [step for priority in found for step in priority.steps]
    parts = sum(step.expression.parts for step in steps if step.expression is not None)
    if parts > PARTS_MAX:
        return f"the expressions have {parts} parts together, more than {PARTS_MAX}"
    work = parts + _PRIORITY_PARTS * len(found)
    return Plan(tuple(sorted(found, key=lambda priority: priority.number)), work)


def _check_events(text: str) -> None:
    """Before anything is built, because building is recursive."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=_Loader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.AliasEvent):
            raise MistakenOptionError("there must be no aliases (*)")
        if depth > _DEPTH_MAX or number > _EVENTS_MAX:
            raise MistakenOptionError("has more in it than priorities with their steps")


def _priorities(node: Any) -> list[Priority]:
    if not isinstance(node, yaml.SequenceNode) or not node.value:
        raise MistakenOptionError("expected a list of priorities, each with `priority: NUMBER` and `steps:`")
    if len(node.value) > PRIORITIES_MAX:
        raise MistakenOptionError(f"there are {len(node.value)} priorities, more than {PRIORITIES_MAX}")
    found: dict[int, Priority] = {}
    for place, entry in enumerate(node.value, start=1):
        priority = _priority(entry, f"entry {place}")
        if priority.number in found:
            raise MistakenOptionError(f"priority {priority.number} is there twice; give each its own number")
        found[priority.number] = priority
    return list(found.values())


def _priority(node: Any, where: str) -> Priority:
    fields = dict(_pairs(node, where))
    if set(fields) != {"priority", "steps"}:
        raise MistakenOptionError(f"{where}: expected `priority: NUMBER` and `steps:`, and nothing else")
    words = _scalar(fields["priority"], f"{where}: priority")
    if re.fullmatch(r"-?[0-9]{1,9}", words) is None:
        raise MistakenOptionError(f"{where}: priority: expected a whole number, got {shown(words)}")
    number, steps = int(words), fields["steps"]
    if not isinstance(steps, yaml.SequenceNode) or not steps.value:
        raise MistakenOptionError(f"priority {number}: steps: expected a list, as in `- filter: nodes_free > 0`")
    if len(steps.value) > STEPS_MAX:
        raise MistakenOptionError(f"priority {number}: there are {len(steps.value)} steps, more than {STEPS_MAX}")
    found = [_step(number, place, step) for place, step in enumerate(steps.value, start=1)]
    for step in found[:-1]:
        if step.kind == "select":
            raise MistakenOptionError(f"{label(number, step)}: must be the last step")
    method = found[-1].name if found[-1].kind == "select" else "first"
    return Priority(number, tuple(found), cast(Literal["first", "last", "random"], method))


def _step(priority: int, number: int, node: Any) -> Step:
    where = f"priority {priority}, step {number}"
    pairs = list(_pairs(node, where))
    if len(pairs) != 1 or pairs[0][0] not in _KINDS:
        got = ", ".join(shown(name) for name, _ in pairs) or "nothing"
        raise MistakenOptionError(f"{where}: expected one of {', '.join(_KINDS)}, got {got}")
    kind = cast(Kind, pairs[0][0])
    text = _scalar(pairs[0][1], f"{where} ({kind})").strip()
    try:
        if kind == "select":
            if text not in _METHODS:
                raise ExpressionError(f"expected one of {', '.join(_METHODS)}, got {shown(text)}")
            return Step(number, kind, text, name=text)
        if kind != "calc":
            return Step(number, kind, text, expression=parsed(text))
        assigned = _ASSIGNMENT.fullmatch(text)
        if assigned is None:
            raise ExpressionError(f"expected NAME = EXPRESSION, got {shown(text)}")
        check_name(assigned[1])
        return Step(number, kind, text, name=assigned[1], expression=parsed(assigned[2]))
    except ExpressionError as mistake:
        raise MistakenOptionError(f"{where} ({kind}): {mistake}") from None


def _pairs(node: Any, where: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(node, yaml.MappingNode):
        raise MistakenOptionError(f"{where}: expected a mapping, as in `filter: nodes_free > 0`")
    seen: set[str] = set()
    for key, value in node.value:
        name = _scalar(key, where)
        if name in seen:
            raise MistakenOptionError(f"{where}: {shown(name)} is there twice; keep one of them")
        seen.add(name)
        yield name, value


def _scalar(node: Any, where: str) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise MistakenOptionError(f"{where}: expected a text")
    return str(node.value)


def _yaml_words(cause: Exception) -> str:
    mark = getattr(cause, "problem_mark", None)
    words = getattr(cause, "problem", None) or str(cause)
    return f"{words} (line {mark.line + 1})" if mark is not None else words
