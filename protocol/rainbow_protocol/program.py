"""A job of more than one command: tasks, groups of tasks, and what waits for what."""

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Self

from pydantic import Field, StringConstraints, field_validator, model_validator

from rainbow_protocol import limits
from rainbow_protocol.resources import TypeName
from rainbow_protocol.wire import Line, WireModel

# The bound also makes pydantic refuse text that UTF-8 cannot hold, which could not be sent.
CommandWord = Annotated[str, StringConstraints(max_length=limits.COMMAND_CHARS_MAX)]
EnvText = Annotated[str, StringConstraints(max_length=limits.ENV_CHARS_MAX)]
TaskName = Annotated[str, Line, StringConstraints(min_length=1, max_length=limits.JOB_NAME_CHARS_MAX)]
NeedIndex = Annotated[int, Field(ge=0, lt=limits.NEEDS_MAX)]


def command_fits(command: list[str]) -> list[str]:
    if command and not command[0]:
        raise ValueError("the first word of the command must not be empty")
    if any("\0" in word for word in command):
        raise ValueError("a command word must not contain a NUL character")
    if sum(map(len, command)) > limits.COMMAND_CHARS_MAX:
        raise ValueError(f"the command is longer than {limits.COMMAND_CHARS_MAX} characters")
    return command


def env_fits(env: Mapping[str, str | None]) -> None:
    for name, value in env.items():
        if not name or "=" in name or "\0" in name or "\0" in (value or ""):
            raise ValueError(f"{name[:64]!r} is not a variable that a process can have")
    if sum(len(name) + len(value or "") for name, value in env.items()) > limits.ENV_CHARS_MAX:
        raise ValueError(f"the environment is longer than {limits.ENV_CHARS_MAX} characters")


class TaskCount(WireModel):
    """How many processes (RFC 14): so many in each slot, in all, or for each resource of a type. One is given."""

    per_slot: int | None = Field(default=None, ge=1, le=limits.TASKS_MAX)
    total: int | None = Field(default=None, ge=1, le=limits.TASKS_MAX)
    per_resource: TypeName | None = None
    per_resource_count: int = Field(default=1, ge=1, le=limits.TASKS_MAX)

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if sum(part is not None for part in (self.per_slot, self.total, self.per_resource)) != 1:
            raise ValueError("give one of per_slot, total and per_resource")
        return self


class Task(WireModel):
    """A command, or a group to run. `need` is the position of its allocation in the job's `needs`.

    Without `need` it runs in what its group has, or the job. A variable of `env` that is null is unset.
    """

    name: TaskName | None = None
    command: list[CommandWord] = Field(default_factory=list, max_length=limits.COMMAND_WORDS_MAX, fail_fast=True)
    group: TaskName | None = None
    need: NeedIndex | None = None
    slot: TypeName | None = None
    count: TaskCount | None = None
    env: dict[EnvText, EnvText | None] = Field(default_factory=dict, max_length=limits.ENV_VARIABLES_MAX)
    cwd: Annotated[str, Line] | None = Field(default=None, min_length=1, max_length=limits.CWD_CHARS_MAX)
    depends_on: list[TaskName] = Field(default_factory=list, max_length=limits.PROGRAM_TASKS_MAX)
    replicas: int = Field(default=1, ge=1, le=limits.REPLICAS_MAX)

    @field_validator("command")
    @classmethod
    def _command_fits(cls, command: list[str]) -> list[str]:
        return command_fits(command)

    @field_validator("env")
    @classmethod
    def _env_fits(cls, env: dict[str, str | None]) -> dict[str, str | None]:
        env_fits(env)
        return env

    @model_validator(mode="after")
    def _a_command_or_a_group(self) -> Self:
        if bool(self.command) == (self.group is not None):
            raise ValueError("a task has a command or names a group, not both and not neither")
        return self


class Group(WireModel):
    """Tasks that share one allocation, as in a batch job. Groups may run in groups."""

    name: TaskName
    need: NeedIndex | None = None
    tasks: list[Task] = Field(min_length=1, max_length=limits.PROGRAM_TASKS_MAX)
    depends_on: list[TaskName] = Field(default_factory=list, max_length=limits.PROGRAM_TASKS_MAX)


class Program(WireModel):
    """What a job runs when that is more than one command. Groups run where a task names them."""

    tasks: list[Task] = Field(min_length=1, max_length=limits.PROGRAM_TASKS_MAX)
    groups: list[Group] = Field(default_factory=list, max_length=limits.PROGRAM_GROUPS_MAX)


def why_never(program: Program, needs: int) -> str | None:
    """Why no cluster could ever run it, or None. `needs` is how many allocations its job has."""
    groups = {group.name: group for group in program.groups}
    if len(groups) != len(program.groups):
        return "two groups have the same name"
    if circle := _circle({name: {task.group for task in one.tasks if task.group} for name, one in groups.items()}):
        return f"these groups run within each other: {circle}"
    levels = [program.tasks, *(group.tasks for group in program.groups)]
    counted_on = [task.need for tasks in levels for task in tasks] + [group.need for group in program.groups]
    if any(need is not None and need >= needs for need in counted_on):
        return "a task counts on an allocation that the job does not have"
    return next((words for tasks in levels if (words := _never_in_order(tasks, groups))), None)


def _never_in_order(tasks: list[Task], groups: dict[str, Group]) -> str | None:
    after: dict[str, set[str]] = {}
    for position, task in enumerate(tasks):
        if task.group is not None and task.group not in groups:
            return f"group {task.group!r} is not there"
        waits = {*task.depends_on, *(groups[task.group].depends_on if task.group is not None else ())}
        for name in (task.name, task.group, f"\0{position}"):  # one that has no name waits too
            if name is not None:
                after.setdefault(name, set()).update(waits)
    if missing := sorted(set().union(*after.values()) - set(after)):
        return f"a task waits for {missing[0]!r}, which is not there"
    circle = _circle(after)
    return f"these tasks wait for each other: {circle}" if circle else None


def _circle(after: dict[str, set[str]]) -> str:
    try:
        TopologicalSorter(after).prepare()
    except CycleError as cause:
        return " → ".join(cause.args[1][:8])
    return ""
