"""The daemon's settings: each mistake is named by its key, and the command says how it went."""

import os
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rainbow_protocol.service.settings import ConfigError
from rainbowd import __version__
from rainbowd.app import core_settings
from rainbowd.cli import main
from rainbowd.config import DaemonSettings

LONG = "a-secret-of-enough-characters"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("RAINBOW_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rainbowd.yaml"


def rainbowd(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


# --- each mistake by its key ----------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("listen: nowhere", "expected host:port with a port from 0 to 65535, got 'nowhere'"),
        ("listen: ':80'", "expected host:port"),
        ("listen: 'host:65536'", "expected host:port"),
        ("listen: 'host:-1'", "expected host:port"),
        ("listen: 'host:http'", "expected host:port"),
        ("listen: 80", "valid string"),
        ("database: ''", "expected the name of a file, got '.'"),
        ("database: /", "expected the name of a file, got '/'"),
        ("database: [a]", "path"),
        ("ready_file: '.'", "expected the name of a file, got '.'"),
        ("registration_secret: {a: b}", "valid string"),
        ("registration_secret_file: 5", "path"),
        ("log_format: xml", "'auto', 'text' or 'json'"),
        ("log_level: loud", "'debug', 'info', 'warning' or 'error'"),
        ("bid_window_ms: 9", "greater than or equal to 10"),
        ("bid_window_ms: 60001", "less than or equal to 60000"),
        ("bid_window_ms: soon", "valid integer"),
        ("fanout: 0", "greater than or equal to 1"),
        ("fanout: 1001", "less than or equal to 1000"),
        ("award_window_s: 0", "greater than or equal to 0.1"),
        ("award_window_s: .nan", "award_window_s"),
        ("restart_grace_s: -1", "greater than or equal to 0"),
        ("lost_after_s: 0.5", "greater than or equal to 1"),
        ("lost_after_s: .nan", "lost_after_s"),
        (
            "fan_out: 3",
            "unknown key; known are award_window_s, bid_window_ms, bind_within_s, choose_offline, database, fanout",
        ),
    ],
)
def test_a_mistake_in_the_file_is_named_by_its_key_with_what_was_expected(file: Path, line: str, expected: str) -> None:
    file.write_text(line)
    result = rainbowd("--config", file, "--check-config")
    assert result.exit_code == 2
    assert result.stdout == ""
    (told,) = result.stderr.splitlines()
    key = line.partition(":")[0]
    assert told.startswith(f"rainbowd: {file}: {key}: ")
    assert expected in told


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("policy: cheapst", "the default policy: there is no policy 'cheapst'; did you mean 'cheapest'?"),
        ("policies_allowed: [cheapst]", "an allowed policy: there is no policy 'cheapst'"),
        ("policy: constraint", "the options of the default policy 'constraint'"),
    ],
)
def test_a_policy_that_is_not_there_is_a_mistake_of_the_configuration(file: Path, line: str, expected: str) -> None:
    file.write_text(line)
    result = rainbowd("--config", file, "--check-config")
    assert result.exit_code == 2
    assert expected in result.stderr


def test_all_mistakes_are_told_at_once_one_a_line(file: Path) -> None:
    file.write_text("fanout: 0\nlisten: x\nfan_out: 2\n")
    result = rainbowd("--config", file, "--check-config")
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert len(lines) == 3
    for key in ("fanout", "listen", "fan_out"):
        assert any(f": {key}: " in line for line in lines)


def test_a_mistake_in_the_environment_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAINBOW_FANOUT", "many")
    result = rainbowd("--check-config")
    assert result.exit_code == 2
    assert result.stderr.startswith("rainbowd: $RAINBOW_FANOUT: ")


def test_a_mistake_in_a_flag_names_the_flag() -> None:
    result = rainbowd("--listen", "nowhere", "--check-config")
    assert result.exit_code == 2
    assert result.stderr.startswith("rainbowd: --listen: expected host:port")


# --- --check-config -------------------------------------------------------


def test_a_valid_configuration_is_0(file: Path) -> None:
    file.write_text(f"listen: 127.0.0.1:0\nregistration_secret: {LONG}\n")
    result = rainbowd("--config", file, "--check-config")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "the configuration is valid\n", "")


def test_checking_touches_nothing(file: Path, tmp_path: Path) -> None:
    file.write_text("database: somewhere/rainbow.db\nready_file: ready\n")
    assert rainbowd("--config", file, "--check-config").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize("content", [b"\xff\xfe", b"listen: [", b"- a\n"])
