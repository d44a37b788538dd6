"""Jobs from offer to ack, run as real processes by a real agent."""

import os
import signal
import time
from pathlib import Path

import pytest

from rainbow_protocol.job import JobRequest, Shape
from rainbow_protocol.messages import agent as wire
from rainbow_protocol.messages.common import Error
from tests.integration.agent.fake_daemon import FakeDaemon

pytestmark = pytest.mark.usefixtures("agent")


async def test_a_job_runs_and_is_reported(daemon: FakeDaemon) -> None:
    before = time.time()
    ref = await daemon.start("sh", "-c", "echo out; echo err >&2")
    running = await daemon.report(ref, "running")
    ended = await daemon.end(ref)
    assert (running.seq, ended.seq) == (1, 2)
    assert (ended.event, ended.exit_code, ended.reason) == ("completed", 0, "")
    assert running.native_id is not None
    assert before - 1 < running.at <= ended.at < time.time() + 1
    assert await daemon.output(ref) == (b"out\n", b"err\n")


@pytest.mark.parametrize(
    ("command", "code", "reason"),
    [
        (["sh", "-c", "exit 3"], 3, "exit code 3"),
        (["sh", "-c", "kill -9 $$"], 137, "killed by signal 9 (SIGKILL)"),
        (["no-such-command"], 127, "command not found: no-such-command"),
        (["/"], 126, "cannot run /: Permission denied"),
    ],
)
async def test_a_failure_says_why(daemon: FakeDaemon, command: list[str], code: int, reason: str) -> None:
    ended = await daemon.end(await daemon.start(*command))
    assert (ended.event, ended.exit_code, ended.reason) == ("failed", code, reason)


async def test_a_directory_that_is_not_there(daemon: FakeDaemon) -> None:
    ended = await daemon.end(await daemon.start("true", cwd="/no/such/place"))
    assert ended.event == "failed"
    assert ended.reason == "cannot enter the working directory /no/such/place: No such file or directory"


async def test_the_time_limit_is_enforced(daemon: FakeDaemon) -> None:
    ended = await daemon.end(await daemon.start("sleep", "60", shape=Shape(time_limit_s=0.2)))
    assert (ended.event, ended.exit_code, ended.reason) == ("failed", 124, "time limit of 0.2 s exceeded")


async def test_cancel_ends_a_running_job(daemon: FakeDaemon) -> None:
    ref = await daemon.start("sleep", "60")
    await daemon.report(ref, "running")
    await daemon.cancel(ref)
    ended = await daemon.end(ref)
    assert (ended.event, ended.exit_code) == ("cancelled", None)


async def test_cancel_ends_a_job_that_ignores_it(daemon: FakeDaemon) -> None:
    ref = await daemon.start("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done")
    await daemon.read(ref, wait_s=10)
    await daemon.cancel(ref)
    assert (await daemon.end(ref)).event == "cancelled"


async def test_cancel_at_once_after_start(daemon: FakeDaemon) -> None:
    ref = await daemon.start("sleep", "60")
    await daemon.cancel(ref)
    assert (await daemon.end(ref)).event == "cancelled"


async def test_cancel_of_a_queued_job(daemon: FakeDaemon) -> None:
    first = await daemon.start("sleep", "60", shape=Shape(tasks=4))
    second = await daemon.start("sleep", "60", shape=Shape(tasks=4))
    assert (await daemon.report(second, "queued")).seq == 1
    await daemon.cancel(second)
    ended = await daemon.end(second)
    assert (ended.event, ended.reason, ended.seq) == ("cancelled", "cancelled before it ran", 2)
    await daemon.cancel(first)
    await daemon.end(first)


async def test_a_queued_job_runs_when_its_turn_comes(daemon: FakeDaemon) -> None:
    first = await daemon.start("sh", "-c", "while [ ! -e go ]; do sleep 0.01; done", shape=Shape(tasks=4))
    second = await daemon.start("touch", "done", shape=Shape(tasks=1))
    await daemon.report(second, "queued")
    third = await daemon.start("touch", "go")
    await daemon.cancel(first)
    await daemon.end(first)
    assert (await daemon.end(second)).event == "completed"
    assert (await daemon.end(third)).event == "completed"


async def test_every_task_knows_who_it_is(daemon: FakeDaemon) -> None:
    script = "echo $RAINBOW_TASK_ID/$RAINBOW_NTASKS on $RAINBOW_NODE of $RAINBOW_NNODES in $RAINBOW_CLUSTER"
    ref = await daemon.start("sh", "-c", script, shape=Shape(nodes=2, tasks=3))
    assert (await daemon.end(ref)).event == "completed"
    out, _ = await daemon.output(ref)
    assert sorted(out.decode().splitlines()) == [
        "0/3 on node0 of 2 in tested",
        "1/3 on node0 of 2 in tested",
        "2/3 on node1 of 2 in tested",
    ]


async def test_the_worst_task_decides(daemon: FakeDaemon) -> None:
    ref = await daemon.start("sh", "-c", "exit $RAINBOW_TASK_ID", shape=Shape(tasks=3))
    ended = await daemon.end(ref)
    assert (ended.event, ended.exit_code) == ("failed", 2)


