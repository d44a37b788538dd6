"""Which configuration counts: `--config`, then variables, then the first file found.

1. --config FILE
2. $RAINBOW_CONFIG, ./rainbow-config.yaml, $XDG_CONFIG_HOME/rainbow/config.yaml (~/.config),
   and last the federation that `rainbow up` without --dir made for this user
3. $RAINBOW_DAEMON and $RAINBOW_TOKEN replace what such a file says; with both, none is needed,
   which is how a job or a container reaches the daemon
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from rainbow_client.config import Config, ConfiguredCluster, daemon_url, read_config
from rainbow_client.errors import ConfigError
from rainbow_client.private_files import readable_by_others

FILE_NAME = "rainbow-config.yaml"


def user_config_path(env: Mapping[str, str]) -> Path:
    return _base(env, "XDG_CONFIG_HOME", ".config") / "rainbow" / "config.yaml"


def default_federation_dir(env: Mapping[str, str]) -> Path:
    return _base(env, "XDG_STATE_HOME", ".local/state") / "rainbow" / "local"


def places(env: Mapping[str, str], cwd: Path) -> list[Path]:
    if env.get("RAINBOW_CONFIG"):
        return [Path(env["RAINBOW_CONFIG"])]
    return [cwd / FILE_NAME, user_config_path(env), default_federation_dir(env) / FILE_NAME]


def find_file(explicit: Path | None, env: Mapping[str, str], cwd: Path) -> Path | None:
    """The file that counts, or None. One that was named must exist; reading it will tell if it does not."""
    if explicit is not None:
        return explicit
    candidates = places(env, cwd)
    if env.get("RAINBOW_CONFIG"):
        return candidates[0]
    return next((path for path in candidates if path.exists()), None)


def load_config(
    explicit: Path | None, env: Mapping[str, str], cwd: Path, warn: Callable[[str], None] = lambda _: None
) -> Config:
    daemon, tokens = (env.get("RAINBOW_DAEMON"), env.get("RAINBOW_TOKEN")) if explicit is None else (None, None)
    if daemon and tokens:
        return Config(daemon_url(daemon, "$RAINBOW_DAEMON"), clusters=_from_variable(tokens))
    path = find_file(explicit, env, cwd)
    if path is None:
        if daemon:
            return Config(daemon_url(daemon, "$RAINBOW_DAEMON"))
        looked = ", ".join(str(place) for place in places(env, cwd))
        raise ConfigError(
            f"there is no configuration; looked for {looked}",
            "Start a federation here with `rainbow up`, or name a daemon with `rainbow config init`.",
        )
    config = read_config(path)
    if readable_by_others(path):
        warn(f"{path} holds credentials and others can read it: chmod 600 {shlex.quote(str(path))}")
    if daemon:
        config = replace(config, daemon=daemon_url(daemon, "$RAINBOW_DAEMON"))
    if tokens:
        config = replace(config, clusters=_from_variable(tokens))
    return config


def _from_variable(tokens: str) -> tuple[ConfiguredCluster, ...]:
    return tuple(ConfiguredCluster(f"token-{n}", token) for n, token in enumerate(tokens.replace(",", " ").split(), 1))


def _base(env: Mapping[str, str], variable: str, below_home: str) -> Path:
    # The XDG specification: a relative path in these variables is to be ignored.
    value = env.get(variable, "")
    return Path(value) if value.startswith("/") else Path(env.get("HOME") or Path.home()) / below_home
