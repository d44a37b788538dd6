"""The SDK against a scripted daemon over real sockets."""

import asyncio
from typing import Any

import pytest

from rainbow_client import Client, ConnectionFailed, InvalidRequest, Refused, job_request
from rainbow_client.errors import Unauthorized, UnknownJob
from rainbow_protocol import limits
from tests.unit.client.fake_daemon import OTHER_TOKEN, REGISTRATION, TOKEN, FakeDaemon, Message, status

JOB, OTHER = "000000000001", "000000000002"


def client(daemon: FakeDaemon, *tokens: str, retry_s: float = 5.0) -> Client:
    return Client(daemon.url, tokens or [TOKEN], registration_secret=REGISTRATION, retry_s=retry_s)


async def test_submit_returns_the_job(daemon: FakeDaemon) -> None:
    async with client(daemon) as rainbow:
        result = await rainbow.submit(["hostname"], nodes=2, env={"A": "1"}, clusters=["one"])
    [submit] = daemon.of_type("submit")
    [item] = submit["items"]
    assert result.job == daemon.jobs[item["key"]]
    assert item["request"]["command"] == ["hostname"]
    assert item["request"]["shape"]["tasks"] == 2  # nodes without tasks: one task on each
    assert item["request"]["clusters"] == ["one"]


async def test_a_connection_lost_in_a_submit_makes_one_job(daemon: FakeDaemon) -> None:
    daemon.drops["submit"] = 2
    async with client(daemon) as rainbow:
        result = await rainbow.submit(["hostname"])
    keys = {request["items"][0]["key"] for request in daemon.of_type("submit")}
    assert len(daemon.of_type("submit")) == 3
    assert len(keys) == len(daemon.jobs) == 1
    assert result.duplicate
    assert len(daemon.sessions) == 3


async def test_many_jobs_travel_in_batches_and_come_back_in_order(daemon: FakeDaemon) -> None:
    count = limits.BATCH_ITEMS_MAX * 2 + 1
    jobs = [job_request(["true"], name=f"job {number}") for number in range(count)]
    async with client(daemon) as rainbow:
        results = await rainbow.submit_many(jobs)
    batches = daemon.of_type("submit")
    assert sorted(len(batch["items"]) for batch in batches) == [1, limits.BATCH_ITEMS_MAX, limits.BATCH_ITEMS_MAX]
    assert len({result.job for result in results}) == count
    key_of = {item["request"]["name"]: item["key"] for batch in batches for item in batch["items"]}
    assert [daemon.jobs[key_of[f"job {number}"]] for number in range(count)] == [result.job for result in results]


async def test_large_jobs_are_split_by_bytes(daemon: FakeDaemon) -> None:
    jobs = [job_request(["x" * 120_000], env={"E": "y" * 200_000})] * 30
    async with client(daemon) as rainbow:
        assert len(await rainbow.submit_many(jobs)) == 30
    assert len(daemon.of_type("submit")) >= 3


async def test_a_frame_that_the_daemon_will_not_read_ends_in_words(daemon: FakeDaemon) -> None:
    await daemon.stop()
    daemon.frame_bytes_max = 1_000_000
    await daemon.start()
    jobs = [job_request(["x" * 120_000], env={"E": "y" * 200_000})] * 12
    async with client(daemon, retry_s=0.3) as rainbow:
        with pytest.raises(ConnectionFailed, match="closed the connection"):
            await rainbow.submit_many(jobs)


async def test_requests_overlap(daemon: FakeDaemon) -> None:
    waiting: list[Message] = []

    def answer_in_reverse(request: Message) -> list[Message]:
        waiting.append(request)
        if len(waiting) < 3:
            return []
        return [
            {"type": "jobs", "ref": one["id"], "items": [status(one["jobs"][0])], "unknown": []}
            for one in reversed(waiting)
        ]

    daemon.handlers["status"] = answer_in_reverse
    ids = ["00000000000a", "00000000000b", "00000000000c"]
    async with client(daemon) as rainbow:
        answers = await asyncio.gather(*(rainbow.status(job) for job in ids))
    assert [answer[0].job for answer in answers] == ids


