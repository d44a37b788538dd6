"""The site's rules in the configuration, and what the core makes of them."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rainbow_agent.core.rules import Range, Rules
from rainbow_agent.week_config import WINDOWS_MAX, Hours
from rainbow_protocol import limits

USERS_MAX = 10_000
GROUPS_MAX = 256
GROUP = "@"

UserPattern = Annotated[str, Field(min_length=1, max_length=limits.USER_CHARS_MAX)]
Users = Annotated[list[UserPattern], Field(max_length=USERS_MAX)]
Count = Annotated[int, Field(ge=0, le=limits.CORES_MAX)]
Duration = Annotated[float, Field(ge=0, le=limits.TIME_LIMIT_S_MAX, allow_inf_nan=False)]


class RulesConfig(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    allow_users: Users = Field(default_factory=list)
    deny_users: Users = Field(default_factory=list)
    user_groups: dict[str, Users] = Field(default_factory=dict, max_length=GROUPS_MAX)
    nodes_min: Count | None = None
    nodes_max: Count | None = None
    cores_min: Count | None = None
    cores_max: Count | None = None
    gpus_min: Count | None = None
    gpus_max: Count | None = None
    time_limit_min_s: Duration | None = None
    time_limit_max_s: Duration | None = None
    require_time_limit: bool = False
    hours: list[Hours] = Field(default_factory=list, max_length=WINDOWS_MAX)

    @model_validator(mode="after")
    def _leaves_something(self) -> "RulesConfig":
        for what in ("nodes", "cores", "gpus"):
            least, most = getattr(self, f"{what}_min"), getattr(self, f"{what}_max")
            if least is not None and most is not None and least > most:
                raise ValueError(f"{what}_min is more than {what}_max: no job could ever run here")
        least, most = self.time_limit_min_s, self.time_limit_max_s
        if least is not None and most is not None and least > most:
            raise ValueError("time_limit_min_s is more than time_limit_max_s: no job could ever run here")
        return self

    @model_validator(mode="after")
    def _knows_its_groups(self) -> "RulesConfig":
        for name in (*self.allow_users, *self.deny_users):
            if name.startswith(GROUP) and name.removeprefix(GROUP) not in self.user_groups:
                raise ValueError(f"{name}: there is no such group in user_groups")
        return self

    def rules(self) -> Rules:
        return Rules(
            allow_users=self._patterns(self.allow_users),
            deny_users=self._patterns(self.deny_users),
            nodes=Range(self.nodes_min, self.nodes_max),
            cores=Range(self.cores_min, self.cores_max),
            gpus=Range(self.gpus_min, self.gpus_max),
            time_limit_s=Range(self.time_limit_min_s, self.time_limit_max_s),
            require_time_limit=self.require_time_limit,
            hours=tuple(hours.window() for hours in self.hours),
        )

    def _patterns(self, names: list[str]) -> tuple[str, ...]:
        found: list[str] = []
        for name in names:
            found += self.user_groups[name.removeprefix(GROUP)] if name.startswith(GROUP) else [name]
        return tuple(found)
