"""Flux R (RFC 20): execution targets, the cores and gpus of each, their host names and properties."""

from typing import Any

from rainbow_protocol import limits
from rainbowd.resources.graph import Kind, ResourceGraph
from rainbowd.resources.reading import tree
from rainbowd.resources.reading.idsets import count, hostlist, idset
from rainbowd.resources.reading.vertex import bounded_rank, checked_text, properties_of
from rainbowd.resources.reading.words import refused, shown


def read(execution: object) -> ResourceGraph:
    if not isinstance(execution, dict) or not isinstance(execution.get("R_lite"), list):
        raise refused("this looks like Flux's R, but has no execution.R_lite, the list of its ranks and their children")
    held = _children_by_rank(execution["R_lite"])
    ranks = sorted(held)
    hosts = _hosts(execution.get("nodelist"), ranks)
    properties = _properties(execution.get("properties"), held)
    vertices = tree.Vertices()
    vertices.add("cluster", Kind("cluster"))
    parents = [tree.NOWHERE]
    for rank in ranks:
        children = held[rank]
        tree.bounded(len(parents) + 1 + len(children))
        node = f"rank{rank}"
        named, _ = properties_of(node, sorted(properties.get(rank, ())))
        position = vertices.add(node, Kind(tree.NODE, properties=named), hosts[rank], rank)
        parents.append(0)
        for kind, size in children.items():
            vertices.add(f"{node}/{kind}", Kind(kind, size))
            parents.append(position)
    tree.index(vertices.ids)
    return tree.grown(vertices, parents, [])


def _children_by_rank(entries: list[Any]) -> dict[int, dict[str, int]]:
    held: dict[int, dict[str, int]] = {}
    for number, entry in enumerate(entries):
        where = f"execution.R_lite[{number}]"
        children = entry.get("children") if isinstance(entry, dict) else None
        if not isinstance(children, dict):
            raise refused(f"{where} must be an object with rank and children")
        ranks = idset(entry.get("rank"), f"{where}.rank")
        if count(ranks) > limits.GRAPH_VERTICES_MAX or len(held) + count(ranks) > limits.GRAPH_VERTICES_MAX:
            raise refused(f"{where}.rank: more than {limits.GRAPH_VERTICES_MAX:,} ranks")
        bounded_rank(where, ranks[-1][-1])
        sizes = {
            checked_text(where, "children", str(kind), limits.RESOURCE_NAME_CHARS_MAX): _bounded(
                ids, f"{where}.children.{kind}"
            )
            for kind, ids in children.items()
        }
        for rank in (rank for one in ranks for rank in one):
            if rank in held:
                raise refused(f"{where}.rank: rank {rank} is in R_lite twice")
            held[rank] = sizes
    if not held:
        raise refused("execution.R_lite is empty: there are no resources in it")
    return held


def _bounded(ids: object, where: str) -> int:
    if not ids:
        return 0
    size = count(idset(ids, where))
    if size > limits.CORES_PER_NODE_MAX:
        raise refused(f"{where} has {size:,} of them on one node; at most {limits.CORES_PER_NODE_MAX:,} can be right")
    return size


def _hosts(nodelist: object, ranks: list[int]) -> dict[int, str | None]:
    """The hosts stand in the order of the ranks."""
    if nodelist is None:
        return dict.fromkeys(ranks)
    if not isinstance(nodelist, list):
        raise refused(f"execution.nodelist is {shown(nodelist)}, and must be a list of host names")
    where = "execution.nodelist"
    names = (host for entry in nodelist for host in hostlist(entry, where))
    hosts = [checked_text(where, "host", host, limits.RESOURCE_VALUE_CHARS_MAX) for host in names]
    if len(hosts) != len(ranks):
        raise refused(
            f"execution.nodelist has {len(hosts):,} hosts for {len(ranks):,} ranks; there must be one for each"
        )
    return dict(zip(ranks, hosts, strict=True))


def _properties(given: object, held: dict[int, dict[str, int]]) -> dict[int, list[str]]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise refused(f"execution.properties is {shown(given)}, and must be an object: name to ranks")
    found: dict[int, list[str]] = {}
    for name, ranks in given.items():
        for one in idset(ranks, f"execution.properties.{name}"):
            for rank in one if len(one) <= len(held) else (rank for rank in held if rank in one):
                if rank in held:
                    found.setdefault(rank, []).append(str(name))
    return found
