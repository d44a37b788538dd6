"""A request as a person would read it: resources as a tree, requirements and constraints as sentences."""

import shlex
from collections.abc import Iterable, Iterator, Sequence

from rainbow_client.duration import format_duration
from rainbow_client.wording import shape_words, shorten
from rainbow_protocol.job import JobRequest
from rainbow_protocol.limits import COMMAND_SHOWN_CHARS_MAX
from rainbow_protocol.program import Program, Task, TaskCount
from rainbow_protocol.resources import Condition, Constraint, CountRange, CountSet, Need, Requirement, Resource

_INDENT = "  "


def request_lines(request: JobRequest) -> Iterator[str]:
    facts = [
        ("Command", shorten(shlex.join(request.command), COMMAND_SHOWN_CHARS_MAX) if not request.program else None),
        ("Processes", count_words(request.task_count) if request.task_count else None),
        ("Name", request.name),
        ("Directory", request.cwd),
        ("Time limit", format_duration(request.shape.time_limit_s) if request.shape.time_limit_s else None),
        ("Queue", request.queue),
        ("Image", request.image),
        ("Clusters", ", ".join(request.clusters) if request.clusters else None),
        ("Variables", ", ".join(request.env) or None),
        ("Parameters", ", ".join(f"{name} = {value}" for name, value in request.parameters.items()) or None),
        ("Nodes", constraint_words(request.constraint) if request.constraint else None),
    ]
    yield from (f"{name:<11} {value}" for name, value in facts if value)
    for one in request.dependencies:
        yield f"{'Waits':<11} {' '.join(part for part in (one.type, one.scheme, one.value, one.scope) if part)}"
    if request.program is not None:
        yield "Tasks"
        yield from _indented(program_lines(request.program))
    if request.needs:
        for number, need in enumerate(request.needs):
            yield "Resources" if len(request.needs) == 1 else f"Resources {number}"
            yield from _indented(need_lines(need))
    if request.requires:
        yield "Required of every node"
        yield from _indented(requirement_words(one) for one in request.requires)
    yield f"Where only nodes, cores and gpus are counted: {shape_words(request.shape.model_dump())}" + (
        ", nodes of its own" if request.shape.exclusive else ""
    )


def required_lines(request: JobRequest) -> Iterator[str]:
    """A sentence for each requirement, of every node and of the resources alike."""
    told = [f"Requires of every node {requirement_words(one)}" for one in request.requires]
    for need in request.needs or ():
        for forest in need.alternatives:
            told += (line for resource in forest for line in _required_of(resource))
    yield from dict.fromkeys(told)


def _required_of(resource: Resource) -> Iterator[str]:
    label = f" ({resource.label})" if resource.label else ""
    for one in resource.requires:
        yield f"Requires of each {resource.type}{label} {requirement_words(one)}"
    for child in resource.children:
        yield from _required_of(child)


def task_names(request: JobRequest) -> list[str]:
    """Of the tasks that have one, those of groups after the others."""
    if request.program is None:
        return []
    tasks = [*request.program.tasks, *(task for group in request.program.groups for task in group.tasks)]
    return [task.name for task in tasks if task.name]


def need_lines(need: Need) -> Iterator[str]:
    for position, forest in enumerate(need.alternatives):
        if position:
            yield "or"
        for resource in forest:
            yield from resource_lines(resource)


def resource_lines(resource: Resource) -> Iterator[str]:
    words = f"{resource.type}: {how_many(resource.count)}{' ' + resource.unit if resource.unit else ''}"
    if resource.label:
        words += f" ({resource.label})"
    if resource.exclusive is not None:
        words += ", exclusive" if resource.exclusive else ", shared"
    yield words
    yield from _indented(f"requires {requirement_words(one)}" for one in resource.requires)
    for child in resource.children:
        yield from _indented(resource_lines(child))


def how_many(count: int | CountRange | CountSet) -> str:
    if isinstance(count, int):
        return str(count)
    if isinstance(count, CountSet):
        return " or ".join(str(one) for one in count.any_of)
    words = f"{count.min} or more" if count.max is None else f"{count.min} to {count.max}"
    return words if (count.operator, count.operand) == ("+", 1) else f"{words} by {count.operator}{count.operand}"


def requirement_words(requirement: Requirement) -> str:
    words = ", ".join(condition_words(one) for one in requirement.conditions) or "anything"
    return f"{requirement.subsystem}: {'no vertex with ' if requirement.absent else ''}{words}"


def condition_words(condition: Condition) -> str:
    parts = []
    if condition.any_of is not None:
        parts.append(f"is {' or '.join(map(str, condition.any_of))}")
    if condition.none_of is not None:
        parts.append(f"is not {' or '.join(map(str, condition.none_of))}")
    signs = (("≥", condition.min), ("≤", condition.max), (">", condition.above), ("<", condition.below))
    parts += [f"{sign} {value}" for sign, value in signs if value is not None]
    if condition.present is not None:
        parts.append("is there" if condition.present else "is not there")
    return f"{condition.field} {' and '.join(parts)}"


def constraint_words(constraint: Constraint) -> str:
    match constraint.op:
        case "properties":
            wanted = [f"not {one[1:]}" if one.startswith("^") else one for one in constraint.values]
            return " and ".join(wanted) or "any"
        case "hostlist":
            return f"named {','.join(constraint.values)}"
        case "ranks":
            return f"of rank {','.join(constraint.values)}"
        case "not":
            return f"not ({_joined(constraint.args, 'and')})"
        case operator:
            return _joined(constraint.args, operator)


def _joined(args: Sequence[Constraint], operator: str) -> str:
    parts = [constraint_words(one) for one in args]
    return (f" {operator} ".join(f"({one})" if len(parts) > 1 and " " in one else one for one in parts)) or "any"


def program_lines(program: Program) -> Iterator[str]:
    for task in program.tasks:
        yield task_words(task)
    for group in program.groups:
        on = f", on resources {group.need}" if group.need is not None else ""
        yield f"group {group.name}{on}{_after(group.depends_on)}"
        yield from _indented(task_words(task) for task in group.tasks)


def task_words(task: Task) -> str:
    what = f"group {task.group}" if task.group else shorten(shlex.join(task.command), COMMAND_SHOWN_CHARS_MAX)
    words = f"{task.name}: {what}" if task.name else what
    if task.slot:
        words += f", in slot {task.slot}"
    if task.count:
        words += f", {count_words(task.count)}"
    if task.need is not None:
        words += f", on resources {task.need}"
    if task.replicas > 1:
        words += f", {task.replicas} times"
    return words + _after(task.depends_on)


def count_words(count: TaskCount) -> str:
    if count.total is not None:
        return f"{count.total} in all"
    if count.per_resource is not None:
        return f"{count.per_resource_count} for each {count.per_resource}"
    return f"{count.per_slot} for each slot"


def _after(names: Sequence[str]) -> str:
    return f", after {' and '.join(names)}" if names else ""


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (_INDENT + line for line in lines)
