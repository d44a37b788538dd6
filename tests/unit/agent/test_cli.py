"""Settings and the command: what a person reads when something is wrong."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rainbow_agent.cli import cli
from rainbow_agent.config import AgentSettings
from rainbow_agent.session import Target
from rainbow_agent.workdir import why_not_enterable
from rainbow_protocol.service.settings import ConfigError


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAINBOW_AGENT_SECRET", "RAINBOW_AGENT_CONFIG", "STATE_DIRECTORY", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def secret_file(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_text("rbs_something\n")
    path.chmod(0o600)
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["run", *arguments])


def test_check_config_says_what_it_understood(secret_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text(f"name: west\nnodes: 4\ncores_per_node: 8\nsecret_file: {secret_file}\n")
    result = run("--config", str(config), "--nodes", "3", "--check-config")
    assert result.exit_code == 0
    assert "ok: cluster west, 3 x 8 cores" in result.output


def test_every_mistake_is_named(tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text("daemon: http://x\nnodes: 0\nprice: {per_day: 1}\n")
    result = run("--config", str(config))
    assert result.exit_code == 2
    assert f"rainbow-agent: {config}: daemon: 'http://x' is not a ws:// or wss:// address" in result.output
    assert f"{config}: nodes: Input should be greater than or equal to 1" in result.output
    assert f"{config}: price.per_day: Extra inputs are not permitted" in result.output


def test_an_unknown_key_is_named(tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text("nodez: 1\n")
    result = run("--config", str(config))
    assert result.exit_code == 2
    assert "nodez: unknown key" in result.output


def test_no_secret_says_where_to_get_one() -> None:
    result = run("--check-config")
    assert result.exit_code == 2
    assert "no secret: give --secret-file FILE" in result.output


def test_a_secret_that_others_can_read_is_refused(secret_file: Path) -> None:
    secret_file.chmod(0o644)
    result = run("--secret-file", str(secret_file), "--check-config")
    assert result.exit_code == 2
    assert f"chmod 600 {secret_file}" in result.output


def test_a_missing_secret_file(tmp_path: Path) -> None:
    result = run("--secret-file", str(tmp_path / "none"), "--check-config")
    assert result.exit_code == 2
    assert "none: cannot be read: No such file or directory" in result.output


def test_a_secret_in_a_config_that_others_can_read_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text("secret: rbs_something\n")
    config.chmod(0o640)
    result = run("--config", str(config), "--check-config")
    assert result.exit_code == 2
    assert f"others may read or write the secret; run: chmod 600 {config}" in result.output
    config.chmod(0o600)
    assert run("--config", str(config), "--check-config").exit_code == 0


def test_a_workdir_that_is_not_there_is_refused(secret_file: Path, tmp_path: Path) -> None:
    config = tmp_path / "agent.yaml"
    config.write_text(f"secret_file: {secret_file}\nworkdir: {tmp_path}/none\n")
    result = run("--config", str(config), "--check-config")
    assert result.exit_code == 2
    assert f"workdir: jobs cannot run in {tmp_path}/none: No such file or directory" in result.output
    result = run("--config", str(config), "--workdir", str(secret_file))
    assert result.exit_code == 2
    assert f"workdir: jobs cannot run in {secret_file}: Not a directory" in result.output
    (tmp_path / "none").mkdir()
    assert run("--config", str(config), "--check-config").exit_code == 0


def test_a_home_that_is_not_there_is_refused_too(
    secret_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/nonexistent")
    arguments = ("--secret-file", str(secret_file), "--state-dir", str(tmp_path / "state"), "--check-config")
    result = run(*arguments)
    assert result.exit_code == 2
    assert "workdir: jobs cannot run in /nonexistent: No such file or directory" in result.output
    assert run(*arguments, "--workdir", str(tmp_path)).exit_code == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root enters every directory")
def test_a_workdir_that_may_not_be_entered(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o600)
    assert why_not_enterable(closed) == "Permission denied"
    assert why_not_enterable(tmp_path) is None


def test_the_environment_and_nested_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAINBOW_AGENT_SECRET", "rbs_x")
    monkeypatch.setenv("RAINBOW_AGENT_PRICE__PER_CORE_HOUR", "0.25")
    settings = AgentSettings.load(None, {})
    assert settings.price.per_core_hour == 0.25
    assert settings.read_secret() == "rbs_x"
    assert "rbs_x" not in repr(settings)


def test_systemd_says_where_the_state_goes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert AgentSettings.load(None, {}).state_dir == tmp_path / ".local/state/rainbow-agent"
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/rainbow-agent/west")
    assert AgentSettings.load(None, {}).state_dir == Path("/var/lib/rainbow-agent/west")


def test_a_secret_with_a_newline_is_no_header() -> None:
    with pytest.raises(ConfigError, match="not one line of printable characters"):
        AgentSettings.load(None, {"secret": "a\r\nHost: b"}).read_secret()


def test_version_and_exit_codes_are_in_the_help() -> None:
    assert "rainbow-agent, version" in CliRunner().invoke(cli, ["--version"]).output
    assert "4  the state directory is in use by another agent" in CliRunner().invoke(cli, ["run", "--help"]).output


@pytest.mark.parametrize(
    ("url", "endpoint", "loopback"),
    [
        ("ws://127.0.0.1:8642", "ws://127.0.0.1:8642/v1/agent", True),
        ("ws://localhost:8642/", "ws://localhost:8642/v1/agent", True),
        ("ws://[::1]:1", "ws://[::1]:1/v1/agent", True),
        ("wss://daemon.example.org", "wss://daemon.example.org/v1/agent", False),
        ("wss://daemon.example.org/behind/a/proxy", "wss://daemon.example.org/behind/a/proxy", False),
    ],
)
def test_where_to_connect(url: str, endpoint: str, loopback: bool) -> None:
    target = Target(url, "rbs_x")
    assert target.endpoint == endpoint
    assert target.is_loopback == loopback


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("container_command: [apptainer, exec]", "one of its words must hold {image}"),
        ("container_command: [run, '{image}']\nimages: ignore", "give container_command, which runs images, or images"),
        ("nodes_json: x\nproperties: [fast]", "nodes_json describes the nodes, so properties must be left out"),
        ("images: sometimes", "images: Input should be 'refuse' or 'ignore'"),
        ("labels: {a: 1}", "labels.a: Input should be a valid string"),
        ("memory_per_node: 0", "memory_per_node: Input should be greater than or equal to 1"),
        ("nodes_json: /no/such/file", "nodes_json: /no/such/file: cannot be read: No such file or directory"),
    ],
)
def test_settings_that_contradict_each_other(secret_file: Path, tmp_path: Path, config: str, words: str) -> None:
    path = tmp_path / "agent.yaml"
    path.write_text(f"{config}\nsecret_file: {secret_file}\n")
    result = run("--config", str(path), "--check-config")
    assert result.exit_code == 2
    assert words in result.output


def test_lists_and_labels_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAINBOW_AGENT_LABELS", '{"site": "west"}')
    monkeypatch.setenv("RAINBOW_AGENT_QUEUES", '["batch"]')
    settings = AgentSettings.load(None, {})
    assert settings.labels == {"site": "west"}
    assert settings.queues == ["batch"]
