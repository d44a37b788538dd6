"""What is packed is unpacked the same; what is exported is read back the same."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rainbowd.resources.export import as_jgf
from rainbowd.resources.graph import Limits
from rainbowd.resources.packing import pack, pack_subsystem, unpack, unpack_subsystem
from rainbowd.resources.reading.documents import read_cluster
from rainbowd.resources.reading.subsystems import read_subsystem
from tests.unit.daemon.resources.reading.made import graph_of, jgf, shared
from tests.unit.daemon.resources.reading.test_order import _graphs

_LIMITS = Limits(3, (("core", 4, ""), ("memory", 2**40, "B")), ("spot",), (("region", "eu"), ("zones", 3)))


@given(_graphs())
def test_a_graph_comes_back_from_its_pack_and_from_its_export(graph: tuple[Any, Any]) -> None:
    expected = graph_of(jgf(*graph))
    packed = pack(expected)
    assert unpack(packed) == expected
    assert pack(graph_of(jgf(dict(reversed(graph[0].items())), graph[1][::-1]))) == packed
    assert graph_of(b"".join(as_jgf(expected, [], "red"))) == expected


def test_ids_that_are_almost_numbers() -> None:
    for ids in (["0", "1", "2"], ["0", "01", "1"], ["7", "9" * 30, "x"], ["-1", "1", "²"]):
        nodes = {vertex_id: {"type": "core" if vertex_id != ids[0] else "node"} for vertex_id in ids}
        graph = graph_of(jgf(nodes, [(ids[0], below) for below in ids[1:]]))
        unpacked = unpack(pack(graph))
        assert unpacked == graph
        assert sorted(graph.ids) == sorted(ids)


def test_limits_come_back() -> None:
    assert unpack(pack(_LIMITS)) == _LIMITS
    assert read_cluster(b"".join(as_jgf(_LIMITS, [], "cloud"))) == _LIMITS


def test_an_even_graph_is_small() -> None:
    nodes: dict[str, Any] = {"0": {"type": "cluster"}}
    edges = []
    for node in range(1, 100 * 65, 65):
        nodes[str(node)] = {"type": "node", "name": f"node{node}"}
        edges.append(("0", str(node)))
        for core in range(node + 1, node + 65):
            nodes[str(core)] = {"type": "core"}
            edges.append((str(node), str(core)))
    assert len(pack(graph_of(jgf(nodes, edges)))) < len(nodes) / 2


def test_subsystems_come_back_and_are_exported_as_such() -> None:
    cluster = graph_of(shared("rainbow-examples/cluster-nodes.json"))
    subsystem = read_subsystem("io", shared("rainbow-examples/cluster-io-subsystem.json"), set(cluster.ids))
    assert unpack_subsystem(pack_subsystem(subsystem)) == subsystem
    document = json.loads(b"".join(as_jgf(cluster, [subsystem], "red")))
    assert document["name"] == "red"
    nodes, edges = document["graph"]["nodes"], document["graph"]["edges"]
    assert nodes["io1"]["metadata"]["attributes"]["mount_point"] == "/dev/shm"
    assert {"source": "2", "target": "io5", "relation": "contains", "metadata": {"subsystem": "io"}} in edges
    again = graph_of(json.dumps(document).encode())
    assert again.ids == cluster.ids
    assert again.warnings == [
        "15 edges are 'io', not containment, and were left out; register a subsystem for them",
        "6 vertices are contained nowhere, and were left out",
    ]


@given(st.lists(st.text(min_size=1, max_size=4), unique=True, max_size=4), st.booleans())
def test_any_subsystem_comes_back(values: list[str], flag: bool) -> None:
    printable = [value for value in values if value.isprintable()]
    nodes = {f"v{n}": {"type": "x", "note": value, "flag": flag} for n, value in enumerate(printable)}
    nodes["root"] = {"type": "x"}
    subsystem = read_subsystem("x", jgf(nodes, [("root", one) for one in nodes if one != "root"]), ())
    assert unpack_subsystem(pack_subsystem(subsystem)) == subsystem
