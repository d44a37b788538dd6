"""A program as its driver (`program.py`) runs it: the tasks of each list in an order, and what each waits for."""

from collections.abc import Mapping, Sequence
from typing import Any

from rainbow_agent.backends.places import PROCESSES_MAX, Allocation, places
from rainbow_protocol.program import Group, Program, Task
from rainbow_protocol.resources import Need

TOP = ""  # the name of the job's own list of tasks; no group can be called so


def steps(
    program: Program,
    needs: Sequence[Need],
    allocation: Allocation,
    container: Sequence[str] = (),
    reserved: Mapping[str, str] | None = None,
) -> dict[str, list[dict[str, Any]]]:
    """The lists of steps by the name of their group. ValueError, in words, for a program that cannot be run.

    `container` are words before every command; variables in `reserved` are not the tasks' to change.
    """
    groups = {group.name: group for group in program.groups}
    if len(groups) < len(program.groups):
        raise ValueError("two groups of the program have the same name")
    lists: dict[str, list[dict[str, Any]]] = {}
    processes = 0
    for name in _used(program.tasks, groups):
        tasks = program.tasks if name == TOP else groups[name].tasks
        inherited = None if name == TOP else groups[name].need
        lists[name] = []
        order = ordered(tasks, groups)
        for position, (index, after) in enumerate(order):
            task = tasks[index]
            step = _step(task, index, name, inherited, needs, allocation, container, reserved or {})
            step["after"] = [at for at, (other, _) in enumerate(order[:position]) if other in after]
            processes += len(step["places"])
            lists[name].append(step)
    if processes > PROCESSES_MAX:
        raise ValueError(f"the program has {processes} processes, this cluster runs at most {PROCESSES_MAX}")
    return lists


def _step(
    task: Task,
    index: int,
    group: str,
    inherited: int | None,
    needs: Sequence[Need],
    allocation: Allocation,
    container: Sequence[str],
    reserved: Mapping[str, str],
) -> dict[str, Any]:
    label = task.name or task.group or f"{index + 1}"
    if task.group is not None and task.group == label:
        label = f"group {label}"
    else:
        label = f"task {label}" if group == TOP else f"task {group}/{label}"
    at = inherited if task.need is None else task.need
    if at is not None and at >= len(needs):
        raise ValueError(f"{label}: there is no need {at} in the request, it has {len(needs)}")
    need = None if at is None else needs[at]
    return {
        "label": label,
        "name": task.name or "",
        "command": [] if task.group is not None else [*container, *task.command],
        "group": task.group,
        "env": {name: value for name, value in task.env.items() if name not in reserved},
        "cwd": task.cwd,
        "replicas": task.replicas,
        "places": [] if task.group is not None else places(task.count, allocation, need, task.slot),
    }


def ordered(tasks: Sequence[Task], groups: Mapping[str, Group]) -> list[tuple[int, frozenset[int]]]:
    """Positions in the order in which they run, each with those it waits for; else as the document has them."""
    named: dict[str, set[int]] = {}
    for index, task in enumerate(tasks):
        for name in {task.name, task.group} - {None}:
            named.setdefault(str(name), set()).add(index)
    waits: dict[int, frozenset[int]] = {}
    for index, task in enumerate(tasks):
        names = [*task.depends_on, *(groups[task.group].depends_on if task.group is not None else [])]
        for name in names:
            if name not in named:
                raise ValueError(f"a task waits for {name!r}, which is not among the tasks beside it")
        waits[index] = frozenset().union(*(named[name] for name in names))
    order: list[tuple[int, frozenset[int]]] = []
    done: set[int] = set()
    while len(order) < len(tasks):
        ready = next((index for index in range(len(tasks)) if index not in done and waits[index] <= done), None)
        if ready is None:
            stuck = [tasks[index].name or tasks[index].group or str(index + 1) for index in waits if index not in done]
            raise ValueError(f"tasks wait for each other: {', '.join(stuck)}")
        order.append((ready, waits[ready]))
        done.add(ready)
    return order


def _used(tasks: Sequence[Task], groups: Mapping[str, Group]) -> list[str]:
    """The job's own list and the groups that run, each once. ValueError if one is missing or runs in itself."""
    seen: dict[str, bool] = {}  # False while it is being entered

    def enter(name: str, inside: Sequence[Task]) -> None:
        seen[name] = False
        for task in inside:
            if task.group is None:
                continue
            if task.group not in groups:
                raise ValueError(f"a task runs the group {task.group!r}, which the program does not have")
            if seen.get(task.group) is False:
                raise ValueError(f"the group {task.group!r} runs in itself")
            if task.group not in seen:
                enter(task.group, groups[task.group].tasks)
        seen[name] = True

    enter(TOP, tasks)
    return list(seen)
