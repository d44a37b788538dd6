"""The command in this process: what it says, where, and how it ends."""

import asyncio
import shlex
import stat
import sys
from pathlib import Path

import orjson
import pytest

import rainbow_client
from rainbow_client.cli import COMMANDS
from rainbow_client.cli.frame import EXIT_CODES, exit_code_of
from rainbow_client.config import Config, ConfiguredCluster, read_config
from rainbow_protocol.messages.client import JobStatus
from tests.unit.client.conftest import Rainbow
from tests.unit.client.fake_daemon import FakeDaemon, Message, status

JOB = "000000000001"


@pytest.mark.parametrize("name", COMMANDS)
async def test_every_command_has_help(rainbow: Rainbow, name: str) -> None:
    done = await rainbow(name, "--help")
    assert done.code == 0
    assert "--help" in done.out
    if name not in ("register", "delete", "config"):
        assert "--json" in done.out


def test_the_page_about_the_command_lists_every_command_and_exit_code() -> None:
    page = (Path(__file__).parents[3] / "docs" / "cli.md").read_text()
    assert all(f"rainbow {name}" in page for name in COMMANDS)
    assert all(f"\n| {code} | " in page for code in EXIT_CODES)


async def test_help_lists_commands_and_exit_codes(rainbow: Rainbow) -> None:
    done = await rainbow("--help")
    assert all(name in done.out for name in COMMANDS)
    assert all(f"\n  {code} " in done.out for code in EXIT_CODES)


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("submit",), 2, "Missing argument 'COMMAND...'"),
        (("submit", "-n", "0", "--", "true"), 2, "-n/--tasks: must be at least 1"),
        (("submit", "-n", "1000000000000", "--", "true"), 2, "-n/--tasks: must be at most"),
        (("submit", "-N", "3", "-n", "2", "--", "true"), 2, "nodes (3) must not exceed tasks (2)"),
        (("submit", "-t", "soon", "--", "true"), 2, "'soon' is not a duration"),
        (("submit", "--env", "A", "--", "true"), 2, "not of the form NAME=VALUE"),
        (("submit", "--name", "a\x1bb", "--", "true"), 2, "name: has characters"),
        (("submit", "--cluster", "Bad_Name", "--", "true"), 2, "--cluster: has characters"),
        (("submit", "--cluster", "small,", "--", "true"), 2, "--cluster: must not be empty"),
        (("submit", "--", ""), 2, "the first word of the command must not be empty"),
        (("status", "nope"), 2, "'nope' is not a job id"),
        (("logs", "\x1b[2J"), 2, "is not a job id"),
        (("jobs", "--state", "asleep"), 2, "'asleep' is not one of"),
        (("jobs", "--limit", "0"), 2, "0 is not in the range"),
        (("--config", "/nonexistent.yaml", "jobs"), 78, "/nonexistent.yaml: cannot be read"),
        (("jobs", "--config", "/nonexistent.yaml"), 78, "/nonexistent.yaml: cannot be read"),
        (("register", "cluster", "Bad_Name"), 2, "name: has characters"),
        (("register", "cluster", "x", "--nodes", "0"), 2, "--nodes: must be at least 1"),
        (("register", "cluster", "x", "--secret-file", "/nonexistent"), 78, "/nonexistent: cannot be read"),
        (("up", "--clusters", "1000"), 2, "1000 is not in the range"),
        (("nonsense",), 2, "No such command 'nonsense'"),
    ],
)
async def test_a_mistake_gets_one_sentence_and_a_hint(
    rainbow: Rainbow, configured: Path, args: tuple[str, ...], code: int, words: str
) -> None:
    done = await rainbow(*args)
    assert done.code == code
    sentence, hint = done.err.splitlines()
    assert sentence.startswith("rainbow: ")
    assert words in sentence
    assert hint.startswith("  ")
    assert "\x1b" not in done.err
    assert done.out == ""


async def test_errors_as_json(rainbow: Rainbow, configured: Path) -> None:
    for args in (("status", "--json", "nope"), ("--json", "status", "nope")):
        done = await rainbow(*args)
        error = orjson.loads(done.err)["error"]
        assert error["code"] == "invalid"
        assert error["message"] == "'nope' is not a job id"
        assert error["hint"]


