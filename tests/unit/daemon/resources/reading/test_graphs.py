"""JSON Graph Format, of both versions and as different tools write it."""

import json

import pytest

from rainbowd.resources.graph import Kind
from tests.unit.daemon.resources.reading.made import graph_of, jgf, listed_jgf, parents, shared, totals, typed

_TINY = typed(c="cluster", n1="node", n2="node", k1="core", k2="core")
_HELD = [("c", "n1"), ("c", "n2"), ("n1", "k1"), ("n2", "k2")]


def test_the_example_has_three_nodes_of_twelve_cores() -> None:
    graph = graph_of(shared("rainbow-examples/cluster-nodes.json"))
    assert totals(graph) == {"cluster": 1, "rack": 1, "node": 3, "socket": 3, "core": 36}
    assert list(graph.names.values()) == ["node0", "node1", "node2"]
    assert parents(graph)["2"] == "1"
    assert not graph.warnings


def test_edges_may_be_written_in_either_direction_or_in_both() -> None:
    inward = [{"source": below, "target": above, "relation": "in"} for above, below in _HELD]
    outward = [{"source": above, "target": below, "relation": "contains", "metadata": {}} for above, below in _HELD]
    expected = graph_of(jgf(_TINY, _HELD))
    assert parents(expected) == {"c": None, "n1": "c", "n2": "c", "k1": "n1", "k2": "n2"}
    assert graph_of(jgf(_TINY, inward)) == expected
    assert graph_of(jgf(_TINY, outward + inward)) == expected


@pytest.mark.parametrize(
    "metadata", [None, {}, {"subsystem": "containment"}, {"name": {"containment": "contains"}}], ids=str
)
def test_edges_as_fluxion_writes_them(metadata: dict[str, object] | None) -> None:
    edges = [{"source": a, "target": b, **({} if metadata is None else {"metadata": metadata})} for a, b in _HELD]
    assert graph_of(listed_jgf(_TINY, edges)) == graph_of(jgf(_TINY, _HELD))


def test_fluxions_older_way_to_write_the_other_direction() -> None:
    edges = [{"source": a, "target": b, "metadata": {"name": {"containment": "contains"}}} for a, b in _HELD]
    edges += [{"source": b, "target": a, "metadata": {"name": {"containment": "in"}}} for a, b in _HELD]
    assert graph_of(listed_jgf(_TINY, edges)) == graph_of(jgf(_TINY, _HELD))


def test_all_that_fluxion_may_say_of_a_vertex() -> None:
    graph = graph_of(
        listed_jgf(
            {
                "0": {"type": "cluster", "name": "hetchy", "paths": {"containment": "/hetchy"}},
                "1": {
                    "type": "node",
                    "basename": "hetchy",
                    "name": "hetchy1",
                    "id": 1,
                    "rank": 7,
                    "exclusive": True,
                    "properties": {"pall": "", "rabbit": "kind-worker2"},
                    "paths": {"containment": "/hetchy/hetchy1"},
                },
                "2": {"type": "ssd", "unit": "GiB", "size": 616, "status": 1, "paths": {"containment": "/hetchy/ssd0"}},
                "3": {"type": "node", "id": 4},
            },
            [{"source": "0", "target": "1"}, {"source": "0", "target": "2"}, {"source": "0", "target": "3"}],
        )
    )
    assert graph.kinds[graph.kind_of[1]] == Kind("node", 1, "", ("pall", "rabbit"), (("rabbit", "kind-worker2"),))
    assert graph.kinds[graph.kind_of[2]] == Kind("ssd", 616, "GiB")
    assert graph.names == {1: "hetchy1", 3: "node4"}
    assert graph.ranks == {1: 7}
    assert graph.down == {2}
    assert graph.warnings == ["out of service at the moment, and counted all the same: '2'"]


