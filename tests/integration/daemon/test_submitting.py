"""Submit: answered when it is durable, once for each key, and only to clusters that the session may use."""

import sqlite3
from contextlib import closing

import pytest

from rainbow_protocol import limits
from tests.integration.daemon.conftest import Federate, Federation, StartDaemon
from tests.integration.daemon.peers import ClientPeer, Message


def item(*command: str, key: str | None = None, **request: object) -> Message:
    return {"key": key, "request": {"command": list(command or ("true",)), **request}}


async def test_what_was_answered_is_in_the_database_at_that_moment(federation: Federation) -> None:
    job = await federation.client.submit("echo", "hi", name="greeting")
    with closing(sqlite3.connect(federation.daemon.database)) as connection:
        row = connection.execute(
            "SELECT name, request FROM jobs JOIN requests ON job = id WHERE id = ?", (job,)
        ).fetchone()
    assert row == ("greeting", '{"command":["echo","hi"],"name":"greeting"}')


async def test_the_answer_has_the_state_after_the_first_look(federation: Federation) -> None:
    fits, never = await federation.client.submit_all([item(), item(shape={"cores_per_task": 9})])
    assert (fits["state"], never["state"]) == ("offered", "rejected")
    status = await federation.client.status(never["job"])
    name = federation.cluster.name
    assert status["reason"] == f"no cluster could ever run it: {name}: needs 9 cores on one node for a task, it has 8"


async def test_ids_are_unique_and_sort_by_the_order_of_submission(federation: Federation) -> None:
    results = await federation.client.submit_all([item() for _ in range(50)])
    results += await federation.client.submit_all([item() for _ in range(50)])
    jobs = [result["job"] for result in results]
    assert jobs == sorted(set(jobs))


# --- keys -----------------------------------------------------------------


@pytest.mark.parametrize("key", ["k", "\u0000", "a\u0000b", "' OR 1=1 --", "\U0001f308", "k" * limits.KEY_CHARS_MAX])
async def test_the_same_key_and_request_is_the_same_job_before_and_after_its_end(
    federation: Federation, key: str
) -> None:
    client = federation.client
    (first,) = await client.submit_all([item("x", key=key)])
    (again,) = await client.submit_all([item("x", key=key)])
    assert (first["duplicate"], again["duplicate"], again["job"]) == (False, True, first["job"])
    await federation.agent.run(first["job"])
    (late,) = await client.submit_all([item("x", key=key)])
    assert (late["job"], late["state"], late["duplicate"]) == (first["job"], "completed", True)
    assert len((await client.ask("list"))["items"]) == 1


async def test_a_key_used_for_something_else_is_refused(federation: Federation) -> None:
    client = federation.client
    (first,) = await client.submit_all([item("x", key="k")])
    (live,) = await client.submit_all([item("y", key="k")])
    await federation.agent.run(first["job"])
    (over,) = await client.submit_all([item("y", key="k")])
    for refused in (live, over):
        assert (refused["job"], refused["error"]["code"]) == (None, "key_reused")
        assert first["job"] in refused["error"]["message"]


async def test_a_key_that_comes_twice_in_one_batch_is_one_job(federation: Federation) -> None:
    one, two, other = await federation.client.submit_all([item(key="k"), item(key="k"), item("other", key="k")])
    assert (two["job"], two["duplicate"]) == (one["job"], True)
    assert other["error"]["code"] == "key_reused"


async def test_what_is_spelled_out_and_what_is_left_out_is_the_same_request(federation: Federation) -> None:
    (first,) = await federation.client.submit_all([item(key="k")])
    spelled = item(key="k", shape={"tasks": 1, "nodes": None}, env={}, name=None)
    (again,) = await federation.client.submit_all([spelled])
    assert (again["job"], again["duplicate"]) == (first["job"], True)


async def test_a_key_is_of_one_set_of_clusters(federation: Federation) -> None:
    other = await federation.new_cluster()
    both = await federation.new_client(federation.cluster, other)
    alone = await federation.client.submit(key="k")
    assert await both.submit(key="k") != alone


