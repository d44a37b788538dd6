"""What `explain`, `status`, `jobs`, `cancel` and `logs` tell a person about jobs."""

import re
from pathlib import Path

import orjson
import pytest

from tests.unit.client.conftest import Rainbow
from tests.unit.client.fake_daemon import FakeDaemon, event, status

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
