"""Clusters that are described by documents: taken whole or not at all, kept and replaced; how a document comes."""

import asyncio
import base64
import zlib
from typing import Any

import orjson
import pytest

from tests.integration.daemon import documents
from tests.integration.daemon.conftest import StartDaemon
from tests.integration.daemon.describing import cores, registered, satisfied
from tests.integration.daemon.peers import AgentPeer, ClientPeer, Message, Registrar
from tests.integration.daemon.process import DaemonProcess


async def test_a_cluster_is_registered_with_its_graph(daemon: DaemonProcess, registrar: Registrar, name: str) -> None:
    answer = await registrar.describe(name, documents.cluster(nodes=3, cores=4, gpus=1))
    assert answer["type"] == "registered"
    assert answer["secret"]
    assert answer["token"]
    assert answer["counts"] == {"cluster": 1, "rack": 1, "node": 3, "core": 12, "gpu": 3}
    async with ClientPeer(daemon.url, answer["token"]) as client:
        (match,), mismatches = await satisfied(client, cores(4))
        assert (match["cluster"], match["instances"], match["nodes_matched"]) == (name, 3, 3)
        assert mismatches == []
        matches, (mismatch,) = await satisfied(client, cores(5))
        assert matches == []
        assert (mismatch["cluster"], mismatch["needed"], mismatch["have"]) == (name, 5, 4)
        listed = (await client.ask("clusters"))["items"]
        assert [(one["name"], one["counts"]["core"]) for one in listed] == [(name, 12)]


async def test_amounts_beyond_64_bits_are_told_as_well_as_numbers_can(
    daemon: DaemonProcess, registrar: Registrar, name: str
) -> None:
    """A million nodes of 24 TB are more bytes than fit into 64 bits."""
    made = await registrar.describe(name, {"memory_per_node": "24TB", "cores_per_node": 448})
    assert made["type"] == "registered", made
    assert made["counts"] == {"cluster": 1, "node": 10**6, "core": 448 * 10**6, "memory": 2.4e19}
    async with ClientPeer(daemon.url, made["token"]) as client:
        (listed,) = (await client.ask("clusters"))["items"]
        assert listed["counts"] == made["counts"]
        shown = await client.ask("show_cluster", name=name)
        assert (shown["counts"], shown["kinds"][0]["contents"]["memory"]) == (made["counts"], 24 * 10**12)
        (match,), _ = await satisfied(client, _memory(1))
        assert match["instances"] >= 10**12
        _, (mismatch,) = await satisfied(client, _memory(10**15, "EB"))
        assert mismatch["reason"]
    assert (await registrar.ask("delete_cluster", name=name))["type"] == "done"


async def test_attributes_as_big_as_they_may_be_are_shown(registrar: Registrar, name: str) -> None:
    labels = {"low": -(2**63), "high": 2**63 - 1}
    answer = await registrar.describe(name, [{"name": "n", "cores": 1, "labels": labels}])
    assert answer["type"] == "registered", answer
    (kind,) = (await registrar.ask("show_cluster", name=name))["kinds"]
    assert kind["attributes"] == labels
    refused = await registrar.describe(name, b'[{"name": "n", "cores": 1, "labels": {"low": %d}}]' % (-(2**63) - 1))
    assert (refused["code"], "'low' is -9223372036854775809, which is too big" in refused["message"]) == (
        "bad_graph",
        True,
    )


def _memory(amount: int, unit: str = "B") -> Message:
    memory = {"type": "memory", "count": amount, "unit": unit}
    return {"command": ["true"], "needs": [{"alternatives": [[{"type": "slot", "with": [memory]}]]}]}


async def test_a_job_goes_where_the_graph_says_it_fits(daemon: DaemonProcess, registrar: Registrar, name: str) -> None:
    cluster = await registered(registrar, name, documents.cluster(nodes=1, cores=2))
    async with ClientPeer(daemon.url, cluster.token) as client, AgentPeer(daemon.url, cluster) as agent:
        await agent.introduce(cores=64)  # what an agent says of itself in passing is not better than its graph
        (item,) = await client.submit_all([{"request": cores(3)}])
        assert item["state"] == "rejected"
        job = await client.submit(shape={"cores_per_task": 2})
        assert (await agent.item("offers", job))["shape"]["cores_per_task"] == 2


