"""What `explain`, `status`, `jobs`, `cancel` and `logs` tell a person about jobs."""

import re
from pathlib import Path

import orjson
import pytest

from tests.unit.client.conftest import Rainbow
from tests.unit.client.fake_daemon import FakeDaemon, Message, event, status

JOB = "000000000001"


async def test_explain_of_a_job_that_waits(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    verdicts = [{"cluster": "one", "verdict": "filtered", "reason": "offline"}]
    explanation = {
        "type": "explanation",
        "job": JOB,
        "state": "pending",
        "reason": "all are offline",
        "policy": "earliest",
        "clusters": verdicts,
        "bids": [],
        "winner": None,
        "history": [
            event(JOB, 1, "submitted", "pending", tasks=1),
            event(JOB, 2, "waiting", "pending", clusters=verdicts),
        ],
    }
    daemon.handlers["explain"] = lambda _: [explanation]
    story = (await rainbow("explain", JOB)).out
    assert story.startswith(f"Job {JOB}  pending: all are offline\n")
    assert "No auction" in story
    assert "one      offline" in story
    document = orjson.loads((await rainbow("explain", "--json", JOB)).out)
    assert document["history"][1] == {"at": 2.0, "event": "waiting", "clusters": verdicts, "seq": 2, "state": "pending"}


async def test_explain_of_a_rejected_job_says_each_thing_once(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon
) -> None:
    verdicts = [{"cluster": "one", "verdict": "filtered", "reason": "needs 8 cores"}]
    explanation = {
        "type": "explanation",
        "job": JOB,
        "state": "rejected",
        "reason": "no cluster can hold it",
        "request": {"command": ["echo", "a b"], "shape": {"tasks": 2, "cores_per_task": 4}, "clusters": ["one"]},
        "policy": "earliest",
        "clusters": verdicts,
        "bids": [],
        "winner": None,
        "history": [
            event(JOB, 1, "submitted", "pending", tasks=2),
            event(JOB, 2, "rejected", "rejected", clusters=verdicts, reason="no cluster can hold it"),
        ],
    }
    daemon.handlers["explain"] = lambda _: [explanation]
    story = (await rainbow("explain", JOB)).out
    assert story.count("needs 8 cores") == 1
    assert story.count("no cluster can hold it") == 1
    assert "Command echo 'a b'\nAsks for 2 tasks, 4 cores each, no time limit, only on one\n" in story
    assert re.search(r"^Submitted \d{4}-\d\d-\d\d \d\d:\d\d:\d\d$", story, re.MULTILINE)
    document = orjson.loads((await rainbow("explain", "--json", JOB)).out)
    assert document["request"]["command"] == ["echo", "a b"]


async def test_status_shows_the_command(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    answer = {"type": "jobs", "items": [status(JOB, command="echo 'a b'")]}
    daemon.handlers["status"] = daemon.handlers["list"] = lambda _: [answer]
    assert "echo 'a b'" in (await rainbow("status", JOB)).out
    assert orjson.loads((await rainbow("status", "--json", JOB)).out)["command"] == "echo 'a b'"


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("", "is being cancelled: its cluster was told (running)"),
        ("medium is offline", "is being cancelled: medium is offline (running)"),
    ],
)
async def test_cancel_says_only_what_is_true(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon, reason: str, words: str
) -> None:
    item = {"job": JOB, "state": "running", "outcome": "cancelling", "reason": reason}
    daemon.handlers["cancel"] = lambda _: [{"type": "cancel_answer", "items": [item]}]
    assert (await rainbow("cancel", JOB)).out == f"{JOB} {words}\n"


@pytest.mark.parametrize("follow", [(), ("-f",)])
async def test_logs_of_a_job_that_never_ran(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon, follow: tuple[str, ...]
) -> None:
    no_output = {"type": "error", "code": "no_output", "message": "has never run", "hint": "Wait"}
    history = {"type": "events", "items": [event(JOB, 1, "rejected", "rejected")], "live": True}
    daemon.handlers |= {
        "logs": lambda _: [no_output],
        "watch": lambda _: [history],
        "status": lambda _: [{"type": "jobs", "items": [status(JOB, "rejected")]}],
    }
    done = await rainbow("logs", *follow, JOB)
    assert done.code == 77
    assert "is rejected: it never ran, so there is no output" in done.err
    assert "Wait" not in done.err


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "error", "code": "no_output", "message": "has never run", "hint": "Wait"},
        {"type": "logs_answer", "chunks": [], "done": False},  # it waits in the cluster's queue
    ],
)
async def test_logs_of_a_job_that_has_not_started(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon, answer: Message
) -> None:
    waiting = {"type": "jobs", "items": [status(JOB, "queued")]}
    daemon.handlers |= {"logs": lambda _: [answer], "status": lambda _: [waiting]}
    done = await rainbow("logs", JOB)
    assert done.code == 77
    assert f"has not started yet\n  `rainbow logs -f {JOB}` waits for it." in done.err


async def test_logs_of_a_silent_job_are_silent(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    ran = {"type": "jobs", "items": [status(JOB, started_at=2.0)]}
    nothing = {"type": "logs_answer", "chunks": [], "done": True}
    daemon.handlers |= {"logs": lambda _: [nothing], "status": lambda _: [ran]}
    done = await rainbow("logs", JOB)
    assert (done.code, done.out, done.err) == (0, "", "")


async def test_following_says_once_that_the_cluster_is_away(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon
) -> None:
    away = {"type": "error", "code": "cluster_offline", "message": "one is offline", "hint": ""}
    answers = [away, away, {"type": "logs_answer", "chunks": [], "done": True}]
    running = {"type": "jobs", "items": [status(JOB, "running", started_at=2.0)]}
    daemon.handlers |= {"logs": lambda _: [answers.pop(0)], "status": lambda _: [running]}
    done = await rainbow("logs", "-f", JOB)
    assert (done.code, done.err) == (0, "rainbow: one is offline; waiting for it\n")


async def test_the_exit_code_is_told_once(rainbow: Rainbow, configured: Path, daemon: FakeDaemon) -> None:
    failed = [status(JOB, "failed", exit_code=3, reason="exit code 3"), status(JOB, "failed", reason="it was too long")]
    daemon.handlers["list"] = lambda _: [{"type": "jobs", "items": failed}]
    out = (await rainbow("jobs")).out
    assert "exit code" not in out
    assert "it was too long" in out
