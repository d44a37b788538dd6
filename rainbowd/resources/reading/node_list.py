"""A plain list of nodes: name, cores, gpus, memory, labels. For whoever has no graph, only an inventory."""

from difflib import get_close_matches
from typing import Any

from rainbow_protocol import limits
from rainbowd.resources.graph import GraphRefusedError, Kind, ResourceGraph
from rainbowd.resources.reading import amounts, natural, tree
from rainbowd.resources.reading.idsets import hostlist
from rainbowd.resources.reading.vertex import (
    bounded_rank,
    checked_text,
    flattened,
    is_down,
    properties_of,
    rank_of,
    sorted_facts,
)
from rainbowd.resources.reading.words import SHOWN_CHARS_MAX, SHOWN_ITEMS_MAX, listed, refused, shown

# The names that people write, for what we call it.
_FIELDS = {
    "name": ("name", "hostname", "host"),
    "cores": ("cores", "cpus", "cpu", "core"),
    "gpus": ("gpus", "gpu"),
    "memory": ("memory", "mem"),
    "sockets": ("sockets", "socket"),
    "count": ("count",),
    "rack": ("rack",),
    "rank": ("rank",),
    "labels": ("labels", "attributes"),
    "properties": ("properties", "features"),
    "status": ("status", "state"),
}
_ALL = frozenset(name for names in _FIELDS.values() for name in names)


def read(items: object) -> ResourceGraph:
    if not isinstance(items, list) or not items:
        raise refused("the list of nodes is empty, or no list: it needs items such as {name: node1, cores: 64}")
    trunk = Trunk()
    unknown: set[str] = set()
    for number, item in enumerate(items):
        where = f"nodes[{number}]"
        if not isinstance(item, dict):
            raise refused(f"{where} is {shown(item)}, and must be an object such as {{name: node1, cores: 64}}")
        unknown.update(str(key) for key in item if key not in _ALL)
        _read_item(item, where, trunk)
    warnings = [f"not understood, and left out of every node: {listed(sorted(unknown))}"] if unknown else []
    return trunk.grown(warnings)


class Trunk:
    """A cluster, racks if there are any, and nodes with their pools."""

    def __init__(self) -> None:
        self._vertices = tree.Vertices()
        self._vertices.add("cluster", Kind("cluster"))
        self._parents = [tree.NOWHERE]
        self._racks: dict[str, int] = {}

    def rack(self, name: str) -> int:
        if name not in self._racks:
            self._racks[name] = self.add(f"rack/{name}", Kind("rack"), 0)
        return self._racks[name]

    def add(
        self,
        vertex_id: str,
        kind: Kind,
        parent: int,
        name: str | None = None,
        rank: int | None = None,
        down: bool = False,
    ) -> int:
        tree.bounded(len(self._parents) + 1)
        self._parents.append(parent)
        return self._vertices.add(vertex_id, kind, name, rank, down)

    def pools(self, vertex_id: str, parent: int, pools: dict[str, int]) -> None:
        """A vertex for what there is of each type; memory counts in bytes."""
        for kind, size in pools.items():
            if size:
                self.add(f"{vertex_id}/{kind}", Kind(kind, size, "B" if kind == "memory" else ""), parent)

    def grown(self, warnings: list[str]) -> ResourceGraph:
        ids = self._vertices.ids
        tree.index(ids)
        down = sorted((ids[one] for one in self._vertices.down), key=natural.key)
        if down:
            warnings.append(f"out of service at the moment, and counted all the same: {listed(down)}")
        return tree.grown(self._vertices, self._parents, warnings)


