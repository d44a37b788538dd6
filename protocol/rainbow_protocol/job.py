"""What a user asks for, and the states a job goes through, as everybody spells them."""

import re
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

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
# Control characters (C1 too) and the Unicode line ends: in a name or a reason they could forge a line of a log,
# or speak to a terminal.
_NOT_OF_A_LINE = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
_CONTROLS = re.compile(f"[{_NOT_OF_A_LINE}]")
Line = StringConstraints(pattern=f"^[^{_NOT_OF_A_LINE}]*$")


def one_line(text: str) -> str:
    return text if text.isprintable() else _CONTROLS.sub(" ", text)


# A reason often quotes somebody else's words, so it is cleaned, not refused: one odd byte in an error text must not
# make an agent's whole batch of reports undeliverable.
Reason = Annotated[str, StringConstraints(max_length=limits.REASON_CHARS_MAX), AfterValidator(one_line)]
# The bound also makes pydantic refuse text that UTF-8 cannot hold, which could not be sent.
_CommandWord = Annotated[str, StringConstraints(max_length=limits.COMMAND_CHARS_MAX)]
_EnvText = Annotated[str, StringConstraints(max_length=limits.ENV_CHARS_MAX)]


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

    command: list[_CommandWord] = Field(min_length=1, max_length=limits.COMMAND_WORDS_MAX, fail_fast=True)
    shape: Shape = Shape()
    name: Annotated[str, Line] | None = Field(default=None, min_length=1, max_length=limits.JOB_NAME_CHARS_MAX)
    cwd: Annotated[str, Line] | None = Field(default=None, min_length=1, max_length=limits.CWD_CHARS_MAX)
    env: dict[_EnvText, _EnvText] = Field(default_factory=dict, max_length=limits.ENV_VARIABLES_MAX)
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

    @field_validator("env", mode="before")
    @classmethod
    def _env_is_not_huge(cls, env: Any) -> Any:
        # Before the items are looked at: a frame full of bad ones would otherwise be explained one by one.
        if isinstance(env, dict) and len(env) > limits.ENV_VARIABLES_MAX:
            raise ValueError(f"the environment has more than {limits.ENV_VARIABLES_MAX} variables")
        return env

    @field_validator("env")
    @classmethod
    def _env_fits(cls, env: dict[str, str]) -> dict[str, str]:
        for name, value in env.items():
            if not name or "=" in name or "\0" in name or "\0" in value:
                raise ValueError(f"{name[:64]!r} is not a variable that a process can have")
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
    cores: int = Field(ge=0, le=limits.CORES_MAX)
    gpus: int = Field(default=0, ge=0, le=limits.GPUS_MAX)
    queued: int = Field(default=0, ge=0, le=limits.JOBS_COUNTED_MAX)
    running: int = Field(default=0, ge=0, le=limits.JOBS_COUNTED_MAX)