async def test_a_refusal_carries_code_words_and_hint(daemon: FakeDaemon) -> None:
    refusal = {"type": "error", "code": "not_allowed", "message": "not yours", "hint": "ask"}
    daemon.handlers["explain"] = lambda _: [refusal]
    async with client(daemon) as rainbow:
        with pytest.raises(Refused) as caught:
            await rainbow.explain(JOB)
    assert (caught.value.code, caught.value.message, caught.value.hint) == ("not_allowed", "not yours", "ask")


async def test_a_refused_item_of_a_submit_is_raised(daemon: FakeDaemon) -> None:
    error = {"type": "error", "code": "key_reused", "message": "the key was used", "hint": "use a new one"}
    daemon.handlers["submit"] = lambda _: [{"type": "submitted", "items": [{"error": error}]}]
    async with client(daemon) as rainbow:
        with pytest.raises(Refused, match="the key was used"):
            await rainbow.submit(["true"], key="mine")


async def test_overload_is_waited_out(daemon: FakeDaemon) -> None:
    overloaded = {"type": "error", "code": "overloaded", "message": "busy", "hint": ""}
    answers = iter([[overloaded], [overloaded], [{"type": "cluster_list", "items": []}]])
    daemon.handlers["clusters"] = lambda _: next(answers)
    async with client(daemon) as rainbow:
        assert await rainbow.clusters() == []
    assert len(daemon.sessions) == 1


async def test_unknown_jobs_are_named_and_the_others_still_told(daemon: FakeDaemon) -> None:
    daemon.handlers["status"] = lambda _: [{"type": "jobs", "items": [status(JOB)], "unknown": [OTHER]}]
    async with client(daemon) as rainbow:
        with pytest.raises(UnknownJob, match=OTHER) as caught:
            await rainbow.status([JOB, OTHER])
    assert [one.job for one in caught.value.found] == [JOB]


async def test_jobs_pages_until_the_limit(daemon: FakeDaemon) -> None:
    def page(request: Message) -> list[Message]:
        first = 1 if request["before"] is None else int(request["before"]) + 1
        items = [status(f"{number:012}") for number in range(first, first + request["limit"])]
        return [{"type": "jobs", "items": items}]

    daemon.handlers["list"] = page
    async with client(daemon) as rainbow:
        found = await rainbow.jobs(limit=limits.JOBS_PAGE_MAX + 5)
    assert len({one.job for one in found}) == limits.JOBS_PAGE_MAX + 5
    assert [request["limit"] for request in daemon.of_type("list")] == [limits.JOBS_PAGE_MAX, 5]


async def test_a_daemon_that_restarts_is_found_again(daemon: FakeDaemon) -> None:
    lost: list[str] = []
    async with Client(daemon.url, [TOKEN], on_lost=lost.append) as rainbow:
        await daemon.stop()
        calls = [asyncio.create_task(rainbow.clusters()) for _ in range(3)]
        await asyncio.sleep(0)
        await daemon.start()
        assert await asyncio.gather(*calls) == [[], [], []]
    assert lost == [daemon.url]
    assert len(daemon.sessions) == 2  # the three calls shared one new session


async def test_patience_ends(daemon: FakeDaemon) -> None:
    async with client(daemon, retry_s=0.2) as rainbow:
        await daemon.stop()
        with pytest.raises(ConnectionFailed, match="cannot reach the daemon"):
            await rainbow.clusters()


async def test_the_first_connection_fails_at_once() -> None:
    fake = FakeDaemon()
    await fake.start()
    await fake.stop()
    with pytest.raises(ConnectionFailed, match="connection refused") as caught:
        async with Client(fake.url, [TOKEN]):
            pytest.fail("it must not connect")
    assert "rainbow up" in caught.value.hint


