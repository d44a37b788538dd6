"""Jobs to their ends: exit codes, signals, limits, output, cancel, and a thousand at once."""

import json
import signal

import pytest

from rainbow_client.config import read_config
from rainbow_client.sync import Client
from rainbow_protocol.job import JobRequest
from tests.acceptance.commands import Commands

pytestmark = pytest.mark.xdist_group("jobs")


@pytest.mark.parametrize(
    ("script", "code"),
    [("exit 0", 0), ("exit 3", 3), ("kill -KILL $$", 128 + signal.SIGKILL), ("kill -TERM $$", 128 + signal.SIGTERM)],
)
def test_wait_exits_as_the_job_did(shared: Commands, script: str, code: int) -> None:
    shared.run("submit", "--wait", "--", "sh", "-c", script, code=code)


def test_a_job_over_its_time_limit_fails_and_says_why(shared: Commands) -> None:
    done = shared.run("submit", "--wait", "-t", "1", "--name", "too-slow", "--", "sleep", "600", code=None)
    assert done.returncode not in (0, 1, 2)
    job = next(job for job in shared.json("jobs") if job["name"] == "too-slow")
    assert job["state"] == "failed"
    assert "time limit" in job["reason"]


def test_a_command_that_does_not_exist_fails_in_words(shared: Commands) -> None:
    job = shared.submit("--", "no-such-command-anywhere")
    shared.run("wait", job, code=None)
    status = shared.json("status", job)
    assert status["state"] == "failed"
    assert status["exit_code"] == 127
    assert "no-such-command-anywhere" in status["reason"]


def test_two_tasks_run_twice_with_their_environment(shared: Commands) -> None:
    script = "echo $GREETING $RAINBOW_TASK_ID of $RAINBOW_NTASKS"
    done = shared.run("submit", "--wait", "-n", "2", "--env", "GREETING=hello", "--", "sh", "-c", script)
    job = shared.json("jobs")[0]["job"]
    assert done.returncode == 0
    assert sorted(shared.run("logs", job).stdout.split("\n")) == ["", "hello 0 of 2", "hello 1 of 2"]


def test_stdout_and_stderr_are_kept_apart(shared: Commands) -> None:
    job = shared.submit("--", "sh", "-c", "echo out; echo err >&2")
    shared.run("wait", job)
    read = shared.run("logs", job)
    assert read.stdout == "out\n"
    assert "err\n" in read.stderr


def test_the_working_directory_is_the_jobs(shared: Commands) -> None:
    where = shared.directory / "somewhere"
    where.mkdir()
    job = shared.submit("--cwd", str(where), "--", "pwd")
    shared.run("wait", job)
    assert shared.run("logs", job).stdout == f"{where}\n"


def test_logs_follow_a_running_job_to_its_end(shared: Commands) -> None:
    gate = shared.directory / "gate"
    script = f"echo first; until [ -e {gate} ]; do sleep 0.05; done; echo last"
    job = shared.submit("--", "sh", "-c", script)
    following = shared.start("logs", "-f", job)
    assert following.stdout is not None
    assert following.stdout.readline() == "first\n"
    assert following.poll() is None
    gate.touch()
    rest, _ = following.communicate(timeout=60)
    assert rest == "last\n"
    assert following.returncode == 0


def test_watch_streams_events_and_output(shared: Commands) -> None:
    done = shared.run("submit", "--watch", "--json", "--", "sh", "-c", "echo hello; exit 3", code=3)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    events = [line["event"] for line in lines if "event" in line]
    assert events[0] == "submitted"
    assert events[-1] == "failed"
    assert "hello" in done.stdout


def test_cancel_while_queued_and_running(shared: Commands) -> None:
    runs = shared.submit("--cluster", "small", "-c", "2", "--", "sleep", "600")
    waits = shared.submit("--cluster", "small", "-c", "2", "--", "sleep", "600")
    shared.until_state(runs, "running")
    shared.until_state(waits, "queued")
    shared.run("cancel", waits)
    assert shared.until_state(waits, "cancelled") == "cancelled"
    shared.run("cancel", runs)
    assert shared.until_state(runs, "cancelled") == "cancelled"
    history = [line["event"] for line in shared.json("explain", runs)["history"]]
    assert "cancel_requested" in history


def test_a_thousand_jobs_in_one_go_all_complete(shared: Commands) -> None:
    marks = shared.directory / "thousand"
    request = JobRequest(command=["sh", "-c", f"echo $RAINBOW_JOB_ID >> {marks}"])
    with Client.from_config(read_config(shared.directory / "rainbow-config.yaml")) as client:
        jobs = [result.job for result in client.submit_many([request] * 1000) if result.job is not None]
        ends = client.wait(jobs)
    assert len(jobs) == 1000
    assert {end.state for end in ends} == {"completed"}
    assert sorted(marks.read_text().split()) == sorted(jobs)
