"""Which of the local backend's nodes a constraint (RFC 31) allows: node0, node1, …, which differ by name only.

It means here what it means to the daemon, which was told of these nodes: else one would offer what the other refuses.
"""

from rainbow_protocol.hostlist import Hostlist, Numbers
from rainbow_protocol.resources import Constraint

NODE_PREFIX = "node"


def node_name(index: int) -> str:
    return f"{NODE_PREFIX}{index}"


def allowed(constraint: Constraint, nodes: int, properties: frozenset[str]) -> frozenset[int]:
    """Positions of the nodes that satisfy it. `properties` are those of every node, labels too, as `key=value`."""
    every = frozenset(range(nodes))
    match constraint.op:
        case "and":
            return every.intersection(*(allowed(one, nodes, properties) for one in constraint.args))
        case "or":
            return frozenset().union(*(allowed(one, nodes, properties) for one in constraint.args))
        case "not":
            # Of several, not all may hold.
            return every - every.intersection(*(allowed(one, nodes, properties) for one in constraint.args))
        case "properties":
            return every if all(_has(properties, value) for value in constraint.values) else frozenset()
        case "ranks":
            ranks = Numbers(constraint.values)
            return frozenset(index for index in every if index in ranks)
        case "hostlist":
            hosts = Hostlist(constraint.values)
            return frozenset(index for index in every if node_name(index) in hosts)


def _has(properties: frozenset[str], value: str) -> bool:
    """`^name` is satisfied by a node without that property."""
    return value[1:] not in properties if value.startswith("^") else value in properties
