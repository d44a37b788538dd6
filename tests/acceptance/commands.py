"""The installed commands, run as a person runs them, and a federation of their own for each test that wants one."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BIN = Path(sys.executable).parent
PATIENCE_S = 60.0


def until(what: str, holds: Callable[[], Any], patience_s: float = PATIENCE_S) -> Any:
    """Wait until `holds()` is true and return it; fail in words when that takes too long."""
    deadline = time.monotonic() + patience_s
    while not (result := holds()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {patience_s:g} s: {what}")
        time.sleep(0.02)
    return result


class Commands:
    """`rainbow` with the configuration of one federation."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._env = {
            **{name: value for name, value in os.environ.items() if not name.startswith("RAINBOW_")},
            "RAINBOW_CONFIG": str(directory / "rainbow-config.yaml"),
            "NO_COLOR": "1",
        }

    def run(self, *words: str, code: int | None = 0, stdin: str | None = None) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            [str(BIN / "rainbow"), *words], env=self._env, capture_output=True, text=True, timeout=120, input=stdin
        )
        if code is not None:
            assert done.returncode == code, f"rainbow {words} left with {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def start(self, *words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [str(BIN / "rainbow"), *words], env=self._env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def json(self, command: str, *words: str, code: int | None = 0) -> Any:
        return json.loads(self.run(command, "--json", *words, code=code).stdout)

    def submit(self, *words: str) -> str:
        """Submit and return the job's id."""
        job: str = self.json("submit", *words)["job"]
        return job

    def state(self, job: str) -> str:
        state: str = self.json("status", job)["state"]
        return state

    def until_state(self, job: str, *states: str) -> str:
        state: str = until(f"{job} is one of {states}", lambda: (s := self.state(job)) in states and s)
        return state

    # --- the federation ---------------------------------------------------

    def up(self, clusters: int | None = None) -> None:
        count = [] if clusters is None else ["--clusters", str(clusters)]
        self.run("up", "--dir", str(self.directory), "--detach", *count)

    def down(self) -> None:
        self.run("down", "--dir", str(self.directory), "--cancel-jobs")

    def pid(self, process: str) -> int:
        return int((self.directory / "run" / f"{process}.pid").read_text().split()[0])

    def kill(self, process: str) -> None:
        """SIGKILL, and wait until it is gone."""
        pid = self.pid(process)
        os.kill(pid, signal.SIGKILL)
        until(f"{process} is gone", lambda: not _alive(pid))

    def log(self, process: str) -> str:
        return (self.directory / "logs" / f"{process}.log").read_text()


def _alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in ("Z", "X")


@contextmanager
def federation(directory: Path, clusters: int = 3) -> Iterator[Commands]:
    """Up before, down after; a traceback in any log is a failure, whatever the test thought."""
    commands = Commands(directory)
    commands.up(clusters)
    try:
        yield commands
    finally:
        commands.down()
    for log in sorted((directory / "logs").glob("*.log")):
        assert "Traceback" not in log.read_text(), f"{log.name} has a traceback:\n{log.read_text()[-3000:]}"
