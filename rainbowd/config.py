"""The daemon's settings: one YAML file, RAINBOW_* variables, flags."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from rainbow_protocol.service.logs import LogFormat, LogLevel
from rainbow_protocol.service.settings import ConfigError, ServiceSettings
from rainbow_protocol.wishes import ClusterName, GroupName, OptionValue, PolicyName, StateKey

_SECRET_CHARS_MIN = 16


class DaemonSettings(ServiceSettings):
    model_config = SettingsConfigDict(env_prefix="RAINBOW_", extra="ignore")

    listen: str = Field(default="127.0.0.1:8642", description="host:port; port 0 takes any free one")
    database: Path = Field(default=Path("rainbow.db"), description="the SQLite file")
    registration_secret: SecretStr | None = Field(default=None, description="what clusters register with")
    registration_secret_file: Path | None = Field(default=None, description="a file that holds it")
    ready_file: Path | None = Field(default=None, description="gets the daemon's URL once it accepts sessions")
    log_format: LogFormat = "auto"
    log_level: LogLevel = "info"
    bid_window_ms: Annotated[int, Field(ge=10, le=60_000)] = 1_000
    fanout: Annotated[int, Field(ge=1, le=1_000)] = 16
    award_window_s: Annotated[float, Field(ge=0.1, le=600)] = 10.0
    restart_grace_s: Annotated[float, Field(ge=0, le=600)] = 3.0
    lost_after_s: Annotated[float, Field(ge=1)] = 24 * 3600.0
    policy: PolicyName = Field(default="earliest", description="for jobs that name none")
    policies_allowed: list[PolicyName] | None = Field(default=None, description="that jobs may name; all if absent")
    policy_options: dict[PolicyName, dict[StateKey, OptionValue]] = Field(
        default_factory=dict, description="the site's, by policy; a job's own go before them"
    )
    groups: dict[GroupName, list[ClusterName]] = Field(default_factory=dict, description="of clusters, for --group")
    choose_offline: bool = Field(default=False, description="may `first` choose a cluster that is away?")
    queue_ahead_max: Annotated[int, Field(ge=0, le=1_000_000)] = 4
    bind_within_s: Annotated[float, Field(ge=0)] = 300.0
    move_gain_s: Annotated[float, Field(ge=0)] = 60.0
    move_gain_share: Annotated[float, Field(ge=0, le=1)] = 0.1
    moves_max: Annotated[int, Field(ge=0, le=1_000)] = 10
    move_pause_s: Annotated[float, Field(ge=0)] = 30.0
    move_asks_max: Annotated[int, Field(ge=1, le=1_000)] = 8

    @field_validator("listen")
    @classmethod
    def _host_and_port(cls, value: str) -> str:
        host, _, port = value.rpartition(":")
        if not host or not port.isdigit() or int(port) > 65_535:
            raise ValueError(f"expected host:port with a port from 0 to 65535, got {value!r}")
        return value

    @field_validator("database", "ready_file")
    @classmethod
    def _a_file(cls, value: Path | None) -> Path | None:
        if value is not None and not value.name:
            raise ValueError(f"expected the name of a file, got {str(value)!r}")
        return value

    @model_validator(mode="after")
    def _one_secret(self) -> Self:
        if self.registration_secret is not None and self.registration_secret_file is not None:
            raise ValueError("give registration_secret or registration_secret_file, not both")
        return self

    @property
    def host(self) -> str:
        return self.listen.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        return int(self.listen.rpartition(":")[2])

    def read_registration_secret(self) -> str | None:
        """The secret itself. Without one nobody can register a cluster, which is a choice a site may make."""
        if self.registration_secret_file is not None:
            try:
                secret = self.registration_secret_file.read_text().strip()
            except (OSError, UnicodeDecodeError) as cause:
                words = getattr(cause, "strerror", None) or "is not a text file"
                raise ConfigError(f"registration_secret_file: {self.registration_secret_file}: {words}") from None
        elif self.registration_secret is not None:
            secret = self.registration_secret.get_secret_value()
        else:
            return None
        if len(secret) < _SECRET_CHARS_MIN:
            raise ConfigError(f"registration_secret: expected at least {_SECRET_CHARS_MIN} characters")
        return secret
