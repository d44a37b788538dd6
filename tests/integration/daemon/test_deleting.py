"""Clusters that are deleted: their agents, their jobs, their credentials, their users, and who has the name next."""

import sqlite3
from contextlib import closing

import pytest
from websockets.exceptions import InvalidStatus

from tests.integration.daemon import documents
from tests.integration.daemon.conftest import Federation, StartDaemon
from tests.integration.daemon.peers import AgentPeer, ClientPeer, Cluster, Message, Registrar


async def delete(registrar: Registrar, cluster: Cluster, *, force: bool = False) -> Message:
    return await registrar.ask("delete_cluster", name=cluster.name, force=force)


async def test_the_agent_is_told_and_told_not_to_come_back(federation: Federation, registrar: Registrar) -> None:
    assert (await delete(registrar, federation.cluster))["type"] == "done"
    assert (await federation.agent.get("error"))["code"] == "unknown_cluster"
    goodbye = await federation.agent.get("goodbye")
    assert goodbye["reconnect"] is False
    assert "deleted" in goodbye["reason"]
    await federation.agent.closed()
    with pytest.raises(InvalidStatus) as refused:
        await federation.connect(federation.cluster)
    assert refused.value.response.status_code == 401


async def test_a_cluster_that_does_not_exist_cannot_be_deleted(registrar: Registrar) -> None:
    answer = await registrar.ask("delete_cluster", name="nowhere")
    assert answer["code"] == "unknown_cluster"


async def test_jobs_at_the_cluster_keep_it_unless_it_is_forced(federation: Federation, registrar: Registrar) -> None:
    job = await federation.client.submit()
    await federation.agent.take(job)
    refused = await delete(registrar, federation.cluster)
    assert (refused["code"], job in refused["message"]) == ("cluster_has_jobs", True)
    assert (await federation.client.status(job))["state"] == "assigned"
    assert (await delete(registrar, federation.cluster, force=True))["type"] == "done"
    status = await federation.client.status(job)
    assert status["state"] == "lost"
    assert f"{federation.cluster.name} was deleted" in status["reason"]


async def test_jobs_that_could_only_go_there_are_rejected_and_others_go_elsewhere(
    federation: Federation, registrar: Registrar
) -> None:
    other = await federation.new_cluster()
    agent = await federation.new_agent(other)
    client = await federation.new_client(federation.cluster, other)
    lonely = await client.submit(clusters=[federation.cluster.name])
    free = await client.submit()
    await federation.agent.item("offers", lonely)
    await federation.agent.item("offers", free)
    await agent.bid(await agent.item("offers", free), answer="no", reason="busy")
    await delete(registrar, federation.cluster)
    assert (await client.watch_until(lonely, "rejected"))[-1]["state"] == "rejected"
    assert "was deleted" in (await client.status(lonely))["reason"]
    assert (await client.status(free))["state"] in ("pending", "offered")
    await agent.send({"type": "state", "free": {"nodes": 1, "cores": 8}})
    await agent.run(free)
    await client.watch_until(free, "completed")


async def test_its_users_see_their_jobs_and_can_submit_nothing(federation: Federation, registrar: Registrar) -> None:
    job = await federation.client.submit()
    await federation.agent.run(job)
    await delete(registrar, federation.cluster)
    late = await federation.new_client(federation.cluster)
    assert late.welcome["clusters"] == []
    for client in (federation.client, late):
        assert (await client.status(job))["state"] == "completed"
        assert [line["event"] for line in await client.history(job)][-1] == "completed"
        refused = await client.ask("submit", items=[{"request": {"command": ["true"]}}])
        assert refused["code"] == "not_allowed"
        named = await client.ask("satisfy", request={"command": ["true"]})
        assert named["code"] == "not_allowed"
        assert (await client.ask("show_cluster", name=federation.cluster.name))["code"] == "unknown_cluster"
        assert (await client.ask("clusters"))["items"] == []
        output = await client.ask("logs", job=job)
        assert (output["code"], "was deleted" in output["message"]) == ("unknown_cluster", True)


