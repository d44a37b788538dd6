"""What the site's people can say, and the file that remembers it."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rainbow_agent.cli import cli
from rainbow_agent.site_file import DRAINING_CHARS_MAX, SITE_KEYS_MAX, Site, SiteFile, SiteFileError
from rainbow_agent.site_orders import Drain, OrderError, Resume, SetKeys, UnsetKeys, obey, read_order
from rainbow_agent.state_dir import StateDir
from rainbow_protocol.limits import REASON_CHARS_MAX, STATE_KEYS_MAX


def test_orders_change_what_they_name_and_nothing_else() -> None:
    site = obey(SetKeys(keys={"rack": "a", "watts": 1.5}), Site())
    site = obey(Drain(reason="new cooling"), site)
    site = obey(SetKeys(keys={"rack": "b", "gpu": True}), site)
    assert site == Site(draining="new cooling", keys={"rack": "b", "watts": 1.5, "gpu": True})
    site = obey(Resume(), obey(UnsetKeys(keys=["rack", "gpu"]), site))
    assert site == Site(keys={"watts": 1.5})


def test_keys_are_bounded_and_leave_room_for_the_agents_own() -> None:
    site = Site(keys={f"k{number}": number for number in range(SITE_KEYS_MAX)})
    assert obey(SetKeys(keys={"k0": 7}), site).keys["k0"] == 7
    with pytest.raises(OrderError, match="at most 48 keys of its own; unset one first"):
        obey(SetKeys(keys={"one_more": 1}), site)
    assert SITE_KEYS_MAX < STATE_KEYS_MAX
    assert len(f"draining: {'x' * DRAINING_CHARS_MAX}") <= REASON_CHARS_MAX


def test_what_the_cluster_itself_tells_cannot_be_set() -> None:
    with pytest.raises(OrderError, match="'nodes_free' is what the cluster itself tells"):
        obey(SetKeys(keys={"nodes_free": 99}), Site())


def test_a_key_that_is_not_there_cannot_be_unset() -> None:
    with pytest.raises(OrderError, match="there is no key 'rack' that was set here"):
        obey(UnsetKeys(keys=["rack"]), Site())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"nonsense", "Invalid JSON"),
        (b"[]", "object"),
        (b'{"order": "explode"}', "explode"),
        (b'{"order": "drain", "reason": ""}', "reason: "),
        (b'{"order": "drain", "reason": "a\\nb"}', "reason: "),
        (b'{"order": "set", "keys": {"a-b": 1}}', "keys.a-b"),
        (b'{"order": "set", "keys": {"a": [1]}}', "keys.a"),
        (b'{"order": "set", "keys": {"a": 1}, "more": 1}', "more: "),
    ],
)
def test_what_is_no_order_is_refused_in_words(line: bytes, words: str) -> None:
    with pytest.raises(OrderError) as refusal:
        read_order(line)
    assert words in str(refusal.value)


def test_the_file_remembers(tmp_path: Path) -> None:
    file = SiteFile(tmp_path / "site.json")
    assert file.load() == Site()
    site = Site(draining="new cooling", keys={"watts": 1.5, "nodes": 3, "gpu": True, "rack": "ü"})
    file.save(Site())
    file.save(site)
    assert file.load() == site
    assert (tmp_path / "site.json").stat().st_mode & 0o077 == 0
    assert [path.name for path in tmp_path.iterdir()] == ["site.json"]


def test_a_damaged_file_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "site.json"
    path.write_text('{"draining": 1}')
    with pytest.raises(SiteFileError, match=r"site\.json is damaged: .* Remove it; then"):
        SiteFile(path).load()


def test_a_file_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    with pytest.raises(SiteFileError, match="cannot be written: No such file or directory; nothing was changed"):
        SiteFile(tmp_path / "gone" / "site.json").save(Site())


# --- the commands, without an agent


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAINBOW_AGENT_CONFIG", "STATE_DIRECTORY", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)


def agent(tmp_path: Path, *arguments: str) -> Result:
    return CliRunner().invoke(cli, [*arguments, "--state-dir", str(tmp_path / "state")])


def test_without_an_agent_the_file_is_written(tmp_path: Path) -> None:
    result = agent(tmp_path, "drain", "--reason", "new cooling")
    assert result.output == "draining: new cooling (no agent runs here now: from its next start on)\n"
    result = agent(tmp_path, "state", "set", "cost_per_node_hour=1.5", "rack=b", "nodes_max=3", "gpu=true")
    assert result.exit_code == 0
    assert "cost_per_node_hour=1.5\ngpu=true\nnodes_max=3\nrack=b\n" in result.output
    assert SiteFile(tmp_path / "state" / "site.json").load() == Site(
        draining="new cooling", keys={"cost_per_node_hour": 1.5, "rack": "b", "nodes_max": 3, "gpu": True}
    )
    assert agent(tmp_path, "state", "unset", "rack", "gpu").exit_code == 0
    assert agent(tmp_path, "resume").output.startswith("taking jobs (no agent runs")
    keys = {"cost_per_node_hour": 1.5, "nodes_max": 3}
    shown = json.loads(agent(tmp_path, "state", "--json").output)
    assert shown == {"draining": None, "keys": keys, "told": keys, "running": False}


def test_showing_makes_no_directory(tmp_path: Path) -> None:
    assert agent(tmp_path, "state").output == "taking jobs\n(no agent runs here now)\n"
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["state", "set", "rack"], 2, "'rack' is not KEY=VALUE"),
        (["state", "set", "a-b=1"], 2, "a key is letters, digits and underscores"),
        (["state", "unset", "a-b"], 2, "a key is letters, digits and underscores"),
        (["state", "unset", "rack"], 1, "there is no key 'rack' that was set here"),
        (["drain", "--reason", ""], 2, "reason: "),
        (["drain"], 2, "Missing option '--reason'"),
    ],
)
def test_mistakes_are_told(tmp_path: Path, arguments: list[str], code: int, words: str) -> None:
    result = agent(tmp_path, *arguments)
    assert result.exit_code == code
    assert words in result.output


def test_numbers_that_are_none_stay_text(tmp_path: Path) -> None:
    agent(tmp_path, "state", "set", "a=inf", "b=nan", "c=", "d=-3", "e=1e3", "f=a=b")
    keys = SiteFile(tmp_path / "state" / "site.json").load().keys
    assert keys == {"a": "inf", "b": "nan", "c": "", "d": -3, "e": 1000.0, "f": "a=b"}


def test_an_agent_that_never_listens_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rainbow_agent.site_cli.TRIES_MAX", 1)
    monkeypatch.setattr("rainbow_agent.site_cli.TRY_AGAIN_S", 0.0)
    held = StateDir(tmp_path / "state")
    try:
        result = agent(tmp_path, "resume")
    finally:
        held.close()
    assert result.exit_code == 1
    assert "does not listen" in result.output


def test_another_accounts_directory_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "state").mkdir()
    owner = os.geteuid()
    monkeypatch.setattr("rainbow_agent.site_cli.os.geteuid", lambda: owner + 1)
    result = agent(tmp_path, "resume")
    assert result.exit_code == 2
    assert f"belongs to another account (uid {owner}); run this as that one: sudo -u '#{owner}'" in result.output
