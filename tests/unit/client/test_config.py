"""The configuration: its shape, its mistakes, where it is looked for, who may read it."""

import stat
from pathlib import Path

import pytest
import yaml

from rainbow_client.config import Config, ConfiguredCluster, daemon_url, parse_config, read_config, write_config
from rainbow_client.config_search import default_federation_dir, find_file, load_config, user_config_path
from rainbow_client.errors import ConfigError

CONFIG = Config("ws://host:1", "rbr_x", (ConfiguredCluster("a", "rbt_a", "rbs_a"), ConfiguredCluster("b", "rbt_b")))


def test_what_is_written_is_read_and_private(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "config.yaml"
    write_config(path, CONFIG)
    assert read_config(path) == CONFIG
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [child.name for child in path.parent.iterdir()] == ["config.yaml"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "link.yaml"
    link.symlink_to(real)
    write_config(link, CONFIG)
    assert link.is_symlink()
    assert read_config(real) == CONFIG


def test_a_cluster_replaces_one_of_its_name() -> None:
    changed = CONFIG.with_cluster(ConfiguredCluster("a", "rbt_new"))
    assert [(cluster.name, cluster.token) for cluster in changed.clusters] == [("b", "rbt_b"), ("a", "rbt_new")]


def test_the_prototypes_file_is_understood() -> None:
    document = yaml.safe_load(
        """
        scheduler: {secret: chocolate-cookies, name: keebler}
        cluster: {name: keebler, secret: a216a23a}
        graphdatabase: {name: memory, host: "127.0.0.1:50051"}
        clusters: [{name: keebler, token: rainbow}]
        """
    )
    config = parse_config(document, "f")
    assert config.daemon == "ws://127.0.0.1:50051"
    assert config.registration_secret == "chocolate-cookies"
    assert config.tokens == ["rainbow"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "a mapping was expected, not nothing"),
        ("[1]", "a mapping was expected, not a list"),
        ("clusters: []", "daemon: is missing"),
        ("daemon: 5", "daemon: a text was expected, not a int"),
        ("daemon: ''", "daemon: a text was expected, not an empty text"),
        ("daemon: http://x:1", "daemon: 'http://x:1' is not a daemon's address"),
        ("daemon: ws://x:99999", "is not a daemon's address"),
        ("daemon: ws://x:1/v1/client", "is not a daemon's address"),
        ("deamon: ws://x:1", "deamon: is not a setting"),
        ("{daemon: 'ws://x:1', clusters: {a: b}}", "clusters: a list was expected"),
        ("{daemon: 'ws://x:1', clusters: [a]}", "clusters.0: a mapping was expected"),
        ("{daemon: 'ws://x:1', clusters: [{token: t}]}", "clusters.0.name: is missing"),
        ("{daemon: 'ws://x:1', clusters: [{name: a, tokn: t}]}", "clusters.0.tokn: is not a setting"),
        ("{daemon: 'ws://x:1', clusters: [{name: a, token: 7}]}", "clusters.0.token: a text was expected"),
        ('{daemon: "ws://x:1", clusters: [{name: a, token: "t\\r\\nX: y"}]}', "clusters.0.token: has a blank or"),
        ("daemon: [", "is not YAML"),
    ],
)
def test_a_mistake_is_named_by_its_key(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert words in caught.value.message
    assert str(path) in caught.value.message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_config(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="Is a directory"):
        read_config(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="UTF-8"):
        read_config(tmp_path / "binary")


@pytest.mark.parametrize(
    ("text", "url"), [("h:1", "ws://h:1"), (" wss://h ", "wss://h"), ("ws://[::1]:5/", "ws://[::1]:5")]
)
def test_addresses(text: str, url: str) -> None:
    assert daemon_url(text) == url


def home(tmp_path: Path, **variables: str) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), **variables}


def test_the_order_of_the_search(tmp_path: Path) -> None:
    env = home(tmp_path)
    here = tmp_path / "here"
    named = tmp_path / "named.yaml"
    in_order = [
        here / "rainbow-config.yaml",
        user_config_path(env),
        default_federation_dir(env) / "rainbow-config.yaml",
    ]
    assert find_file(None, env, here) is None
    for path in reversed(in_order):
        write_config(path, CONFIG)
        assert find_file(None, env, here) == path
    assert find_file(None, env | {"RAINBOW_CONFIG": str(named)}, here) == named
    assert find_file(here, env | {"RAINBOW_CONFIG": str(named)}, here) == here


def test_the_xdg_directories(tmp_path: Path) -> None:
    assert user_config_path(home(tmp_path, XDG_CONFIG_HOME="/xdg")) == Path("/xdg/rainbow/config.yaml")
    assert user_config_path(home(tmp_path, XDG_CONFIG_HOME="relative")) == tmp_path / "home/.config/rainbow/config.yaml"
    assert default_federation_dir(home(tmp_path, XDG_STATE_HOME="/state")) == Path("/state/rainbow/local")


def test_variables_replace_the_file(tmp_path: Path) -> None:
    env = home(tmp_path, RAINBOW_DAEMON="other:2", RAINBOW_TOKEN="rbt_1, rbt_2")
    alone = load_config(None, env, tmp_path)
    assert (alone.daemon, alone.tokens) == ("ws://other:2", ["rbt_1", "rbt_2"])
    write_config(tmp_path / "rainbow-config.yaml", CONFIG)
    del env["RAINBOW_TOKEN"]
    mixed = load_config(None, env, tmp_path)
    assert (mixed.daemon, mixed.tokens) == ("ws://other:2", CONFIG.tokens)
    # What is named on the command line is meant.
    assert load_config(tmp_path / "rainbow-config.yaml", env, tmp_path) == CONFIG


def test_a_file_that_others_can_read_is_told(tmp_path: Path) -> None:
    path = tmp_path / "rainbow-config.yaml"
    write_config(path, CONFIG)
    told: list[str] = []
    load_config(None, home(tmp_path), tmp_path, told.append)
    assert not told
    path.chmod(0o640)
    load_config(None, home(tmp_path), tmp_path, told.append)
    assert f"chmod 600 {path}" in told[0]


def test_nothing_found_says_where_it_looked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"looked for .*rainbow-config\.yaml") as caught:
        load_config(None, home(tmp_path), tmp_path)
    assert "rainbow up" in caught.value.hint