@pytest.mark.parametrize("args", [("jobs", "--bogus", "--json"), ("--json", "--bogus", "jobs"), ("--json",)])
async def test_mistakes_of_usage_as_json(rainbow: Rainbow, args: tuple[str, ...]) -> None:
    done = await rainbow(*args)
    assert done.code == 2
    assert orjson.loads(done.err)["error"]["code"] == "usage"


@pytest.mark.parametrize("args", [(), ("register",), ("delete",), ("config",)])
async def test_a_group_alone_shows_its_help(rainbow: Rainbow, args: tuple[str, ...]) -> None:
    done = await rainbow(*args)
    assert (done.out + done.err).startswith("Usage: rainbow")
    assert "tells how" not in done.err


@pytest.mark.parametrize(
    ("redirection", "words"),
    [(">/dev/full", "the output cannot be written: no space left on device"), (">&-", "standard output is closed")],
)
async def test_output_that_cannot_be_written(
    configured: Path, daemon: FakeDaemon, redirection: str, words: str
) -> None:
    daemon.handlers["list"] = lambda _: [{"type": "jobs", "items": [status(JOB)]}]
    command = f"{shlex.quote(sys.executable)} -m rainbow_client --config {shlex.quote(str(configured))} jobs"
    running = await asyncio.create_subprocess_shell(f"{command} {redirection}", stderr=asyncio.subprocess.PIPE)
    _, err = await running.communicate()
    sentence, hint = err.decode().splitlines()
    assert (running.returncode, sentence) == (1, f"rainbow: {words}")
    assert hint.startswith("  ")


