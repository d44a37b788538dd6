"""The directory of one run: what the agent writes for the runner, and what it reads back.

    jobs/JOB.ATTEMPT/RUN/{spec, program, claim, stdout, stderr, result, runner.log}

`claim` is linked into place by whoever comes first: the runner, and then the job runs; or an agent that fences the
run off, and then it never can.
"""

import marshal
import os
import shutil
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from rainbow_agent.core.commands import RunEnded
from rainbow_agent.core.model import Key

EXIT_TIME_LIMIT: Final = 124  # as timeout(1) has it
_LOG_CHARS_MAX: Final = 300


@dataclass(frozen=True, slots=True)
class Claim:
    """Who claimed the run; `pid` is None if an agent fenced it off."""

    pid: int | None
    ticks: int
    boot_id: str


_UNREADABLE: Final = Claim(-1, 0, "")  # by somebody who died with the machine: no process of this boot


class RunDir:
    def __init__(self, jobs: Path, key: Key, run: int) -> None:
        self.key = key
        self.run = run
        self.path = attempt_dir(jobs, key) / str(run)

    def prepare(self, spec: dict[str, Any], driver: Path) -> None:
        """Write down what to run. A program is run by its driver, and is in a file of its own until that reads it."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        spec = dict(spec)
        program = spec.pop("program", None)
        if program is not None:
            self._write("program", program)
            spec["command"] = [*isolated_python(), str(driver), str(self.path / "program")]
        self._write("spec", spec)

    def _write(self, name: str, document: dict[str, Any]) -> None:
        fd = os.open(self.path / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "wb") as file:
            file.write(marshal.dumps(document))

    def claim(self) -> Claim | None:
        try:
            document = orjson.loads((self.path / "claim").read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:  # its content was never written to the disk before the power went
            return _UNREADABLE
        try:
            return Claim(document["pid"], document["start_ticks"], document["boot_id"])
        except (KeyError, TypeError):
            return _UNREADABLE

    def fence(self) -> bool:
        """Claim it so that no runner ever can. False if a runner was first."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        mine = self.path / f"claim.agent.{os.getpid()}"
        mine.write_bytes(orjson.dumps({"pid": None, "start_ticks": 0, "boot_id": ""}))
        try:
            (self.path / "claim").hardlink_to(mine)
        except FileExistsError:
            return False
        finally:
            mine.unlink()
        return True

    def result(self) -> dict[str, Any] | None:
        """None also for a broken one: then nobody knows how it ended."""
        try:
            document = orjson.loads((self.path / "result").read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return document if isinstance(document, dict) else None

    def last_words(self) -> str:
        """The end of what the runner itself had to say, for the reason of a job that it did not end well."""
        try:
            text = (self.path / "runner.log").read_text(errors="replace")
        except FileNotFoundError:
            return ""
        return " ".join(text.split())[-_LOG_CHARS_MAX:]


def isolated_python() -> list[str]:
    """This interpreter, without anything that an environment or an installation adds to it."""
    return [sys.executable, "-I", "-S", "-X", "utf8"]


def attempt_dir(jobs: Path, key: Key) -> Path:
    return jobs / str(key)


def latest_run(jobs: Path, key: Key) -> RunDir | None:
    """The run with the highest number: earlier ones were fenced off and have no output."""
    try:
        runs = [int(entry.name) for entry in attempt_dir(jobs, key).iterdir() if entry.name.isdigit()]
    except FileNotFoundError:
        return None
    return RunDir(jobs, key, max(runs)) if runs else None


def remove(jobs: Path, key: Key) -> None:
    shutil.rmtree(attempt_dir(jobs, key), ignore_errors=True)


def tell(result: dict[str, Any], key: Key, run: int, time_limit_s: float | None, at: float) -> RunEnded:
    """A runner's result as the outcome that is reported, in words for a person."""
    kind, code = result["kind"], result["exit_code"]
    match kind:
        case "cancel":
            return RunEnded(key, run, "cancelled", None, "cancelled while it ran", at)
        case "timeout":
            limit = "" if time_limit_s is None else f" of {time_limit_s:g} s"
            return RunEnded(key, run, "failed", EXIT_TIME_LIMIT, f"time limit{limit} exceeded", at)
        case "spawn":
            return RunEnded(key, run, "failed", code, result["words"], at)
        case "unbegun":
            return RunEnded(key, run, "returned", code, result["words"], at)
        case "signal":
            return RunEnded(key, run, "failed", code, f"killed by {_signal(result['signal'])}", at)
    if code == 0:
        return RunEnded(key, run, "completed", 0, "", at)
    return RunEnded(key, run, "failed", code, f"exit code {code}", at)


def _signal(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:  # a real-time signal
        return f"signal {number}"