async def test_two_sessions_that_race_with_one_key_get_one_job(federation: Federation) -> None:
    clients = [await federation.new_client(federation.cluster) for _ in range(4)]
    refs = [await client.request("submit", items=[item(key="race")]) for client in clients]
    answers = [await client.answer(ref) for client, ref in zip(clients, refs, strict=True)]
    assert len({answer["items"][0]["job"] for answer in answers}) == 1
    assert [answer["items"][0]["duplicate"] for answer in answers].count(False) == 1


async def test_a_key_is_remembered_over_a_restart(new_daemon: StartDaemon, federate: Federate) -> None:
    daemon = new_daemon().start()
    before = await federate(daemon)
    live = await before.client.submit("live", key="live")
    over = await before.client.submit("over", key="over")
    await before.agent.run(over)
    await daemon.restart()
    async with ClientPeer(daemon.url, before.cluster.token) as client:
        results = await client.submit_all(
            [item("live", key="live"), item("over", key="over"), item("else", key="live"), item("else", key="over")]
        )
        assert [result["job"] for result in results] == [live, over, None, None]
        assert [result["duplicate"] for result in results] == [True, True, False, False]
        assert [result["error"] and result["error"]["code"] for result in results[2:]] == ["key_reused", "key_reused"]
        fresh = await client.submit()
        assert fresh > max(live, over)


# --- what a session may ask for -------------------------------------------


async def test_a_cluster_that_one_has_no_token_for_does_not_exist(federation: Federation) -> None:
    other = await federation.new_cluster()
    mine = federation.cluster.name
    results = await federation.client.submit_all(
        [item(clusters=["no-such-cluster"]), item(), item(clusters=[mine, other.name]), item(clusters=[mine])]
    )
    assert [result["error"] and result["error"]["code"] for result in results] == [
        "unknown_cluster", None, "unknown_cluster", None,
    ]  # fmt: skip
    absent, strange = results[0]["error"], results[2]["error"]
    assert absent["message"].replace("no-such-cluster", "X") == strange["message"].replace(other.name, "X")


async def test_a_batch_of_nothing_but_unknown_clusters_is_answered(federation: Federation) -> None:
    results = await federation.client.submit_all([item(clusters=["nowhere"])] * 2)
    assert [result["error"]["code"] for result in results] == ["unknown_cluster"] * 2


async def test_a_job_goes_only_to_the_clusters_that_it_names(federation: Federation) -> None:
    other = await federation.new_cluster()
    agent, client = await federation.new_agent(other), await federation.new_client(federation.cluster, other)
    job = await client.submit(clusters=[other.name])
    await agent.run(job)
    explanation = await client.ask("explain", job=job)
    assert explanation["clusters"] == [{"cluster": other.name, "verdict": "asked", "reason": ""}]
    assert explanation["winner"] == other.name
    assert explanation["request"]["clusters"] == [other.name]


async def test_a_job_that_names_its_clusters_belongs_to_their_tokens_alone(federation: Federation) -> None:
    other = await federation.new_cluster()
    both, one = await federation.new_client(federation.cluster, other), await federation.new_client(other)
    named = await both.submit(clusters=[other.name])
    free = await both.submit()
    answer = await one.ask("status", jobs=[named, free])
    assert [status["job"] for status in answer["items"]] == [named]
    assert answer["unknown"] == [free]


async def test_a_status_shows_the_command_in_one_line(federation: Federation) -> None:
    job = await federation.client.submit(command=["sh", "-c", "echo 'a b'; " + "x" * 1_000])
    (status,) = (await federation.client.ask("status", jobs=[job]))["items"]
    assert status["command"].startswith("sh -c ")
    assert len(status["command"]) == limits.COMMAND_SHOWN_CHARS_MAX
    assert status["command"].endswith("…")


# --- batches --------------------------------------------------------------


async def test_the_largest_batch_is_taken_and_every_job_of_it_is_there(federation: Federation) -> None:
    results = await federation.client.submit_all([item(str(number)) for number in range(limits.BATCH_ITEMS_MAX)])
    jobs = [result["job"] for result in results]
    assert len(set(jobs)) == limits.BATCH_ITEMS_MAX
    answer = await federation.client.ask("status", jobs=jobs)
    assert [status["name"] for status in answer["items"]] == [str(number) for number in range(limits.BATCH_ITEMS_MAX)]


