"""Limits only, for a cluster that grows on demand: how many nodes at most, and how big each may be."""

from typing import Any

from rainbow_protocol import limits
from rainbowd.resources.graph import Limits
from rainbowd.resources.reading import amounts
from rainbowd.resources.reading.vertex import flattened, properties_of, sorted_facts
from rainbowd.resources.reading.words import is_line, listed, refused, shown

_PER_NODE = "_per_node"
_ALIASES = {"cores": "core", "cpus": "core", "gpus": "gpu", "sockets": "socket"}


def recognised(document: dict[Any, Any]) -> bool:
    return "max_nodes" in document or any(isinstance(key, str) and key.endswith(_PER_NODE) for key in document)


def read(document: dict[Any, Any]) -> Limits:
    per_node: dict[str, tuple[str, int | float, str]] = {}
    unknown: list[str] = []
    for key, value in document.items():
        if isinstance(key, str) and key.endswith(_PER_NODE):
            thing = key.removesuffix(_PER_NODE).removeprefix("max_")
            kind = _ALIASES.get(thing, thing)
            if not kind or len(kind) > limits.RESOURCE_NAME_CHARS_MAX or kind in per_node:
                raise refused(f"{shown(key)} is no maximum of a node, or the second of its kind")
            if not is_line(kind):
                raise refused(f"{shown(key)} has control characters in it; write it without them")
            amount = (amounts.memory_bytes if kind == "memory" else amounts.count)(value, key)
            per_node[kind] = (kind, amount, "B" if kind == "memory" else "")
        elif key not in ("max_nodes", "properties", "labels", "attributes", "version", "name"):
            unknown.append(str(key))
    if unknown:
        raise refused(
            f"the limits of a cluster have keys that are not understood: {listed(sorted(unknown))}; "
            "known are max_nodes, cores_per_node, gpus_per_node, memory_per_node, properties and labels"
        )
    if not per_node:
        raise refused("the limits say nothing about a node: give at least cores_per_node, beside max_nodes")
    nodes = document.get("max_nodes")
    if nodes is not None:
        nodes = amounts.count(nodes, "max_nodes")
        if not 1 <= nodes <= limits.NODES_MAX:
            raise refused(f"max_nodes is {nodes:,}, and must be between 1 and {limits.NODES_MAX:,}")
    properties, facts = properties_of("limits", document.get("properties"))
    for key in ("labels", "attributes"):
        held = document.get(key) or {}
        if not isinstance(held, dict):
            raise refused(f"{key} is {shown(held)}, and must be an object: name to value")
        facts.extend(flattened("limits", held))
    return Limits(nodes, tuple(per_node[kind] for kind in sorted(per_node)), properties, sorted_facts("limits", facts))
