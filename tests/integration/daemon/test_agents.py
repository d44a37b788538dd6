"""Agents that break the rules, or only look as if: nothing changes, and everybody is told what to do."""

import pytest

from rainbow_protocol.ids import JobIds
from tests.integration.daemon.conftest import Federation
from tests.integration.daemon.peers import AgentPeer, Message

NEVER = JobIds().next(1_800_000_000.0)  # a job id of another time


def attempt(job: str, number: int = 1) -> Message:
    return {"job": job, "attempt": number}


async def settled(agent: AgentPeer) -> list[Message]:
    """What the daemon had to say about all that was sent before: the ack of one more report comes behind it."""
    await agent.report(attempt(NEVER, 99), 1, "running")
    while (await agent.item("acks", NEVER))["attempt"] != 99:
        pass
    return agent.left()


# --- the introduction -----------------------------------------------------


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ({"type": "state", "free": {"nodes": 0, "cores": 0}}, "invalid"),
        ({"type": "inventory", "items": [], "last": True}, "invalid"),
        ({"type": "hello"}, "invalid"),
        ({"type": "hello", "agent_id": "short", "version": "1", "backend": "t",
          "resources": {"nodes": 1, "cores_per_node": 1}}, "invalid"),
        ({"type": "hello", "agent_id": "long-enough", "version": "1", "backend": "t",
          "resources": {"nodes": 0, "cores_per_node": 1}}, "invalid"),
        ({"type": "nonsense"}, "unknown_type"),
        ("not json", "malformed"),
        (b"binary", "malformed"),
    ],
)  # fmt: skip
async def test_an_introduction_that_cannot_be_read_ends_the_session(
    federation: Federation, first: Message | str | bytes, code: str
) -> None:
    agent = await federation.connect(await federation.new_cluster())
    await agent.send(first)
    assert (await agent.get("error"))["code"] == code
    assert await agent.closed() == 1008


async def test_after_hello_only_the_inventory_may_come(federation: Federation) -> None:
    agent = await federation.connect(await federation.new_cluster())
    await agent.hello_only()
    await agent.send({"type": "state", "free": {"nodes": 0, "cores": 0}})
    assert "inventory" in (await agent.get("error"))["message"]
    assert await agent.closed() == 1008


async def test_a_cluster_is_online_only_after_the_whole_inventory(federation: Federation) -> None:
    cluster = await federation.new_cluster()
    client, agent = await federation.new_client(cluster), await federation.connect(cluster)
    await agent.hello_only()
    await agent.send({"type": "inventory", "items": [], "last": False})
    assert (await client.ask("clusters"))["items"][0]["state"] == "offline"
    await agent.send({"type": "inventory", "items": [], "last": True})
    assert (await agent.get("welcome"))["cluster"] == cluster.name
    (info,) = (await client.ask("clusters"))["items"]
    assert (info["state"], info["resources"]["cores_per_node"]) == ("online", 8)


async def test_an_introduction_in_the_middle_of_a_session_changes_nothing(federation: Federation) -> None:
    await federation.agent.hello(cores=99)
    for _ in range(2):
        assert (await federation.agent.get("error"))["code"] == "invalid"
    (info,) = (await federation.client.ask("clusters"))["items"]
    assert info["resources"]["cores_per_node"] == 8


async def test_a_second_agent_of_a_cluster_is_turned_away(federation: Federation) -> None:
    second = await federation.connect(federation.cluster, "quite-another-agent")
    await second.hello()
    assert (await second.get("error"))["code"] == "cluster_busy"
    assert await second.closed() == 1008
    await federation.agent.run(await federation.client.submit())


async def test_the_same_agent_takes_over_and_the_old_session_is_closed(federation: Federation) -> None:
    job = await federation.client.submit()
    old_offer = await federation.agent.item("offers", job)
    newer = await federation.new_agent(federation.cluster)
    assert (await federation.agent.get("error"))["code"] == "cluster_busy"
    assert await federation.agent.closed() == 1008
    await newer.bid(old_offer)  # its bids of the old session are void
    assert await newer.item("releases", job) == attempt(job, old_offer["attempt"])


# --- bids, answers and reports that do not count --------------------------


async def test_a_yes_for_a_job_that_never_was_is_released(federation: Federation) -> None:
    await federation.agent.bid(attempt(NEVER))
    assert await federation.agent.item("releases") == attempt(NEVER)


async def test_a_no_for_a_job_that_never_was_is_not_answered(federation: Federation) -> None:
    await federation.agent.bid(attempt(NEVER), answer="no")
    assert await settled(federation.agent) == []


