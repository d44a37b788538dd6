"""Settings from flags, then RAINBOW_* variables, then one YAML file; every mistake named by its key."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsError

S = TypeVar("S", bound="ServiceSettings")
_Keys = tuple[str, ...]


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
        mistakes = [f"{path}: {key}: unknown key; known are {', '.join(sorted(cls.model_fields))}" for key in unknown]
        known = {key: value for key, value in from_file.items() if key not in unknown}
        from_env = cls._read_environment()
        given = {key: value for key, value in flags.items() if value is not None}
        try:
            settings = cls(**_merge(_merge(known, from_env), given))
        except ValidationError as cause:
            # The strongest first: a mistake belongs to the source whose value was taken.
            sources: list[tuple[dict[str, Any], Callable[[_Keys], str]]] = [
                (given, lambda keys: "--" + ".".join(keys).replace("_", "-")),
                (from_env, cls._variable),
                (known, lambda keys: f"{path}: {'.'.join(keys)}"),
            ]
            for mistake in cause.errors(include_url=False):
                where = _origin(tuple(str(step) for step in mistake["loc"]), sources)
                words = mistake["msg"].removeprefix("Value error, ")
                mistakes.append(f"{where}: {words}" if where else words)
            raise ConfigError("\n".join(mistakes)) from None
        if mistakes:
            raise ConfigError("\n".join(mistakes))
        return settings

    @classmethod
    def _read_environment(cls) -> dict[str, Any]:
        try:
            return EnvSettingsSource(cls)()
        except SettingsError as cause:
            field = re.search(r'field "(\w+)"', str(cause))
            where = cls._variable((field[1],)) if field else "environment"
            raise ConfigError(f"{where}: expected JSON, as its value has several parts") from None

    @classmethod
    def _variable(cls, keys: _Keys) -> str:
        delimiter = cls.model_config.get("env_nested_delimiter") or "."
        return f"${cls.model_config.get('env_prefix', '')}{delimiter.join(keys)}".upper()


def read_yaml(path: Path) -> dict[str, Any]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as cause:
        raise ConfigError(f"{path}: cannot be read: {cause.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not a text file in UTF-8") from None
    except yaml.YAMLError as cause:
        raise ConfigError(f"{path}: is not YAML: {' '.join(str(cause).split())}") from None
    except ValueError as cause:  # e.g. a date that does not exist
        raise ConfigError(f"{path}: has a value that YAML cannot read: {cause}") from None
    except RecursionError:
        raise ConfigError(f"{path}: is nested too deeply") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise ConfigError(f"{path}: expected a mapping of settings, got {type(document).__name__}")
    for key in document:
        if not isinstance(key, str):
            raise ConfigError(f"{path}: {key}: expected a name as the key, got {type(key).__name__}")
    return document


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _origin(keys: _Keys, sources: list[tuple[dict[str, Any], Callable[[_Keys], str]]]) -> str:
    """Who said it, and under which key: the source that holds most of the path to the mistake."""
    for length in range(len(keys), 0, -1):
        for source, name in sources:
            if _holds(source, keys[:length]):
                return ".".join([name(keys[:length]), *keys[length:]])
    return ".".join(keys)


def _holds(source: Any, keys: _Keys) -> bool:
    for key in keys:
        if not isinstance(source, dict) or key not in source:
            return False
        source = source[key]
    return True
