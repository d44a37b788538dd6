"""The thin parts between socket and core: batches that fit their frames, and an inbox that pushes back."""

import asyncio

from rainbow_agent import translate
from rainbow_agent.core import commands as c
from rainbow_agent.core.effects import Report, SendInventory
from rainbow_agent.core.model import Key, Shape
from rainbow_agent.inbox import Inbox
from rainbow_protocol.codec import encode, from_agent
from rainbow_protocol.job import JobRequest
from rainbow_protocol.job import Shape as WireShape
from rainbow_protocol.limits import BATCH_ITEMS_MAX
from rainbow_protocol.messages import agent as wire

JOB = "000000000001"


def test_an_inventory_takes_as_many_frames_as_it_needs() -> None:
    for count, frames in ((0, [0]), (1, [1]), (BATCH_ITEMS_MAX, [1000]), (2 * BATCH_ITEMS_MAX + 1, [1000, 1000, 1])):
        items = tuple((Key(JOB, attempt), "started") for attempt in range(1, count + 1))
        sent = list(translate.inventory(SendInventory(items)))  # type: ignore[arg-type]
        assert [len(frame.items) for frame in sent] == frames
        assert [frame.last for frame in sent] == [False] * (len(frames) - 1) + [True]


def test_reports_are_split_and_told_in_the_walls_time() -> None:
    reports = [Report(Key(JOB, 1), seq, "failed", 10.0, 3, "é" * 500, "4711") for seq in range(1, 1502)]
    frames = list(translate.reports(reports, to_wall_s=1000.0))
    assert [len(frame.items) for frame in frames] == [1000, 501]
    assert frames[0].items[0].at == 1010.0
    for frame in frames:
        assert from_agent.decode(encode(frame).decode()) == frame


def test_an_award_keeps_the_whole_request() -> None:
    request = JobRequest(
        command=["a", "ü\n"], shape=WireShape(nodes=2, tasks=3, time_limit_s=1.5, exclusive=True), env={"X": "\t"}
    )
    command = translate.command(wire.Awards(items=[wire.Award(job=JOB, attempt=1, request=request)]), lambda _: "no")
    assert isinstance(command, c.Awards)
    [award] = command.items
    assert award.shape == Shape(tasks=3, nodes=2, time_limit_s=1.5, exclusive=True)
    assert award.objection == "no"
    assert JobRequest.model_validate_json(award.work) == request


async def test_the_socket_waits_when_the_inbox_is_full_but_the_backend_does_not() -> None:
    inbox: Inbox[int] = Inbox(2)
    await inbox.put(1)
    await inbox.put(2)
    waiting = asyncio.create_task(inbox.put(4))
    inbox.post(3)
    assert await inbox.drain(2) == [1, 2]
    await waiting
    assert await inbox.drain(10) == [3, 4]
    assert not waiting.exception()
