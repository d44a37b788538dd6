"""Reading a job's output while it runs, after it ended, and past its bounds."""

import asyncio
import base64
import time
from pathlib import Path
from typing import Any

import pytest

from rainbow_agent.app import Agent
from rainbow_protocol.job import Shape
from rainbow_protocol.limits import OUTPUT_CHUNK_BYTES_MAX
from rainbow_protocol.messages import agent as wire
from tests.integration.agent.conftest import running_agent
from tests.integration.agent.fake_daemon import FakeDaemon


def text(output: wire.Output) -> bytes:
    return b"".join(base64.b64decode(chunk.data) for chunk in output.chunks)


async def test_following_a_job(daemon: FakeDaemon, agent: Agent, tmp_path: Path) -> None:
    ref = await daemon.start("sh", "-c", "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two")
    first = await daemon.read(ref, wait_s=10, request=1)
    assert (text(first), first.done) == (b"one\n", False)
    waiting = asyncio.create_task(daemon.read(ref, stdout=4, wait_s=10, request=2))
    # Others are served while one waits.
    assert (await daemon.offer(Shape()))[0].answer == "yes"
    assert not waiting.done()
    (tmp_path / "go").touch()
    assert text(await waiting) == b"two\n"
    last = await daemon.read(ref, stdout=8, wait_s=10, request=3)
    assert (last.chunks, last.done) == ([], True)


async def test_waiting_ends_when_the_time_is_up(daemon: FakeDaemon, agent: Agent) -> None:
    ref = await daemon.start("sleep", "300")
    began = time.monotonic()
    answer = await daemon.read(ref, wait_s=0.2)
    assert (answer.chunks, answer.done, answer.error) == ([], False, None)
    assert time.monotonic() - began >= 0.2
    await daemon.cancel(ref)
    await daemon.end(ref)


async def test_more_than_one_piece(daemon: FakeDaemon, agent: Agent) -> None:
    size = 3 * OUTPUT_CHUNK_BYTES_MAX + 17
    ref = await daemon.start("sh", "-c", f"head -c {size} /dev/zero | tr '\\0' x; head -c 5 /dev/zero >&2")
    await daemon.end(ref)
    first = await daemon.read(ref)
    assert [len(base64.b64decode(chunk.data)) for chunk in first.chunks] == [OUTPUT_CHUNK_BYTES_MAX, 5]
    assert not first.done
    assert await daemon.output(ref) == (b"x" * size, b"\0" * 5)


async def test_output_is_bounded(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    async with running_agent({**settings, "output_bytes_max": 1000}):
        await daemon.greet()
        ref = await daemon.start("sh", "-c", "head -c 500000 /dev/zero; echo short >&2")
        assert (await daemon.end(ref)).event == "completed"
        answer = await daemon.read(ref)
        assert answer.truncated
        assert answer.done
        assert await daemon.output(ref) == (b"\0" * 1000, b"short\n")


async def test_output_of_an_unknown_attempt(daemon: FakeDaemon, agent: Agent) -> None:
    answer = await daemon.read(wire.AttemptRef(job=daemon.new_job(), attempt=1), wait_s=10)
    assert answer.error == "this cluster keeps no output of this attempt (any more)"


async def test_a_queued_job_has_none_yet(daemon: FakeDaemon, agent: Agent) -> None:
    first = await daemon.start("sleep", "300", shape=Shape(tasks=4))
    second = await daemon.start("true")
    await daemon.report(second, "queued")
    answer = await daemon.read(second)
    assert (answer.done, answer.error) == (False, None)
    await daemon.cancel(second)
    await daemon.end(second)
    assert (await daemon.read(second, request=2)).done
    await daemon.cancel(first)
    await daemon.end(first)


@pytest.mark.parametrize("bound", [{"kept_jobs_max": 1}, {"kept_bytes_max": 1_500_000}])
async def test_old_output_makes_room(daemon: FakeDaemon, settings: dict[str, Any], bound: dict[str, int]) -> None:
    async with running_agent({**settings, **bound}):
        await daemon.greet()
        refs = []
        for _ in range(2):
            ref = await daemon.start("head", "-c", "1000000", "/dev/zero")
            await daemon.ack(await daemon.end(ref))
            refs.append(ref)
        async with asyncio.timeout(10):
            while (await daemon.read(refs[0])).error is None:
                pass
        assert len((await daemon.output(refs[1]))[0]) == 1_000_000