def test_what_else_a_vertex_says_is_an_attribute() -> None:
    nodes = {
        "n": {
            "type": "node",
            "model": "EPYC",
            "attributes": {"cpu": {"vendor": "AMD", "flags": ["avx2", "sse4"]}, "big": True},
            "properties": ["amd", "big"],
        }
    }
    (kind,) = graph_of(jgf(nodes, [])).kinds
    assert kind.properties == ("amd", "big")
    assert kind.attributes == (
        ("big", True),
        ("cpu.flags", "avx2"),
        ("cpu.flags", "sse4"),
        ("cpu.vendor", "AMD"),
        ("model", "EPYC"),
    )


def test_truth_and_one_are_different_attributes() -> None:
    nodes = {"c": {"type": "cluster"}, **{f"n{v}": {"type": "node", "x": v} for v in (True, 1)}}
    assert len(graph_of(jgf(nodes, [("c", "nTrue"), ("c", "n1")])).kinds) == 3


def test_other_subsystems_in_the_same_graph_are_left_out_with_a_warning() -> None:
    edges = [{"source": a, "target": b, "metadata": {"subsystem": "containment"}} for a, b in _HELD]
    edges += [{"source": "p", "target": "n1", "metadata": {"subsystem": "power"}}]
    graph = graph_of(listed_jgf({**_TINY, "p": {"type": "pdu"}}, edges))
    assert "p" not in graph.ids
    assert len(graph) == 5
    assert graph.warnings == [
        "1 edges are 'power', not containment, and were left out; register a subsystem for them",
        "1 vertices are contained nowhere, and were left out",
    ]


def test_without_edges_paths_say_where_things_are() -> None:
    nodes = {
        "a": {"type": "cluster", "paths": {"containment": "/c0"}},
        "b": {"type": "node", "paths": {"containment": "/c0/n0"}},
        "c": {"type": "core", "containment": {"paths": "/c0/n0/core0"}},
    }
    assert parents(graph_of(jgf(nodes, []))) == {"a": None, "b": "a", "c": "b"}
    blank = jgf(nodes, []).replace(b'"edges": []', b'"edges": [' + b" " * 300 + b"]")
    assert parents(graph_of(blank)) == {"a": None, "b": "a", "c": "b"}


def test_edges_behind_much_white_space_are_seen() -> None:
    blank = jgf(_TINY, _HELD).replace(b'"edges": [', b'"edges": [' + b" " * 300)
    assert parents(graph_of(blank)) == parents(graph_of(jgf(_TINY, _HELD)))


def test_a_graph_may_be_one_of_graphs_or_within_r() -> None:
    graph = json.loads(jgf(_TINY, _HELD))["graph"]
    expected = graph_of(jgf(_TINY, _HELD))
    execution = {"R_lite": [{"rank": "0", "children": {"core": "0"}}], "nodelist": ["x"]}
    for document in (
        {"graphs": [graph]},
        {"scheduling": {"graph": graph}},
        {"version": 1, "execution": execution, "scheduling": {"graph": graph}},
    ):
        assert graph_of(json.dumps(document).encode()) == expected


def test_ids_may_be_numbers_in_a_list() -> None:
    nodes = [{"id": 0, "metadata": {"type": "cluster"}}, {"id": 10, "metadata": {"type": "node"}}]
    edges = [{"source": 0, "target": 10}]
    assert graph_of(json.dumps({"graph": {"nodes": nodes, "edges": edges}}).encode()).ids == ["0", "10"]


def test_children_stand_in_the_order_people_expect() -> None:
    names = ["n2", "n10", "n1", "m", "n01"]
    nodes = {"c": {"type": "cluster"}, **{name: {"type": "node"} for name in names}}
    assert graph_of(jgf(nodes, [("c", name) for name in names])).ids == ["c", "m", "n01", "n1", "n2", "n10"]


def test_sizes_keep_their_exact_value() -> None:
    nodes = {
        "c": {"type": "cluster"},
        "m": {"type": "memory", "size": 2.5, "unit": "GB"},
        "g": {"type": "gpu", "size": 4.0},
    }
    graph = graph_of(jgf(nodes, [("c", "m"), ("c", "g")]))
    assert {(kind.type, kind.size, type(kind.size)) for kind in graph.kinds} == {
        ("cluster", 1, int),
        ("memory", 2.5, float),
        ("gpu", 4, int),
    }
