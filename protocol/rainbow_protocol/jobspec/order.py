"""What waits for what: every name must be there, and nothing may wait for itself."""

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter

from rainbow_protocol.jobspec.place import Place
from rainbow_protocol.program import Task


def check_order(place: Place, tasks: Sequence[Task], of_groups: Mapping[str, Sequence[str]]) -> None:
    """Tasks of one level; a task that runs a group goes by the group's name too, and waits for what it waits for."""
    waits: dict[str, set[str]] = {}
    for task in tasks:
        after = {*task.depends_on, *of_groups.get(task.group or "", ())}
        names = {name for name in (task.name, task.group) if name is not None}
        for name in names:
            if name in waits and task.group is None:
                raise place.wrong(f"two tasks have the name {name!r}; a task could not say which it waits for")
            waits.setdefault(name, set()).update(after)
    for position, task in enumerate(tasks):
        for name in (*task.depends_on, *of_groups.get(task.group or "", ())):
            if name not in waits:
                who = repr(task.name or task.group) if task.name or task.group else f"number {position + 1}"
                there = ", ".join(list(waits)[:20]) or "none with a name"
                raise place.wrong(f"task {who} waits for {name[:80]!r}, which is not there; there are: {there}")
    _no_circle(place, waits, "wait for each other")


def check_groups(place: Place, holds: Mapping[str, Iterable[str]]) -> None:
    _no_circle(place, {name: set(inner) & set(holds) for name, inner in holds.items()}, "run within each other")


def _no_circle(place: Place, after: Mapping[str, Iterable[str]], what: str) -> None:
    try:
        TopologicalSorter(after).prepare()
    except CycleError as cause:
        names = cause.args[1][::-1]
        circle = " → ".join(names if len(names) <= 12 else [*names[:10], "…", names[-1]])
        raise place.wrong(f"these {what}, so that none could ever run: {circle}") from None