async def test_the_environment_is_clean(daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAINBOW_AGENT_SECRET", "hidden")
    monkeypatch.setenv("SOME_VARIABLE_OF_THE_AGENT", "hidden")
    ref = await daemon.start("env", env={"MINE": "here", "RAINBOW_JOB_ID": "forged"})
    await daemon.end(ref)
    out, _ = await daemon.output(ref)
    lines = out.decode().splitlines()
    assert "hidden" not in out.decode()
    assert "MINE=here" in lines
    assert f"RAINBOW_JOB_ID={ref.job}" in lines
    assert "RAINBOW_ATTEMPT=1" in lines
    assert "RAINBOW_TASK_ID=0" in lines


async def test_nothing_is_left_behind(daemon: FakeDaemon, tmp_path: Path) -> None:
    """Children in the background end with their job, also those that went into a session of their own."""
    script = "sleep 300 & echo $! >> pids; setsid sleep 300 & echo $! >> pids; exit 0"
    ref = await daemon.start("sh", "-c", script)
    assert (await daemon.end(ref)).event == "completed"
    for pid in (tmp_path / "pids").read_text().split():
        assert not Path(f"/proc/{pid}").exists()


async def test_a_runner_that_is_killed_means_lost(daemon: FakeDaemon, tmp_path: Path) -> None:
    """And nothing of the job survives it."""
    ref = await daemon.start("sh", "-c", "setsid sh -c 'echo $$ > pid; exec sleep 300' & echo up; sleep 300")
    running = await daemon.report(ref, "running")
    await daemon.read(ref, wait_s=10)
    assert running.native_id is not None
    os.kill(int(running.native_id), signal.SIGKILL)
    ended = await daemon.end(ref)
    assert (ended.event, ended.exit_code) == ("lost", None)
    assert ended.reason == "the job's runner vanished without leaving a result"
    assert await daemon.output(ref) == (b"up\n", b"")


async def test_start_of_an_unknown_attempt_runs_nothing(daemon: FakeDaemon) -> None:
    job = daemon.new_job()
    await daemon.send(wire.Starts(items=[wire.AttemptRef(job=job, attempt=1)]))
    assert job in (await daemon.expect(Error)).message


async def test_a_second_start_is_harmless(daemon: FakeDaemon, tmp_path: Path) -> None:
    ref = await daemon.start("sh", "-c", "echo once >> ran")
    await daemon.send(wire.Starts(items=[ref, ref]))
    await daemon.end(ref)
    await daemon.send(wire.Starts(items=[ref]))
    second = await daemon.start("true")
    await daemon.end(second)
    assert (tmp_path / "ran").read_text() == "once\n"


async def test_the_state_is_pushed(daemon: FakeDaemon) -> None:
    ref = await daemon.start("sleep", "60")
    busy = await daemon.expect(wire.ClusterState, lambda state: state.free.running == 1)
    assert (busy.free.nodes, busy.free.cores) == (1, 3)
    await daemon.cancel(ref)
    await daemon.expect(wire.ClusterState, lambda state: state.free.running == 0)


async def test_many_offers_are_answered_at_once(daemon: FakeDaemon) -> None:
    began = time.perf_counter()
    bids = await daemon.offer(*[Shape(tasks=2, time_limit_s=60.0 + index % 7) for index in range(1000)])
    assert time.perf_counter() - began < 2.0
    assert len(bids) == 1000
    etas = [bid.eta_s for bid in bids if bid.eta_s is not None]
    assert len(etas) == 1000
    assert etas.count(0.0) == 2  # four cores hold two of them; the others have been promised a later place


async def test_a_member_of_an_array_knows_which_one_it_is(daemon: FakeDaemon) -> None:
    request = JobRequest(command=["sh", "-c", "echo $RAINBOW_ARRAY_ID $RAINBOW_ARRAY_INDEX"], shape=Shape())
    array, job = daemon.new_job(), daemon.new_job()
    award = wire.Award(job=job, attempt=1, request=request, array=array, array_index=7)
    await daemon.send(wire.Awards(items=[award]))
    [answer] = (await daemon.expect(wire.AwardAnswers)).items
    assert answer.answer == "accept"
    ref = wire.AttemptRef(job=job, attempt=1)
    await daemon.send(wire.Starts(items=[ref]))
    assert (await daemon.end(ref)).event == "completed"
    assert await daemon.output(ref) == (f"{array} 7\n".encode(), b"")


async def test_a_job_that_waits_goes_elsewhere_and_one_that_runs_does_not(daemon: FakeDaemon, tmp_path: Path) -> None:
    whole = Shape(nodes=2, tasks=4, time_limit_s=600.0)
    running = await daemon.start("sleep", "600", shape=whole)
    await daemon.report(running, "running")
    waiting = await daemon.start("touch", str(tmp_path / "ran"), shape=whole)
    await daemon.report(waiting, "queued")
    question = wire.Offer(job=waiting.job, attempt=2, shape=whole, waits_here=1, deadline_ms=1000, hold_s=30.0)
    await daemon.send(wire.Offers(items=[question]))
    [answer] = (await daemon.expect(wire.Bids)).items
    assert (answer.attempt, answer.answer) == (2, "yes")
    assert answer.eta_s is not None
    assert 0 < answer.eta_s <= 600.0
    await daemon.send(wire.Withdrawals(items=[running, waiting]))
    returned = await daemon.end(waiting)
    assert (returned.event, returned.reason) == ("returned", "withdrawn: it goes elsewhere")
    await daemon.cancel(running)
    assert (await daemon.end(running)).event == "cancelled"
    # The cluster is free, and what was handed back is not run.
    assert (await daemon.end(await daemon.start("true", shape=whole))).event == "completed"
    assert not (tmp_path / "ran").exists()