async def test_one_more_is_refused_whole(federation: Federation) -> None:
    refusal = await federation.client.ask("submit", items=[item()] * (limits.BATCH_ITEMS_MAX + 1))
    assert refusal["code"] == "too_large"
    assert (await federation.client.ask("list"))["items"] == []


async def test_the_largest_request_reaches_the_agent_unchanged(federation: Federation) -> None:
    command = ["x", "é" * (limits.COMMAND_CHARS_MAX - 1)]
    env = {"A": "\x01" * (limits.ENV_CHARS_MAX - 1)}
    job = await federation.client.submit(*command, env=env)
    await federation.agent.bid(await federation.agent.item("offers", job))
    award = await federation.agent.item("awards", job)
    assert award["request"] == {"command": command, "env": env}


async def test_an_offer_tells_neither_command_nor_environment(federation: Federation) -> None:
    job = await federation.client.submit("the-secret-command", env={"PASSWORD": "the-secret"})
    offer = await federation.agent.item("offers", job)
    assert set(offer) == {"job", "attempt", "shape", "deadline_ms", "hold_s", "user"}
    assert "the-secret" not in str(offer)


# --- the auction, over real sockets ---------------------------------------


async def test_the_earliest_wins_and_the_loser_is_released_and_explain_tells_it_all(federation: Federation) -> None:
    other = await federation.new_cluster()
    slow, client = await federation.new_agent(other), await federation.new_client(federation.cluster, other)
    job = await client.submit()
    await slow.bid(await slow.item("offers", job), eta_s=7.5, cost=0.5)
    await federation.agent.bid(await federation.agent.item("offers", job), eta_s=2.0, cost=9.0)
    await federation.agent.accept(await federation.agent.item("awards", job))
    await federation.agent.item("starts", job)
    assert (await slow.item("releases"))["job"] == job
    explanation = await client.ask("explain", job=job)
    assert (explanation["winner"], explanation["policy"]) == (federation.cluster.name, "earliest")
    bids = {bid["cluster"]: (bid["answer"], bid["eta_s"], bid["cost"]) for bid in explanation["bids"]}
    assert bids == {other.name: ("yes", 7.5, 0.5), federation.cluster.name: ("yes", 2.0, 9.0)}
    assert [line["event"] for line in explanation["history"]] == ["submitted", "offered", "awarded", "assigned"]
    assert [line["seq"] for line in explanation["history"]] == [1, 2, 3, 4]


async def test_a_no_is_kept_with_its_reason_and_the_job_waits(federation: Federation) -> None:
    job = await federation.client.submit()
    offer = await federation.agent.item("offers", job)
    await federation.agent.bid(offer, answer="no", eta_s=None, cost=None, reason="maintenance\nuntil noon")
    await federation.client.watch_until(job, "waiting")
    explanation = await federation.client.ask("explain", job=job)
    assert explanation["state"] == "pending"
    assert [(bid["answer"], bid["reason"]) for bid in explanation["bids"]] == [("no", "maintenance until noon")]
    assert "maintenance until noon" in explanation["reason"]


async def test_a_program_that_could_never_run_is_no_job(federation: Federation) -> None:
    task = {"name": "a", "command": ["true"], "depends_on": ["b"]}
    refused, taken = await federation.client.submit_all([item(program={"tasks": [task]}), item()])
    assert refused["error"]["code"] == "invalid"
    assert refused["error"]["message"] == "request.program: a task waits for 'b', which is not there"
    assert taken["state"] == "offered"
    assert len((await federation.client.ask("list"))["items"]) == 1


async def test_hosts_that_nobody_can_read_are_refused(federation: Federation) -> None:
    odd = {"op": "and", "args": [{"op": "hostlist", "values": ["a[1-"]}]}
    (refused,) = await federation.client.submit_all([item(constraint=odd)])
    assert refused["error"]["message"].startswith("request.constraint: hostlist: 'a[1-'")
