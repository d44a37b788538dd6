"""Watch: what happened, then `live`, then what happens; in order, without gaps, until the end."""

from rainbow_protocol import limits
from rainbow_protocol.ids import JobIds
from tests.integration.daemon.conftest import Federation
from tests.integration.daemon.peers import ClientPeer, Message

NEVER = JobIds().next(1_800_000_000.0)
LIFE = ["submitted", "offered", "awarded", "assigned", "running", "completed"]


async def until_live(client: ClientPeer, ref: int) -> tuple[list[Message], Message]:
    past: list[Message] = []
    while not (message := await client.answer(ref))["live"]:
        past += message["items"]
    return past, message


async def collect(client: ClientPeer, ref: int, seen: list[Message], last: str) -> list[Message]:
    while not any(line["event"] == last for line in seen):
        seen = seen + (await client.answer(ref))["items"]
    return seen


def events(lines: list[Message]) -> list[str]:
    return [line["event"] for line in lines]


async def test_the_past_then_live_then_what_happens(federation: Federation) -> None:
    job = await federation.client.submit()
    started = await federation.agent.take(job)
    ref = await federation.client.request("watch", jobs=[job])
    past, live = await until_live(federation.client, ref)
    assert events(past) == LIFE[:4]
    assert (live["items"], live["unknown"]) == ([], [])
    await federation.agent.report(started, 1, "running", native_id="n7")
    await federation.agent.report(started, 2, "completed", exit_code=0)
    seen = await collect(federation.client, ref, past, "completed")
    assert events(seen) == LIFE
    assert [line["seq"] for line in seen] == list(range(1, len(LIFE) + 1))
    assert [line["state"] for line in seen][-2:] == ["running", "completed"]
    assert seen[-2]["data"]["native_id"] == "n7"


async def test_a_job_that_is_over_is_replayed_to_its_end(federation: Federation) -> None:
    job = await federation.client.submit()
    await federation.agent.run(job)
    ref = await federation.client.request("watch", jobs=[job])
    past, _ = await until_live(federation.client, ref)
    assert events(past) == LIFE


async def test_after_a_reconnect_one_goes_on_behind_the_last_event_seen(federation: Federation) -> None:
    job = await federation.client.submit()
    await federation.agent.run(job)
    again = await federation.new_client(federation.cluster)
    for since in range(len(LIFE) + 1):
        past, _ = await until_live(again, await again.request("watch", jobs=[job], since=since))
        assert events(past) == LIFE[since:]


async def test_unknown_jobs_are_named_and_the_others_watched(federation: Federation) -> None:
    job = await federation.client.submit()
    ref = await federation.client.request("watch", jobs=[NEVER, job, job])
    past, live = await until_live(federation.client, ref)
    assert live["unknown"] == [NEVER]
    assert events(past) == LIFE[:2]


async def test_after_unwatch_nothing_more_comes(federation: Federation) -> None:
    client = federation.client
    job, other = await client.submit(), await client.submit()
    await until_live(client, await client.request("watch", jobs=[job, other]))
    assert (await client.ask("unwatch", jobs=[job, NEVER]))["type"] == "done"
    await federation.agent.run(job)
    await federation.agent.run(other)
    assert (await client.status(other))["state"] == "completed"
    assert {line["job"] for frame in client.left() for line in frame["items"]} == {other}


async def test_many_watchers_of_one_job_all_see_the_same(federation: Federation) -> None:
    job = await federation.client.submit()
    clients = [await federation.new_client(federation.cluster) for _ in range(5)]
    refs = [await client.request("watch", jobs=[job]) for client in clients]
    await federation.agent.run(job)
    for client, ref in zip(clients, refs, strict=True):
        assert events(await collect(client, ref, [], "completed")) == LIFE


async def test_watches_that_begin_while_jobs_run_miss_nothing_and_see_nothing_twice(federation: Federation) -> None:
    results = await federation.client.submit_all([{"request": {"command": ["x"]}}] * 60)
    watchers = [await federation.new_client(federation.cluster) for _ in range(3)]
    refs: list[tuple[ClientPeer, int]] = []
    async with federation.agent.serving():
        for number, result in enumerate(results):
            watcher = watchers[number % len(watchers)]
            refs.append((watcher, await watcher.request("watch", jobs=[result["job"]])))
        for watcher, ref in refs:
            seen = await collect(watcher, ref, [], "completed")
            assert [line["seq"] for line in seen] == list(range(1, len(LIFE) + 1))


async def test_a_thousand_jobs_are_watched_to_their_end(federation: Federation) -> None:
    count = limits.BATCH_ITEMS_MAX
    results = await federation.client.submit_all([{"request": {"command": ["x"]}}] * count)
    jobs = [result["job"] for result in results]
    ref = await federation.client.request("watch", jobs=jobs)
    answer = await federation.client.ask("cancel", jobs=jobs)
    assert {result["outcome"] for result in answer["items"]} == {"cancelled"}
    last: dict[str, int] = {}
    ended: set[str] = set()
    while len(ended) < count:
        for line in (await federation.client.answer(ref))["items"]:
            assert line["seq"] == last.get(line["job"], 0) + 1
            last[line["job"]] = line["seq"]
            if line["state"] == "cancelled":
                ended.add(line["job"])
    assert set(last) == set(jobs)
