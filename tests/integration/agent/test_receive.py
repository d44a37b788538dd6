"""`rainbow-agent receive`: takes what comes, runs it or leaves it, and goes."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import orjson
import pytest

from rainbow_agent.app import Agent
from rainbow_agent.receiving import LOOKING
from rainbow_protocol.job import JobRequest, Shape
from rainbow_protocol.messages import agent as wire
from rainbow_protocol.messages.common import Goodbye
from tests.integration.agent.conftest import running_agent
from tests.integration.agent.fake_daemon import FakeDaemon

LONG = "600"  # more than any test takes: it leaves because it has enough, or because nothing is left to do
SHORT = "0.2"


class Received:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def output(self) -> str:
        assert self.process.stdout is not None
        words = (await self.process.stdout.read()).decode()
        assert await self.process.wait() == 0
        return words

    async def jobs(self) -> list[dict[str, Any]]:
        document = orjson.loads(await self.output())
        assert (document["cluster"], document["left_off"]) == ("tested", 0)
        return list(document["jobs"])


Receive = Callable[..., Any]


@pytest.fixture
async def receive(settings: dict[str, Any]) -> AsyncIterator[Receive]:
    async with AsyncExitStack() as stack:

        async def start(*words: str) -> Received:
            env = {name: value for name, value in os.environ.items() if not name.startswith("RAINBOW_")}
            env |= {f"RAINBOW_AGENT_{name.upper()}": str(value) for name, value in settings.items()}
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "rainbow_agent", "receive", *words), env=env, stdout=asyncio.subprocess.PIPE
            )

            async def end() -> None:
                if process.returncode is None:
                    process.kill()
                    await process.wait()

            stack.push_async_callback(end)
            return Received(process)

        yield start


async def award(daemon: FakeDaemon, request: JobRequest) -> wire.AwardAnswer:
    """Without an offer, as to a cluster that was chosen while it was away."""
    item = wire.Award(job=daemon.new_job(), attempt=1, request=request)
    await daemon.send(wire.Awards(items=[item]))
    [answer] = (await daemon.expect(wire.AwardAnswers)).items
    return answer


async def test_it_takes_a_job_runs_it_and_leaves(daemon: FakeDaemon, receive: Receive, tmp_path: Path) -> None:
    received = await receive("--max-jobs", "1", "--wait", LONG, "--json")
    await daemon.greet()
    ref = await daemon.start("sh", "-c", "until [ -e go ]; do sleep 0.02; done; exit 3")
    await daemon.report(ref, "running")
    [bid] = await daemon.offer(Shape())
    assert (bid.answer, bid.reason) == ("no", "no more jobs are taken here for now")
    (tmp_path / "go").touch()
    ended = await daemon.end(ref)
    assert (ended.event, ended.exit_code) == ("failed", 3)
    await daemon.ack(ended)
    await daemon.expect(Goodbye)
    listed = {job["job"]: job for job in await received.jobs()}
    taken = listed[ref.job]
    assert (taken["state"], taken["exit_code"], taken["answer"], taken["cores"]) == ("failed", 3, "yes", 1)


async def test_it_leaves_when_nothing_comes(daemon: FakeDaemon, receive: Receive) -> None:
    received = await receive("--wait", SHORT)
    await daemon.greet()
    assert await received.output() == "no jobs came\n"


async def test_only_looking_takes_nothing(daemon: FakeDaemon, receive: Receive) -> None:
    received = await receive("--no-run", "--max-jobs", "2", "--wait", LONG, "--json")
    await daemon.greet()
    offer = wire.Offer(job=daemon.new_job(), attempt=4, shape=Shape(tasks=2), user="anna", deadline_ms=1, hold_s=1.0)
    await daemon.send(wire.Offers(items=[offer]))
    [bid] = (await daemon.expect(wire.Bids)).items
    assert (bid.answer, bid.reason) == ("no", LOOKING)
    answer = await award(daemon, JobRequest(command=["true"], shape=Shape(), name="fitting"))
    assert (answer.answer, answer.reason) == ("refuse", LOOKING)
    first, second = await received.jobs()
    assert first == {
        "job": offer.job,
        "attempt": 4,
        "name": "",
        "user": "anna",
        "queue": None,
        "nodes": 1,
        "tasks": 2,
        "cores": 2,
        "gpus": 0,
        "time_limit_s": None,
        "state": "offered",
        "answer": "no",
        "exit_code": None,
        "reason": LOOKING,
    }
    assert (second["name"], second["state"], second["reason"]) == ("fitting", "refused", LOOKING)


async def test_what_is_accepted_is_run_by_the_next_one(daemon: FakeDaemon, receive: Receive, tmp_path: Path) -> None:
    received = await receive("--accept", "1", "--wait", LONG, "--json")
    await daemon.greet()
    ref = await daemon.start("touch", str(tmp_path / "ran"))
    await daemon.ack(await daemon.report(ref, "queued"))
    await daemon.expect(Goodbye)
    [job] = await received.jobs()
    assert (job["job"], job["state"]) == (ref.job, "queued")
    assert not (tmp_path / "ran").exists()
    # Looking on does not run it either.
    received = await receive("--no-run", "--wait", SHORT, "--json")
    _, inventory = await daemon.greet()
    assert [(item.job, item.phase) for item in inventory] == [(ref.job, "started")]
    [job] = await received.jobs()
    assert job["state"] == "queued"
    assert not (tmp_path / "ran").exists()
    received = await receive("--wait", SHORT, "--json")
    await daemon.greet()
    ended = await daemon.end(ref)
    assert ended.event == "completed"
    await daemon.ack(ended)
    [job] = await received.jobs()
    assert job["state"] == "completed"
    assert (tmp_path / "ran").exists()


async def test_only_what_the_filter_wants(daemon: FakeDaemon, receive: Receive) -> None:
    received = await receive("--filter", 'cores <= 2 and "no" not in name', "--max-jobs", "1", "--wait", LONG, "--json")
    await daemon.greet()
    large = await award(daemon, JobRequest(command=["true"], shape=Shape(tasks=3)))
    assert large.reason == "not wanted here now: the filter is 'cores <= 2 and \"no\" not in name'"
    unwanted = await award(daemon, JobRequest(command=["true"], shape=Shape(), name="not-me"))
    assert unwanted.answer == "refuse"
    [bid] = await daemon.offer(Shape(tasks=3))
    assert bid.answer == "yes"  # an offer does not tell the name
    ref = await daemon.start("true")
    await daemon.ack(await daemon.end(ref))
    states = {job["job"]: job["state"] for job in await received.jobs()}
    assert (states[large.job], states[unwanted.job], states[ref.job]) == ("refused", "refused", "completed")


async def test_a_filter_without_names_refuses_offers(daemon: FakeDaemon, receive: Receive) -> None:
    received = await receive("--filter", "cores <= 2", "--max-jobs", "1", "--wait", LONG)
    await daemon.greet()
    [bid] = await daemon.offer(Shape(tasks=3))
    assert bid.answer == "no"
    ref = await daemon.start("true")
    await daemon.ack(await daemon.end(ref))
    words = await received.output()
    assert f"{ref.job}  completed" in words
    assert words.endswith("2 jobs: 1 completed, 1 offered\n")


async def test_never_beside_another_agent(
    daemon: FakeDaemon, agent: Agent, receive: Receive, settings: dict[str, Any]
) -> None:
    received = await receive()
    assert await received.process.wait() == 4
    [bid] = await daemon.offer(Shape())
    assert bid.answer == "yes"


async def test_an_interrupted_one_leaves_its_jobs_to_the_next(
    daemon: FakeDaemon, receive: Receive, settings: dict[str, Any]
) -> None:
    received = await receive("--max-jobs", "1", "--wait", LONG)
    await daemon.greet()
    ref = await daemon.start("sleep", LONG)
    await daemon.ack(await daemon.report(ref, "running"))
    received.process.terminate()
    assert await received.process.wait() == 0
    async with running_agent(settings):
        _, inventory = await daemon.greet()
        assert [(item.job, item.phase) for item in inventory] == [(ref.job, "started")]
        await daemon.cancel(ref)
        assert (await daemon.end(ref)).event == "cancelled"
