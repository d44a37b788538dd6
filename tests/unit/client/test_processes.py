"""Processes of `rainbow up`: found again, stopped, and never mistaken for others."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from rainbow_client.local.layout import Layout
from rainbow_client.local.presets import preset
from rainbow_client.local.processes import Process, log_size, log_tail, reap, spawn

READY = "import signal, sys; {}; open(sys.argv[1], 'w').close(); signal.pause()"


async def start(tmp_path: Path, prepare: str = "pass") -> Process:
    ready = tmp_path / "ready"
    os.mkfifo(ready)
    code = READY.format(prepare)
    process = spawn("one", [sys.executable, "-c", code, str(ready)], tmp_path / "one.pid", tmp_path / "one.log")
    await asyncio.to_thread(ready.read_bytes)  # returns when the process has opened and closed it
    return process


async def test_a_process_is_found_by_its_file_until_it_ends(tmp_path: Path) -> None:
    process = await start(tmp_path)
    assert Process.of_file("one", tmp_path / "one.pid") == process
    assert await process.stop(grace_s=10)
    assert Process.of_file("one", tmp_path / "one.pid") is None
    reap()


async def test_one_that_ignores_term_is_killed(tmp_path: Path) -> None:
    process = await start(tmp_path, "signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    assert not await process.stop(grace_s=0.1)
    assert not process.alive()
    reap()


async def test_a_reused_pid_is_left_alone(tmp_path: Path) -> None:
    process = await start(tmp_path)
    stranger = Process("one", process.pid, "another boot/1")
    stranger.write(tmp_path / "one.pid")
    assert Process.of_file("one", tmp_path / "one.pid") is None
    stranger.signal(signal.SIGKILL)
    assert await stranger.stop(grace_s=1)
    assert process.alive()
    await process.stop(grace_s=10)
    reap()


@pytest.mark.parametrize("text", ["", "12", "a b", "1 2 3", "-1 x"])
def test_a_damaged_pid_file_names_nobody(tmp_path: Path, text: str) -> None:
    (tmp_path / "one.pid").write_text(text)
    assert Process.of_file("one", tmp_path / "one.pid") is None


async def test_the_environment_of_the_command_is_not_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAINBOW_REGISTRATION_SECRET", "mine")
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/x")
    code = "import os; print(sorted(n for n in os.environ if n.startswith('RAINBOW') or n.startswith('NOTIFY')))"
    process = spawn("one", [sys.executable, "-c", code], tmp_path / "one.pid", tmp_path / "one.log")
    await process.ended()
    reap()
    assert log_tail(tmp_path / "one.log") == "[]"


def test_a_log_shows_its_end_only(tmp_path: Path) -> None:
    log = tmp_path / "one.log"
    log.write_text("".join(f"line {number}\n" for number in range(5000)))
    assert log_tail(log).splitlines()[-1] == "line 4999"
    assert len(log_tail(log).splitlines()) == 12
    assert log_tail(log, since=log_size(log) - 15) == "4998\nline 4999"
    assert log_tail(tmp_path / "none") == ""


def test_the_directory_is_private(tmp_path: Path) -> None:
    layout = Layout(tmp_path / "deep" / "federation")
    layout.make()
    layout.make()
    assert layout.root.stat().st_mode & 0o777 == 0o700
    assert layout.agents() == []


def test_presets_have_names_of_their_own() -> None:
    names = [preset(position).name for position in range(64)]
    assert names[:4] == ["small", "medium", "large", "cluster-4"]
    assert len(set(names)) == 64
