"""Subsystems of clusters, and what is told of a cluster that is described: shown, asked about, after a restart."""

import asyncio
import base64
import zlib

from tests.integration.daemon import documents
from tests.integration.daemon.conftest import StartDaemon
from tests.integration.daemon.describing import cores, registered, satisfied
from tests.integration.daemon.peers import ClientPeer, Message, Registrar
from tests.integration.daemon.process import DaemonProcess

ONE_CORE = {"command": ["true"]}


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


async def test_counts_replace_a_graph_once_nothing_is_attached_to_it(
    daemon: DaemonProcess, registrar: Registrar, name: str
) -> None:
    cluster = await registered(registrar, name, documents.cluster(nodes=1, cores=2))
    await registrar.attach(name, "os", documents.subsystem("node0", kind="linux"))
    await registrar.attach(name, "io", documents.subsystem("node0", kind="nvme"))
    before = await registrar.ask("show_cluster", name=name)
    resources = {"nodes": 2, "cores_per_node": 16}
    refused = await registrar.ask("register_cluster", name=name, resources=resources)
    assert refused["code"] == "bad_graph"
    assert "has the subsystems 'io', 'os', which a description by counts cannot carry" in refused["message"]
    assert f"`rainbow delete subsystem NAME --cluster {name}`" in refused["message"]
    assert await registrar.ask("show_cluster", name=name) | {"ref": 0} == before | {"ref": 0}
    for subsystem in ("io", "os"):
        await registrar.ask("delete_subsystem", cluster=name, name=subsystem)
    answer = await registrar.ask("register_cluster", name=name, resources=resources)
    assert (answer["type"], answer["secret"]) == ("registered", None)
    async with ClientPeer(daemon.url, cluster.token) as client:
        shown = await client.ask("show_cluster", name=name)
        assert (shown["described"], shown["counts"]["core"], shown["subsystems"]) == ("totals", 32, [])


async def test_counts_and_a_subsystem_at_the_same_time_lose_nothing(
    daemon: DaemonProcess, registrar: Registrar, name: str
) -> None:
    await registered(registrar, name, documents.cluster(nodes=1, cores=2))
    async with Registrar(daemon.url) as other:
        attached, counted = await asyncio.gather(
            registrar.attach(name, "io", documents.subsystem("node0", kind="nvme")),
            other.ask("register_cluster", name=name, resources={"nodes": 2, "cores_per_node": 16}),
        )
    assert sorted([attached["type"], counted["type"]]) == ["error", "registered"]
    shown = await registrar.ask("show_cluster", name=name)
    assert len(shown["subsystems"]) == (attached["type"] == "registered")


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