async def test_clusters_may_be_listed_or_repeated(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    await rainbow("submit", "--cluster", "small,large", "--cluster", "other", "--", "true")
    [request] = daemon.of_type("submit")
    assert request["items"][0]["request"]["clusters"] == ["small", "large", "other"]


async def test_no_configuration(rainbow: Rainbow) -> None:
    done = await rainbow("jobs")
    assert done.code == 78
    assert "rainbow up" in done.err


async def test_a_daemon_that_is_not_there(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    await daemon.stop()
    done = await rainbow("clusters")
    assert done.code == 69
    assert "connection refused" in done.err


async def test_a_wrong_token(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    daemon.credentials.clear()
    done = await rainbow("clusters")
    assert done.code == 77
    assert "does not know this credential" in done.err


async def test_a_file_that_others_can_read_is_used_with_a_warning(rainbow: Rainbow, configured: Path) -> None:
    configured.chmod(0o644)
    done = await rainbow("clusters", "--json")
    assert (done.code, done.out) == (0, "[]\n")
    assert f"chmod 600 {configured}" in done.err


async def test_names_and_reasons_cannot_touch_the_terminal(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon
) -> None:
    evil = status(JOB, "failed", name="\x1b[31mred", reason="line\nforged \x9b2J")
    daemon.handlers["list"] = lambda _: [{"type": "jobs", "items": [evil]}]
    done = await rainbow("jobs")
    assert "\\x1b[31mred" in done.out
    assert "line\\nforged \\x9b2J" in done.out
    assert len(done.out.splitlines()) == 2


async def test_a_long_reason_is_whole_in_a_pipe(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    reason = "because " * 60
    daemon.handlers["list"] = lambda _: [{"type": "jobs", "items": [status(JOB, "rejected", reason=reason)]}]
    done = await rainbow("jobs")
    assert reason.rstrip() in done.out


async def test_wait_exits_with_the_highest_code(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    ended = {"000000000001": ("completed", 0), "000000000002": ("failed", 3), "000000000003": ("lost", None)}

    def answer(request: Message) -> list[Message]:
        items = [status(job, ended[job][0], exit_code=ended[job][1]) for job in request["jobs"]]
        return [{"type": "jobs", "items": items}]

    daemon.handlers["status"] = answer
    assert (await rainbow("wait", "000000000001")).code == 0
    assert (await rainbow("wait", "000000000001", "000000000002")).code == 3
    assert (await rainbow("wait", *ended)).code == 66


async def test_submit_with_wait_prints_one_object(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    def answer(request: Message) -> list[Message]:
        return [{"type": "jobs", "items": [status(job, "rejected", reason="too big") for job in request["jobs"]]}]

    daemon.handlers["status"] = answer
    done = await rainbow("submit", "--wait", "--json", "--", "true")
    assert done.code == 65
    assert orjson.loads(done.out)["reason"] == "too big"


async def test_config_init(rainbow: Rainbow, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("rbt_mine\n")
    path = tmp_path / "home/.config/rainbow/config.yaml"
    args = ("config", "init", "--daemon", "host:1", "--cluster", "mine", "--token-file", str(token))
    assert (await rainbow(*args)).code == 0
    assert read_config(path) == Config("ws://host:1", None, (ConfiguredCluster("mine", "rbt_mine"),))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    refused = await rainbow(*args)
    assert refused.code == 78
    assert "exists already" in refused.err
    assert "rainbow config add-cluster" in refused.err
    assert (await rainbow(*args, "--force")).code == 0
    assert (await rainbow("config", "init")).code == 2


async def test_config_add_cluster(rainbow: Rainbow, configured: Path, tmp_path: Path) -> None:
    token = tmp_path / "token"
    for name, text in (("two", "rbt_two"), ("one", "rbt_new")):
        token.write_text(text)
        assert (await rainbow("config", "add-cluster", name, "--token-file", str(token))).code == 0
    assert {one.name: one.token for one in read_config(configured).clusters} == {"one": "rbt_new", "two": "rbt_two"}
    assert read_config(configured).registration_secret is not None
    assert (await rainbow("config", "add-cluster", "two")).code == 2
    absent = await rainbow("config", "add-cluster", "two", "--token-file", str(token), "--config", "/nonexistent")
    assert absent.code == 78
    assert "rainbow config init" in absent.err


async def test_register_saves_what_is_shown_only_once(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon, tmp_path: Path
) -> None:
    answer = {"type": "registered", "cluster": "new", "secret": "rbs_new", "token": "rbt_new"}
    daemon.handlers["register_cluster"] = lambda _: [answer]
    done = await rainbow("register", "cluster", "new", "--nodes", "2", "--cores-per-node", "4", "--save")
    assert "rbs_new" in done.out
    assert read_config(configured).clusters[-1] == ConfiguredCluster("new", "rbt_new", "rbs_new")
    [request] = daemon.of_type("register_cluster")
    assert request["resources"] == {"nodes": 2, "cores_per_node": 4, "gpus_per_node": 0}


@pytest.mark.parametrize(
    ("state", "exit_code", "expected"),
    [
        ("completed", 0, 0),
        ("failed", 3, 3),
        ("failed", 124, 124),
        ("failed", -9, 137),
        ("failed", 256, 1),
        ("failed", None, 1),
        ("failed", 0, 1),
        ("rejected", None, 65),
        ("lost", None, 66),
        ("cancelled", None, 67),
        ("cancelled", 0, 67),
        ("cancelled", 143, 143),
    ],
)
def test_exit_codes(state: str, exit_code: int | None, expected: int) -> None:
    assert exit_code_of(JobStatus.model_validate(status(JOB, state, exit_code=exit_code))) == expected


async def test_a_wrong_registration_secret(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAINBOW_REGISTRATION_SECRET", "rbr_wrong")
    done = await rainbow("register", "cluster", "new")
    assert done.code == 77
    for word in ("--secret-file", "$RAINBOW_REGISTRATION_SECRET", "registration_secret_file"):
        assert word in done.err


async def test_no_jobs_that_match(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    daemon.handlers["list"] = lambda _: [{"type": "jobs", "items": []}]
    assert (await rainbow("jobs")).out.startswith("No jobs. ")
    assert (await rainbow("jobs", "--state", "running")).out.startswith("No jobs that match. ")


async def test_the_sdk_finds_the_configuration_of_the_command(configured: Path) -> None:
    assert rainbow_client.load_config() == rainbow_client.load_config(configured) == read_config(configured)


async def test_memory_of_clusters_can_be_read(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    known = {"name": "one", "state": "offline", "resources": None, "free": None}
    counts = {"node": 3, "core": 36, "memory": 905_438_953_472}
    daemon.handlers["clusters"] = lambda _: [{"type": "cluster_list", "items": [known | {"counts": counts}, known]}]
    lines = (await rainbow("clusters")).out.splitlines()
    assert lines[0].split()[:6] == ["CLUSTER", "STATE", "NODES", "MEMORY", "CORES", "FREE"]
    assert lines[1].split()[:6] == ["one", "offline", "3", "905", "GB", "36"]
    assert lines[2].split()[:5] == ["one", "offline", "-", "-", "-"]
    assert len(lines[0]) <= 80
    daemon.handlers["clusters"] = lambda _: [{"type": "cluster_list", "items": [known]}]
    assert "MEMORY" not in (await rainbow("clusters")).out
