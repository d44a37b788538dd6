"""What a user asks for, and the states a job goes through, as everybody spells them."""

from typing import Annotated, Any, Literal, Self, get_args

from pydantic import Field, StringConstraints, field_validator, model_validator

from rainbow_protocol import limits
from rainbow_protocol.program import CommandWord, EnvText, Program, TaskCount, command_fits, env_fits
from rainbow_protocol.resources import Constraint, FieldName, Needs, Requirement, Scalar, vertices
from rainbow_protocol.wire import Line, WireModel
from rainbow_protocol.wishes import ClusterName, Wishes

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

SubsystemName = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$", max_length=limits.NAME_CHARS_MAX),
]


class Shape(WireModel):
    """The resources of a job: `tasks` equal tasks, spread over `nodes` nodes if that is given.

    With `nodes` the tasks are spread evenly, at most ceil(tasks / nodes) on a node. Without it they go
    wherever they fit. A task never spans nodes.
    """

    nodes: int | None = Field(default=None, ge=1, le=limits.NODES_MAX)
    tasks: int = Field(default=1, ge=1, le=limits.TASKS_MAX)
    cores_per_task: int = Field(default=1, ge=1, le=limits.CORES_PER_TASK_MAX)
    gpus_per_task: int = Field(default=0, ge=0, le=limits.GPUS_PER_TASK_MAX)
    exclusive: bool = Field(default=False, description="the nodes are for this job alone, whatever it uses of them")
    time_limit_s: float | None = Field(default=None, gt=0, le=limits.TIME_LIMIT_S_MAX)

    @model_validator(mode="after")
    def _every_node_has_a_task(self) -> Self:
        if self.nodes is not None and self.nodes > self.tasks:
            raise ValueError(f"nodes ({self.nodes}) must not exceed tasks ({self.tasks}): a node needs a task")
        return self


class Dependency(WireModel):
    """As Flux writes them (RFC 26): another job of the same cluster that this one waits for, or that waits for it."""

    type: Annotated[str, Line] = Field(default="", max_length=limits.RESOURCE_NAME_CHARS_MAX)
    scheme: Annotated[str, Line] = Field(min_length=1, max_length=limits.RESOURCE_NAME_CHARS_MAX)
    value: Annotated[str, Line] = Field(max_length=limits.RESOURCE_VALUE_CHARS_MAX)
    scope: Annotated[str, Line] = Field(default="", max_length=limits.RESOURCE_NAME_CHARS_MAX)


class JobRequest(WireModel):
    """A job as the user describes it.

    `needs` says more than `shape` can; where it is given, it alone decides which clusters could hold the job, and
    `shape` is what a cluster that counts only nodes, cores and gpus would have to set aside. `requires` and
    `constraint` are about every node that the job uses. A `program` is run instead of `command`, which is then
    only what people are shown.
    """

    command: list[CommandWord] = Field(min_length=1, max_length=limits.COMMAND_WORDS_MAX, fail_fast=True)
    shape: Shape = Shape()
    name: Annotated[str, Line] | None = Field(default=None, min_length=1, max_length=limits.JOB_NAME_CHARS_MAX)
    cwd: Annotated[str, Line] | None = Field(default=None, min_length=1, max_length=limits.CWD_CHARS_MAX)
    env: dict[EnvText, EnvText] = Field(default_factory=dict, max_length=limits.ENV_VARIABLES_MAX)
    clusters: list[ClusterName] | None = Field(
        default=None,
        min_length=1,
        max_length=limits.CLUSTERS_WANTED_MAX,
        description="only these, any if absent",
    )
    needs: Needs | None = None
    requires: list[Requirement] = Field(default_factory=list, max_length=limits.RESOURCE_CONDITIONS_MAX)
    constraint: Constraint | None = None
    program: Program | None = None
    task_count: TaskCount | None = Field(default=None, description="processes, if not one for each task of the shape")
    image: Annotated[str, Line] | None = Field(default=None, min_length=1, max_length=limits.IMAGE_CHARS_MAX)
    queue: Annotated[str, Line] | None = Field(default=None, min_length=1, max_length=limits.RESOURCE_NAME_CHARS_MAX)
    dependencies: list[Dependency] = Field(default_factory=list, max_length=limits.DEPENDENCIES_MAX)
    parameters: dict[FieldName, Scalar] = Field(default_factory=dict, max_length=limits.PARAMETERS_MAX)
    wishes: Wishes = Wishes()

    @model_validator(mode="after")
    def _needs_are_bounded(self) -> Self:
        if self.needs is not None and vertices(self.needs) > limits.RESOURCE_VERTICES_MAX:
            raise ValueError(f"the request has more than {limits.RESOURCE_VERTICES_MAX} resources")
        return self

    @model_validator(mode="after")
    def _detail_is_bounded(self) -> Self:
        # So that a request which came in a frame also fits into the frames that take it on.
        detailed = self.needs or self.requires or self.constraint or self.program
        if detailed or self.parameters or self.dependencies or self.wishes.options:
            size = len(self.model_dump_json(exclude={"command", "env"}).encode())
            if size > limits.REQUEST_DETAIL_BYTES_MAX:
                raise ValueError(f"what it asks for takes more than {limits.REQUEST_DETAIL_BYTES_MAX} bytes to say")
        return self

    @field_validator("command")
    @classmethod
    def _command_fits(cls, command: list[str]) -> list[str]:
        return command_fits(command)

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
        env_fits(env)
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
