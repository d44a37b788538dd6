"""Clusters and subsystems that are described by documents: taken whole or not at all, kept, replaced, shown."""

import asyncio
import base64
import zlib
from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import orjson
import pytest

from tests.integration.daemon import documents
from tests.integration.daemon.conftest import StartDaemon
from tests.integration.daemon.peers import AgentPeer, ClientPeer, Cluster, Message, Registrar
from tests.integration.daemon.process import DaemonProcess

_names = count(1)
ONE_CORE = {"command": ["true"]}


@pytest.fixture
async def registrar(daemon: DaemonProcess) -> AsyncIterator[Registrar]:
    async with Registrar(daemon.url) as peer:
        yield peer


@pytest.fixture
def name() -> str:
    return f"described{next(_names)}"


async def registered(registrar: Registrar, name: str, document: Any) -> Cluster:
    answer = await registrar.describe(name, document)
    assert answer["type"] == "registered", answer
    return Cluster(name, answer["secret"], answer["token"])


async def satisfied(client: ClientPeer, request: Message) -> tuple[list[Message], list[Message]]:
    answer = await client.ask("satisfy", request=request)
    assert answer["type"] == "satisfy_answer", answer
    return answer["matches"], answer["mismatches"]


def cores(number: int) -> Message:
    return {"command": ["true"], "shape": {"cores_per_task": number}}


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


# --- subsystems -----------------------------------------------------------


async def test_a_subsystem_comes_changes_and_goes(daemon: DaemonProcess, registrar: Registrar, name: str) -> None:
    cluster = await registered(registrar, name, documents.cluster(nodes=3, cores=2))
    nvme, tape = (documents.wanting({"kind": {"any_of": [kind]}}) for kind in ("nvme", "tape"))
    async with ClientPeer(daemon.url, cluster.token) as client:
        assert (await satisfied(client, nvme))[0] == []
        answer = await registrar.attach(name, "io", documents.subsystem("node1", "node2", kind="nvme"))
        assert (answer["type"], answer["cluster"], answer["secret"]) == ("registered", name, None)
        (match,), _ = await satisfied(client, nvme)
        assert match["nodes_matched"] == 2
        (shown,) = (await client.ask("show_cluster", name=name))["subsystems"]
        assert (shown["name"], shown["vertices"], shown["attached_to"]) == ("io", 2, 2)

        await registrar.attach(name, "io", documents.subsystem("node0", kind="tape"))
        assert (await satisfied(client, nvme))[0] == []
        assert (await satisfied(client, tape))[0]

        assert (await registrar.ask("delete_subsystem", cluster=name, name="io"))["type"] == "done"
        assert (await satisfied(client, tape))[0] == []
        assert (await client.ask("show_cluster", name=name))["subsystems"] == []
        again = await registrar.ask("delete_subsystem", cluster=name, name="io")
        assert again["code"] == "unknown_subsystem"


async def test_a_subsystem_must_be_attached_to_what_is_there(
    daemon: DaemonProcess, registrar: Registrar, name: str
) -> None:
    await registered(registrar, name, documents.cluster(nodes=1, cores=1))
    answer = await registrar.attach(name, "io", documents.subsystem("node7", kind="nvme"))
    assert (answer["code"], "node7" in answer["message"]) == ("bad_graph", True)
    assert (await registrar.ask("show_cluster", name=name))["subsystems"] == []


async def test_a_subsystem_needs_a_cluster_with_a_graph(registrar: Registrar, name: str) -> None:
    missing = await registrar.attach(name, "io", documents.subsystem("node0"))
    assert missing["code"] == "unknown_cluster"
    await registrar.register(name, resources={"nodes": 1, "cores_per_node": 1})
    without = await registrar.attach(name, "io", documents.subsystem("node0"))
    assert without["code"] == "bad_graph"


async def test_subsystems_stay_with_a_cluster_that_is_described_anew(
    daemon: DaemonProcess, registrar: Registrar, name: str
) -> None:
    cluster = await registered(registrar, name, documents.cluster(nodes=3, cores=2))
    await registrar.attach(name, "io", documents.subsystem("node0", kind="nvme"))
    await registrar.describe(name, documents.cluster(nodes=2, cores=8))
    async with ClientPeer(daemon.url, cluster.token) as client:
        assert (await satisfied(client, documents.wanting({"kind": {"any_of": ["nvme"]}}, cores=8)))[0]
    await registrar.attach(name, "io", documents.subsystem("node1", kind="nvme"))
    refused = await registrar.describe(name, documents.cluster(nodes=1, cores=1))
    assert (refused["code"], "'io'" in refused["message"]) == ("bad_graph", True)


async def test_totals_replace_a_graph_and_all_that_was_attached_to_it(
    daemon: DaemonProcess, registrar: Registrar, name: str
) -> None:
    cluster = await registered(registrar, name, documents.cluster(nodes=1, cores=2))
    await registrar.attach(name, "io", documents.subsystem("node0", kind="nvme"))
    answer = await registrar.ask("register_cluster", name=name, resources={"nodes": 2, "cores_per_node": 16})
    assert (answer["type"], answer["secret"]) == ("registered", None)
    async with ClientPeer(daemon.url, cluster.token) as client:
        shown = await client.ask("show_cluster", name=name)
        assert (shown["described"], shown["counts"]["core"], shown["subsystems"]) == ("totals", 32, [])
    await registrar.describe(name, documents.cluster(nodes=1, cores=2))
    assert (await registrar.ask("show_cluster", name=name))["subsystems"] == []