async def test_an_offer_tells_what_the_request_says_beyond_its_shape(
    daemon: DaemonProcess, registrar: Registrar, name: str
) -> None:
    cluster = await registered(registrar, name, documents.cluster(nodes=2, cores=2))
    assert (await registrar.attach(name, "io", documents.subsystem("node1", kind="nvme")))["type"] == "registered"
    request = documents.wanting({"kind": {"any_of": ["nvme"]}})
    async with ClientPeer(daemon.url, cluster.token) as client, AgentPeer(daemon.url, cluster) as agent:
        await agent.introduce()
        (item,) = await client.submit_all([{"request": request | {"queue": "batch"}}])
        offer = await agent.item("offers", item["job"])
        assert offer["queue"] == "batch"
        (slot,) = offer["needs"][0]["alternatives"][0]
        assert slot["with"][0]["requires"][0]["subsystem"] == "io"
        assert "image" not in offer


async def test_registering_again_updates_the_cluster_and_keeps_its_credentials(
    daemon: DaemonProcess, registrar: Registrar, name: str
) -> None:
    cluster = await registered(registrar, name, documents.cluster(nodes=1, cores=2))
    async with ClientPeer(daemon.url, cluster.token) as client, AgentPeer(daemon.url, cluster) as agent:
        await agent.introduce()
        answer = await registrar.describe(name, documents.cluster(nodes=1, cores=8))
        assert (answer["type"], answer["secret"], answer["token"]) == ("registered", None, None)
        assert answer["counts"]["core"] == 8
        matches, _ = await satisfied(client, cores(8))
        assert matches
        job = await client.submit(shape={"cores_per_task": 8})
        assert await agent.item("offers", job)
    async with ClientPeer(daemon.url, cluster.token) as again, AgentPeer(daemon.url, cluster) as agent:
        assert again.welcome["clusters"] == [name]
        await agent.introduce()


async def test_a_name_that_is_taken_without_a_new_description_is_refused(registrar: Registrar, name: str) -> None:
    await registered(registrar, name, documents.cluster(nodes=1, cores=2))
    answer = await registrar.ask("register_cluster", name=name)
    assert answer["code"] == "cluster_exists"


async def test_a_job_that_waits_hears_of_the_new_description(
    daemon: DaemonProcess, registrar: Registrar, name: str
) -> None:
    """The cluster is away: the job waits for it, until it turns out that it could never run there."""
    cluster = await registered(registrar, name, documents.cluster(nodes=1, cores=8))
    async with ClientPeer(daemon.url, cluster.token) as client:
        job = await client.submit(shape={"cores_per_task": 8})
        assert (await client.status(job))["state"] == "pending"
        await registrar.describe(name, documents.cluster(nodes=1, cores=4))
        await client.watch_until(job, "rejected")


BAD = {
    "not JSON": b"}{",
    "of no known form": b'{"hello": 1}',
    "with an edge that ends nowhere": orjson.dumps(
        {"graph": {"nodes": {"a": {"metadata": {"type": "cluster"}}}, "edges": [{"source": "a", "target": "b"}]}}
    ),
}


@pytest.mark.parametrize("document", BAD.values(), ids=BAD)
async def test_a_refused_registration_burns_no_name(registrar: Registrar, name: str, document: bytes) -> None:
    answer = await registrar.describe(name, document)
    assert (answer["type"], answer["code"]) == ("error", "bad_graph")
    assert answer["message"]
    assert (await registrar.ask("show_cluster", name=name))["code"] == "unknown_cluster"
    await registered(registrar, name, documents.cluster(nodes=1, cores=2))


@pytest.mark.parametrize("document", BAD.values(), ids=BAD)
async def test_a_refused_update_changes_nothing(
    daemon: DaemonProcess, registrar: Registrar, name: str, document: bytes
) -> None:
    cluster = await registered(registrar, name, documents.cluster(nodes=1, cores=2))
    before = await registrar.ask("show_cluster", name=name)
    assert (await registrar.describe(name, document))["code"] == "bad_graph"
    after = await registrar.ask("show_cluster", name=name)
    assert after | {"ref": 0} == before | {"ref": 0}
    async with ClientPeer(daemon.url, cluster.token) as client:
        assert (await satisfied(client, cores(2)))[0]


# --- how a document comes -------------------------------------------------


async def test_documents_are_for_the_registrar_only(daemon: DaemonProcess, registrar: Registrar, name: str) -> None:
    cluster = await registered(registrar, name, documents.cluster(nodes=1, cores=2))
    async with ClientPeer(daemon.url, cluster.token) as client:
        for request in (
            {"kind": "document_part", "document": 1, "data": ""},
            {"kind": "register_subsystem", "cluster": name, "name": "io", "document": {"document": 1, "bytes": 1}},
            {"kind": "delete_subsystem", "cluster": name, "name": "io"},
            {"kind": "delete_cluster", "name": name},
        ):
            assert (await client.ask(**request))["code"] == "not_allowed"


