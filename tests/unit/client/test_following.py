"""Events and output: each piece once, whatever happens to the connection."""

import asyncio
from base64 import b64encode
from contextlib import aclosing

import pytest

from rainbow_client import Client, Refused
from rainbow_client.errors import UnknownJob
from rainbow_client.feed import FEED_FRAMES_MAX
from tests.unit.client.fake_daemon import TOKEN, FakeDaemon, Handler, Message, event, status

JOB, OTHER = "000000000001", "000000000002"
HISTORY = [
    event(JOB, 1, "submitted", "pending"),
    event(JOB, 2, "running", "running", cluster="one"),
    event(JOB, 3, "completed", "completed", exit_code=0),
]


def replay(request: Message, history: list[Message]) -> list[Message]:
    items = [item for item in history if item["seq"] > request["since"] and item["job"] in request["jobs"]]
    return [{"type": "events", "items": items, "live": True}]


async def test_a_watch_ends_with_the_job(daemon: FakeDaemon) -> None:
    daemon.handlers["watch"] = lambda request: replay(request, HISTORY)
    async with Client(daemon.url, [TOKEN]) as rainbow:
        events = [one async for one in rainbow.watch(JOB)]
    assert [one.event for one in events] == ["submitted", "running", "completed"]


async def test_a_watch_goes_on_where_the_connection_broke(daemon: FakeDaemon) -> None:
    def watch(request: Message) -> list[Message]:
        if len(daemon.of_type("watch")) == 1:
            daemon.drops["unwatch"] = daemon.drops["status"] = 1
            return replay(request, HISTORY[:2])
        # Repeats what was seen, as a daemon that does not know better might.
        return [{"type": "events", "items": HISTORY, "live": True}]

    daemon.handlers["watch"] = watch
    seen = []
    async with Client(daemon.url, [TOKEN]) as rainbow:
        async for one in rainbow.watch(JOB):
            seen.append(one.seq)
            if one.seq == 2:
                breaking = asyncio.create_task(rainbow.status(JOB))  # its answer is a broken connection
        breaking.cancel()
    assert seen == [1, 2, 3]
    assert [request["since"] for request in daemon.of_type("watch")] == [0, 2]


async def test_two_watches_of_one_job_both_get_everything(daemon: FakeDaemon) -> None:
    """Each is known by the number of the request that asked for it."""
    watches: list[Message] = []

    def watch(request: Message) -> list[Message]:
        watches.append(request)
        if len(watches) == 1:
            return replay(request, HISTORY[:1])
        live = {"type": "events", "ref": watches[0]["id"], "items": HISTORY[1:]}
        return [live, *replay(request, HISTORY[2:])]

    daemon.handlers["watch"] = watch
    async with Client(daemon.url, [TOKEN]) as rainbow:
        first = rainbow.watch(JOB)
        assert (await anext(first)).seq == 1
        assert [one.seq async for one in rainbow.watch(JOB, since=2)] == [3]
        assert [one.seq async for one in first] == [2, 3]


async def test_a_watch_that_is_left_is_taken_back(daemon: FakeDaemon) -> None:
    daemon.handlers["watch"] = lambda request: replay(request, HISTORY[:1])
    async with Client(daemon.url, [TOKEN]) as rainbow:
        async with aclosing(rainbow.watch(JOB)) as events:
            await anext(events)
        await rainbow.clusters()
    assert daemon.of_type("unwatch")[0]["jobs"] == [JOB]


async def test_a_slow_consumer_loses_nothing(daemon: FakeDaemon) -> None:
    flood = [event(JOB, seq, "waiting", "pending") for seq in range(1, FEED_FRAMES_MAX + 50)]
    flood.append(event(JOB, len(flood) + 1, "completed", "completed"))

    def watch(request: Message) -> list[Message]:
        return [{"type": "events", "items": [item]} for item in flood if item["seq"] > request["since"]]

    daemon.handlers["watch"] = watch
    seen = []
    async with Client(daemon.url, [TOKEN]) as rainbow:
        async for one in rainbow.watch(JOB):
            if not seen:
                await rainbow.clusters()  # answered after the whole flood has come in
            seen.append(one.seq)
    assert seen == [item["seq"] for item in flood]
    assert len(daemon.of_type("watch")) > 1


async def test_an_unknown_job_cannot_be_watched(daemon: FakeDaemon) -> None:
    daemon.handlers["watch"] = lambda _: [{"type": "events", "items": [], "unknown": [JOB], "live": True}]
    async with Client(daemon.url, [TOKEN]) as rainbow:
        with pytest.raises(UnknownJob, match=JOB):
            await anext(rainbow.watch(JOB))


