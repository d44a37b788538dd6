"""What a user says about where and when a job should run, beside what it needs to run at all."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, field_validator

from rainbow_protocol import limits
from rainbow_protocol.ids import JOB_ID_PATTERN
from rainbow_protocol.wire import Line, WireModel

ClusterName = Annotated[
    str, StringConstraints(pattern=limits.NAME_PATTERN, max_length=limits.NAME_CHARS_MAX, min_length=1)
]
GroupName = ClusterName  # a cluster's name and a group's look alike, so that `@cloud` can stand where `blue` does
PolicyName = ClusterName
StateKey = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=limits.NAME_CHARS_MAX)]
StateText = Annotated[str, Line, StringConstraints(max_length=limits.STATE_VALUE_CHARS_MAX)]
StateValue = bool | int | float | StateText
OptionValue = bool | int | float | Annotated[str, StringConstraints(max_length=limits.POLICY_OPTION_CHARS_MAX)]


class After(WireModel):
    """The job is not offered before another one has got so far.

    `start`: it runs, or is over. `any`: it is over, however it ended. `ok`: it ended well; if it did not, this job
    never runs and is rejected.
    """

    job: Annotated[str, StringConstraints(pattern=JOB_ID_PATTERN)]
    until: Literal["start", "any", "ok"]


class Wishes(WireModel):
    """Every policy honours these."""

    policy: PolicyName | None = Field(default=None, description="the site's default if absent")
    options: dict[StateKey, OptionValue] = Field(default_factory=dict, max_length=limits.POLICY_OPTIONS_MAX)
    max_cost: float | None = Field(default=None, ge=0, le=limits.COST_MAX)
    start_within_s: float | None = Field(default=None, ge=0, le=limits.ETA_S_MAX, description="of being asked")
    not_clusters: list[ClusterName] = Field(default_factory=list, max_length=limits.CLUSTERS_WANTED_MAX)
    group: GroupName | None = Field(default=None, description="only clusters of this group")
    urgency: int = Field(default=limits.URGENCY_DEFAULT, ge=0, le=limits.URGENCY_MAX)
    move: bool = Field(default=True, description="may go elsewhere while it waits in a cluster's queue")
    after: list[After] = Field(default_factory=list, max_length=limits.AFTER_JOBS_MAX)

    @field_validator("options")
    @classmethod
    def _options_are_bounded(cls, options: dict[str, Any]) -> dict[str, Any]:
        if sum(len(value) for value in options.values() if isinstance(value, str)) > limits.POLICY_OPTION_CHARS_MAX:
            raise ValueError(f"the options take more than {limits.POLICY_OPTION_CHARS_MAX} characters together")
        return options
