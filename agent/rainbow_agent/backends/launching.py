"""What a runner is told about its job, and how it is started: apart from the agent, with only what it needs."""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rainbow_agent.backends.rundir import RunDir
from rainbow_agent.core.effects import Launch
from rainbow_agent.core.model import Assignment, Shape, Totals
from rainbow_agent.workdir import why_not_enterable
from rainbow_protocol.job import JobRequest

RUNNER = Path(__file__).with_name("runner.py")
# All that a job inherits from the agent. Whatever else the agent has in its environment, secrets too, stays there.
BASE_VARIABLES = ("PATH", "HOME", "USER", "LANG", "SHELL", "TMPDIR")
BLOCKED_AT_START = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


@dataclass(frozen=True, slots=True)
class LocalSettings:
    totals: Totals
    jobs_dir: Path
    workdir: Path
    cluster: Callable[[], str]  # asked at each launch: the daemon's welcome may correct the configured name
    kill_grace_s: float = 10.0
    output_bytes_max: int = 16 * 1024 * 1024
    kept_jobs_max: int = 1_000
    kept_bytes_max: int = 1024 * 1024 * 1024


def specification(launch: Launch, settings: LocalSettings) -> dict[str, Any]:
    """ValueError if the journal holds a request that this version does not understand."""
    request = JobRequest.model_validate_json(launch.work)
    env = {name: value for name in BASE_VARIABLES if (value := os.environ.get(name)) is not None}
    env |= request.env
    env |= {
        "RAINBOW_JOB_ID": launch.key.job,
        "RAINBOW_ATTEMPT": str(launch.key.attempt),
        "RAINBOW_CLUSTER": settings.cluster(),
        "RAINBOW_NTASKS": str(launch.shape.tasks),
        "RAINBOW_NNODES": str(len(launch.assignment)),
    }
    return {
        "command": request.command,
        "env": env,
        "cwd": request.cwd or str(settings.workdir),
        "time_limit_s": launch.shape.time_limit_s,
        "kill_grace_s": settings.kill_grace_s,
        "output_bytes_max": settings.output_bytes_max,
        "shares": _shares(launch.shape, launch.assignment),
    }


def _shares(shape: Shape, assignment: Assignment) -> list[dict[str, Any]]:
    """Per node its name and, for each task there, the devices that are its own."""
    each = shape.gpus_per_task
    return [
        {"node": f"node{node}", "gpus": [gpus[task * each : (task + 1) * each] for task in range(tasks)]}
        for node, tasks, gpus in assignment
    ]


def spawn(runner: Path, directory: RunDir, spec: dict[str, Any], workdir: Path) -> tuple[int, int]:
    """Start the runner in a session of its own; returns its pid and the pipe on which it says that it runs.

    OSError is this machine's fault, never the job's: that its own directory or command is missing, its runner finds
    out. It starts with its signals blocked, so that a SIGTERM in its first milliseconds waits until it listens.
    """
    if spec["cwd"] == str(workdir) and (cause := why_not_enterable(workdir)) is not None:
        raise OSError(f"the working directory {workdir} cannot be entered: {cause}")
    directory.prepare(spec)
    reader, writer = os.pipe2(os.O_CLOEXEC)
    runner_log = str(directory.path / "runner.log")
    try:
        pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-X", "utf8", str(runner), str(directory.path)],
            {"PATH": os.environ.get("PATH", os.defpath)},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, writer, 1),
                (os.POSIX_SPAWN_OPEN, 2, runner_log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            ],
            setsid=True,
            setsigmask=BLOCKED_AT_START,
        )
    except BaseException:
        os.close(reader)
        raise
    finally:
        os.close(writer)
    return pid, reader


def kill_child(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
