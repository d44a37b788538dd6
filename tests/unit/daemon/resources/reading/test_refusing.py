"""Bad documents are refused in words that name the vertex, and quickly, whatever their size."""

import json
import time
from typing import Any

import pytest

from rainbow_protocol import limits
from rainbowd.resources.graph import GraphRefusedError
from rainbowd.resources.reading.documents import YAML_BYTES_MAX, read_cluster
from rainbowd.resources.reading.words import told
from tests.unit.daemon.resources.reading.made import graph_of, jgf, listed_jgf, typed


def refusal(document: bytes) -> str:
    with pytest.raises(GraphRefusedError) as refused:
        read_cluster(document)
    return str(refused.value)


def vertex(**metadata: Any) -> bytes:
    return jgf({"c": {"type": "cluster"}, "bad7": {"type": "core", **metadata}}, [("c", "bad7")])


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (b"", "the document is empty"),
        (b" \n ", "the document is empty"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"graph": {"nodes": ', "not valid JSON: it ends before it is complete"),
        (b'{"graph":\n {"nodes": }}', "not valid JSON: invalid character, at line 2, column 12"),
        (b"{}", "is none of a graph"),
        (b'{"foo": 1}', "has the keys 'foo', and is none of a graph"),
        (b"[]", "the list of nodes is empty"),
        (b"hello", "describes no resources"),
        (b"a: [1, 2", "neither JSON nor YAML"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"graph": 3}', "not of the expected form"),
        (b'{"graph": {}}', "graph has no `nodes`"),
        (b'{"graph": {"nodes": 3}}', "graph.nodes must be an object or a list"),
        (b'{"graph": {"nodes": {}, "edges": {}}}', "graph.edges must be a list"),
        (b'{"graph": {"nodes": {}}}', "the graph has no vertices"),
        (b'{"graph": {"nodes": []}}', "the graph has no vertices"),
        (b'{"graph": {"nodes": {"a": 1}}}', "vertex 'a' is 1, and must be an object"),
        (b'{"graph": {"nodes": {"a": {}}}}', "vertex 'a' has no metadata"),
        (b'{"graph": {"nodes": {"a": {"metadata": []}}}}', "vertex 'a' has no metadata"),
        (b'{"graph": {"nodes": [{"metadata": {}}]}}', "a node of the list has no id"),
        (b'{"graph": {"nodes": [7]}}', "has 7 in it, which is no object"),
        (b'{"graph": {"nodes": {"a": {"metadata": {"type": "\xff"}}}}}', "'utf-8' codec can't decode"),
        (b'{"graphs": []}', "`graphs` has 0 graphs"),
        (vertex(type=""), "vertex 'bad7' has '' for a type"),
        (vertex(type=3), "vertex 'bad7' has 3 for a type"),
        (vertex(type="a\x1b[2J"), "vertex 'bad7': 'type' has control characters"),
        (vertex(type="x" * 129), "vertex 'bad7': 'type' is longer than 128"),
        (vertex(size=-1), "vertex 'bad7': its size is -1, and must be between 0 and 1e+18"),
        (vertex(size=-0.5), "vertex 'bad7': its size is -0.5"),
        (vertex(size=float("nan")), "vertex 'bad7': its size is nan"),
        (vertex(size=float("inf")), "vertex 'bad7': its size is inf"),
        (vertex(size=float("-inf")), "vertex 'bad7': its size is -inf"),
        (vertex(size=10**19), "vertex 'bad7': its size is 10000000000000000000"),
        (vertex(size=10**400), "vertex 'bad7': its size is 1000000"),
        (vertex(size="four"), "vertex 'bad7': its size is 'four', and must be a number"),
        (vertex(size=True), "vertex 'bad7': its size is True, and must be a number"),
        (vertex(size=[1]), "vertex 'bad7': its size is [1], and must be a number"),
        (vertex(unit=3), "vertex 'bad7': its unit is 3"),
        (vertex(status=9), "vertex 'bad7': its status is 9"),
        (vertex(rank="x"), "vertex 'bad7': its rank is 'x'"),
        (vertex(name=3), "vertex 'bad7': its name is 3"),
        (vertex(properties=3), "vertex 'bad7': its properties are 3"),
        (vertex(properties=[""]), "vertex 'bad7': '' is no name of a property"),
        (vertex(properties=[str(n) for n in range(257)]), "vertex 'bad7' has more than 256 properties"),
        (vertex(attributes=3), "vertex 'bad7': its attributes are 3"),
        (vertex(attributes={str(n): n for n in range(257)}), "vertex 'bad7' has more than 256 attributes"),
        (vertex(attributes={"a": "x" * 513}), "vertex 'bad7': 'a' is longer than 512"),
        (vertex(attributes={"a": float("nan")}), "vertex 'bad7': 'a' is nan"),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else "",
)
def test_words_say_what_is_wrong_and_where(document: bytes, words: str) -> None:
    assert words in refusal(document)


@pytest.mark.parametrize(
    ("nodes", "edges", "words"),
    [
        (typed(a="cluster"), [("a", "b")], "the edge from 'a' to 'b' ends nowhere: there is no vertex 'b'"),
        (typed(a="cluster"), [("b", "a")], "the edge from 'b' to 'a' ends nowhere: there is no vertex 'b'"),
        (typed(a="cluster"), [("a", "a")], "cycle: vertex 'a' contains itself"),
        (typed(a="x", b="x"), [("a", "b"), ("b", "a")], "no root: 'a', 'b' contain each other in a circle"),
        (typed(r="x", a="x", b="x", c="x"), [("a", "b"), ("b", "c"), ("c", "a")], "cycle: "),
        (typed(r="x", a="x", b="x"), [("r", "a"), ("a", "b"), ("b", "a")], "cycle: vertex 'a' contains"),
        (typed(r="x", a="x", b="x"), [("r", "a"), ("r", "b"), ("a", "b")], "vertex 'b' has two parents, 'a' and 'r'"),
        (typed(r="x", a="x", b="x"), [("r", "a")], "2 roots, and must have one that contains the others: 'b', 'r'"),
        (typed(a="x", b="x"), [], "vertex 'a' has no path (metadata.paths.containment), and the graph has no edges"),
        ({"": {"type": "x"}}, [], "an id is 1 to 512 characters"),
        ({"x\n": {"type": "x"}}, [], "an id is 1 to 512 characters"),
        ({"x" * 513: {"type": "x"}}, [], "an id is 1 to 512 characters"),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else "",
)
@pytest.mark.parametrize("write", [jgf, listed_jgf])
def test_graphs_that_are_no_tree(write: Any, nodes: Any, edges: Any, words: str) -> None:
    as_objects = [{"source": above, "target": below, "relation": "contains"} for above, below in edges]
    assert words in refusal(write(nodes, as_objects))


@pytest.mark.parametrize("far", [0, 20_000], ids=["near", "far apart"])
def test_equal_ids(far: int) -> None:
    filling = "".join(f'"x{n}": {{"metadata": {{"type": "core"}}}},' for n in range(far))
    document = '{"graph": {"nodes": {"a": {"metadata": {"type": "node"}}, FILL "a": {"metadata": {"type": "core"}}}}}'
    found = refusal(document.replace("FILL", filling).encode().replace(b"}}}}}", b'}}}, "edges": [{}]}}'))
    assert "'a'" in found
    assert "every vertex needs an id of its own" in found


@pytest.mark.parametrize("end", ["01", "-0", "1.0", "1e0", "+1", " 1", "1_0", "²", "9" * 5000])
@pytest.mark.parametrize("relation", ["contains", "in"])
def test_ids_that_are_numbers_are_meant_as_they_are_written(end: str, relation: str) -> None:
    edges = [
        {"source": "0", "target": "1", "relation": "contains"},
        {"source": "0", "target": end, "relation": relation},
    ]
    assert "ends nowhere: there is no vertex" in refusal(jgf({"0": {"type": "x"}, "1": {"type": "x"}}, edges))


@pytest.mark.parametrize("other", ["00", "-0", "0.0", "0e0", "9" * 30])
def test_ids_that_look_like_the_same_number_are_different(other: str) -> None:
    nodes = {"0": {"type": "x"}, other: {"type": "x"}}
    assert graph_of(jgf(nodes, [("0", other)])).ids == ["0", other]


@pytest.mark.parametrize("wrong", [{"name": 3}, {"rank": "x"}, {"size": -1}, {"status": 9}, {"unit": 3}])
@pytest.mark.parametrize("extra", [{}, {"colour": "red"}], ids=["usual", "with more"])
@pytest.mark.parametrize("place", [0, 5_000, 9_999])
def test_one_wrong_vertex_among_many(wrong: dict[str, Any], extra: dict[str, Any], place: int) -> None:
    nodes = {f"v{n}": {"type": "core", **extra, **(wrong if n == place else {})} for n in range(10_000)}
    nodes["c"] = {"type": "cluster"}
    assert f"vertex 'v{place}': its " in refusal(
        jgf(nodes, [("c", vertex_id) for vertex_id in nodes if vertex_id != "c"])
    )


def test_equal_ids_in_a_list() -> None:
    nodes = [{"id": "a", "metadata": {"type": "node"}}] * 2
    document = json.dumps({"graph": {"nodes": nodes, "edges": [{"source": "a", "target": "a"}]}}).encode()
    assert "two vertices have the id 'a'" in refusal(document)


def test_the_word_metadata_elsewhere_is_no_second_vertex() -> None:
    nodes = {"a": {"type": "node", "attributes": {"metadata": "metadata"}}}
    assert graph_of(jgf(nodes, [])).ids == ["a"]


@pytest.mark.parametrize(
    ("edge", "words"),
    [
        ({"source": "a"}, "an edge has no target that is the id of a vertex"),
        ({"source": None, "target": "a"}, "an edge has no source"),
        (3, "the edges have 3 among them"),
        ({"source": "a", "target": "b", "relation": 3}, "is not understood"),
    ],
)
def test_edges_that_are_none(edge: Any, words: str) -> None:
    document = {"graph": {"nodes": {"a": {"metadata": {"type": "x"}}}, "edges": [edge]}}
    assert words in refusal(json.dumps(document).encode())


@pytest.mark.parametrize("depth", [limits.GRAPH_DEPTH_MAX, limits.GRAPH_DEPTH_MAX + 1])
def test_depth_at_the_edge(depth: int) -> None:
    document = jgf({str(n): {"type": "x"} for n in range(depth)}, [(str(n), str(n + 1)) for n in range(depth - 1)])
    if depth <= limits.GRAPH_DEPTH_MAX:
        assert len(graph_of(document)) == depth
    else:
        assert f"vertex '{depth - 1}' is {depth} levels deep" in refusal(document)


def _chain(length: int, step: int) -> bytes:
    nodes = ",".join(f'"{n}":{{"metadata":{{"type":"x"}}}}' for n in range(length))
    edges = ",".join(f'{{"source":"{n}","target":"{n + step}"}}' for n in range(max(0, -step), length - max(0, step)))
    return f'{{"graph":{{"nodes":{{{nodes}}},"edges":[{edges}]}}}}'.encode()


@pytest.mark.parametrize("step", [1, -1])
def test_a_chain_of_a_million_is_refused_soon(step: int) -> None:
    document = _chain(1_000_000, step)
    started = time.process_time()
    assert "levels deep; a graph has at most 32 levels" in refusal(document)
    assert time.process_time() - started < 30  # on a slow machine; linear, not the days of a quadratic one


def test_too_many_vertices() -> None:
    nodes = ",".join(f'"{n}":{{"metadata":{{"type":"x"}}}}' for n in range(limits.GRAPH_VERTICES_MAX + 1))
    document = f'{{"graph":{{"nodes":{{{nodes}}},"edges":[{{"source":"0","target":"1"}}]}}}}'.encode()
    assert "more than 2,000,000 vertices" in refusal(document)


def test_long_yaml() -> None:
    assert "YAML is read only up to 8 MiB" in refusal(b"a" * (YAML_BYTES_MAX + 1))


def test_a_few_lines_of_yaml_that_stand_for_billions_of_values() -> None:
    lines = ["a0: &a0 {x: 1}"]
    lines += [f"a{n}: &a{n} {{{', '.join(f'k{m}: *a{n - 1}' for m in range(40))}}}" for n in range(1, 8)]
    lines += ["nodes:", "- {name: n, cores: 1, labels: *a7}"]
    assert "more than 256 attributes" in refusal("\n".join(lines).encode())


def test_refusals_are_short_and_harmless() -> None:
    nodes = {"x" * 500: {"type": "\x1b[31m" * 20}}
    words = told(refusal(jgf(nodes, [])))
    assert len(words) < limits.REASON_CHARS_MAX
    assert words.isprintable()
    assert told("a\x1b[2J\u2028b" * 200).isprintable()
    assert len(told("x" * 1000)) == limits.REASON_CHARS_MAX
