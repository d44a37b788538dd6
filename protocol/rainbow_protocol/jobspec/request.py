"""What a reader found, put together as the one request that all forms become."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rainbow_protocol.counting import cheapest, slots_of
from rainbow_protocol.job import Dependency, JobRequest
from rainbow_protocol.jobspec.commands import ENVIRONMENTS, NOTHING, Surroundings, without_unset
from rainbow_protocol.jobspec.place import Place
from rainbow_protocol.jobspec.shape import shape_of
from rainbow_protocol.jobspec.trees import every
from rainbow_protocol.program import Group, Program, Task, TaskCount
from rainbow_protocol.resources import Constraint, Need, Requirement, Scalar


@dataclass
class Draft:
    place: Place
    needs: list[Need]
    tasks: list[Task]
    groups: list[Group] = field(default_factory=list)
    requires: list[Requirement] = field(default_factory=list)
    constraint: Constraint | None = None
    surroundings: Surroundings = NOTHING
    name: str | None = None
    image: str | None = None
    queue: str | None = None
    dependencies: list[Dependency] = field(default_factory=list)
    parameters: dict[str, Scalar] = field(default_factory=dict)

    def request(self) -> JobRequest:
        env, cwd, time_limit_s = self.surroundings
        shape = shape_of(self.needs, time_limit_s)
        alone = self._only_command()
        if alone is not None:
            env, cwd = {**env, **alone.env}, alone.cwd or cwd
        command = alone.command if alone is not None else next(_commands(self.tasks, self.groups), None)
        if command is None:
            raise self.place.wrong("has no command to run")
        self._tell_unset({name for name, value in env.items() if value is None}, alone is not None)
        program = None if alone is not None else self.place.built(Program, tasks=self.tasks, groups=self.groups)
        return self.place.built(
            JobRequest,
            command=command,
            shape=shape,
            name=self.name,
            cwd=cwd,
            env=without_unset(env),
            needs=self.needs,
            requires=self.requires,
            constraint=self.constraint,
            program=program,
            task_count=self._told_count(alone.count, shape.tasks) if alone is not None else None,
            image=self.image,
            queue=self.queue,
            dependencies=self.dependencies,
            parameters=self.parameters,
        )

    def _tell_unset(self, names: set[str], alone: bool) -> None:
        """A request has only variables that are set; what a cluster sets for every job is not in its power."""
        where = "" if alone else "; write it at the tasks, where null unsets"
        for name, place in _nulls(self.place) if names else ():
            if name in names:
                place.remark(f"is left out: what a cluster itself sets for its jobs stays{where}")

    def _only_command(self) -> Task | None:
        """The task, if it is one that a command and a count can tell; else it takes a program."""
        if len(self.tasks) != 1 or self.groups:
            return None
        [task] = self.tasks
        slots = [one for need in self.needs for one in every(cheapest(need)) if one.type == "slot"]
        simple = not task.group and task.replicas == 1 and not task.depends_on and len(slots) <= 1
        return task if simple else None

    def _told_count(self, count: TaskCount | None, tasks: int) -> TaskCount | None:
        """None where one process for each task of the shape is what is meant."""
        if count is not None and count != TaskCount(per_slot=1):
            return count
        if len(self.needs) != 1:
            return count
        return None if slots_of(cheapest(self.needs[0])) == tasks else TaskCount(per_slot=1)


def _nulls(place: Place) -> Iterator[tuple[str, Place]]:
    """The variables of a document that are null, wherever it has some."""
    if isinstance(place.value, list):
        for one in place.items():
            yield from _nulls(one)
    elif isinstance(place.value, dict):
        for name, one in place.entries().items():
            if name in ENVIRONMENTS and isinstance(one.value, dict):
                yield from ((variable, value) for variable, value in one.entries().items() if value.value is None)
            else:
                yield from _nulls(one)


def _commands(tasks: Sequence[Task], groups: Sequence[Group]) -> Iterator[list[str]]:
    """In the order in which they would be met."""
    named = {group.name: group for group in groups}
    for task in tasks:
        if task.command:
            yield task.command
        elif task.group in named:
            within = [group for group in groups if group.name != task.group]
            yield from _commands(named[task.group].tasks, within)
