"""Subsystems: what is attached where, and graphs that hang together with nothing."""

import json
from typing import Any

import pytest

from rainbow_protocol import limits
from rainbowd.resources.graph import GraphRefusedError, SubsystemGraph
from rainbowd.resources.reading.subsystems import read_subsystem
from tests.unit.daemon.resources.reading.made import graph_of, jgf, shared, typed

_CLUSTER = {"n1", "n2"}


def read(nodes: dict[str, dict[str, Any]], edges: Any, name: str = "spack") -> SubsystemGraph:
    return read_subsystem(name, jgf(nodes, edges), _CLUSTER)


def refusal(nodes: dict[str, dict[str, Any]], edges: Any) -> str:
    with pytest.raises(GraphRefusedError) as refused:
        read(nodes, edges)
    return str(refused.value)


@pytest.mark.parametrize(
    ("name", "path"),
    [("io", "rainbow-examples/cluster-io-subsystem.json"), ("spack", "rainbow-examples/range/spack-subsystem.json")],
)
def test_the_examples_are_attached_to_every_node(name: str, path: str) -> None:
    cluster = graph_of(shared("rainbow-examples/cluster-nodes.json"))
    subsystem = read_subsystem(name, shared(path), set(cluster.ids))
    assert subsystem.attached == {"2": [1, 2, 3, 4, 5], "16": [1, 2, 3, 4, 5], "30": [1, 2, 3, 4, 5]}
    assert [cluster.ids[vertex] for vertex in cluster.names] == list(subsystem.attached)
    assert subsystem.vertices[0].id == f"{name}0"
    assert not subsystem.everywhere
    assert not subsystem.children


def test_the_example_of_storage() -> None:
    subsystem = read_subsystem("io", shared("rainbow-examples/cluster-io-subsystem.json"), {"2", "16", "30"})
    shm = subsystem.vertices[1]
    assert shm.type == "shm"
    assert dict(shm.attributes) == {
        "name": "shm0",
        "size": 1,
        "bw_mbps_min": 4096,
        "bw_mbps_max": 61440,
        "byte_addressable": True,
        "capacity": 1073741824,
        "latency_min": 100,
        "latency_max": 100,
        "mount_point": "/dev/shm",
        "parallelism": 32,
    }


def test_the_example_of_modules_speaks_of_the_whole_cluster() -> None:
    subsystem = read_subsystem("environment-modules", shared("jobspec-nextgen/module-subsystem.json"), {"0"})
    assert subsystem.everywhere == [0]
    assert subsystem.children == {0: list(range(1, 48))}
    assert not subsystem.attached
    assert subsystem.vertices[1].type == "module"
    assert subsystem.vertices[1].attributes == (
        ("name", "module0"),
        ("name", "python/intelpython2"),
        ("size", 1),
        ("software", "python"),
    )


def test_children_attachments_and_both_directions() -> None:
    subsystem = read(
        typed(gcc="compiler", zlib="package"),
        [
            {"source": "n1", "target": "gcc", "relation": "contains"},
            {"source": "gcc", "target": "n1", "relation": "in"},
            {"source": "gcc", "target": "n2", "relation": "in"},
            {"source": "zlib", "target": "gcc", "relation": "in"},
        ],
    )
    assert subsystem.attached == {"n1": [0], "n2": [0]}
    assert subsystem.children == {0: [1]}


def test_what_supplies_a_vertex_of_the_cluster_is_attached_to_it() -> None:
    edges = [{"source": "pdu", "target": "n1", "metadata": {"name": {"power": "supplies_to"}}}]
    assert read(typed(pdu="pdu"), edges, "power").attached == {"n1": [0]}


def test_edges_without_attachments_speak_of_the_whole_cluster() -> None:
    subsystem = read(typed(a="os", b="kernel", c="arch"), [("a", "b")])
    assert subsystem.everywhere == [0, 2]
    assert subsystem.children == {0: [1]}


def test_facts_as_types_are_kept() -> None:
    subsystem = read({"a": {"type": "os.name=ubuntu"}}, [("n1", "a")])
    assert subsystem.vertices[0].type == "os.name=ubuntu"


