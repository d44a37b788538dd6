"""`rainbow up` and `rainbow down`: a federation that resumes, and leaves nothing behind."""

import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rainbow_client.local.layout import DAEMON, Layout
from tests.integration.client.conftest import Outcome, Rainbow, command_line, environment


@pytest.fixture
def rainbow(tmp_path: Path) -> Iterator[Rainbow]:
    env = environment(tmp_path)

    def run(*args: str) -> Outcome:
        done = subprocess.run(command_line(*args), env=env, cwd=tmp_path, capture_output=True, timeout=60, check=False)
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    yield run
    for root in (tmp_path / "d", tmp_path / ".local/state/rainbow/local"):
        if any((root / "run").glob("*.pid")):
            run("down", "--dir", str(root), "--cancel-jobs")


def pid(root: Path, name: str) -> int:
    return int(Layout(root).pid_file(name).read_text().split()[0])


def alive(number: int) -> bool:
    """Not gone, and not only waiting to be reaped by whoever is pid 1 here."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_the_life_of_a_federation(rainbow: Rainbow, tmp_path: Path) -> None:
    root = tmp_path / "d"
    where = ("--dir", str(root))
    config = ("--config", str(root / "rainbow-config.yaml"))

    alone = rainbow("up", *where, "--clusters", "0", "--detach", "--json").json()
    assert (alone["clusters"], alone["started"]) == ([], [DAEMON])
    more = rainbow("up", *where, "--clusters", "1", "--detach", "--json").json()
    assert (more["clusters"], more["started"], more["daemon"]) == (["small"], ["small"], alone["daemon"])
    again = rainbow("up", *where, "--detach", "--json").json()
    assert again["started"] == []

    # What was killed is started again at the same address, and finds the job that it left.
    job = rainbow("submit", *config, "--", "sleep", "600").out.strip()
    for name in (DAEMON, "small"):
        os.kill(pid(root, name), signal.SIGKILL)
    resumed = rainbow("up", *where, "--detach", "--json").json()
    assert resumed["started"] == [DAEMON, "small"]
    assert resumed["daemon"] == alone["daemon"]
    assert rainbow("status", *config, "--json", job).json()["job"] == job

    secrets = [root / "rainbow-config.yaml", root / "registration-secret", root / "agents" / "small.yaml"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in secrets] == [0o600] * 3
    assert stat.S_IMODE(root.stat().st_mode) == 0o700

    pids = [pid(root, DAEMON), pid(root, "small")]
    down = rainbow("down", *where, "--cancel-jobs", "--json")
    assert set(down.json()["stopped"]) == {DAEMON, "small"}  # type: ignore[call-overload]
    assert not any(map(alive, pids))
    assert rainbow("down", *where).out == "Nothing was running.\n"
    assert rainbow("jobs", *config).code == 69


def test_without_a_directory_no_configuration_is_needed(rainbow: Rainbow) -> None:
    assert rainbow("jobs").code == 78
    assert rainbow("up", "--clusters", "1", "--detach").code == 0
    assert rainbow("submit", "--watch", "--", "echo", "hello").out == "hello\n"
    assert "stopped rainbowd" in rainbow("down").out


def test_in_the_foreground_ctrl_c_stops_everything(tmp_path: Path, rainbow: Rainbow) -> None:
    root = tmp_path / "d"
    up = subprocess.Popen(
        command_line("up", "--dir", str(root), "--clusters", "1"),
        env=environment(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with up:
        assert up.stderr is not None
        assert up.stderr.readline() == b"Ctrl-C stops it.\n"
        pids = [pid(root, DAEMON), pid(root, "small")]
        up.send_signal(signal.SIGINT)
        assert up.wait(timeout=30) == 0
    assert not any(map(alive, pids))


def test_a_process_that_dies_at_the_start_shows_its_log(rainbow: Rainbow, tmp_path: Path) -> None:
    root = tmp_path / "d"
    layout = Layout(root)
    layout.make()
    layout.daemon_config.write_text("listen: nowhere\n")
    done = rainbow("up", "--dir", str(root), "--clusters", "0", "--detach")
    assert done.code == 71
    assert "rainbowd has stopped:" in done.err
    assert "listen" in done.err
    assert rainbow("down", "--dir", str(root)).out == "Nothing was running.\n"


def test_down_where_nothing_is(rainbow: Rainbow, tmp_path: Path) -> None:
    done = rainbow("down", "--dir", str(tmp_path / "nothing"))
    assert done.code == 71
    assert "there is no federation in" in done.err


def test_up_leaves_a_directory_of_somebody_else_alone(rainbow: Rainbow, tmp_path: Path) -> None:
    root = tmp_path / "mine"
    root.mkdir()
    root.chmod(0o755)
    (root / "thesis.tex").write_text("")
    done = rainbow("up", "--dir", str(root), "--detach")
    assert done.code == 71
    assert "Name a new or empty directory" in done.err
    assert [path.name for path in root.iterdir()] == ["thesis.tex"]
    assert stat.S_IMODE(root.stat().st_mode) == 0o755


def test_up_keeps_the_mode_of_an_empty_directory(tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    root.chmod(0o755)
    layout = Layout(root)
    assert not layout.is_foreign()
    layout.make()
    assert not layout.is_foreign()  # an `up` that was killed early may be repeated
    assert stat.S_IMODE(root.stat().st_mode) == 0o755
    assert stat.S_IMODE((root / "agents").stat().st_mode) == 0o700


def test_a_cluster_that_was_deleted_does_not_keep_the_others_from_coming_up(rainbow: Rainbow, tmp_path: Path) -> None:
    root = tmp_path / "d"
    where = ("--dir", str(root))
    config = ("--config", str(root / "rainbow-config.yaml"))
    assert rainbow("up", *where, "--clusters", "2", "--detach").code == 0
    assert rainbow("delete", "cluster", "small", *config).code == 0
    up = rainbow("up", *where, "--detach")
    assert up.code == 0, up.err
    assert "small was deleted from the daemon" in up.out + up.err
    assert (root / "agents" / ".deleted" / "small-1" / "small.yaml").exists()
    anew = rainbow("up", *where, "--clusters", "2", "--detach", "--json").json()
    assert sorted(anew["clusters"]) == ["medium", "small"]
    assert rainbow("submit", *config, "--wait", "--cluster", "small", "--", "true").code == 0
