"""An agent that is killed, and the one after it: never twice, and the true fate of every job."""

import asyncio
import base64
import os
import signal
from pathlib import Path
from typing import Any

import orjson
import pytest

from rainbow_agent.backends.processes import boot_id
from rainbow_agent.core.effects import AttemptRow, SaveAttempt
from rainbow_agent.core.model import Key, Shape, Share
from rainbow_agent.journal import Journal
from rainbow_protocol.job import JobRequest
from rainbow_protocol.job import Shape as WireShape
from rainbow_protocol.messages import agent as wire
from tests.integration.agent.conftest import StartAgent
from tests.integration.agent.fake_daemon import PATIENCE_S, FakeDaemon

WAIT_FOR_GO = "echo up >> ran; while [ ! -e go ]; do sleep 0.02; done; echo down >> ran; exit 5"


async def until_gone(pid: int) -> None:
    """Wait for the end of a process that is not our child, without polling."""
    fd = os.pidfd_open(pid)
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(fd, gone.set)
    try:
        async with asyncio.timeout(PATIENCE_S):
            await gone.wait()
    finally:
        loop.remove_reader(fd)
        os.close(fd)


async def test_a_running_job_is_adopted(daemon: FakeDaemon, start_agent: StartAgent, tmp_path: Path) -> None:
    first = await start_agent()
    await daemon.greet()
    ref = await daemon.start("sh", "-c", WAIT_FOR_GO)
    running = await daemon.report(ref, "running")
    await daemon.read(ref, wait_s=0.1)
    await daemon.ack(running)
    await first.kill()

    await start_agent()
    hello, inventory = await daemon.greet()
    assert [(item.job, item.phase) for item in inventory] == [(ref.job, "started")]
    assert hello.free is not None
    assert (hello.free.running, hello.free.cores) == (1, 3)
    (tmp_path / "go").touch()
    ended = await daemon.end(ref)
    assert (ended.event, ended.exit_code, ended.seq) == ("failed", 5, 2)
    assert (tmp_path / "ran").read_text() == "up\ndown\n"


async def test_an_adopted_job_can_be_cancelled(daemon: FakeDaemon, start_agent: StartAgent) -> None:
    first = await start_agent()
    await daemon.greet()
    ref = await daemon.start("sleep", "300")
    await daemon.report(ref, "running")
    await first.kill()
    await start_agent()
    await daemon.greet()
    await daemon.cancel(ref)
    assert (await daemon.end(ref)).event == "cancelled"


async def test_a_job_that_ended_meanwhile_is_told_truly(
    daemon: FakeDaemon, start_agent: StartAgent, tmp_path: Path
) -> None:
    first = await start_agent()
    await daemon.greet()
    ref = await daemon.start("sh", "-c", WAIT_FOR_GO)
    running = await daemon.report(ref, "running")
    assert running.native_id is not None
    await first.kill()
    (tmp_path / "go").touch()
    await until_gone(int(running.native_id))

    await start_agent()
    await daemon.greet()
    ended = await daemon.end(ref)
    assert (ended.event, ended.exit_code, ended.seq) == ("failed", 5, 2)
    await daemon.ack(ended)
    # Forgotten once acknowledged, but the output is still there.
    assert await daemon.output(ref) == (b"", b"")


async def test_a_job_whose_runner_died_with_the_agent_is_lost(daemon: FakeDaemon, start_agent: StartAgent) -> None:
    first = await start_agent()
    await daemon.greet()
    ref = await daemon.start("sh", "-c", "setsid sleep 300 & echo $!; wait")
    running = await daemon.report(ref, "running")
    assert running.native_id is not None
    [chunk] = (await daemon.read(ref, wait_s=10)).chunks
    escaped = int(base64.b64decode(chunk.data))
    await first.kill()
    os.kill(int(running.native_id), signal.SIGKILL)
    await start_agent()
    await daemon.greet()
    ended = await daemon.end(ref)
    assert (ended.event, ended.exit_code) == ("lost", None)
    assert "vanished without leaving a result" in ended.reason
    assert not Path(f"/proc/{escaped}/exe").exists(), "a process of the lost job is still there"


async def test_reports_are_repeated_until_acknowledged(daemon: FakeDaemon, start_agent: StartAgent) -> None:
    first = await start_agent()
    await daemon.greet()
    ref = await daemon.start("true")
    ended = await daemon.end(ref)
    await first.kill()

    second = await start_agent()
    _, inventory = await daemon.greet()
    assert [(item.job, item.phase) for item in inventory] == [(ref.job, "finished")]
    again = await daemon.end(ref)
    assert again == ended
    await daemon.ack(again)
    assert await second.stop() == 0

    await start_agent()
    _, inventory = await daemon.greet()
    assert inventory == []


async def test_an_acceptance_survives_and_can_be_started_or_released(
    daemon: FakeDaemon, start_agent: StartAgent
) -> None:
    first = await start_agent()
    await daemon.greet()
    wanted = await daemon.accept(JobRequest(command=["true"]))
    unwanted = await daemon.accept(JobRequest(command=["false"]))
    await first.kill()

    second = await start_agent()
    _, inventory = await daemon.greet()
    assert {item.job: item.phase for item in inventory} == {wanted.job: "accepted", unwanted.job: "accepted"}
    await daemon.send(wire.Releases(items=[unwanted]))
    await daemon.send(wire.Starts(items=[wanted]))
    ended = await daemon.end(wanted)
    assert ended.event == "completed"
    await daemon.ack(ended)
    assert await second.stop() == 0

    await start_agent()
    assert (await daemon.greet())[1] == []