def _read_item(item: dict[Any, Any], where: str, trunk: Trunk) -> None:
    called = next((item[alias] for alias in _FIELDS["name"] if item.get(alias) is not None), None)

    def field(name: str) -> Any:
        given = [alias for alias in _FIELDS[name] if item.get(alias) is not None]
        # One of them would be lost, and nobody could tell which was meant.
        if other := next((alias for alias in given[1:] if item[alias] != item[given[0]]), None):
            raise refused(
                f"node {shown(called)}: {given[0]} and {other} mean the same, and differ; leave out one of them"
            )
        return item[given[0]] if given else None

    copies = amounts.count(1 if field("count") is None else field("count"), f"{where}.count")
    if not 1 <= copies <= limits.GRAPH_VERTICES_MAX:
        raise refused(f"{where}.count is {copies:,}, and must be between 1 and {limits.GRAPH_VERTICES_MAX:,}")
    name = field("name")
    if not isinstance(name, str | int) or isinstance(name, bool) or name == "":
        raise refused(f"{where} has no name; every node needs one of its own, as the cluster calls it")
    name = str(name)
    checked_text(name, "name", name, limits.RESOURCE_NAME_CHARS_MAX)
    names = _names(name, copies, where)
    rank = bounded_rank(f"node {shown(name)}", rank_of(f"node {shown(name)}", field("rank")))
    if rank is not None and len(names) > 1:
        words = f"one rank for {len(names):,} nodes; leave out the rank, or list them one by one"
        raise refused(f"node {shown(name)}: {words}")
    properties, facts = properties_of(name, field("properties"))
    labels = field("labels") or {}
    if not isinstance(labels, dict):
        raise refused(f"{where}.labels is {shown(labels)}, and must be an object: name to value")
    facts.extend(flattened(name, labels))
    kind = Kind(tree.NODE, properties=properties, attributes=sorted_facts(name, facts))
    cores = field("cores")
    if cores is None:
        raise _without_cores(name, item)
    pools = {"core": amounts.count(cores, f"{where}.cores"), "gpu": amounts.count(field("gpus") or 0, f"{where}.gpus")}
    memory = amounts.memory_bytes(field("memory") or 0, f"{where}.memory")
    sockets = amounts.count(field("sockets") or 0, f"{where}.sockets")
    if sockets and any(size % sockets for size in pools.values() if size):
        raise refused(f"{where}: its cores and gpus do not divide evenly over {sockets} sockets; leave out sockets")
    down = is_down(name, _status(field("status")))
    rack = field("rack")
    parent = 0 if rack is None else trunk.rack(checked_text(name, "rack", str(rack), limits.RESOURCE_NAME_CHARS_MAX))
    for mine in names:
        node = trunk.add(f"node/{mine}", kind, parent, mine, rank, down)
        for socket in range(sockets):
            holder = trunk.add(f"node/{mine}/socket{socket}", Kind("socket"), node)
            trunk.pools(f"node/{mine}/socket{socket}", holder, {one: size // sockets for one, size in pools.items()})
        trunk.pools(f"node/{mine}", node, {"memory": memory} if sockets else {**pools, "memory": memory})


def _names(name: str, copies: int, where: str) -> list[str]:
    """What the nodes of one item are called. No name grows by this, so whoever bounds the item bounds all of them."""
    if not any(mark in name for mark in "[],"):
        return [name] if copies == 1 else [f"{name}{copy}" for copy in range(copies)]
    if copies > 1:
        words = f"is a list of hosts, and count says {copies:,}; leave out count, or write one name without brackets"
        raise refused(f"{where}.name: {shown(name)} {words}")
    return hostlist(name, f"{where}.name")


def _without_cores(name: str, item: dict[Any, Any]) -> GraphRefusedError:
    """A node of no cores would be taken without a word, and every job refused: more likely a word was mistyped."""
    words = f"node {shown(name)} does not say how many cores it has"
    unknown = sorted(str(key) for key in item if key not in _ALL)
    if not unknown:
        return refused(f"{words}; add cores, which may be 0")
    close = (get_close_matches(key[:SHOWN_CHARS_MAX].lower(), sorted(_ALL), 1) for key in unknown[:SHOWN_ITEMS_MAX])
    meant = dict.fromkeys(f"{found[0]!r}" for found in close if found)
    question = f"; did you mean {' and '.join(meant)}?" if meant else "; add cores, which may be 0"
    return refused(f"{words}, and has what is not understood: {listed(unknown)}{question}")


def _status(status: object) -> object:
    """Lists say it in words."""
    if isinstance(status, str):
        return 0 if status.lower() in ("up", "idle", "alloc", "allocated", "mixed", "ready") else 1
    return status
