"""What `kubectl get nodes -o json` prints: capacities, labels, and which nodes take no work."""

from typing import Any

import msgspec
from msgspec import Raw

from rainbow_protocol import limits
from rainbowd.resources.graph import Kind, ResourceGraph
from rainbowd.resources.reading import amounts, tree
from rainbowd.resources.reading.node_list import Trunk
from rainbowd.resources.reading.vertex import checked_text, flattened, sorted_facts
from rainbowd.resources.reading.words import refused

_GPUS = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe")
# What a node is called or addressed by, whoever says it: its value is another on every node, so that with these as
# attributes no two nodes would be equal.
_OWN_LABELS = frozenset(
    {"hostname", "instance-id", "internal-ip", "external-ip", "machine", "machine-id", "node-id", "nodeid"}
    | {"node-name", "nodename", "provider-id", "system-uuid"}
)


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _Status(msgspec.Struct):
    allocatable: dict[str, Any] = {}
    capacity: dict[str, Any] = {}
    conditions: list[_Condition] = []


class _Metadata(msgspec.Struct):
    name: str
    labels: dict[str, str] | None = None


class _Spec(msgspec.Struct):
    unschedulable: bool = False


class _Node(msgspec.Struct):
    metadata: _Metadata
    kind: str = "Node"
    spec: _Spec | None = None
    status: _Status | None = None


def read(items: Raw) -> ResourceGraph:
    """`items` may hold much more than is needed here, such as the images that each node has: that is skipped."""
    try:
        nodes = msgspec.json.decode(items, type=list[_Node])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise refused(f"this looks like a list of Kubernetes nodes, but one is not as expected: {error}") from error
    others = {node.kind for node in nodes} - {"Node"}
    if others or not nodes:
        found = f"things of kind {', '.join(sorted(others))}" if others else "no nodes"
        raise refused(f"the Kubernetes list has {found} in it; give what `kubectl get nodes -o json` prints")
    trunk = Trunk()
    for node in nodes:
        _read_node(node, trunk)
    return trunk.grown([])


def _read_node(node: _Node, trunk: Trunk) -> None:
    name, status = node.metadata.name, node.status or _Status()
    checked_text(name, "name", name, limits.RESOURCE_VALUE_CHARS_MAX)
    has = status.allocatable or status.capacity
    where = f"node {name!r}: status.{'allocatable' if status.allocatable else 'capacity'}"
    cpus = has.get("cpu")
    if cpus is None:
        # Cut out of the document, most likely: taken as none, it would be a node on which nothing ever fits.
        raise refused(f"{where}.cpu is missing; give all that `kubectl get nodes -o json` prints")
    pools = {
        "core": amounts.count(cpus, f"{where}.cpu"),
        "gpu": sum(amounts.count(has.get(gpu, 0), f"{where}.{gpu}") for gpu in _GPUS),
        "memory": amounts.memory_bytes(has.get("memory", 0), f"{where}.memory"),
    }
    ready = [condition.status for condition in status.conditions if condition.type == "Ready"]
    down = bool(node.spec and node.spec.unschedulable) or (bool(ready) and ready[-1] != "True")
    labels = {label: value for label, value in (node.metadata.labels or {}).items() if not _is_of_one_node(label)}
    facts = sorted_facts(name, list(flattened(name, labels)))
    position = trunk.add(f"node/{name}", Kind(tree.NODE, attributes=facts), 0, name, None, down)
    trunk.pools(f"node/{name}", position, pools)


def _is_of_one_node(label: str) -> bool:
    who, _, what = label.rpartition("/")
    # Drivers of local storage have a topology in which each node is a place of its own.
    return what in _OWN_LABELS or (what == "node" and who.startswith("topology."))
