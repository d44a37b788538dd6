"""Nodes by name or rank: which of a cluster's nodes a constraint names."""

from rainbow_protocol.hostlist import Hostlist, Numbers
from rainbow_protocol.resources import Constraint, why_unreadable
from rainbowd.resources.model import ClusterModel
from rainbowd.resources.requirements import mark_of, named_nodes


def marks_of(constraint: Constraint, model: ClusterModel) -> dict[str, frozenset[int]]:
    """For every part of the constraint that names nodes: its mark, and the places of these nodes."""
    marks: dict[str, frozenset[int]] = {}
    for part in named_nodes(constraint):
        mark = mark_of(part)
        if mark not in marks:
            marks[mark] = _places(part, model)
    return marks


def _places(part: Constraint, model: ClusterModel) -> frozenset[int]:
    skeleton = model.skeleton
    if skeleton is None or why_unreadable(part) is not None:  # what cannot be read names nobody
        return frozenset()
    if part.op == "hostlist":
        hosts = Hostlist(part.values)
        return frozenset(place for place, name in enumerate(skeleton.names) if name and name in hosts)
    ranks = Numbers(part.values)
    return frozenset(place for place, rank in enumerate(skeleton.ranks) if rank >= 0 and rank in ranks)