async def test_further_tokens_go_with_hello(daemon: FakeDaemon) -> None:
    async with client(daemon, TOKEN, OTHER_TOKEN) as rainbow:
        await rainbow.clusters()
    assert daemon.sessions == [TOKEN]
    assert daemon.of_type("hello")[0]["tokens"] == [OTHER_TOKEN]


async def test_a_withdrawn_first_token_does_not_lock_out_the_others(daemon: FakeDaemon) -> None:
    async with client(daemon, "rbt_withdrawn", OTHER_TOKEN) as rainbow:
        await rainbow.clusters()
    assert daemon.sessions == [OTHER_TOKEN]


async def test_a_wrong_token_is_refused_without_trying_again(daemon: FakeDaemon) -> None:
    with pytest.raises(Unauthorized):
        async with client(daemon, "rbt_wrong"):
            pytest.fail("it must not connect")


async def test_registering_uses_the_secret_and_nothing_else_does(daemon: FakeDaemon) -> None:
    answer = {"type": "registered", "cluster": "new", "secret": "rbs_x", "token": "rbt_x"}
    daemon.handlers["register_cluster"] = lambda _: [answer]
    async with client(daemon) as rainbow:
        made = await rainbow.register_cluster("new")
    assert (made.cluster, made.token) == ("new", "rbt_x")
    assert daemon.sessions == [TOKEN, REGISTRATION]


async def test_registering_is_not_repeated(daemon: FakeDaemon) -> None:
    daemon.drops["register_cluster"] = 1
    async with client(daemon) as rainbow:
        with pytest.raises(ConnectionFailed):
            await rainbow.register_cluster("new")
    assert len(daemon.of_type("register_cluster")) == 1


async def test_an_answer_that_cannot_be_read_ends_the_call(daemon: FakeDaemon) -> None:
    daemon.handlers["clusters"] = lambda _: [{"type": "cluster_list", "items": "none"}]
    async with client(daemon) as rainbow:
        with pytest.raises(ConnectionFailed, match="cannot read"):
            await rainbow.clusters()


async def test_goodbye_without_return_is_final(daemon: FakeDaemon) -> None:
    daemon.handlers["clusters"] = lambda _: [{"type": "goodbye", "reason": "you talk too much", "reconnect": False}]
    async with client(daemon) as rainbow:
        with pytest.raises(ConnectionFailed, match="you talk too much"):
            await rainbow.clusters()
    assert len(daemon.sessions) == 1


async def test_goodbye_of_a_daemon_that_restarts_is_not(daemon: FakeDaemon) -> None:
    answers = iter([{"type": "goodbye", "reason": "restarting"}, {"type": "cluster_list", "items": []}])
    daemon.handlers["clusters"] = lambda _: [next(answers)]
    async with client(daemon) as rainbow:
        assert await rainbow.clusters() == []


@pytest.mark.parametrize(
    ("job", "words"),
    [({"tasks": 0}, "tasks"), ({"nodes": 3, "tasks": 2}, "nodes"), ({"cores_per_task": 10**12}, "cores_per_task")],
)
async def test_absurd_counts_are_not_sent(daemon: FakeDaemon, job: dict[str, Any], words: str) -> None:
    async with client(daemon) as rainbow:
        with pytest.raises(InvalidRequest, match=words):
            await rainbow.submit(
                ["true"], nodes=job.get("nodes"), tasks=job.get("tasks"), cores_per_task=job.get("cores_per_task", 1)
            )
    assert not daemon.of_type("submit")


async def test_what_is_no_job_id_is_not_sent(daemon: FakeDaemon) -> None:
    async with client(daemon) as rainbow:
        for wrong in ("", "nope", "../../etc", "000000000001\n0"):
            with pytest.raises(InvalidRequest, match="not a job id"):
                await rainbow.status(wrong)


async def test_a_closed_client_says_so(daemon: FakeDaemon) -> None:
    async with client(daemon) as rainbow:
        pass
    with pytest.raises(ConnectionFailed, match="closed"):
        await rainbow.clusters()
