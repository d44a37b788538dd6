"""The agent's settings: flags, then RAINBOW_AGENT_* variables, then one YAML file."""

import os
import stat
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from rainbow_agent.backends.launching import IMAGE
from rainbow_agent.clock import zone
from rainbow_agent.core.model import Totals
from rainbow_agent.description import DescriptionError, survey
from rainbow_agent.price_config import PriceConfig
from rainbow_agent.price_function import PriceFunction, load_function
from rainbow_agent.rules_config import RulesConfig
from rainbow_agent.workdir import why_not_enterable
from rainbow_protocol import limits
from rainbow_protocol.resources import FieldName as Text
from rainbow_protocol.service.logs import LogFormat, LogLevel
from rainbow_protocol.service.settings import ConfigError, ServiceSettings, read_yaml
from rainbow_protocol.wire import Line
from rainbow_protocol.wishes import ClusterName

LOCAL_NODES_MAX = 1_024  # the plan keeps every node's future
QUEUE_MAX = 100_000
LABELS_MAX = 256


class AgentSettings(ServiceSettings):
    model_config = SettingsConfigDict(
        env_prefix="RAINBOW_AGENT_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    daemon: str = Field(default="ws://127.0.0.1:8642", description="where rainbowd listens: ws:// or wss://")
    name: ClusterName = Field(default="local", description="the cluster's name, for the log and RAINBOW_CLUSTER")
    secret: SecretStr | None = Field(default=None, description="the cluster's secret; better in a file")
    secret_file: Path | None = Field(default=None, description="file with the cluster's secret, mode 0600")
    ca_file: Path | None = Field(default=None, description="certificates to trust for wss://, beside the system's")
    state_dir: Path = Field(default_factory=lambda: _default_state_dir(), description="journal and jobs' output")
    workdir: Path | None = Field(default=None, description="where jobs run that name no directory; default $HOME")

    nodes: int = Field(default=1, ge=1, le=LOCAL_NODES_MAX)
    cores_per_node: int = Field(default_factory=lambda: os.cpu_count() or 1, ge=1, le=limits.CORES_PER_NODE_MAX)
    gpus_per_node: int = Field(default=0, ge=0, le=limits.GPUS_PER_NODE_MAX)
    nodes_json: Path | None = Field(default=None, description="a document that describes the nodes to the daemon")
    memory_per_node: int | None = Field(default=None, ge=1, le=limits.GRAPH_SIZE_MAX, description="bytes")
    labels: dict[Text, Text] = Field(default_factory=dict, max_length=LABELS_MAX, description="of every node")
    properties: list[Text] = Field(default_factory=list, max_length=LABELS_MAX, description="of every node")
    queues: list[Text] = Field(default_factory=list, max_length=LABELS_MAX, description="that jobs may name")
    images: Literal["refuse", "ignore"] = Field(default="refuse", description="jobs with an image, if not contained")
    container_command: list[str] = Field(default_factory=list, max_length=limits.COMMAND_WORDS_MAX)
    price: PriceConfig = PriceConfig()
    currency: Annotated[str, Line] | None = Field(
        default=None, min_length=1, max_length=limits.CURRENCY_CHARS_MAX, description="that prices are told in"
    )
    price_function: str | None = Field(default=None, description="module:function, or a Python file, in its place")
    default_time_limit_s: float = Field(
        default=3600.0, gt=0, le=limits.TIME_LIMIT_S_MAX, description="expected of jobs without a limit; not enforced"
    )
    rules: RulesConfig = Field(default_factory=RulesConfig, description="which jobs are answered No")
    time_zone: str | None = Field(default=None, description="of hours in rules and prices; this machine's if absent")
    queue_max: int = Field(default=10_000, ge=1, le=QUEUE_MAX, description="jobs that may wait here")

    kill_grace_s: float = Field(default=10.0, ge=0, le=3600, description="between SIGTERM and SIGKILL")
    output_bytes_max: int = Field(default=16 * 1024**2, ge=0, le=2**40, description="kept of each stream of a job")
    kept_jobs_max: int = Field(default=1_000, ge=0, le=1_000_000, description="finished jobs whose output is kept")
    kept_bytes_max: int = Field(default=1024**3, ge=0, le=2**50, description="output kept of finished jobs")
    stop_timeout_s: float = Field(default=5.0, ge=0, le=600, description="wait for the daemon when stopping")

    log_format: LogFormat = "auto"
    log_level: LogLevel = "info"

    @field_validator("daemon")
    @classmethod
    def _is_websocket_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.scheme not in ("ws", "wss") or not parts.hostname:
            raise ValueError(f"{url!r} is not a ws:// or wss:// address such as ws://daemon.example.org:8642")
        return url

    @field_validator("time_zone")
    @classmethod
    def _is_time_zone(cls, name: str | None) -> str | None:
        if name is not None:
            zone(name)
        return name

    @model_validator(mode="after")
    def _one_secret(self) -> "AgentSettings":
        if self.secret is not None and self.secret_file is not None:
            raise ValueError("give secret or secret_file, not both")
        return self

    @model_validator(mode="after")
    def _images_have_one_way(self) -> "AgentSettings":
        if self.container_command and not any(IMAGE in word for word in self.container_command):
            raise ValueError(f"container_command: one of its words must hold {IMAGE}, where the job's image goes")
        if self.container_command and self.images == "ignore":
            raise ValueError("give container_command, which runs images, or images: ignore, not both")
        return self

    @model_validator(mode="after")
    def _described_once(self) -> "AgentSettings":
        given = [key for key in ("labels", "properties", "memory_per_node") if getattr(self, key)]
        if self.nodes_json is not None and given:
            raise ValueError(f"nodes_json describes the nodes, so {', '.join(given)} must be left out, or put into it")
        return self

    @classmethod
    def load(cls, path: Path | None, flags: dict[str, Any]) -> "AgentSettings":
        settings = super().load(path, flags)
        if path is not None and "secret" in read_yaml(path):
            _check_private(path)
        return settings

    def totals(self) -> Totals:
        return Totals(self.nodes, self.cores_per_node, self.gpus_per_node)

    def job_workdir(self) -> Path:
        return self.workdir or Path.home()

    def check_workdir(self) -> None:
        """ConfigError if jobs cannot run there: else every job would be won, and fail at once."""
        path = self.job_workdir()
        cause = why_not_enterable(path)
        if cause is not None:
            raise ConfigError(f"workdir: jobs cannot run in {path}: {cause}; create this directory, or name another")

    def check_nodes_json(self) -> None:
        """ConfigError if there is nothing there that could be sent."""
        if self.nodes_json is not None:
            try:
                survey(self.nodes_json)
            except DescriptionError as cause:
                raise ConfigError(f"nodes_json: {cause}") from None

    def load_price_function(self) -> PriceFunction | None:
        """ConfigError if it is named and is not there."""
        if self.price_function is None:
            return None
        try:
            return load_function(self.price_function)
        except ValueError as cause:
            raise ConfigError(f"price_function: {cause}") from None

    def read_secret(self) -> str:
        """The secret itself; ConfigError says in words why there is none."""
        if self.secret is not None:
            secret = self.secret.get_secret_value()
        elif self.secret_file is not None:
            secret = _read_private(self.secret_file)
        else:
            raise ConfigError(
                "no secret: give --secret-file FILE (or RAINBOW_AGENT_SECRET); "
                "`rainbow register cluster NAME` returns one"
            )
        if not secret or not secret.isascii() or not secret.isprintable() or len(secret) > limits.TOKEN_CHARS_MAX:
            raise ConfigError("the secret is not one line of printable characters as the registration returned it")
        return secret


def _read_private(path: Path) -> str:
    try:
        _check_private(path)
        return path.read_text().strip()
    except OSError as cause:
        raise ConfigError(f"{path}: cannot be read: {cause.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not a text file") from None


def _check_private(path: Path) -> None:
    status = path.stat()
    # A file of ours is for us alone. One that root owns may let our group read it: else it could not reach us.
    forbidden = 0o077 if status.st_uid == os.geteuid() else 0o037
    if stat.S_IMODE(status.st_mode) & forbidden:
        raise ConfigError(f"{path}: others may read or write the secret; run: chmod 600 {path}")


def _default_state_dir() -> Path:
    """systemd's StateDirectory= if there is one, else where a user's programs keep their state."""
    given = os.environ.get("STATE_DIRECTORY", "").split(":")[0]
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "rainbow-agent"
