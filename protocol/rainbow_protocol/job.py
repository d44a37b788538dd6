"""What a user asks for, and the states a job goes through, as everybody spells them."""

from typing import Annotated, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from rainbow_protocol import limits

JobState = Literal[
    "pending",
    "offered",
    "awarded",
    "assigned",
    "queued",
    "running",
    "completed",
    "failed",
    "cancelled",
    "rejected",
    "lost",
]
JOB_STATES: tuple[JobState, ...] = get_args(JobState)
TERMINAL_STATES: frozenset[JobState] = frozenset({"completed", "failed", "cancelled", "rejected", "lost"})

ClusterName = Annotated[
    str, StringConstraints(pattern=limits.NAME_PATTERN, max_length=limits.NAME_CHARS_MAX, min_length=1)
]
# Names, reasons and paths are one line of text: a control character in them could forge a log line.
Line = StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*$")
Reason = Annotated[str, StringConstraints(max_length=limits.REASON_CHARS_MAX)]


class WireModel(BaseModel):
    """Unknown fields are ignored so that a newer peer can say more; types are not coerced."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)


class Shape(WireModel):
    """The resources of a job: `tasks` equal tasks, spread over `nodes` nodes if that is given.

    With `nodes` the tasks are spread evenly, at most ceil(tasks / nodes) on a node. Without it they go
    wherever they fit. A task never spans nodes.
    """

    nodes: int | None = Field(default=None, ge=1, le=limits.NODES_MAX)
    tasks: int = Field(default=1, ge=1, le=limits.TASKS_MAX)
    cores_per_task: int = Field(default=1, ge=1, le=limits.CORES_PER_TASK_MAX)
    gpus_per_task: int = Field(default=0, ge=0, le=limits.GPUS_PER_TASK_MAX)
    time_limit_s: float | None = Field(default=None, gt=0, le=limits.TIME_LIMIT_S_MAX)

    @model_validator(mode="after")
    def _every_node_has_a_task(self) -> Self:
        if self.nodes is not None and self.nodes > self.tasks:
            raise ValueError(f"nodes ({self.nodes}) must not exceed tasks ({self.tasks}): a node needs a task")
        return self


class JobRequest(WireModel):
    """A job as the user describes it."""

    command: list[str] = Field(min_length=1, max_length=limits.COMMAND_WORDS_MAX)
    shape: Shape = Shape()
    name: Annotated[str, Line] | None = Field(default=None, min_length=1, max_length=limits.JOB_NAME_CHARS_MAX)
    cwd: Annotated[str, Line] | None = Field(default=None, min_length=1, max_length=limits.CWD_CHARS_MAX)
    env: dict[str, str] = Field(default_factory=dict, max_length=limits.ENV_VARIABLES_MAX)
    clusters: list[ClusterName] | None = Field(
        default=None,
        min_length=1,
        max_length=limits.CLUSTERS_WANTED_MAX,
        description="only these, any if absent",
    )

    @field_validator("command")
    @classmethod
    def _command_fits(cls, command: list[str]) -> list[str]:
        if not command[0]:
            raise ValueError("the first word of the command must not be empty")
        if any("\0" in word for word in command):
            raise ValueError("a command word must not contain a NUL character")
        if sum(map(len, command)) > limits.COMMAND_CHARS_MAX:
            raise ValueError(f"the command is longer than {limits.COMMAND_CHARS_MAX} characters")
        return command

    @field_validator("env")
    @classmethod
    def _env_fits(cls, env: dict[str, str]) -> dict[str, str]:
        for name, value in env.items():
            if not name or "=" in name or "\0" in name or "\0" in value:
                raise ValueError(f"{name!r} is not a variable that a process can have")
        if sum(len(name) + len(value) for name, value in env.items()) > limits.ENV_CHARS_MAX:
            raise ValueError(f"the environment is longer than {limits.ENV_CHARS_MAX} characters")
        return env

    @property
    def display_name(self) -> str:
        return self.name or self.command[0].rsplit("/", 1)[-1][: limits.JOB_NAME_CHARS_MAX]


class Totals(WireModel):
    """A cluster's resources as totals: so many equal nodes."""

    nodes: int = Field(ge=1, le=limits.NODES_MAX)
    cores_per_node: int = Field(ge=1, le=limits.CORES_PER_NODE_MAX)
    gpus_per_node: int = Field(default=0, ge=0, le=limits.GPUS_PER_NODE_MAX)


class Free(WireModel):
    """What a cluster has free right now, and how much waits there."""

    nodes: int = Field(ge=0, le=limits.NODES_MAX)
    cores: int = Field(ge=0)
    gpus: int = Field(default=0, ge=0)
    queued: int = Field(default=0, ge=0)
    running: int = Field(default=0, ge=0)