def test_a_file_that_is_no_settings_is_2(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    result = rainbowd("--config", file, "--check-config")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"rainbowd: {file}: ")


def test_a_file_that_is_not_there_is_2(file: Path) -> None:
    result = rainbowd("--config", file, "--check-config")
    assert result.exit_code == 2
    assert result.stderr == f"rainbowd: {file}: cannot be read: No such file or directory\n"


def test_a_directory_as_the_file_is_2(tmp_path: Path) -> None:
    result = rainbowd("--config", tmp_path, "--check-config")
    assert result.exit_code == 2
    assert result.stderr == f"rainbowd: {tmp_path}: cannot be read: Is a directory\n"


def test_an_unknown_flag_is_wrong_usage() -> None:
    assert rainbowd("--no-such-flag").exit_code == 2


def test_the_version() -> None:
    result = rainbowd("--version")
    assert (result.exit_code, result.stdout) == (0, f"rainbowd {__version__}\n")


# --- where a setting comes from -------------------------------------------


def test_flags_win_over_the_environment_and_that_over_the_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("listen: file:1\nfanout: 1\nbid_window_ms: 111\n")
    monkeypatch.setenv("RAINBOW_LISTEN", "environment:2")
    monkeypatch.setenv("RAINBOW_FANOUT", "2")
    settings = DaemonSettings.load(file, {"listen": "flag:3"})
    assert (settings.listen, settings.fanout, settings.bid_window_ms) == ("flag:3", 2, 111)


def test_without_anything_there_are_defaults() -> None:
    settings = DaemonSettings.load(None, {})
    assert (settings.host, settings.port) == ("127.0.0.1", 8642)
    assert settings.read_registration_secret() is None


@pytest.mark.parametrize(
    ("listen", "host", "port"), [("[::1]:0", "::1", 0), ("example.org:65535", "example.org", 65535)]
)
def test_host_and_port(listen: str, host: str, port: int) -> None:
    settings = DaemonSettings.load(None, {"listen": listen})
    assert (settings.host, settings.port) == (host, port)


def test_what_the_core_works_under_comes_from_the_settings() -> None:
    given: dict[str, Any] = {
        "bid_window_ms": 250, "fanout": 3, "award_window_s": 4.5, "restart_grace_s": 0.5, "lost_after_s": 77.0,
    }  # fmt: skip
    core = core_settings(DaemonSettings.load(None, given))
    assert (core.bid_window_s, core.fanout, core.award_window_s) == (0.25, 3, 4.5)
    assert (core.restart_grace_s, core.lost_after_s) == (0.5, 77.0)


# --- the registration secret ----------------------------------------------


def test_the_secret_is_read_from_its_file_without_the_line_end(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(f"{LONG}\n")
    settings = DaemonSettings.load(None, {"registration_secret_file": tmp_path / "secret"})
    assert settings.read_registration_secret() == LONG


def test_the_secret_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAINBOW_REGISTRATION_SECRET", LONG)
    assert DaemonSettings.load(None, {}).read_registration_secret() == LONG


def test_two_secrets_are_one_too_many(file: Path) -> None:
    file.write_text(f"registration_secret: {LONG}\nregistration_secret_file: x\n")
    result = rainbowd("--config", file, "--check-config")
    assert result.exit_code == 2
    assert "give registration_secret or registration_secret_file, not both" in result.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "No such file or directory"),
        (b"", "expected at least 16 characters"),
        (b"short\n", "expected at least 16 characters"),
        (b"\xff" * 20, "is not a text file"),
    ],
)
def test_a_secret_file_that_is_of_no_use_is_2(tmp_path: Path, content: bytes | None, words: str) -> None:
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    result = rainbowd("--registration-secret-file", tmp_path / "secret", "--check-config")
    assert result.exit_code == 2
    assert "registration_secret" in result.stderr
    assert words in result.stderr


@pytest.mark.parametrize("line", ["registration_secret: short", f"registration_secret: {LONG}\nfanout: 0"])
def test_a_mistake_never_prints_the_secret(file: Path, line: str) -> None:
    file.write_text(line)
    result = rainbowd("--config", file, "--check-config")
    assert result.exit_code == 2
    assert "short" not in result.output
    assert LONG not in result.output


def test_the_settings_do_not_show_the_secret() -> None:
    settings = DaemonSettings.load(None, {"registration_secret": LONG})
    assert LONG not in repr(settings)
    with pytest.raises(ConfigError):
        DaemonSettings.load(None, {"registration_secret": LONG, "fanout": 0})