@pytest.mark.parametrize("restarted", [False, True], ids=["at once", "after a restart"])
async def test_who_has_the_name_next_does_not_see_the_old_jobs(new_daemon: StartDaemon, restarted: bool) -> None:
    daemon = new_daemon().start()
    async with Registrar(daemon.url) as registrar:
        old = await registrar.register("red")
        async with AgentPeer(daemon.url, old) as agent, ClientPeer(daemon.url, old.token) as client:
            await agent.introduce()
            await agent.run(done := await client.submit("echo", "a secret of the old ones"))
            await agent.take(running := await client.submit())
            waiting = await client.submit(shape={"cores_per_task": 8}, key="same key")
        await delete(registrar, old, force=True)
        if not restarted:
            new = await registrar.register("red")
    if restarted:
        await daemon.restart()
        async with Registrar(daemon.url) as registrar:
            new = await registrar.register("red")
    theirs = [done, running, waiting]
    async with ClientPeer(daemon.url, new.token) as client, ClientPeer(daemon.url, old.token) as past:
        assert (await client.ask("status", jobs=theirs))["unknown"] == theirs
        assert (await client.ask("list"))["items"] == []
        assert (await client.ask("cancel", jobs=theirs))["unknown"] == theirs
        assert (await client.ask("explain", job=done))["code"] == "unknown_job"
        mine = await client.submit(key="same key")
        assert mine not in theirs
        assert [one["job"] for one in (await client.ask("list"))["items"]] == [mine]
        assert (await past.ask("status", jobs=[mine]))["unknown"] == [mine]
        assert {one["job"] for one in (await past.ask("list"))["items"]} == set(theirs)
        assert (await past.status(running))["state"] == "lost"
        async with AgentPeer(daemon.url, new) as agent:
            await agent.introduce()
            await agent.run(mine)
            # The name is the same, but the old job's output does not lie with this agent, and it is not asked.
            assert (await past.ask("logs", job=done))["code"] == "unknown_cluster"
            assert [message["type"] for message in agent.left()] == []
        both = ClientPeer(daemon.url, old.token, [new.token])
        async with both:
            assert both.welcome["clusters"] == ["red"]
            assert {one["job"] for one in (await both.ask("list"))["items"]} == {mine, *theirs}


async def test_a_clock_that_was_set_back_gives_no_cluster_the_place_of_an_old_one(new_daemon: StartDaemon) -> None:
    daemon = new_daemon().start()
    tokens = []
    async with Registrar(daemon.url) as registrar:
        for _ in range(3):
            tokens.append((old := await registrar.register("red")).token)
            assert (await delete(registrar, old))["type"] == "done"
    daemon.stop()
    with closing(sqlite3.connect(daemon.database)) as database, database:
        database.execute("UPDATE retired_clusters SET retired_at = 1e9 - generation")
    daemon.start()
    async with Registrar(daemon.url) as registrar:
        new = await registrar.register("red")
        async with ClientPeer(daemon.url, new.token) as client:
            job = await client.submit()
        assert (await delete(registrar, new))["type"] == "done"
    async with ClientPeer(daemon.url, tokens[0], tokens[1:]) as past, ClientPeer(daemon.url, new.token) as client:
        assert (await past.ask("status", jobs=[job]))["unknown"] == [job]
        assert (await client.status(job))["job"] == job
    daemon.stop()


async def test_an_open_session_of_an_old_user_does_not_see_the_new_jobs(new_daemon: StartDaemon) -> None:
    daemon = new_daemon().start()
    async with Registrar(daemon.url) as registrar:
        old = await registrar.register("red")
        async with ClientPeer(daemon.url, old.token) as past:
            await delete(registrar, old)
            new = await registrar.register("red")
            async with ClientPeer(daemon.url, new.token) as client:
                mine = await client.submit()
                assert (await past.ask("status", jobs=[mine]))["unknown"] == [mine]
                refused = await past.ask("submit", items=[{"request": {"command": ["true"], "clusters": ["red"]}}])
                assert refused["code"] == "not_allowed"


async def test_the_old_agent_does_not_become_that_of_the_new_cluster(federation: Federation) -> None:
    """Its handshake was made before the deletion, its introduction comes after."""
    cluster = await federation.new_cluster()
    late = await federation.connect(cluster)
    async with Registrar(federation.daemon.url) as registrar:
        await delete(registrar, cluster)
        new = await registrar.register(cluster.name)
    await late.hello()
    assert (await late.get("goodbye"))["reconnect"] is False
    client = await federation.new_client(new)
    (shown,) = (await client.ask("clusters"))["items"]
    assert shown["state"] == "offline"


async def test_nothing_of_the_old_graph_is_there_under_the_new_name(registrar: Registrar) -> None:
    name = "reused"
    await registrar.describe(name, documents.cluster(nodes=1, cores=2))
    await registrar.attach(name, "io", documents.subsystem("node0", kind="nvme"))
    await registrar.ask("delete_cluster", name=name)
    answer = await registrar.describe(name, documents.cluster(nodes=2, cores=2))
    assert answer["secret"]
    shown = await registrar.ask("show_cluster", name=name)
    assert (shown["counts"]["node"], shown["subsystems"]) == (2, [])