async def test_a_document_that_was_not_sent_cannot_be_used(registrar: Registrar, name: str) -> None:
    answer = await registrar.ask("register_cluster", name=name, document={"document": 9, "bytes": 5})
    assert answer["code"] == "invalid"
    reference = await registrar.send_document(documents.cluster(nodes=1, cores=1))
    assert (await registrar.ask("register_cluster", name=name, document=reference))["type"] == "registered"
    again = await registrar.ask("register_cluster", name=name, document=reference)
    assert (again["code"], "used already" in again["message"]) == ("invalid", True)


async def test_a_document_is_dropped_when_another_begins(registrar: Registrar, name: str) -> None:
    first = await registrar.send_document(documents.cluster(nodes=1, cores=1))
    second = await registrar.send_document(documents.cluster(nodes=2, cores=1))
    assert (await registrar.ask("register_cluster", name=name, document=first))["code"] == "invalid"
    answer = await registrar.ask("register_cluster", name=name, document=second)
    assert answer["counts"]["node"] == 2


async def test_parts_that_are_no_base64_spoil_the_document(registrar: Registrar) -> None:
    assert (await registrar.ask("document_part", document=77, data="!"))["code"] == "invalid"
    late = await registrar.ask("document_part", document=77, data="YQ==")
    assert (late["code"], "refused before" in late["message"]) == ("invalid", True)


async def test_a_document_of_another_length_than_told_is_refused(registrar: Registrar, name: str) -> None:
    reference = await registrar.send_document(documents.cluster(nodes=1, cores=1))
    wrong = reference | {"bytes": reference["bytes"] - 1}
    assert (await registrar.ask("register_cluster", name=name, document=wrong))["code"] == "bad_graph"


async def test_nothing_is_left_of_documents_when_their_session_ends(daemon: DaemonProcess, name: str) -> None:
    async with Registrar(daemon.url) as registrar:
        await registrar.send_document(documents.cluster(nodes=1, cores=1))
        (spool,) = _spools(daemon)
        assert spool.stat().st_mode & 0o077 == 0
    async with Registrar(daemon.url) as registrar:
        while _spools(daemon):  # its session is being taken apart: each answer is a step of the daemon's loop
            await registrar.ask("clusters")
        await registrar.describe(name, documents.cluster(nodes=1, cores=1))
        assert _spools(daemon) == []


async def test_what_a_killed_daemon_left_is_swept_away_at_the_start(new_daemon: StartDaemon) -> None:
    daemon = new_daemon().start()
    async with Registrar(daemon.url) as registrar:
        await registrar.send_document(documents.cluster(nodes=1, cores=1))
        daemon.kill()
    assert _spools(daemon)
    daemon.start()
    assert _spools(daemon) == []


def _spools(daemon: DaemonProcess) -> list[Any]:
    return list(daemon.directory.glob("*.spool-*"))


async def test_others_go_on_while_a_large_document_is_refused(
    daemon: DaemonProcess, registrar: Registrar, name: str
) -> None:
    """Fifty megabytes that turn out wrong at their very end: jobs are submitted and won before that is told."""
    cluster = await registered(registrar, f"{name}-small", documents.cluster(nodes=1, cores=4))
    vertex = b'{"id":"%d","metadata":{"type":"node","basename":"node","name":"a rather long name of a node"}},'
    large = b'{"graph":{"nodes":[' + b"".join(vertex % number for number in range(550_000)) + b"!"
    assert len(large) > 50_000_000
    sent = zlib.compress(large, 1)
    for start in range(0, len(sent), 512 * 1024):
        data = base64.b64encode(sent[start : start + 512 * 1024]).decode()
        await registrar.ask("document_part", document=500, data=data)
    happened: list[str] = []
    async with ClientPeer(daemon.url, cluster.token) as client, AgentPeer(daemon.url, cluster) as agent:
        await agent.introduce()
        request = await registrar.request(
            "register_cluster", name=name, document={"document": 500, "bytes": len(large)}
        )

        async def refused() -> None:
            answer = await registrar.answer(request)
            assert answer["code"] == "bad_graph"
            happened.append("refused")

        await registrar.ask("clusters")  # the same session is answered, too
        if not registrar.left():
            happened.append("listed")
        waiting = asyncio.create_task(refused())
        await agent.run(await client.submit())
        happened.append("ran")
        await waiting
    assert happened == ["listed", "ran", "refused"]
