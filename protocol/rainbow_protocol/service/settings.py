"""Settings from flags, then RAINBOW_* variables, then one YAML file; every mistake named by its key."""

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsError

S = TypeVar("S", bound="ServiceSettings")


class ConfigError(Exception):
    """What is wrong with the configuration, one line per mistake, for a person to read."""


class ServiceSettings(BaseSettings):
    """Base of a process's settings. Given arguments win over the environment, that over the file."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        # `load` merges by hand: flags over environment over file.
        return (init_settings,)

    @classmethod
    def load(cls: type[S], path: Path | None, flags: dict[str, Any]) -> S:
        from_file = read_yaml(path) if path else {}
        unknown = sorted(set(from_file) - set(cls.model_fields))
        origin = {key: f"{path}: {key}" for key in from_file}
        env_source = EnvSettingsSource(cls)
        try:
            from_env = env_source()
        except SettingsError as cause:
            raise ConfigError(f"environment: {cause}") from None
        prefix = str(cls.model_config.get("env_prefix", ""))
        origin |= {key: f"${prefix.upper()}{key.upper()}" for key in from_env}
        given = {key: value for key, value in flags.items() if value is not None}
        origin |= {key: f"--{key.replace('_', '-')}" for key in given}
        mistakes = [f"{path}: {key}: unknown key; known are {', '.join(sorted(cls.model_fields))}" for key in unknown]
        known = {key: value for key, value in from_file.items() if key not in unknown}
        try:
            settings = cls(**_merge(_merge(known, from_env), given))
        except ValidationError as cause:
            for mistake in cause.errors(include_url=False):
                key, *inner = (str(step) for step in mistake["loc"]) if mistake["loc"] else ("",)
                where = ".".join([origin.get(key, key), *inner])
                words = mistake["msg"].removeprefix("Value error, ")
                mistakes.append(f"{where}: {words}" if where else words)
            raise ConfigError("\n".join(mistakes)) from None
        if mistakes:
            raise ConfigError("\n".join(mistakes))
        return settings


def read_yaml(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as cause:
        raise ConfigError(f"{path}: cannot be read: {cause.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not a text file in UTF-8") from None
    except yaml.YAMLError as cause:
        raise ConfigError(f"{path}: is not YAML: {' '.join(str(cause).split())}") from None
    if document is None:
        return {}
    if not isinstance(document, dict) or not all(isinstance(key, str) for key in document):
        raise ConfigError(f"{path}: expected a mapping of settings, got {type(document).__name__}")
    return document


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged
