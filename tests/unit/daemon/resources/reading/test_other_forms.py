"""Flux R, lists of nodes, Kubernetes, limits: whatever a cluster has, it becomes the same kind of graph."""

import json
from typing import Any

import pytest
import yaml

from rainbowd.resources.graph import GraphRefusedError, Kind, Limits
from rainbowd.resources.reading import amounts
from rainbowd.resources.reading.documents import read_cluster
from rainbowd.resources.reading.idsets import hostlist, idset
from tests.unit.daemon.resources.reading.made import graph_of, limits_of, shared, totals


def refusal(document: Any) -> str:
    with pytest.raises(GraphRefusedError) as refused:
        read_cluster(json.dumps(document).encode())
    return str(refused.value)


# --- Flux R ---------------------------------------------------------------


def flux_r(**execution: Any) -> bytes:
    return json.dumps({"version": 1, "execution": execution}).encode()


def test_the_example_of_rfc_20() -> None:
    graph = graph_of(shared("flux-rfc/spec_20/example1.json"))
    assert totals(graph) == {"cluster": 1, "node": 4, "core": 192, "gpu": 32}
    assert list(graph.names.values()) == ["node186", "node187", "node188", "node189"]
    assert list(graph.ranks.values()) == [19, 20, 21, 22]
    assert len(graph) == 13  # a pool each for the cores and the gpus of a node


def test_r_with_properties_and_ranks_in_any_order() -> None:
    graph = graph_of(
        flux_r(
            R_lite=[
                {"rank": "2,10", "children": {"core": "0-3"}},
                {"rank": "0-1", "children": {"core": "0-1,4", "gpu": "0"}},
            ],
            nodelist=["a[08-09]", "b,c"],
            properties={"big": "2,10", "amd-mi50@gpu": "0", "elsewhere": "77"},
        )
    )
    nodes = {name: graph.kinds[graph.kind_of[vertex]] for vertex, name in graph.names.items()}
    assert {name: kind.properties for name, kind in nodes.items()} == {
        "a08": ("amd-mi50@gpu",),
        "a09": (),
        "b": ("big",),
        "c": ("big",),
    }
    assert totals(graph) == {"cluster": 1, "node": 4, "core": 14, "gpu": 2}
    assert {graph.names[vertex]: rank for vertex, rank in graph.ranks.items()} == {"a08": 0, "a09": 1, "b": 2, "c": 10}


@pytest.mark.parametrize(
    ("execution", "words"),
    [
        ({}, "has no execution.R_lite"),
        ({"R_lite": []}, "execution.R_lite is empty"),
        ({"R_lite": [3]}, "execution.R_lite[0] must be an object"),
        ({"R_lite": [{"rank": "-1", "children": {}}]}, "execution.R_lite[0].rank is '-1'"),
        ({"R_lite": [{"rank": "3-1", "children": {}}]}, "ends before it begins"),
        ({"R_lite": [{"rank": "0-1,1", "children": {}}]}, "1 is in '0-1,1' more than once"),
        ({"R_lite": [{"rank": "0", "children": {}}] * 2}, "rank 0 is in R_lite twice"),
        ({"R_lite": [{"rank": "0-999999999999", "children": {}}]}, "more than 2,000,000 ranks"),
        (
            {"R_lite": [{"rank": "999999999999", "children": {}}]},
            "its rank is 999999999999, and must be at most 1,000,000",
        ),
        ({"R_lite": [{"rank": "0", "children": {"co\x1bre": "0"}}]}, "control characters"),
        ({"R_lite": [{"rank": "0", "children": {}}], "nodelist": ["a\x1b"]}, "control characters"),
        ({"R_lite": [{"rank": "0", "children": {"core": "0-999999999"}}]}, "on one node"),
        ({"R_lite": [{"rank": "0-3", "children": {}}], "nodelist": ["a"]}, "has 1 hosts for 4 ranks"),
        ({"R_lite": [{"rank": "0", "children": {}}], "nodelist": "a"}, "must be a list of host names"),
        ({"R_lite": [{"rank": "0", "children": {}}], "properties": {"a": 3}}, "execution.properties.a is 3"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_wrong_r(execution: Any, words: str) -> None:
    assert words in refusal({"version": 1, "execution": execution})


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("a", ["a"]),
        ("a,b", ["a", "b"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10,2]", ["n08", "n09", "n10", "n2"]),
        ("r[0-1]n[0-1]x", ["r0n0x", "r0n1x", "r1n0x", "r1n1x"]),
        ("login,n[1,3].site", ["login", "n1.site", "n3.site"]),
    ],
)
def test_hostlists(text: str, hosts: list[str]) -> None:
    assert hostlist(text, "here") == hosts


@pytest.mark.parametrize("text", ["", "a,", "a[", "a]", "a[1-", "a[]", "a[3-1]", "a[[1]]", "a[0-9999999]", 3])
def test_no_hostlists(text: Any) -> None:
    with pytest.raises(GraphRefusedError, match="here"):
        hostlist(text, "here")


def test_idsets() -> None:
    assert idset("7,0-3", "here") == [range(4), range(7, 8)]


# --- lists of nodes -------------------------------------------------------

_NODES = [
    {"name": "n1", "cores": 64, "gpus": 4, "memory": "256Gi", "labels": {"arch": "zen4"}, "properties": ["fast"]},
    {"name": "n2", "cores": 8, "memory": 1000},
]


def test_a_plain_list_in_every_wrapping() -> None:
    graph = graph_of(json.dumps(_NODES).encode())
    assert totals(graph) == {"cluster": 1, "node": 2, "core": 72, "gpu": 4, "memory": 256 * 1024**3 + 1000}
    assert Kind("node", 1, "", ("fast",), (("arch", "zen4"),)) in graph.kinds
    assert Kind("memory", 256 * 1024**3, "B") in graph.kinds
    assert list(graph.names.values()) == ["n1", "n2"]
    for document in (
        json.dumps({"nodes": _NODES}),
        yaml.safe_dump(_NODES),
        yaml.safe_dump({"nodes": _NODES}),
        json.dumps(_NODES[::-1]),
    ):
        assert graph_of(document.encode()) == graph


def test_nodes_by_count_with_sockets_and_racks() -> None:
    graph = graph_of(
        json.dumps([{"name": "n", "count": 3, "cores": 8, "gpus": 2, "sockets": 2, "rack": "r1"}]).encode()
    )
    assert totals(graph) == {"cluster": 1, "rack": 1, "node": 3, "socket": 6, "core": 24, "gpu": 6}
    assert list(graph.names.values()) == ["n0", "n1", "n2"]


def test_nodes_that_are_down_and_words_that_are_not_known() -> None:
    graph = graph_of(json.dumps([{"name": "n", "cores": 8, "state": "drained", "colour": "red"}]).encode())
    assert [graph.ids[vertex] for vertex in graph.down] == ["node/n"]
    assert graph.warnings == [
        "not understood, and left out of every node: 'colour'",
        "out of service at the moment, and counted all the same: 'node/n'",
    ]


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([{}], "nodes[0] has no name"),
        ([3], "nodes[0] is 3"),
        ([{"name": "a", "cores": 1}, {"name": "a", "cores": 1}], "two vertices have the id 'node/a'"),
        ([{"name": "a", "cores": -1}], "nodes[0].cores is -1"),
        ([{"name": "a", "cores": 1.5}], "nodes[0].cores is 1.5, and must be a whole number"),
        ([{"name": "a", "cores": "many"}], "nodes[0].cores is 'many'"),
        ([{"name": "a", "cores": 1, "memory": "64 bananas"}], "nodes[0].memory is '64 bananas'"),
        ([{"name": "a", "cores": 1, "labels": []}, {"name": "b", "labels": 3}], "nodes[1].labels is 3"),
        ([{"name": "a", "cores": 7, "sockets": 2}], "do not divide evenly over 2 sockets"),
        ([{"name": "a", "cores": 1, "count": 10**7}], "nodes[0].count is 10,000,000"),
        ([{"name": "a", "cores": 1, "count": 0}], "nodes[0].count is 0"),
        ([{"name": "a", "cores": 1, "rank": "3"}], "node 'a': its rank is '3', and must be a whole number"),
        ([{"name": "a", "cores": 1, "rank": True}], "node 'a': its rank is True, and must be a whole number"),
        ([{"name": "a", "cores": 1, "rank": 10**12}], "node 'a': its rank is 1000000000000, and must be at most"),
        ([{"name": "a", "cores": 1, "rank": 3, "count": 2}], "node 'a': one rank for 2 nodes"),
        ([{"name": "a", "cores": 1, "cpus": 2}], "node 'a': cores and cpus mean the same, and differ"),
        ([{"name": "a", "labels": {"x": 1}, "attributes": {"y": 1}}], "node 'a': labels and attributes mean the same"),
        ([{"name": "a", "properties": ["x"], "features": ["y"]}], "node 'a': properties and features mean the same"),
        ([{"name": "a", "host": "b"}], "node 'a': name and host mean the same"),
        ([{"name": "a", "cores": False}], "nodes[0].cores is False, and must be a count"),
        ([{"name": "b[1-4]", "cores": 1, "count": 2}], "nodes[0].name: 'b[1-4]' is a list of hosts, and count says 2"),
        ([{"name": "b[1-4]", "cores": 1, "rank": 3}], "node 'b[1-4]': one rank for 4 nodes"),
        ([{"name": "b[1-", "cores": 1}], "nodes[0].name: 'b[1-' is no list of hosts"),
        ([{"name": "b[1-2,2]", "cores": 1}], "two vertices have the id 'node/b2'"),
        ([{"name": "b[1-2]", "cores": 1}, {"name": "b1", "cores": 1}], "two vertices have the id 'node/b1'"),
        ([{"name": "b[0-2000000]", "cores": 1}], "nodes[0].name: '0-2000000' is no list of numbers"),
        ([{"name": f"{'b' * 128}[1-2]", "cores": 1}], "longer than 128 characters"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_wrong_lists(items: Any, words: str) -> None:
    assert words in refusal(items)


@pytest.mark.parametrize(
    ("item", "more"),
    [
        ({}, "; add cores, which may be 0"),
        ({"cores": None, "gpus": 4}, "; add cores, which may be 0"),
        ({"coers": 64}, ", and has what is not understood: 'coers'; did you mean 'cores'?"),
        ({"CPUs": 64}, ", and has what is not understood: 'CPUs'; did you mean 'cpus'?"),
        (
            {"coers": 64, "memroy": "1G"},
            ", and has what is not understood: 'coers', 'memroy'; did you mean 'cores' and 'memory'?",
        ),
        ({"xyz": 64}, ", and has what is not understood: 'xyz'; add cores, which may be 0"),
    ],
)
def test_a_node_says_how_many_cores_it_has(item: dict[str, Any], more: str) -> None:
    good = {"name": "n0", "cores": 64}
    assert refusal([good, {"name": "n1", **item}]) == f"node 'n1' does not say how many cores it has{more}"


def test_a_node_may_say_that_it_has_no_cores() -> None:
    assert totals(graph_of(b'[{"name": "n", "cores": 0, "gpus": 2}]')) == {"cluster": 1, "node": 1, "gpu": 2}


def test_names_in_brackets_are_a_node_each() -> None:
    graph = graph_of(json.dumps([{"name": "b[08-10,1]", "cores": 4, "rack": "r"}, {"name": "x", "cores": 4}]).encode())
    assert sorted(graph.names.values()) == ["b08", "b09", "b1", "b10", "x"]
    assert totals(graph) == {"cluster": 1, "rack": 1, "node": 5, "core": 20}
    one_by_one = [{"name": name, "cores": 4, "rack": "r"} for name in ("b08", "b09", "b10", "b1")]
    assert graph_of(json.dumps([*one_by_one, {"name": "x", "cores": 4}]).encode()) == graph


def test_what_is_said_twice_in_the_same_way_is_taken_once() -> None:
    graph = graph_of(json.dumps([{"name": "a", "hostname": "a", "cores": 4, "cpus": 4, "rank": 7}]).encode())
    assert totals(graph) == {"cluster": 1, "node": 1, "core": 4}
    assert list(graph.ranks.values()) == [7]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (1024, 1024),
        ("1024", 1024),
        ("64GB", 64 * 10**9),
        ("64 gb", 64 * 10**9),
        ("64G", 64 * 10**9),
        ("1.5Gi", 3 * 2**29),
        ("256GiB", 2**38),
        ("65738944Ki", 65738944 * 1024),
        ("1e3", 1000),
        ("2E", 2 * 10**18),
        ("128974848000m", 128974848),
        ("100B", 100),
    ],
)
def test_memory(text: Any, expected: int) -> None:
    if expected > 10**18:
        with pytest.raises(GraphRefusedError, match="between 0 and"):
            amounts.memory_bytes(text, "here")
    else:
        assert amounts.memory_bytes(text, "here") == expected


# --- Kubernetes -----------------------------------------------------------


def kubernetes(name: str, ready: str = "True", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/arch": "amd64"}, "annotations": {"a": "b"}},
        "spec": more,
        "status": {
            "capacity": {"cpu": "8", "memory": "32Gi"},
            "allocatable": {"cpu": "7910m", "memory": "31Gi", "nvidia.com/gpu": "2", "pods": "110"},
            "conditions": [{"type": "MemoryPressure", "status": "False"}, {"type": "Ready", "status": ready}],
            "images": [{"names": ["x"], "sizeBytes": 3}],
        },
    }


def test_what_kubectl_prints() -> None:
    items = [kubernetes("a"), kubernetes("b", unschedulable=True), kubernetes("c", ready="Unknown")]
    graph = graph_of(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode())
    assert totals(graph) == {"cluster": 1, "node": 3, "core": 21, "gpu": 6, "memory": 3 * 31 * 2**30}
    assert Kind("node", attributes=(("kubernetes.io/arch", "amd64"),)) in graph.kinds
    assert sorted(graph.names[vertex] for vertex in graph.down) == ["b", "c"]
    assert graph.warnings == ["out of service at the moment, and counted all the same: 'node/b', 'node/c'"]


def test_capacity_where_nothing_is_allocatable() -> None:
    node = kubernetes("a")
    del node["status"]["allocatable"]
    graph = graph_of(json.dumps({"kind": "NodeList", "items": [node]}).encode())
    assert totals(graph) == {"cluster": 1, "node": 1, "core": 8, "memory": 2**35}


def test_labels_that_are_different_on_every_node_make_no_kinds() -> None:
    items = [kubernetes(name) for name in ("a", "b")]
    for number, item in enumerate(items):
        item["metadata"]["labels"] |= {
            "kubernetes.io/hostname": item["metadata"]["name"],
            "alpha.eksctl.io/instance-id": f"i-{number}",
            "topology.hostpath.csi/node": item["metadata"]["name"],
        }
    graph = graph_of(json.dumps({"kind": "List", "items": items}).encode())
    (node,) = (kind for kind in graph.kinds if kind.type == "node")
    assert node.attributes == (("kubernetes.io/arch", "amd64"),)
    assert sorted(graph.names.values()) == ["a", "b"]


@pytest.mark.parametrize(
    ("status", "missing"),
    [
        (None, "status.capacity.cpu"),
        ({}, "status.capacity.cpu"),
        ({"capacity": {"memory": "32Gi"}}, "status.capacity.cpu"),
        ({"allocatable": {"cpu": None, "memory": "32Gi"}}, "status.allocatable.cpu"),
    ],
)
def test_a_node_of_kubernetes_without_its_capacity(status: Any, missing: str) -> None:
    bare = kubernetes("b") | {"status": status}
    assert f"node 'b': {missing} is missing" in refusal({"kind": "List", "items": [kubernetes("a"), bare]})


def test_other_things_of_kubernetes() -> None:
    assert "things of kind Pod" in refusal({"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "x"}}]})
    assert "no nodes" in refusal({"kind": "List", "items": []})
    assert "not as expected" in refusal({"kind": "List", "items": [{"metadata": {}}]})


# --- limits ---------------------------------------------------------------


def test_limits_only() -> None:
    document = {"max_nodes": 100, "cores_per_node": 64, "max_gpus_per_node": 8, "memory_per_node": "1Ti"}
    document |= {"properties": ["spot"], "labels": {"region": "eu"}}
    expected = Limits(100, (("core", 64, ""), ("gpu", 8, ""), ("memory", 2**40, "B")), ("spot",), (("region", "eu"),))
    assert limits_of(json.dumps(document).encode()) == expected
    assert limits_of(yaml.safe_dump(document).encode()) == expected
    assert limits_of(b'{"cores_per_node": 4}') == Limits(None, (("core", 4, ""),))


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"max_nodes": 3}, "say nothing about a node"),
        ({"max_nodes": 0, "cores_per_node": 1}, "max_nodes is 0"),
        ({"max_nodes": -3, "cores_per_node": 1}, "max_nodes is -3"),
        ({"max_nodes": 3, "cores_per_node": "x"}, "cores_per_node is 'x'"),
        ({"max_nodes": 3, "cores_per_node": 1, "colour": 3}, "not understood: 'colour'"),
        ({"cores_per_node": 1, "max_cores_per_node": 1}, "the second of its kind"),
        ({"cores_per_node": 1, "labels": 3}, "labels is 3"),
        ({"co\x1bcre_per_node": 1}, "'co\\x1bcre_per_node' has control characters in it"),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_wrong_limits(document: Any, words: str) -> None:
    assert words in refusal(document)


def test_the_state_of_a_cluster_describes_no_resources() -> None:
    with pytest.raises(GraphRefusedError, match="not understood: 'cost_per_node_hour', 'nodes_free'"):
        read_cluster(shared("rainbow-examples/cluster-state.json"))


def test_a_jobspec_describes_no_resources() -> None:
    with pytest.raises(GraphRefusedError, match="none of a graph"):
        read_cluster(shared("rainbow-examples/jobspec-io.yaml"))
