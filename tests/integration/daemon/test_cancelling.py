"""Cancel, in each state of a job's life."""

from tests.integration.daemon.conftest import Federation
from tests.integration.daemon.peers import Message


async def cancel(federation: Federation, job: str) -> tuple[str, str]:
    answer = await federation.client.ask("cancel", jobs=[job])
    (result,) = answer["items"]
    assert (result["job"], answer["unknown"]) == (job, [])
    return result["outcome"], result["state"]


def attempt(item: Message) -> Message:
    return {"job": item["job"], "attempt": item["attempt"]}


async def over(federation: Federation, job: str) -> Message:
    status = await federation.client.status(job)
    assert await cancel(federation, job) == ("already_over", status["state"])
    return status


async def test_while_pending(federation: Federation) -> None:
    away = await federation.new_cluster(resources={"nodes": 1, "cores_per_node": 4})
    client = await federation.new_client(away)
    job = await client.submit()
    assert (await client.status(job))["state"] == "pending"
    answer = await client.ask("cancel", jobs=[job])
    assert answer["items"] == [{"job": job, "state": "cancelled", "outcome": "cancelled", "reason": ""}]
    agent = await federation.new_agent(away)
    later = await client.submit()
    assert (await agent.item("offers"))["job"] == later  # what was cancelled is not offered any more


async def test_while_offered_before_anybody_has_answered(federation: Federation) -> None:
    job = await federation.client.submit()
    offer = await federation.agent.item("offers", job)
    assert await cancel(federation, job) == ("cancelled", "cancelled")
    await federation.agent.bid(offer)
    assert await federation.agent.item("releases") == attempt(offer)
    status = await over(federation, job)
    assert (status["state"], status["cluster"], status["exit_code"]) == ("cancelled", None, None)


async def test_while_offered_those_who_hold_a_place_let_go_of_it(federation: Federation) -> None:
    other = await federation.new_cluster()
    silent, client = await federation.new_agent(other), await federation.new_client(federation.cluster, other)
    job = await client.submit()
    await silent.item("offers", job)
    offer = await federation.agent.item("offers", job)
    await federation.agent.bid(offer)
    await federation.agent.report(offer, 1, "running")
    await federation.agent.item("acks")  # the bid has been taken
    assert (await client.ask("cancel", jobs=[job]))["items"][0]["outcome"] == "cancelled"
    assert await federation.agent.item("releases") == attempt(offer)


async def test_while_awarded(federation: Federation) -> None:
    job = await federation.client.submit()
    await federation.agent.bid(await federation.agent.item("offers", job))
    award = await federation.agent.item("awards", job)
    assert await cancel(federation, job) == ("cancelled", "cancelled")
    assert await federation.agent.item("releases") == attempt(award)
    await federation.agent.accept(award)  # it crossed with the release
    assert await federation.agent.item("releases") == attempt(award)
    assert (await over(federation, job))["state"] == "cancelled"


async def test_while_assigned_queued_and_running_the_cluster_ends_it(federation: Federation) -> None:
    for reports in ([], ["queued"], ["running"], ["queued", "running"]):
        started = await federation.agent.take(await federation.client.submit())
        job = started["job"]
        for seq, event in enumerate(reports, 1):
            await federation.agent.report(started, seq, event)
            await federation.agent.item("acks")
        state = reports[-1] if reports else "assigned"
        assert await cancel(federation, job) == ("cancelling", state)
        assert await federation.agent.item("cancels") == started
        status = await federation.client.status(job)
        assert (status["state"], status["cancel_requested"]) == (state, True)
        await federation.agent.report(started, len(reports) + 1, "cancelled", reason="as asked")
        await federation.agent.item("acks")
        assert (await over(federation, job))["state"] == "cancelled"


async def test_a_job_that_was_quicker_keeps_its_own_end(federation: Federation) -> None:
    started = await federation.agent.take(await federation.client.submit())
    assert await cancel(federation, started["job"]) == ("cancelling", "assigned")
    await federation.agent.report(started, 1, "completed", exit_code=0)
    await federation.agent.item("acks")
    status = await over(federation, started["job"])
    assert (status["state"], status["exit_code"]) == ("completed", 0)


async def test_asking_again_tells_the_cluster_again_and_history_once(federation: Federation) -> None:
    started = await federation.agent.take(await federation.client.submit())
    for _ in range(2):
        assert await cancel(federation, started["job"]) == ("cancelling", "assigned")
        assert await federation.agent.item("cancels") == started
    history = await federation.client.history(started["job"])
    assert [line["event"] for line in history].count("cancel_requested") == 1


async def test_a_cluster_that_is_away_hears_of_it_when_it_returns(federation: Federation) -> None:
    started = await federation.agent.take(await federation.client.submit())
    await federation.agent.socket.close()
    assert await cancel(federation, started["job"]) == ("cancelling", "assigned")
    back = await federation.new_agent(federation.cluster, inventory=[(started["job"], started["attempt"], "started")])
    assert await back.item("cancels") == started


async def test_a_job_handed_back_after_a_cancel_is_over_and_not_auctioned_again(federation: Federation) -> None:
    started = await federation.agent.take(await federation.client.submit())
    await cancel(federation, started["job"])
    await federation.agent.report(started, 1, "returned")
    await federation.agent.item("acks")
    assert (await over(federation, started["job"]))["state"] == "cancelled"


async def test_many_at_once_each_with_its_own_outcome(federation: Federation) -> None:
    done = await federation.client.submit()
    await federation.agent.run(done)
    started = await federation.agent.take(await federation.client.submit())
    fresh = await federation.client.submit()
    jobs = [done, started["job"], fresh, done]
    answer = await federation.client.ask("cancel", jobs=jobs)
    assert {result["job"]: (result["outcome"], result["state"]) for result in answer["items"]} == {
        done: ("already_over", "completed"),
        started["job"]: ("cancelling", "assigned"),
        fresh: ("cancelled", "cancelled"),
    }