def test_everything_that_a_vertex_says_is_kept() -> None:
    metadata = {
        "type": "package",
        "id": 3,
        "uniq_id": 3,
        "rank": 0,
        "unit": "",
        "version": "1.2",
        "attributes": {"build": {"flags": ["a", "b"], "debug": False}},
        "properties": {"gpl": "", "since": 2019},
    }
    assert read({"a": metadata}, [("n1", "a")]).vertices[0].attributes == (
        ("build.debug", False),
        ("build.flags", "a"),
        ("build.flags", "b"),
        ("gpl", True),
        ("since", 2019),
        ("version", "1.2"),
    )


def test_the_subsystems_own_root_may_hang_free() -> None:
    nodes = {"root": {"type": "spack"}, "a": {"type": "package"}}
    assert read(nodes, [("root", "a"), ("n1", "a")]).attached == {"n1": [0]}


@pytest.mark.parametrize(
    ("nodes", "edges", "words"),
    [
        ({}, [], "the subsystem has no vertices"),
        (typed(a="x"), [("n1", "b")], "the edge from 'n1' to 'b' ends nowhere: neither the subsystem nor the cluster"),
        (typed(a="x"), [("n9", "a")], "has a vertex 'n9'"),
        (typed(n1="x"), [], "vertex 'n1': the cluster has a vertex of this id already"),
        (typed(a="x"), [("n1", "a"), ("n1", "n2")], "joins two vertices of the cluster"),
        (typed(a="x"), [("a", "a")], "cycle: vertex 'a' contains itself"),
        (typed(a="x", b="x"), [("n1", "a"), ("a", "b"), ("b", "a")], "cycle: 'a', 'b' contain each other"),
        (typed(a="x", b="x", c="x"), [("n1", "a"), ("b", "c")], "vertex 'c' cannot be reached from the cluster"),
        (typed(a="x", b="x", c="spack"), [("n1", "a")], "vertex 'b' cannot be reached from the cluster"),
        ({"a": {"type": "x", "size": -1}}, [("n1", "a")], "vertex 'a': its size is -1"),
        ({"a": {}}, [("n1", "a")], "vertex 'a' has no type"),
    ],
    ids=lambda value: value[:50] if isinstance(value, str) else "",
)
def test_wrong_subsystems(nodes: Any, edges: Any, words: str) -> None:
    assert words in refusal(nodes, edges)


def test_equal_ids() -> None:
    document = b'{"graph": {"nodes": {"a": {"metadata": {"type": "x"}}, "a": {"metadata": {"type": "y"}}}}}'
    with pytest.raises(GraphRefusedError, match="the key 'a' stands twice"):
        read_subsystem("x", document, ())


@pytest.mark.parametrize("document", [b"[]", b"a: 1", b'{"nodes": []}', b'{"graph": {"nodes": {}'])
def test_no_graph_at_all(document: bytes) -> None:
    with pytest.raises(GraphRefusedError, match=r"graph|not valid JSON"):
        read_subsystem("x", document, ())


def test_a_long_chain() -> None:
    length = limits.GRAPH_DEPTH_MAX + 1
    nodes = {f"v{n}": {"type": "x"} for n in range(length)}
    edges = [("n1", "v0"), *((f"v{n}", f"v{n + 1}") for n in range(length - 1))]
    assert f"vertex 'v{length - 1}' is more than {limits.GRAPH_DEPTH_MAX} levels deep" in refusal(nodes, edges)


def test_too_many_vertices() -> None:
    nodes = ",".join(f'"{n}":{{"metadata":{{"type":"x"}}}}' for n in range(limits.SUBSYSTEM_VERTICES_MAX + 1))
    with pytest.raises(GraphRefusedError, match="more than 200,000 vertices"):
        read_subsystem("x", f'{{"graph":{{"nodes":{{{nodes}}}}}}}'.encode(), ())


def test_a_subsystem_in_fluxions_form() -> None:
    document = {
        "graph": {"nodes": [{"id": "a", "metadata": {"type": "x"}}], "edges": [{"source": "n1", "target": "a"}]}
    }
    assert read_subsystem("x", json.dumps(document).encode(), _CLUSTER).attached == {"n1": [0]}