async def test_nobody_bids_for_a_job_that_was_not_offered_to_him(federation: Federation) -> None:
    stranger = await federation.new_agent(await federation.new_cluster())
    job = await federation.client.submit()
    offer = await federation.agent.item("offers", job)
    await stranger.bid(offer, cost=0.0)
    assert await stranger.item("releases") == attempt(job)
    await federation.agent.bid(offer)
    await federation.agent.item("awards", job)
    bids = (await federation.client.ask("explain", job=job))["bids"]
    assert [bid["cluster"] for bid in bids] == [federation.cluster.name]


async def test_a_second_bid_does_not_replace_the_first(federation: Federation) -> None:
    cluster = await federation.new_cluster()
    other, client = await federation.new_agent(cluster), await federation.new_client(federation.cluster, cluster)
    job = await client.submit()
    offer = await federation.agent.item("offers", job)
    await federation.agent.bid(offer, eta_s=50.0)
    await federation.agent.bid(offer, eta_s=0.0)
    await settled(federation.agent)
    await other.bid(await other.item("offers", job), eta_s=20.0)
    await other.item("awards", job)


async def test_a_bid_for_another_attempt_is_released_and_does_not_count(federation: Federation) -> None:
    job = await federation.client.submit()
    offer = await federation.agent.item("offers", job)
    await federation.agent.bid(attempt(job, offer["attempt"] + 1))
    assert await federation.agent.item("releases") == attempt(job, offer["attempt"] + 1)
    assert (await federation.client.status(job))["state"] == "offered"


async def test_nobody_accepts_without_an_award(federation: Federation) -> None:
    job = await federation.client.submit()
    offer = await federation.agent.item("offers", job)
    await federation.agent.accept(offer)
    assert await federation.agent.item("releases") == attempt(job)
    assert (await federation.client.status(job))["state"] == "offered"


async def test_nobody_accepts_the_award_of_another(federation: Federation) -> None:
    stranger = await federation.new_agent(await federation.new_cluster())
    job = await federation.client.submit()
    await federation.agent.bid(await federation.agent.item("offers", job))
    award = await federation.agent.item("awards", job)
    await stranger.accept(award)
    assert await stranger.item("releases") == attempt(job)
    assert (await federation.client.status(job))["state"] == "awarded"


async def test_an_acceptance_that_comes_again_is_told_to_start_again(federation: Federation) -> None:
    started = await federation.agent.take(await federation.client.submit())
    await federation.agent.accept(started)
    assert await federation.agent.item("starts") == started
    history = await federation.client.history(started["job"])
    assert [line["event"] for line in history].count("assigned") == 1


async def test_a_refusal_after_the_acceptance_is_too_late(federation: Federation) -> None:
    started = await federation.agent.take(await federation.client.submit())
    await federation.agent.send({"type": "award_answers", "items": [started | {"answer": "refuse"}]})
    await settled(federation.agent)
    assert (await federation.client.status(started["job"]))["state"] == "assigned"


async def test_a_refused_award_goes_to_the_next_best(federation: Federation) -> None:
    cluster = await federation.new_cluster()
    second, client = await federation.new_agent(cluster), await federation.new_client(federation.cluster, cluster)
    job = await client.submit()
    await second.bid(await second.item("offers", job), eta_s=5.0)
    await federation.agent.bid(await federation.agent.item("offers", job))
    award = await federation.agent.item("awards", job)
    answer = attempt(job, award["attempt"]) | {"answer": "refuse", "reason": "disk is full"}
    await federation.agent.send({"type": "award_answers", "items": [answer]})
    await second.accept(await second.item("awards", job))
    await second.item("starts", job)
    refused = [line for line in await client.history(job) if line["event"] == "refused"]
    assert refused[0]["data"]["reason"] == "disk is full"


async def test_a_report_on_the_job_of_another_is_acknowledged_and_changes_nothing(federation: Federation) -> None:
    stranger = await federation.new_agent(await federation.new_cluster())
    started = await federation.agent.take(await federation.client.submit())
    await stranger.report(started, 1, "completed", exit_code=0)
    assert await stranger.item("acks") == started | {"seq": 1}
    assert (await federation.client.status(started["job"]))["state"] == "assigned"


async def test_a_report_on_an_attempt_that_was_never_given_changes_nothing(federation: Federation) -> None:
    started = await federation.agent.take(await federation.client.submit())
    ahead = attempt(started["job"], started["attempt"] + 1)
    await federation.agent.report(ahead, 1, "completed", exit_code=0)
    assert await federation.agent.item("acks") == ahead | {"seq": 1}
    assert (await federation.client.status(started["job"]))["state"] == "assigned"


async def test_a_report_before_the_acceptance_changes_nothing(federation: Federation) -> None:
    job = await federation.client.submit()
    await federation.agent.bid(await federation.agent.item("offers", job))
    award = await federation.agent.item("awards", job)
    await federation.agent.report(award, 1, "running")
    await federation.agent.item("acks", job)
    assert (await federation.client.status(job))["state"] == "awarded"


