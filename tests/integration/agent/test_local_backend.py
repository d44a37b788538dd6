"""The local backend by itself, where an agent would only get in the way of seeing what it does."""

import asyncio
import errno
import os
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import orjson
import pytest

from rainbow_agent.backends import launching, local, runner
from rainbow_agent.backends.base import RunNews
from rainbow_agent.backends.launching import LocalSettings, specification
from rainbow_agent.backends.local import LAUNCHES_MAX, LocalBackend
from rainbow_agent.backends.rundir import RunDir
from rainbow_agent.core.commands import RunBegan, RunEnded, RunFenced
from rainbow_agent.core.effects import AttemptRow, Launch
from rainbow_agent.core.model import Key, Shape, Share, Totals
from rainbow_protocol.ids import JobIds
from rainbow_protocol.job import JobRequest

# Leftovers of a job are found by its id in their environment, so tests that run at once must not share one.
KEY = Key(JobIds().next(time.time()), 1)


class Rig:
    def __init__(self, tmp_path: Path) -> None:
        self.jobs = tmp_path / "state" / "jobs"
        self.news: asyncio.Queue[RunNews] = asyncio.Queue()
        self.bugs: list[BaseException] = []
        self.settings = LocalSettings(Totals(1, 4, 4), self.jobs, tmp_path, lambda: "tested", kill_grace_s=0.2)
        self.backend = LocalBackend(self.settings, self.news.put_nowait, self.bugs.append)

    async def launch(self, *command: str, run: int = 1, shape: Shape | None = None, share: Share | None = None) -> None:
        work = JobRequest(command=list(command)).model_dump_json()
        await self.backend.launch(Launch(KEY, run, shape or Shape(), work, (share or Share(0, 1),)))

    async def next(self) -> RunNews:
        async with asyncio.timeout(20):
            return await self.news.get()

    async def end(self) -> RunNews:
        assert isinstance(await self.next(), RunBegan)
        return await self.next()

    async def recover(self, phase: str = "launching", same_boot: bool = True) -> list[RunNews]:
        row = AttemptRow(KEY, phase, Shape(), run=1)  # type: ignore[arg-type]
        return await self.backend.recover([row], frozenset({KEY}), same_boot)

    def stdout(self) -> str:
        files = self.backend.output(KEY)
        assert files is not None
        return files.stdout.read_text()


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    await rig.backend.close()
    assert rig.bugs == []


async def test_devices_belong_to_tasks(rig: Rig) -> None:
    shape = Shape(tasks=2, gpus_per_task=2)
    await rig.launch("sh", "-c", "echo $CUDA_VISIBLE_DEVICES", shape=shape, share=Share(0, 2, (0, 1, 2, 3)))
    await rig.end()
    assert sorted(rig.stdout().split()) == ["0,1", "2,3"]


@pytest.mark.parametrize(
    "command",
    [
        ("timeout", "2500", "sleep", "2000"),
        ("timeout", "-s", "CONT", "2500", "sh", "-c", "trap '' TERM; sleep 2000 & wait; wait"),
        ("sh", "-c", "[ $RAINBOW_TASK_ID = 0 ] || exec setsid sleep 2000"),
    ],
)
async def test_the_time_limit_reaches_tasks_that_left_their_group(rig: Rig, command: tuple[str, ...]) -> None:
    await rig.launch(*command, shape=Shape(tasks=2, time_limit_s=1.0), share=Share(0, 2))
    ended = await rig.end()
    assert isinstance(ended, RunEnded)
    assert (ended.fate, ended.reason) == ("failed", "time limit of 1 s exceeded")


async def test_an_image_that_was_accepted_under_another_configuration_is_handed_back(rig: Rig) -> None:
    work = JobRequest(command=["true"], image="docker://alpine").model_dump_json()
    await rig.backend.launch(Launch(KEY, 1, Shape(), work, (Share(0, 1),)))
    ended = await rig.next()
    assert isinstance(ended, RunEnded)
    assert (ended.fate, ended.reason) == (
        "returned",
        "this cluster runs plain processes; set container_command to run images",
    )