async def test_wait_returns_when_all_have_ended(daemon: FakeDaemon) -> None:
    ended = {OTHER}

    def answer_status(request: Message) -> list[Message]:
        items = [status(job, "completed" if job in ended else "running") for job in request["jobs"]]
        return [{"type": "jobs", "items": items}]

    def watch(request: Message) -> list[Message]:
        ended.add(JOB)
        return replay(request, HISTORY)

    daemon.handlers |= {"status": answer_status, "watch": watch}
    told = []
    async with Client(daemon.url, [TOKEN]) as rainbow:
        states = await rainbow.wait([JOB, OTHER], lambda one: told.append(one.job))
    assert [(one.job, one.state) for one in states] == [(JOB, "completed"), (OTHER, "completed")]
    assert told == [OTHER, JOB]


def chunk(stream: str, offset: int, data: bytes) -> Message:
    return {"stream": stream, "offset": offset, "data": b64encode(data).decode()}


def output_of(out: bytes, err: bytes, size: int) -> Handler:
    def logs(request: Message) -> list[Message]:
        at = (request["stdout_offset"], request["stderr_offset"])
        chunks = [chunk("stdout", at[0], out[at[0] : at[0] + size]), chunk("stderr", at[1], err[at[1] : at[1] + size])]
        return [{"type": "logs_answer", "chunks": chunks, "done": max(at[0], at[1]) + size >= max(len(out), len(err))}]

    return logs


@pytest.mark.parametrize("follow", [False, True])
async def test_output_is_read_to_its_end_across_a_broken_connection(daemon: FakeDaemon, follow: bool) -> None:
    out, err = bytes(range(256)) * 4, b"oops"
    daemon.handlers["logs"] = output_of(out, err, 100)
    daemon.drops["logs"] = 1
    got = {"stdout": b"", "stderr": b""}
    async with Client(daemon.url, [TOKEN]) as rainbow:
        async for piece in rainbow.logs(JOB, follow=follow):
            assert piece.offset == len(got[piece.stream])
            got[piece.stream] += piece.data
    assert got == {"stdout": out, "stderr": err}


async def test_following_waits_for_the_start(daemon: FakeDaemon) -> None:
    no_output = {"type": "error", "code": "no_output", "message": "not yet", "hint": ""}

    def logs(request: Message) -> list[Message]:
        if len(daemon.of_type("logs")) == 1:
            return [no_output]
        return [{"type": "logs_answer", "chunks": [chunk("stdout", 0, b"hello")], "done": True}]

    daemon.handlers |= {"logs": logs, "watch": lambda request: replay(request, HISTORY[:2])}
    async with Client(daemon.url, [TOKEN]) as rainbow:
        assert [piece.data async for piece in rainbow.logs(JOB, follow=True)] == [b"hello"]


async def test_following_a_job_that_never_ran_ends_without_output(daemon: FakeDaemon) -> None:
    no_output = {"type": "error", "code": "no_output", "message": "never ran", "hint": ""}
    rejected = [event(JOB, 1, "submitted", "pending"), event(JOB, 2, "rejected", "rejected")]
    daemon.handlers |= {"logs": lambda _: [no_output], "watch": lambda request: replay(request, rejected)}
    async with Client(daemon.url, [TOKEN]) as rainbow:
        assert [piece async for piece in rainbow.logs(JOB, follow=True)] == []
        with pytest.raises(Refused, match="never ran"):
            await anext(rainbow.logs(JOB))


async def test_following_waits_for_a_cluster_that_is_away(daemon: FakeDaemon) -> None:
    away = {"type": "error", "code": "cluster_offline", "message": "one is offline", "hint": ""}

    def logs(request: Message) -> list[Message]:
        if len(daemon.of_type("logs")) in (2, 3):
            return [away]
        done = request["stdout_offset"] > 0
        data = b" world" if done else b"hello"
        return [{"type": "logs_answer", "chunks": [chunk("stdout", request["stdout_offset"], data)], "done": done}]

    running = {"type": "jobs", "items": [status(JOB, "running")]}
    daemon.handlers |= {"logs": logs, "status": lambda _: [running]}
    async with Client(daemon.url, [TOKEN]) as rainbow:
        assert [piece.data async for piece in rainbow.logs(JOB, follow=True)] == [b"hello", b" world"]


async def test_the_output_of_an_ended_job_whose_cluster_is_away_cannot_be_read(daemon: FakeDaemon) -> None:
    away = {"type": "error", "code": "cluster_offline", "message": "one is offline", "hint": ""}
    ended = {"type": "jobs", "items": [status(JOB)]}
    daemon.handlers |= {"logs": lambda _: [away], "status": lambda _: [ended]}
    async with Client(daemon.url, [TOKEN]) as rainbow:
        with pytest.raises(Refused, match="one is offline"):
            await anext(rainbow.logs(JOB, follow=True))