async def test_a_report_that_comes_again_is_taken_once_and_acknowledged_each_time(federation: Federation) -> None:
    started = await federation.agent.take(await federation.client.submit())
    for _ in range(3):
        await federation.agent.report(started, 1, "running")
        assert (await federation.agent.item("acks"))["seq"] == 1
    history = await federation.client.history(started["job"])
    assert [line["event"] for line in history].count("running") == 1


async def test_after_the_end_nothing_more_is_taken(federation: Federation) -> None:
    started = await federation.agent.take(await federation.client.submit())
    await federation.agent.report(started, 1, "failed", exit_code=3)
    await federation.agent.report(started, 2, "completed", exit_code=0)
    await federation.agent.report(started, 3, "returned")
    while (await federation.agent.item("acks"))["seq"] < 3:
        pass
    status = await federation.client.status(started["job"])
    assert (status["state"], status["exit_code"]) == ("failed", 3)


async def test_a_job_that_ran_cannot_be_handed_back(federation: Federation) -> None:
    started = await federation.agent.take(await federation.client.submit())
    await federation.agent.report(started, 1, "running")
    await federation.agent.report(started, 2, "returned")
    while (await federation.agent.item("acks"))["seq"] < 2:
        pass
    status = await federation.client.status(started["job"])
    assert (status["state"], status["exit_code"]) == ("lost", None)


async def test_a_job_that_never_ran_is_auctioned_again_under_the_next_attempt(federation: Federation) -> None:
    started = await federation.agent.take(await federation.client.submit())
    await federation.agent.report(started, 1, "queued")
    await federation.agent.report(started, 2, "returned", reason="the node is gone")
    offer = await federation.agent.item("offers", started["job"])
    assert offer["attempt"] == started["attempt"] + 1


async def test_output_that_nobody_asked_for_is_dropped(federation: Federation) -> None:
    await federation.agent.send({"type": "output", "request": 12345, "chunks": [], "done": True})
    assert await settled(federation.agent) == []


# --- coming back ----------------------------------------------------------


async def test_a_session_lost_before_the_acceptance_means_a_new_auction_at_once(federation: Federation) -> None:
    cluster = await federation.new_cluster()
    second, client = await federation.new_agent(cluster), await federation.new_client(federation.cluster, cluster)
    job = await client.submit()
    await second.bid(await second.item("offers", job), eta_s=9.0)
    await federation.agent.bid(await federation.agent.item("offers", job))
    award = await federation.agent.item("awards", job)
    await federation.agent.socket.close()
    offer = await second.item("offers", job)
    assert offer["attempt"] == award["attempt"] + 1
    await second.bid(offer)
    await second.accept(await second.item("awards", job))
    await second.item("starts", job)
    back = await federation.new_agent(federation.cluster, inventory=[(job, award["attempt"], "accepted")])
    assert await back.item("releases") == attempt(job, award["attempt"])


async def test_a_started_job_waits_for_its_cluster(federation: Federation) -> None:
    started = await federation.agent.take(await federation.client.submit())
    job = started["job"]
    await federation.agent.socket.close()
    back = await federation.new_agent(federation.cluster, inventory=[(job, started["attempt"], "accepted")])
    assert await back.item("starts") == started
    await back.report(started, 1, "completed", exit_code=0)
    await back.item("acks", job)
    assert (await federation.client.status(job))["state"] == "completed"


async def test_a_started_job_that_the_journal_does_not_have_is_lost(federation: Federation) -> None:
    started = await federation.agent.take(await federation.client.submit())
    await federation.agent.socket.close()
    await federation.new_agent(federation.cluster, inventory=[])
    status = await federation.client.status(started["job"])
    assert (status["state"], status["exit_code"]) == ("lost", None)
    assert "no longer knows the job" in status["reason"]


async def test_an_attempt_that_no_longer_counts_is_ended_at_the_cluster_that_still_has_it(
    federation: Federation,
) -> None:
    job = await federation.client.submit()
    await federation.agent.run(job)
    await federation.agent.socket.close()
    inventory = [(job, 7, "started"), (NEVER, 1, "accepted"), (NEVER, 2, "finished")]
    back = await federation.new_agent(federation.cluster, inventory=inventory)
    assert await back.item("cancels") == attempt(job, 7)
    assert await back.item("releases") == attempt(NEVER, 1)
    assert await settled(back) == []


async def test_status_says_that_the_cluster_is_away(federation: Federation) -> None:
    started = await federation.agent.take(await federation.client.submit())
    await federation.agent.socket.close()
    while True:
        (info,) = (await federation.client.ask("clusters"))["items"]
        if info["state"] == "offline":
            break
    status = await federation.client.status(started["job"])
    assert status["state"] == "assigned"
    assert "is offline" in status["reason"]