async def test_a_job_that_is_being_launched_has_not_ended(rig: Rig) -> None:
    """Its directory is there before its runner is: a reader must not take that for the end."""
    RunDir(rig.jobs, KEY, 1).prepare({}, launching.DRIVER)
    files = rig.backend.output(KEY)
    assert files is not None
    assert not files.ended


async def test_the_environment_is_not_kept(rig: Rig) -> None:
    await rig.launch("true")
    await rig.end()
    assert {file.name for file in RunDir(rig.jobs, KEY, 1).path.iterdir()} == {
        "claim",
        "result",
        "runner.log",
        "stderr",
        "stdout",
    }


async def test_what_cannot_be_watched_does_not_run(rig: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(local.os, "pidfd_open", full)
    await rig.launch("touch", "ran")
    assert await rig.next() == RunFenced(KEY, 1)
    assert not (tmp_path / "ran").exists()


async def test_a_runner_that_never_begins_is_not_tried_for_ever(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = rig.jobs.parent / "broken.py"
    broken.write_text("raise SystemExit('no good')\n")
    monkeypatch.setattr(LocalBackend, "_runner", lambda *_: broken)
    for run in range(1, LAUNCHES_MAX):
        await rig.launch("true", run=run)
        assert await rig.next() == RunFenced(KEY, run)
    await rig.launch("true", run=LAUNCHES_MAX)
    ended = await rig.next()
    assert isinstance(ended, RunEnded)
    assert (ended.fate, ended.reason) == ("returned", "the job's runner could not begin: no good")


async def test_the_runner_that_comes_second_runs_nothing(rig: Rig, tmp_path: Path) -> None:
    """The fence was there before the runner: an agent that was thought dead starts it late."""
    assert RunDir(rig.jobs, KEY, 1).fence()
    await rig.launch("touch", "ran")
    ended = await rig.next()
    assert ended == RunFenced(KEY, 1)
    assert not (tmp_path / "ran").exists()


async def test_only_one_of_many_runners_runs(rig: Rig, tmp_path: Path) -> None:
    directory = RunDir(rig.jobs, KEY, 1)
    launch = Launch(
        KEY, 1, Shape(), JobRequest(command=["sh", "-c", "echo x >> ran"]).model_dump_json(), (Share(0, 1),)
    )
    directory.prepare(specification(launch, rig.settings), launching.DRIVER)
    runners = [
        await asyncio.create_subprocess_exec(sys.executable, "-I", "-S", local.RUNNER, directory.path, stdout=PIPE)
        for _ in range(4)
    ]
    said = [(await process.communicate())[0] for process in runners]
    assert sorted(said) == [b"", b"", b"", b"1"]
    assert sorted(process.returncode or 0 for process in runners) == [0, *[runner.EXIT_CLAIMED] * 3]
    assert (tmp_path / "ran").read_text() == "x\n"


async def test_recover_without_a_claim_fences(rig: Rig) -> None:
    assert await rig.recover() == [RunFenced(KEY, 1)]
    # And a second agent that died before it could write that down comes to the same answer.
    assert await rig.recover() == [RunFenced(KEY, 1)]


async def test_a_reused_pid_is_not_taken_for_the_runner(rig: Rig) -> None:
    """The claim names this very process, but one that began at another time."""
    directory = RunDir(rig.jobs, KEY, 1)
    directory.path.mkdir(parents=True)
    claim = {"pid": os.getpid(), "start_ticks": 1, "boot_id": local.processes.boot_id()}
    (directory.path / "claim").write_bytes(orjson.dumps(claim))
    _, ended = await rig.recover()
    assert isinstance(ended, RunEnded)
    assert ended.fate == "lost"


async def test_a_result_counts_even_after_a_reboot(rig: Rig) -> None:
    await rig.launch("sh", "-c", "exit 7")
    await rig.end()
    began, ended = await rig.recover(same_boot=False)
    assert isinstance(began, RunBegan)
    assert isinstance(ended, RunEnded)
    assert (ended.fate, ended.exit_code) == ("failed", 7)


@pytest.mark.parametrize("same_boot", [True, False])
@pytest.mark.parametrize("claim", [None, b"", b"{}", b"\0\0\0"])
async def test_a_result_counts_without_a_claim(rig: Rig, claim: bytes | None, same_boot: bool) -> None:
    await rig.launch("sh", "-c", "exit 7")
    await rig.end()
    file = RunDir(rig.jobs, KEY, 1).path / "claim"
    file.unlink()
    if claim is not None:
        file.write_bytes(claim)
    began, ended = await rig.recover("running", same_boot)
    assert isinstance(began, RunBegan)
    assert began.native_id is None
    assert isinstance(ended, RunEnded)
    assert (ended.fate, ended.exit_code) == ("failed", 7)


@pytest.mark.parametrize("result", [None, b"", b'{"exit_code": 0, "si'])
async def test_what_the_power_cut_left_is_lost_and_not_run_again(rig: Rig, result: bytes | None) -> None:
    directory = RunDir(rig.jobs, KEY, 1)
    directory.path.mkdir(parents=True)
    (directory.path / "claim").touch()
    if result is not None:
        (directory.path / "result").write_bytes(result)
    *_, ended = await rig.recover()
    assert isinstance(ended, RunEnded)
    assert ended.fate == "lost"


def test_the_runner_writes_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is nearly full takes a part and then, with luck, the rest."""
    write = os.write
    monkeypatch.setattr(runner.os, "write", lambda fd, data: write(fd, data[:3]))
    path = runner.write_whole(str(tmp_path), "result.partial", {"kind": "exit", "exit_code": 0}, durable=False)
    assert orjson.loads(Path(path).read_bytes()) == {"kind": "exit", "exit_code": 0}


async def test_a_request_that_nobody_understands_fails_alone(rig: Rig) -> None:
    await rig.backend.launch(Launch(KEY, 1, Shape(), '{"command": []}', (Share(0, 1),)))
    ended = await rig.next()
    assert isinstance(ended, RunEnded)
    assert ended.fate == "failed"
    assert "does not understand the job's request" in ended.reason


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.ENOSPC])
async def test_a_machine_that_cannot_start_a_runner_gives_the_job_back(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail(*_: object, **__: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(launching.os, "posix_spawn", fail)
    await rig.launch("true")
    ended = await rig.next()
    assert isinstance(ended, RunEnded)
    assert (ended.fate, ended.exit_code) == ("returned", None)
    assert os.strerror(number) in ended.reason


async def test_a_workdir_that_is_gone_gives_the_job_back(rig: Rig, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    rig.backend._settings = replace(rig.settings, workdir=gone)
    await rig.launch("true")
    ended = await rig.next()
    assert isinstance(ended, RunEnded)
    assert (ended.fate, ended.exit_code) == ("returned", None)
    assert f"the working directory {gone} cannot be entered: No such file or directory" in ended.reason


async def test_a_runner_that_cannot_fork_has_run_nothing(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """It claims its run, but never says that it runs; an agent that comes later is told the same."""
    forkless = rig.jobs.parent / "forkless.py"
    refuse = "import os\ndef fork(): raise OSError(11, 'no more processes')\nos.fork = fork\n"
    forkless.write_text(refuse + local.RUNNER.read_text())
    monkeypatch.setattr(LocalBackend, "_runner", lambda *_: forkless)
    await rig.launch("true")
    ended = await rig.next()
    assert isinstance(ended, RunEnded)
    assert (ended.fate, ended.reason) == ("returned", "cannot start task 0: no more processes")
    assert await rig.recover() == [ended]


@pytest.mark.parametrize("text", ["", "plain", 'a "quoted" \\ word', "naïve 日本 🌈", "tab\tand\nnewline", "\x7f\x00"])
def test_the_runner_writes_json_that_others_read(text: str) -> None:
    document = {"words": text, "code": -3, "at": 1794991500.25, "none": None, "yes": True, "no": False}
    assert orjson.loads(runner.as_json(document)) == document
