"""What a runner is told about its job, and how it is started: apart from the agent, with only what it needs."""

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from rainbow_agent.backends.places import Allocation, Place, places
from rainbow_agent.backends.rundir import RunDir, isolated_python
from rainbow_agent.backends.steps import steps
from rainbow_agent.core.effects import Launch
from rainbow_agent.core.model import Shape, Share, Totals
from rainbow_agent.workdir import why_not_enterable
from rainbow_protocol.job import JobRequest

RUNNER = Path(__file__).with_name("runner.py")
DRIVER = Path(__file__).with_name("program.py")
IMAGE = "{image}"
# Beside the fields of the request in what an attempt keeps of it.
ARRAY = "rainbow_array"
ARRAY_INDEX = "rainbow_array_index"
NO_IMAGES = "this cluster runs plain processes; set container_command to run images"
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

    container_command: tuple[str, ...] = ()  # before a job's own words; {image} stands for its image
    ignore_images: bool = False
    queues: tuple[str, ...] = ()
    nodes_json: Path | None = None
    labels: dict[str, str] = field(default_factory=dict)
    properties: tuple[str, ...] = ()
    memory_per_node: int | None = None

    @property
    def runs_images(self) -> bool:
        return self.ignore_images or bool(self.container_command)


class UnableError(Exception):
    """This cluster cannot run the job, by its configuration of today; another may."""


def specification(launch: Launch, settings: LocalSettings) -> dict[str, Any]:
    """For a runner; `program` is for its driver, if the job is one. ValueError for a request that makes no sense here,
    as one may that another version has put into the journal. UnableError for what another configuration accepted."""
    request = JobRequest.model_validate_json(launch.work)
    if request.image is not None and not settings.runs_images:
        raise UnableError(NO_IMAGES)
    allocation = Allocation(launch.shape, launch.assignment)
    own = {
        "RAINBOW_JOB_ID": launch.key.job,
        "RAINBOW_ATTEMPT": str(launch.key.attempt),
        "RAINBOW_CLUSTER": settings.cluster(),
        "RAINBOW_NNODES": str(len(launch.assignment)),
    }
    if request.image is not None:
        own["RAINBOW_IMAGE"] = request.image
    own |= _member(launch.work)
    env = {name: value for name in BASE_VARIABLES if (value := os.environ.get(name)) is not None}
    env |= request.env | own
    container = _container(request, settings)
    program = None
    if request.program is None:
        where = _places(request, allocation)
    else:
        where = [(allocation.nodes()[0][0], ())]  # of its driver
        program = {
            "env": env,
            "lists": steps(request.program, request.needs or [], allocation, container, reserved=own),
        }
    return {
        "command": [*container, *request.command],
        "env": env | {"RAINBOW_NTASKS": str(len(where))},
        "cwd": request.cwd or str(settings.workdir),
        "time_limit_s": launch.shape.time_limit_s,
        "kill_grace_s": settings.kill_grace_s,
        "output_bytes_max": settings.output_bytes_max,
        "shares": [
            {"node": node, "gpus": [gpus for _, gpus in group]} for node, group in groupby(where, key=lambda at: at[0])
        ],
        "program": program,
    }


def _member(work: str) -> dict[str, str]:
    document = orjson.loads(work)
    if ARRAY not in document:
        return {}
    return {"RAINBOW_ARRAY_ID": str(document[ARRAY]), "RAINBOW_ARRAY_INDEX": str(document[ARRAY_INDEX])}


def check(request: JobRequest) -> None:
    """ValueError, in words, for what `specification` could not make a job of, wherever it is placed."""
    shape = request.shape
    core_shape = Shape(shape.tasks, shape.cores_per_task, shape.gpus_per_task)
    somewhere = Allocation(core_shape, (Share(0, 1),))
    if request.program is not None:
        steps(request.program, request.needs or [], somewhere)
    elif request.task_count is not None:
        _places(request, somewhere)


def _places(request: JobRequest, allocation: Allocation) -> list[Place]:
    if request.task_count is None:
        return allocation.slots()
    return places(request.task_count, allocation, request.needs[0] if request.needs else None)


def _container(request: JobRequest, settings: LocalSettings) -> list[str]:
    if request.image is None:
        return []
    return [word.replace(IMAGE, request.image) for word in settings.container_command]


def spawn(runner: Path, driver: Path, directory: RunDir, spec: dict[str, Any], workdir: Path) -> tuple[int, int]:
    """Start the runner in a session of its own; returns its pid and the pipe on which it says that it runs.

    OSError is this machine's fault, never the job's: that its own directory or command is missing, its runner finds
    out. It starts with its signals blocked, so that a SIGTERM in its first milliseconds waits until it listens.
    """
    if spec["cwd"] == str(workdir) and (cause := why_not_enterable(workdir)) is not None:
        raise OSError(f"the working directory {workdir} cannot be entered: {cause}")
    directory.prepare(spec, driver)
    reader, writer = os.pipe2(os.O_CLOEXEC)
    runner_log = str(directory.path / "runner.log")
    try:
        pid = os.posix_spawn(
            sys.executable,
            [*isolated_python(), str(runner), str(directory.path)],
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
