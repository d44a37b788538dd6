"""The same resources give the same graph, whatever the order in which a document tells of them."""

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbowd.resources.reading import documents, jgf, pieces
from rainbowd.resources.reading.subsystems import read_subsystem
from tests.unit.daemon.resources.reading.made import graph_of

_metadata = st.fixed_dictionaries(
    {"type": st.sampled_from(["node", "core", "gpu", "rack"])},
    optional={
        "size": st.integers(0, 3) | st.just(2.5),
        "unit": st.sampled_from(["", "GB"]),
        "rank": st.integers(-1, 2),
        "status": st.sampled_from([0, 1]),
        "properties": st.lists(st.sampled_from("abc"), unique=True) | st.just({"a": "", "b": "x"}),
        "model": st.sampled_from(["x", 1, True]),
    },
)


@st.composite
def _graphs(draw: st.DrawFn) -> tuple[dict[str, dict[str, Any]], list[tuple[str, str]]]:
    names = st.from_regex(r"\A[a-z]{0,2}[0-9]{1,3}\Z") if draw(st.booleans()) else st.integers(-2, 99).map(str)
    ids = draw(st.lists(names, min_size=1, max_size=12, unique=True))
    nodes = {vertex_id: draw(_metadata) for vertex_id in ids}
    edges = [(ids[draw(st.integers(0, place - 1))], ids[place]) for place in range(1, len(ids))]
    return nodes, edges


def _shuffled(items: Any, chance: random.Random) -> list[Any]:
    shuffled = list(items)
    chance.shuffle(shuffled)
    return shuffled


def _written(
    nodes: dict[str, dict[str, Any]], edges: list[tuple[str, str]], chance: random.Random, by_id: bool
) -> bytes:
    metadata = {key: dict(_shuffled(value.items(), chance)) for key, value in _shuffled(nodes.items(), chance)}
    listed = [
        {"source": below, "target": above, "relation": "in"}
        if chance.random() < 0.3
        else {"source": above, "target": below, "relation": "contains"}
        for above, below in _shuffled(edges, chance)
    ]
    graph: dict[str, Any] = {"edges": listed}
    if by_id:
        graph["nodes"] = {key: {"metadata": value} for key, value in metadata.items()}
    else:
        graph["nodes"] = [{"metadata": value, "id": key} for key, value in metadata.items()]
    graph = dict(_shuffled(graph.items(), chance))
    return json.dumps({"graph": graph}, indent=chance.choice([None, 2])).encode()


@given(_graphs(), st.randoms(use_true_random=False), st.booleans())
def test_order_does_not_matter(
    graph: tuple[dict[str, dict[str, Any]], list[tuple[str, str]]], chance: random.Random, by_id: bool
) -> None:
    expected = graph_of(_written(*graph, random.Random(0), True))
    assert graph_of(_written(*graph, chance, by_id)) == expected
    assert {
        vertex_id: expected.kinds[kind].type for vertex_id, kind in zip(expected.ids, expected.kind_of, strict=True)
    } == {key: value["type"] for key, value in graph[0].items()}


@given(_graphs(), st.randoms(use_true_random=False), st.booleans(), st.integers(8, 300))
def test_where_the_document_is_cut_does_not_matter(
    graph: tuple[dict[str, dict[str, Any]], list[tuple[str, str]]],
    chance: random.Random,
    by_id: bool,
    piece_bytes: int,
) -> None:
    document = documents.read_graph(_written(*graph, chance, by_id))
    whole = dict(jgf.metadata_of(document))
    found: dict[str, Any] = {}
    for _, batch in pieces.decoded(document.nodes, json.loads, json.loads, piece_bytes):
        found.update(batch if by_id else {one["id"]: one for one in batch})
    assert {key: value["metadata"] for key, value in found.items()} == whole


@pytest.mark.parametrize("label", ["first", "last", "none"])
@pytest.mark.parametrize("indent", [None, 2])
def test_long_documents_are_read_in_pieces_however_they_are_written(label: str, indent: int | None) -> None:
    nodes = {}
    for number in range(300):
        metadata = {"paths": {"containment": f"/{number}"}, "attributes": {"a": {"b": "},{"}}, "type": "core"}
        written: dict[str, Any] = {"label": "x"} if label == "first" else {}
        nodes[f"v{number}"] = {**written, "metadata": metadata, **({"label": "x"} if label == "last" else {})}
    text = json.dumps(nodes, indent=indent).encode()
    found = [batch for _, batch in pieces.decoded(memoryview(text), msgspec.json.decode, json.loads, 4_000)]
    assert len(found) >= len(text) // 8_000
    assert {key: value for batch in found for key, value in batch.items()} == nodes


@given(st.randoms(use_true_random=False))
def test_the_order_of_a_subsystem_does_not_matter(chance: random.Random) -> None:
    nodes = {name: {"metadata": {"type": "package", "name": name}} for name in ("a1", "a2", "a10", "b")}
    edges = [("n", "a1"), ("m", "a1"), ("m", "a10"), ("a10", "a2"), ("a1", "a2"), ("n", "b")]

    def read(document: dict[str, Any]) -> Any:
        return read_subsystem("spack", json.dumps({"graph": document}).encode(), {"m", "n"})

    def listed(pairs: list[tuple[str, str]]) -> list[dict[str, str]]:
        return [{"source": above, "target": below} for above, below in pairs]

    expected = read({"nodes": nodes, "edges": listed(edges)})
    assert [one.id for one in expected.vertices] == ["a1", "a2", "a10", "b"]
    assert expected.attached == {"m": [0, 2], "n": [0, 3]}
    assert expected.children == {0: [1], 2: [1]}
    shuffled = {"edges": listed(_shuffled(edges, chance)), "nodes": dict(_shuffled(nodes.items(), chance))}
    assert read(shuffled) == expected
    assert list(read(shuffled).attached) == list(expected.attached)
