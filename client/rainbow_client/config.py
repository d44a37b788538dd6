"""The user's configuration: where the daemon is, and the tokens of the clusters one may use.

    daemon: ws://host:port
    registration_secret: rbr_…          # only for those who register clusters
    clusters:
      - name: small
        token: rbt_…                    # to submit
        secret: rbs_…                   # only where its agent is configured from here

`config_search.py` finds the file; this one reads, checks and writes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from rainbow_client.errors import ConfigError
from rainbow_client.private_files import write_private
from rainbow_protocol import limits

FILE_BYTES_MAX = 1024 * 1024
_KEYS = ("daemon", "registration_secret", "clusters")
_CLUSTER_KEYS = ("name", "token", "secret")
# The prototype's files have these beside `clusters`; what they hold of use is read, the rest is not ours.
_PROTOTYPE_KEYS = ("scheduler", "cluster", "graphdatabase")


@dataclass(frozen=True, slots=True)
class ConfiguredCluster:
    name: str
    token: str | None = None
    secret: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    daemon: str
    registration_secret: str | None = None
    clusters: tuple[ConfiguredCluster, ...] = field(default=())

    @property
    def tokens(self) -> list[str]:
        return list(dict.fromkeys(cluster.token for cluster in self.clusters if cluster.token))

    def with_cluster(self, cluster: ConfiguredCluster) -> "Config":
        """Adds the cluster, in place of one of the same name."""
        others = tuple(other for other in self.clusters if other.name != cluster.name)
        return replace(self, clusters=(*others, cluster))

    def without_cluster(self, name: str) -> "Config":
        return replace(self, clusters=tuple(other for other in self.clusters if other.name != name))


def daemon_url(text: str, key: str = "daemon") -> str:
    """`host:port` or a ws/wss URL, as a URL without a path."""
    url = text.strip().rstrip("/")
    if "://" not in url:
        url = f"ws://{url}"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in ("ws", "wss") or not parts.hostname or port == 0 or parts.path or parts.query:
        raise ConfigError(
            f"{key}: {text!r} is not a daemon's address", "Write it as ws://HOST:PORT or wss://HOST:PORT."
        )
    return url


def read_config(path: Path) -> Config:
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
        text = content.decode()
    except OSError as cause:
        raise ConfigError(f"{path}: cannot be read: {cause.strerror}", _MAKE_ONE) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not a text file in UTF-8", _MAKE_ONE) from None
    if len(content) > FILE_BYTES_MAX:
        raise ConfigError(f"{path}: is longer than {FILE_BYTES_MAX} bytes", "Is that the right file?")
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as cause:
        raise ConfigError(f"{path}: is not YAML: {' '.join(str(cause).split())}", _MAKE_ONE) from None
    return parse_config(document, str(path))


def parse_config(document: Any, origin: str) -> Config:
    if not isinstance(document, dict):
        raise ConfigError(f"{origin}: a mapping was expected, not {_kind(document)}", _MAKE_ONE)
    _no_unknown(document, (*_KEYS, *_PROTOTYPE_KEYS), origin, "")
    scheduler = _section(document, "scheduler")
    database = _section(document, "graphdatabase")
    secret = _text(document, "registration_secret", origin, "") or _text(scheduler, "secret", origin, "scheduler.")
    where = _text(document, "daemon", origin, "")
    if where is None and "host" in database:
        where = _text(database, "host", origin, "graphdatabase.")
    if where is None:
        raise ConfigError(f"{origin}: daemon: is missing", "Write it as `daemon: ws://HOST:PORT`.")
    clusters = document.get("clusters")
    if clusters is not None and not isinstance(clusters, list):
        raise ConfigError(f"{origin}: clusters: a list was expected, not {_kind(clusters)}", _CLUSTERS_LIKE)
    found = tuple(_cluster(item, f"clusters.{position}", origin) for position, item in enumerate(clusters or []))
    if len(found) > limits.TOKENS_MAX:
        raise ConfigError(f"{origin}: clusters: at most {limits.TOKENS_MAX} are possible, not {len(found)}")
    return Config(daemon_url(where, f"{origin}: daemon"), secret, found)


def write_config(path: Path, config: Config) -> None:
    document: dict[str, Any] = {"daemon": config.daemon}
    if config.registration_secret:
        document["registration_secret"] = config.registration_secret
    document["clusters"] = [
        {key: value for key in _CLUSTER_KEYS if (value := getattr(cluster, key)) is not None}
        for cluster in config.clusters
    ]
    text = "# Rainbow: where the daemon is and which clusters you may use. Keep it private: it holds credentials.\n"
    try:
        write_private(path, text + yaml.safe_dump(document, sort_keys=False))
    except OSError as cause:
        raise ConfigError(f"{path}: cannot be written: {cause.strerror}", "Name another file with --config.") from None


_MAKE_ONE = "`rainbow config init` writes a new one."
_CLUSTERS_LIKE = "Write each cluster as `- {name: NAME, token: TOKEN}`."


def _cluster(item: Any, where: str, origin: str) -> ConfiguredCluster:
    if not isinstance(item, dict):
        raise ConfigError(f"{origin}: {where}: a mapping was expected, not {_kind(item)}", _CLUSTERS_LIKE)
    _no_unknown(item, _CLUSTER_KEYS, origin, f"{where}.")
    name, token, secret = (_text(item, key, origin, f"{where}.") for key in _CLUSTER_KEYS)
    if name is None:
        raise ConfigError(f"{origin}: {where}.name: is missing", _CLUSTERS_LIKE)
    if token is not None and len(token) > limits.TOKEN_CHARS_MAX:
        raise ConfigError(f"{origin}: {where}.token: is longer than {limits.TOKEN_CHARS_MAX} characters")
    return ConfiguredCluster(name, token, secret)


def _no_unknown(mapping: Mapping[Any, Any], known: tuple[str, ...], origin: str, prefix: str) -> None:
    for key in mapping:
        if key not in known:
            close = get_close_matches(str(key), known, 1)
            hint = f"Did you mean `{close[0]}`?" if close else f"Known are: {', '.join(known[:3])}."
            raise ConfigError(f"{origin}: {prefix}{key}: is not a setting", hint)


def _section(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    section = document.get(key)
    return section if isinstance(section, dict) else {}


def _text(mapping: Mapping[str, Any], key: str, origin: str, prefix: str) -> str | None:
    value = mapping.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(
            f"{origin}: {prefix}{key}: a text was expected, not {_kind(value)}", "Put it in quotes if it is one."
        )
    if not value.isprintable() or " " in value.strip():
        raise ConfigError(f"{origin}: {prefix}{key}: has a blank or a control character in it")
    return value.strip()


def _kind(value: Any) -> str:
    return "nothing" if value is None else "an empty text" if value == "" else f"a {type(value).__name__}"
