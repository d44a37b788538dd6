"""Jobs of several tasks, run as real processes by a real agent."""

import base64
import os
import select
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from rainbow_protocol.job import Dependency, JobRequest, Shape
from rainbow_protocol.messages import agent as wire
from rainbow_protocol.program import Group, Program, Task, TaskCount
from rainbow_protocol.resources import Constraint
from tests.integration.agent.conftest import running_agent
from tests.integration.agent.fake_daemon import FakeDaemon


def sh(name: str | None, script: str, **more: Any) -> Task:
    return Task(name=name, command=["sh", "-c", script], **more)


async def run(daemon: FakeDaemon, program: Program, **more: Any) -> tuple[wire.Report, list[str], list[str]]:
    """How it ended, and the lines of both streams."""
    ref = await daemon.start("program", program=program, **more)
    ended = await daemon.end(ref)
    out, err = await daemon.output(ref)
    return ended, out.decode().splitlines(), err.decode().splitlines()


@pytest.mark.usefixtures("agent")
class TestProgram:
    async def test_tasks_run_one_after_the_other_in_the_order_that_they_ask_for(self, daemon: FakeDaemon) -> None:
        program = Program(
            tasks=[
                sh("test", "echo test", depends_on=["build"]),
                sh("fetch", "sleep 0.1; echo fetch"),
                Task(group="all", depends_on=["test"]),
                sh("build", "sleep 0.05; echo build", depends_on=["fetch"]),
            ],
            groups=[
                Group(name="all", tasks=[sh(None, "echo inside"), Task(group="deeper")]),
                Group(name="deeper", tasks=[sh("d", "echo $RAINBOW_TASK_NAME $RAINBOW_REPLICA", replicas=3)]),
            ],
        )
        ended, out, err = await run(daemon, program)
        assert (ended.event, ended.exit_code) == ("completed", 0)
        assert out == ["fetch", "build", "test", "inside", "d 0", "d 1", "d 2"]
        assert err == []

    async def test_a_failure_stops_what_waits_for_it_and_nothing_else(self, daemon: FakeDaemon) -> None:
        program = Program(
            tasks=[
                sh("build", "exit 3"),
                sh("test", "echo never", depends_on=["build"]),
                sh("publish", "echo never", depends_on=["test"]),
                sh("lint", "echo lint; exit 4"),
                sh("docs", "echo docs"),
            ]
        )
        ended, out, err = await run(daemon, program)
        assert (ended.event, ended.exit_code, ended.reason) == ("failed", 3, "exit code 3")
        assert out == ["lint", "docs"]
        assert err == [
            "rainbow: task build: exit code 3",
            "rainbow: task test: not run, because of task build",
            "rainbow: task publish: not run, because of task test",
            "rainbow: task lint: exit code 4",
        ]

    async def test_what_went_wrong_is_said_of_each_task(self, daemon: FakeDaemon) -> None:
        program = Program(
            tasks=[
                Task(name="missing", command=["no-such-command"]),
                Task(name="away", command=["true"], cwd="/no/such/place"),
                sh("killed", "kill -9 $$"),
                Task(group="g", name="part"),
                sh("some", "[ $RAINBOW_REPLICA != 1 ]", replicas=3),
            ],
            groups=[Group(name="g", tasks=[sh("inner", "exit 5")])],
        )
        ended, _, err = await run(daemon, program)
        assert (ended.event, ended.exit_code) == ("failed", 127)
        assert err == [
            "rainbow: task missing: command not found: no-such-command",
            "rainbow: task away: cannot enter the working directory /no/such/place: No such file or directory",
            "rainbow: task killed: killed by signal 9",
            "rainbow: task g/inner: exit code 5",
            "rainbow: task some (replica 2 of 3): exit code 1",
        ]

    async def test_environment_and_directory_of_a_task(self, daemon: FakeDaemon, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        script = 'echo "${A-unset} ${B-unset} ${C-unset} ${LC_CTYPE-unset} $RAINBOW_JOB_ID $PWD $(pwd)"'
        program = Program(
            tasks=[
                sh("plain", script),
                sh("other", script, env={"A": None, "B": "mine", "C": "more", "RAINBOW_JOB_ID": "x"}, cwd="sub"),
            ]
        )
        ref = await daemon.start("program", program=program, env={"A": "a", "B": "b"}, cwd=str(tmp_path))
        assert (await daemon.end(ref)).event == "completed"
        out, _ = await daemon.output(ref)
        assert out.decode().splitlines() == [
            f"a b unset unset {ref.job} {tmp_path} {tmp_path}",
            f"unset mine more unset {ref.job} {tmp_path}/sub {tmp_path}/sub",
        ]

    async def test_a_task_has_as_many_processes_as_it_counts(self, daemon: FakeDaemon) -> None:
        script = "echo $RAINBOW_TASK_ID/$RAINBOW_NTASKS $RAINBOW_NODE $RAINBOW_NNODES"
        program = Program(tasks=[sh("all", script), sh("one", script, count=TaskCount(total=1))])
        _, out, _ = await run(daemon, program, shape=Shape(nodes=2, tasks=4))
        assert sorted(out[:4]) == ["0/4 node0 2", "1/4 node0 2", "2/4 node1 2", "3/4 node1 2"]
        assert out[4:] == ["0/1 node0 2"]

    async def test_what_a_task_leaves_behind_holds_nobody_up_and_is_ended(self, daemon: FakeDaemon) -> None:
        program = Program(tasks=[sh("a", "sleep 600 & echo $!"), sh("b", "echo next")])
        ended, out, _ = await run(daemon, program)
        assert ended.event == "completed"
        pid, following = out
        assert following == "next"
        assert not Path(f"/proc/{pid}").exists()

    @pytest.mark.parametrize(
        "script",
        [
            "echo up; sleep 600",
            "echo up; trap '' TERM; while :; do sleep 0.05; done",
            "echo up; exec timeout 2500 sleep 2000",
            "echo up; exec setsid sleep 2000",
        ],
    )
    async def test_cancel_ends_the_task_that_runs_and_starts_no_other(
        self, daemon: FakeDaemon, tmp_path: Path, script: str
    ) -> None:
        program = Program(tasks=[sh("a", script), sh("b", f"touch {tmp_path}/second")])
        ref = await daemon.start("program", program=program)
        await daemon.read(ref, wait_s=20)
        await daemon.cancel(ref)
        ended = await daemon.end(ref)
        assert (ended.event, ended.exit_code) == ("cancelled", None)
        assert not (tmp_path / "second").exists()

    async def test_nothing_of_a_program_outlives_its_runner(self, daemon: FakeDaemon) -> None:
        program = Program(tasks=[sh("a", "echo $$ $PPID; exec sleep 600"), sh("b", "echo never")])
        ref = await daemon.start("program", program=program)
        running = await daemon.report(ref, "running")
        told = await daemon.read(ref, wait_s=20)
        task, driver = base64.b64decode(told.chunks[0].data).split()
        both = [os.pidfd_open(int(pid)) for pid in (task, driver)]
        assert running.native_id is not None
        os.kill(int(running.native_id), signal.SIGKILL)
        ended = await daemon.end(ref)
        assert (ended.event, ended.exit_code) == ("lost", None)
        for pidfd in both:  # readable when its process has ended
            assert select.select([pidfd], [], [], 20)[0]
            os.close(pidfd)

    async def test_the_time_limit_is_for_all_tasks_together(self, daemon: FakeDaemon) -> None:
        program = Program(tasks=[sh("round", "sleep 0.2", replicas=1000)])
        ended, _, _ = await run(daemon, program, shape=Shape(time_limit_s=0.7))
        assert (ended.event, ended.exit_code, ended.reason) == ("failed", 124, "time limit of 0.7 s exceeded")

    async def test_a_program_is_not_kept_nor_shown_to_others(self, daemon: FakeDaemon, tmp_path: Path) -> None:
        gate = Program(tasks=[sh("a", "echo up; until [ -e gate ]; do sleep 0.02; done", env={"SECRET": "word"})])
        ref = await daemon.start("program", program=gate)
        await daemon.read(ref, wait_s=20)
        [directory] = (tmp_path / "state" / "jobs").glob(f"{ref.job}.*/1")
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert not (directory / "program").exists()
        assert not (directory / "spec").exists()
        (tmp_path / "gate").touch()
        assert (await daemon.end(ref)).event == "completed"

    async def test_task_count_without_a_program(self, daemon: FakeDaemon) -> None:
        ref = await daemon.start(
            "sh",
            "-c",
            "echo $RAINBOW_TASK_ID/$RAINBOW_NTASKS $RAINBOW_NODE",
            shape=Shape(nodes=2, tasks=2),
            task_count=TaskCount(total=5),
        )
        assert (await daemon.end(ref)).event == "completed"
        out, _ = await daemon.output(ref)
        assert sorted(out.decode().splitlines()) == ["0/5 node0", "1/5 node0", "2/5 node0", "3/5 node1", "4/5 node1"]

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            ({"image": "docker://alpine"}, "set container_command to run images"),
            ({"dependencies": [Dependency(scheme="afterok", value="x")]}, "cannot make one job wait for another"),
            ({"queue": "debug"}, "there is no queue 'debug'"),
            ({"constraint": Constraint(op="hostlist", values=["node0"])}, "the constraint holds for 1 of 2"),
            ({"program": Program(tasks=[Task(group="g")])}, "which the program does not have"),
        ],
    )
    async def test_what_cannot_be_done_here_is_refused(
        self, daemon: FakeDaemon, more: dict[str, Any], words: str
    ) -> None:
        request = JobRequest(command=["true"], **more)
        job = daemon.new_job()
        offer = wire.Offer(
            job=job,
            attempt=1,
            shape=request.shape,
            constraint=request.constraint,
            queue=request.queue,
            image=request.image is not None,
            dependencies=bool(request.dependencies),
            deadline_ms=1000,
            hold_s=30.0,
        )
        await daemon.send(wire.Offers(items=[offer]))
        [bid] = (await daemon.expect(wire.Bids)).items
        if "program" not in more:  # an offer does not tell of it
            assert bid.answer == "no"
            assert words in bid.reason
        await daemon.send(wire.Awards(items=[wire.Award(job=job, attempt=1, request=request)]))
        [answer] = (await daemon.expect(wire.AwardAnswers)).items
        assert answer.answer == "refuse"
        assert words in answer.reason
        # Nothing is held for it: all four cores are free for the next.
        [bid] = await daemon.offer(Shape(tasks=4))
        assert bid.eta_s == 0.0

    async def test_an_exclusive_job_has_its_node_alone(self, daemon: FakeDaemon) -> None:
        alone = await daemon.start("sleep", "60", shape=Shape(exclusive=True))
        await daemon.report(alone, "running")
        [wide, small, late] = await daemon.offer(
            Shape(tasks=3, time_limit_s=5.0), Shape(tasks=2, time_limit_s=5.0), Shape(exclusive=True)
        )
        assert wide.eta_s is not None
        assert wide.eta_s > 0
        assert small.eta_s == 0.0
        assert late.eta_s is not None
        assert late.eta_s > 0
        await daemon.cancel(alone)
        await daemon.end(alone)


async def test_images_run_as_the_configuration_says(
    daemon: FakeDaemon, settings: dict[str, Any], tmp_path: Path
) -> None:
    container = tmp_path / "container"
    container.write_text('#!/bin/sh\necho "in $1"; shift; exec "$@"\n')
    container.chmod(0o755)
    settings["container_command"] = [str(container), "{image}"]
    async with running_agent(settings):
        await daemon.greet()
        ref = await daemon.start("sh", "-c", "echo plain $RAINBOW_IMAGE", image="docker://alpine")
        await daemon.end(ref)
        assert (await daemon.output(ref))[0] == b"in docker://alpine\nplain docker://alpine\n"
        ref = await daemon.start("program", image="oci:x", program=Program(tasks=[sh("a", "echo program")]))
        await daemon.end(ref)
        assert (await daemon.output(ref))[0] == b"in oci:x\nprogram\n"


async def test_images_may_be_ignored(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    async with running_agent({**settings, "images": "ignore"}):
        await daemon.greet()
        ref = await daemon.start("sh", "-c", "echo plain $RAINBOW_IMAGE", image="docker://alpine")
        await daemon.end(ref)
        assert (await daemon.output(ref))[0] == b"plain docker://alpine\n"