async def test_stopping_hands_back_what_waits_and_leaves_what_runs(
    daemon: FakeDaemon, start_agent: StartAgent, tmp_path: Path
) -> None:
    first = await start_agent()
    await daemon.greet()
    running = await daemon.start("sh", "-c", WAIT_FOR_GO, shape=WireShape(nodes=2, tasks=2, cores_per_task=2))
    await daemon.ack(await daemon.report(running, "running"))
    queued = await daemon.start("true")
    await daemon.report(queued, "queued")
    first.process.send_signal(signal.SIGTERM)
    returned = await daemon.end(queued)
    assert (returned.event, returned.seq) == ("returned", 2)
    await daemon.ack(returned)
    assert await first.process.wait() == 0

    await start_agent()
    _, inventory = await daemon.greet()
    assert [(item.job, item.phase) for item in inventory] == [(running.job, "started")]
    (tmp_path / "go").touch()
    assert (await daemon.end(running)).exit_code == 5


async def test_a_machine_that_restarted_never_runs_a_job_again(
    daemon: FakeDaemon, start_agent: StartAgent, settings: dict[str, Any], tmp_path: Path
) -> None:
    key = journal_with_launch(settings, boot="another boot")
    await start_agent()
    await daemon.greet()
    ended = await daemon.end(wire.AttemptRef(job=key.job, attempt=key.attempt))
    assert (ended.event, ended.reason) == ("lost", "the machine was restarted before the job had ended")
    assert not (tmp_path / "ran").exists()


async def test_a_launch_that_never_began_is_fenced_and_repeated(
    daemon: FakeDaemon, start_agent: StartAgent, settings: dict[str, Any], tmp_path: Path
) -> None:
    """The agent died between writing its intent down and starting the runner."""
    key = journal_with_launch(settings, boot=boot_id())
    await start_agent()
    await daemon.greet()
    ended = await daemon.end(wire.AttemptRef(job=key.job, attempt=key.attempt))
    assert ended.event == "completed"
    assert (tmp_path / "ran").read_text() == "x\n"
    jobs = settings["state_dir"] / "jobs" / str(key)
    assert orjson.loads((jobs / "1" / "claim").read_bytes())["pid"] is None
    assert (jobs / "2" / "result").exists()


async def test_a_job_launched_before_the_welcome_knows_its_cluster(
    daemon: FakeDaemon, start_agent: StartAgent, settings: dict[str, Any], tmp_path: Path
) -> None:
    """The name is the daemon's, which an earlier agent was told; the configuration has another."""
    key = journal_with_launch(settings, boot=boot_id(), script="echo $RAINBOW_CLUSTER >> ran")
    journal = Journal(settings["state_dir"] / "journal.sqlite")
    journal.remember_cluster("tested")
    journal.close()
    await start_agent(name="other")
    await daemon.greet()  # long after the launch, which comes with restoring the journal
    await daemon.end(wire.AttemptRef(job=key.job, attempt=key.attempt))
    assert (tmp_path / "ran").read_text() == "tested\n"


def journal_with_launch(settings: dict[str, Any], boot: str, script: str = "echo x >> ran") -> Key:
    """A journal as an agent leaves it that died just before it started a runner."""
    settings["state_dir"].mkdir()
    journal = Journal(settings["state_dir"] / "journal.sqlite")
    key = Key("000000000001", 1)
    work = JobRequest(command=["sh", "-c", script]).model_dump_json()
    row = AttemptRow(key, "launching", Shape(), work, run=1, place=1, assignment=(Share(0, 1),), since=1.8e9)
    journal.commit([SaveAttempt(row)], boot)
    journal.close()
    return key


async def test_the_kill_at_any_moment(daemon: FakeDaemon, start_agent: StartAgent, tmp_path: Path) -> None:
    """However soon after `start` the agent dies, the job runs exactly once and its end is told."""
    for delay_ms in (0, 1, 2, 4, 8, 16, 32):
        agent = await start_agent()
        await daemon.greet()
        ref = await daemon.start("sh", "-c", f"echo {delay_ms} >> ran; exit 4")
        await asyncio.sleep(delay_ms / 1000)  # not to wait for something: the moment is what varies
        await agent.kill()
        last = await start_agent()
        await daemon.greet()
        await daemon.send(wire.Starts(items=[ref]))
        ended = await daemon.end(ref)
        assert (ended.event, ended.exit_code) == ("failed", 4)
        await daemon.ack(ended)
        assert await last.stop() == 0
    assert (tmp_path / "ran").read_text().split() == ["0", "1", "2", "4", "8", "16", "32"]


@pytest.mark.parametrize("clean", [True, False])
async def test_two_agents_never_share_a_directory(daemon: FakeDaemon, start_agent: StartAgent, clean: bool) -> None:
    first = await start_agent()
    await daemon.greet()
    second = await start_agent()
    _, words = await second.process.communicate()
    assert second.process.returncode == 4
    assert b"another rainbow-agent is using the state directory" in words
    await (first.stop() if clean else first.kill())
    await start_agent()
    await daemon.greet()