async def test_two_who_change_one_cluster_do_not_undo_each_others_work(
    daemon: DaemonProcess, registrar: Registrar, name: str
) -> None:
    await registered(registrar, name, documents.cluster(nodes=4, cores=2))
    async with Registrar(daemon.url) as other:
        answers = await asyncio.gather(
            registrar.attach(name, "io", documents.subsystem("node0", kind="nvme")),
            other.attach(name, "net", documents.subsystem("node1", kind="fast")),
        )
    assert [answer["type"] for answer in answers] == ["registered", "registered"]
    shown = await registrar.ask("show_cluster", name=name)
    assert [one["name"] for one in shown["subsystems"]] == ["io", "net"]


# --- looking at it --------------------------------------------------------


async def test_a_cluster_is_shown_to_those_who_may_use_it(
    daemon: DaemonProcess, registrar: Registrar, name: str
) -> None:
    cluster = await registered(registrar, name, documents.cluster(nodes=3, cores=4, gpus=1))
    other = await registered(registrar, f"{name}-other", documents.cluster(nodes=1, cores=1))
    async with ClientPeer(daemon.url, cluster.token) as client:
        shown = await client.ask("show_cluster", name=name)
        assert shown["counts"] == {"cluster": 1, "rack": 1, "node": 3, "core": 12, "gpu": 3}
        assert (shown["state"], shown["described"], shown["described_by"]) == ("offline", "graph", "registration")
        (kind,) = shown["kinds"]
        assert (kind["nodes"], kind["contents"]) == (3, {"core": 4, "gpu": 1})
        assert any("node" in line for line in shown["tree"])
        assert (await client.ask("show_cluster", name=other.name))["code"] == "unknown_cluster"
    assert (await registrar.ask("show_cluster", name=other.name))["counts"]["core"] == 1


async def test_the_whole_graph_comes_back_in_parts(daemon: DaemonProcess, registrar: Registrar, name: str) -> None:
    await registered(registrar, name, documents.cluster(nodes=3, cores=4))
    await registrar.attach(name, "io", documents.subsystem("node1", kind="nvme"))
    whole = await exported(registrar, name)
    copy = f"{name}-copy"
    answer = await registrar.describe(copy, whole)
    assert answer["counts"] == (await registrar.ask("show_cluster", name=name))["counts"]


async def test_parts_are_fetched_in_order(registrar: Registrar, name: str) -> None:
    await registered(registrar, name, documents.cluster(nodes=1, cores=1))
    assert (await registrar.ask("show_cluster", name=name, part=1))["code"] == "invalid"
    assert (await registrar.ask("show_cluster", name=name, part=0))["parts"] == 1
    assert (await registrar.ask("show_cluster", name=name, part=0))["part"]


async def exported(client: ClientPeer, name: str) -> bytes:
    first = await client.ask("show_cluster", name=name, part=0)
    pieces = [first["part"]]
    for part in range(1, first["parts"]):
        pieces.append((await client.ask("show_cluster", name=name, part=part))["part"])
    return zlib.decompress(b"".join(base64.b64decode(piece) for piece in pieces))


async def test_to_ask_what_is_satisfied_needs_a_token(registrar: Registrar) -> None:
    assert (await registrar.ask("satisfy", request=ONE_CORE))["code"] == "not_allowed"


async def test_only_clusters_that_one_may_use_are_asked(daemon: DaemonProcess, registrar: Registrar, name: str) -> None:
    mine = await registered(registrar, name, documents.cluster(nodes=1, cores=1))
    bare = await registrar.register(f"{name}-bare")
    await registered(registrar, f"{name}-theirs", documents.cluster(nodes=9, cores=9))
    async with ClientPeer(daemon.url, mine.token, [bare.token]) as client:
        matches, mismatches = await satisfied(client, ONE_CORE)
        assert [one["cluster"] for one in matches] == [mine.name]
        assert [one["cluster"] for one in mismatches] == [bare.name]
        strange = await client.ask("satisfy", request=ONE_CORE | {"clusters": [f"{name}-theirs"]})
        assert strange["code"] == "unknown_cluster"
        only = await client.ask("satisfy", request=ONE_CORE | {"clusters": [mine.name]})
        assert only["mismatches"] == []


# --- for ever -------------------------------------------------------------


async def test_everything_is_the_same_after_a_restart(new_daemon: StartDaemon) -> None:
    daemon = new_daemon().start()
    async with Registrar(daemon.url) as registrar:
        graph = await registered(registrar, "graph", documents.cluster(nodes=3, cores=4))
        await registrar.attach("graph", "io", documents.subsystem("node1", kind="nvme"))
        counted = await registrar.register("counted", resources={"nodes": 2, "cores_per_node": 8})
    tokens = [graph.token, counted.token]
    before = await _told(daemon, tokens)
    daemon.kill()
    daemon.start()
    assert await _told(daemon, tokens) == before
    async with Registrar(daemon.url) as registrar:  # what was attached can be replaced after the restart
        await registrar.attach("graph", "io", documents.subsystem("node2", "node0", kind="tape"))
    assert await _told(daemon, tokens) != before


async def _told(daemon: DaemonProcess, tokens: list[str]) -> list[Message]:
    requests = [cores(4), cores(8), cores(9), documents.wanting({"kind": {"any_of": ["nvme"]}})]
    async with ClientPeer(daemon.url, tokens[0], tokens[1:]) as client:
        told = [await client.ask("satisfy", request=request) for request in requests]
        told += [await client.ask("show_cluster", name=name) for name in ("graph", "counted")]
        told.append(await client.ask("show_cluster", name="graph", part=0))
        return told


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
