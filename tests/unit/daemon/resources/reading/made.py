"""Small documents to read, and what came of them in brief."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rainbowd.resources.graph import Limits, ResourceGraph
from rainbowd.resources.reading.documents import read_cluster

DATA = Path(__file__).resolve().parents[6] / "shared" / "data"


def shared(path: str) -> bytes:
    """One of the public documents that lie beside the repository on some machines."""
    found = DATA / path
    if not found.exists():
        pytest.skip(f"the public data are not here: {found}")
    return found.read_bytes()


def jgf(nodes: dict[str, dict[str, Any]], edges: list[tuple[str, str]] | list[dict[str, Any]]) -> bytes:
    """Version 2. An edge as a pair contains."""
    listed = [
        edge if isinstance(edge, dict) else {"source": edge[0], "target": edge[1], "relation": "contains"}
        for edge in edges
    ]
    return json.dumps(
        {"graph": {"nodes": {key: {"metadata": one} for key, one in nodes.items()}, "edges": listed}}
    ).encode()


def listed_jgf(nodes: dict[str, dict[str, Any]], edges: list[dict[str, Any]]) -> bytes:
    """Version 1, as Fluxion writes it."""
    return json.dumps(
        {"graph": {"nodes": [{"id": key, "metadata": one} for key, one in nodes.items()], "edges": edges}}
    ).encode()


def typed(**types: str) -> dict[str, dict[str, Any]]:
    return {vertex_id: {"type": kind} for vertex_id, kind in types.items()}


def graph_of(document: bytes) -> ResourceGraph:
    found = read_cluster(document)
    assert isinstance(found, ResourceGraph)
    _assert_well_formed(found)
    return found


def limits_of(document: bytes) -> Limits:
    found = read_cluster(document)
    assert isinstance(found, Limits)
    return found


def _assert_well_formed(graph: ResourceGraph) -> None:
    size = len(graph)
    assert len(graph.parents) == len(graph.kind_of) == size == len(set(graph.ids))
    assert graph.parents[0] == -1
    assert all(0 <= parent < vertex for vertex, parent in enumerate(graph.parents) if vertex)
    assert set(graph.kind_of) == set(range(len(graph.kinds)))


def totals(graph: ResourceGraph) -> dict[str, int | float]:
    counted: Counter[str] = Counter()
    for number in graph.kind_of:
        counted[graph.kinds[number].type] += graph.kinds[number].size  # type: ignore[assignment]
    return dict(counted)


def parents(graph: ResourceGraph) -> dict[str, str | None]:
    return {
        vertex_id: graph.ids[parent] if parent >= 0 else None
        for vertex_id, parent in zip(graph.ids, graph.parents, strict=True)
    }
