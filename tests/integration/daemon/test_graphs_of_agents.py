"""Agents that describe their clusters by documents of their own."""

import hashlib

import pytest

from tests.integration.daemon import documents
from tests.integration.daemon.conftest import Federation, StartDaemon, register
from tests.integration.daemon.peers import AgentPeer, Message, Registrar
from tests.integration.daemon.process import DaemonProcess

GRAPH = documents.cluster(nodes=2, cores=16)
DIGEST = hashlib.sha256(documents.as_bytes(GRAPH)).hexdigest()


@pytest.fixture
async def agent(federation: Federation) -> AgentPeer:
    """Of a cluster that nobody has described yet."""
    return await federation.connect(await federation.new_cluster())


async def shown(registrar: Registrar, agent: AgentPeer) -> Message:
    return await registrar.ask("show_cluster", name=agent.cluster.name)


async def test_a_graph_that_is_not_known_is_asked_for_and_taken(agent: AgentPeer, registrar: Registrar) -> None:
    await agent.hello(cores=3, graph=DIGEST)
    assert (await agent.get("welcome"))["send_graph"] is True
    before = await shown(registrar, agent)
    assert (before["described"], before["counts"]["core"]) == ("totals", 3)
    await agent.send_graph(GRAPH)
    taken = await agent.get("graph_taken")
    assert (taken["digest"], taken["error"]) == (DIGEST, None)
    after = await shown(registrar, agent)
    assert (after["described"], after["described_by"], after["counts"]["core"]) == ("graph", "agent", 32)


async def test_a_graph_that_is_known_is_not_sent_again(agent: AgentPeer, federation: Federation) -> None:
    await agent.introduce(graph=DIGEST)
    await agent.send_graph(GRAPH)
    await agent.get("graph_taken")
    again = await federation.connect(agent.cluster)
    await again.hello(graph=DIGEST)
    assert "send_graph" not in await again.get("welcome")
    changed = await federation.connect(agent.cluster)
    await changed.hello(graph="0" * 64)
    assert (await changed.get("welcome"))["send_graph"] is True


async def test_an_agent_without_a_graph_is_not_asked_for_one(agent: AgentPeer) -> None:
    await agent.hello()
    assert "send_graph" not in await agent.get("welcome")


async def test_a_cluster_that_changes_says_so_by_itself(agent: AgentPeer, registrar: Registrar) -> None:
    await agent.introduce(graph=DIGEST)
    for nodes in (2, 3):
        await agent.send_graph(documents.cluster(nodes=nodes, cores=16))
        assert (await agent.get("graph_taken"))["error"] is None
        assert (await shown(registrar, agent))["counts"]["node"] == nodes


async def test_a_bad_graph_is_refused_in_words_and_the_old_one_stays(
    agent: AgentPeer, registrar: Registrar, daemon: DaemonProcess
) -> None:
    await agent.introduce(graph=DIGEST)
    await agent.send_graph(GRAPH)
    await agent.get("graph_taken")
    bad = await agent.send_graph(b'{"graph": {}}')
    taken = await agent.get("graph_taken")
    assert taken["digest"] == bad
    assert taken["error"]
    assert (await shown(registrar, agent))["counts"]["node"] == 2
    assert "the graph of a cluster was refused" in daemon.log()


async def test_parts_that_cannot_be_taken_are_refused_once(agent: AgentPeer, registrar: Registrar) -> None:
    await agent.introduce(graph=DIGEST)
    for data, last in (("!", False), ("YQ==", True)):
        await agent.send({"type": "graph_part", "digest": DIGEST, "bytes": 9, "data": data, "last": last})
    assert "base64" in (await agent.get("graph_taken"))["error"]
    await agent.send_graph(GRAPH)
    assert (await agent.get("graph_taken"))["error"] is None
    assert agent.left() == []


async def test_the_subsystems_of_the_registrar_stay_with_the_agents_graph(
    agent: AgentPeer, registrar: Registrar, federation: Federation
) -> None:
    await agent.introduce(graph=DIGEST)
    await agent.send_graph(GRAPH)
    await agent.get("graph_taken")
    attached = await registrar.attach(agent.cluster.name, "io", documents.subsystem("node1", kind="nvme"))
    assert attached["type"] == "registered"
    assert (await shown(registrar, agent))["described_by"] == "agent"
    again = await federation.connect(agent.cluster)
    await again.hello(graph=DIGEST)
    assert "send_graph" not in await again.get("welcome")
    await again.send_graph(documents.cluster(nodes=5, cores=1))
    assert (await again.get("graph_taken"))["error"] is None
    assert [one["name"] for one in (await shown(registrar, agent))["subsystems"]] == ["io"]


async def test_a_job_that_waits_is_offered_when_the_graph_says_that_it_fits(
    agent: AgentPeer, federation: Federation
) -> None:
    await agent.introduce(cores=1)
    client = await federation.new_client(agent.cluster, federation.cluster)
    job = await client.submit(shape={"cores_per_task": 8})
    await federation.agent.bid(await federation.agent.item("offers", job), answer="no", reason="busy")
    await agent.send_graph(GRAPH)
    assert await agent.item("offers", job)


async def test_the_graph_of_an_agent_is_there_after_a_restart(new_daemon: StartDaemon) -> None:
    daemon = new_daemon().start()
    cluster = await register(daemon, "red")
    async with AgentPeer(daemon.url, cluster) as agent:
        await agent.introduce(graph=DIGEST)
        await agent.send_graph(GRAPH)
        await agent.get("graph_taken")
    await daemon.restart()
    async with AgentPeer(daemon.url, cluster) as agent, Registrar(daemon.url) as registrar:
        await agent.hello(graph=DIGEST)
        assert "send_graph" not in await agent.get("welcome")
        assert (await shown(registrar, agent))["counts"]["core"] == 32
