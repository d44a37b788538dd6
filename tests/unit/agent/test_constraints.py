"""Constraints on nodes that differ by name only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbow_agent.backends.constraints import allowed
from rainbow_protocol.resources import Constraint

PROPERTIES = frozenset({"fast", "ib"})


def hosts(*values: str) -> Constraint:
    return Constraint(op="hostlist", values=list(values))


def properties(*values: str) -> Constraint:
    return Constraint(op="properties", values=list(values))


@pytest.mark.parametrize(
    ("constraint", "nodes"),
    [
        (hosts("node1"), {1}),
        (hosts("node[0-2,11]"), {0, 1, 2, 11}),
        (hosts("node1[0-9]"), {10, 11}),
        (hosts("node[1-2],node5", "other7"), {1, 2, 5}),
        (hosts("node[00-03]"), set()),
        (hosts("node[0-99999999999]"), set(range(12))),
        (hosts("rack[1-2]node[0-3]"), set()),
        (properties("fast"), set(range(12))),
        (properties("fast", "slow"), set()),
        (properties("^slow"), set(range(12))),
        (properties("^fast"), set()),
        (Constraint(op="ranks", values=["0-1", "3"]), {0, 1, 3}),
        (Constraint(op="ranks", values=["10-20"]), {10, 11}),
        (Constraint(op="not", args=[hosts("node0")]), set(range(1, 12))),
        (Constraint(op="not", args=[hosts("node[0-5]"), hosts("node[4-9]")]), {0, 1, 2, 3, 6, 7, 8, 9, 10, 11}),
        (Constraint(op="and", args=[hosts("node[0-5]"), hosts("node[4-9]"), properties("ib")]), {4, 5}),
        (Constraint(op="or", args=[hosts("node0"), hosts("node9")]), {0, 9}),
        (Constraint(op="and", args=[]), set(range(12))),
    ],
)
def test_which_nodes_are_allowed(constraint: Constraint, nodes: set[int]) -> None:
    assert allowed(constraint, 12, PROPERTIES) == nodes


@given(st.sets(st.integers(0, 30)), st.integers(1, 20))
def test_a_list_allows_exactly_those_it_names(named: set[int], nodes: int) -> None:
    if named:
        value = f"node[{','.join(map(str, sorted(named)))}]"
        assert allowed(hosts(value), nodes, frozenset()) == {index for index in named if index < nodes}
