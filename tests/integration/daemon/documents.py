"""Small resource graphs as people write them (JSON Graph Format), and how a document is cut for the wire."""

import base64
import zlib
from collections.abc import Iterator
from typing import Any

import orjson

PART_BYTES = 1_000  # so that even these come in several pieces


def cluster(nodes: int, cores: int, gpus: int = 0) -> dict[str, Any]:
    """One rack of equal nodes; a node's vertex is called `node3`."""
    vertices = {"root": _vertex("cluster"), "rack": _vertex("rack")}
    edges = [_edge("root", "rack")]
    for node in range(nodes):
        vertices[f"node{node}"] = _vertex("node", name=f"host{node}")
        edges.append(_edge("rack", f"node{node}"))
        for kind, count in (("core", cores), ("gpu", gpus)):
            for number in range(count):
                vertices[f"{kind}{node}.{number}"] = _vertex(kind)
                edges.append(_edge(f"node{node}", f"{kind}{node}.{number}"))
    return {"graph": {"directed": True, "nodes": vertices, "edges": edges}}


def subsystem(*nodes: str, **attributes: Any) -> dict[str, Any]:
    """A disk, attached to each of these vertices."""
    vertices = {"io": _vertex("io"), "disk": _vertex("disk", **attributes)}
    edges = [_edge("io", "disk"), *(_edge(node, "disk") for node in nodes)]
    return {"graph": {"directed": True, "nodes": vertices, "edges": edges}}


def parts(document: bytes, size: int = PART_BYTES) -> Iterator[str]:
    sent = zlib.compress(document, 1)
    for start in range(0, len(sent), size):
        yield base64.b64encode(sent[start : start + size]).decode()


def as_bytes(document: Any) -> bytes:
    return document if isinstance(document, bytes) else orjson.dumps(document)


def wanting(conditions: dict[str, Any], cores: int = 1) -> dict[str, Any]:
    """A request for one core of a node that has a disk like this."""
    requires = [{"subsystem": "io", "conditions": [{"field": name, **what} for name, what in conditions.items()]}]
    node = {"type": "node", "requires": requires, "with": [{"type": "core", "count": cores}]}
    slot = {"type": "slot", "with": [node]}
    return {"command": ["true"], "needs": [{"alternatives": [[slot]]}]}


def _vertex(kind: str, /, **more: Any) -> dict[str, Any]:
    return {"metadata": {"type": kind, "basename": kind, "size": 1, "unit": "", **more}}


def _edge(source: str, target: str) -> dict[str, str]:
    return {"source": source, "target": target, "relation": "contains"}
