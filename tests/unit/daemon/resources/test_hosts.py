"""Hostlists are asked, never expanded."""

import pytest

from rainbowd.resources.hosts import Hosts
from rainbowd.resources.overview import hostlist


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        ("node1", ["node1"], ["node2", "node10", "node"]),
        ("node[1-3,7]", ["node1", "node3", "node7"], ["node4", "node01", "node", "node1x"]),
        ("a1,b[2-3]", ["a1", "b2", "b3"], ["a2", "b4"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"], ["n8", "n12"]),
        ("r[1-2]n[1-2]", ["r1n1", "r2n2"], ["r3n1", "r1n3", "r1"]),
        ("n[1-999999999]-ib", ["n5-ib", "n999999999-ib"], ["n0-ib", "n5"]),
        ("n[x]", [], ["nx", "n1"]),
        ("n[3-1]", [], ["n1", "n2", "n3"]),
    ],
)
def test_a_hostlist_knows_its_hosts(text: str, inside: list[str], outside: list[str]) -> None:
    hosts = Hosts([text])
    assert [name for name in inside if name not in hosts] == []
    assert [name for name in outside if name in hosts] == []


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["node1", "node2", "node3", "node7"], "node[1-3,7]"),
        (["node2", "node1"], "node[1-2]"),
        (["login"], "login"),
        (["a1", "b1"], "a1,b1"),
        (["n08", "n09", "n10"], "n[08-10]"),
        ([], ""),
    ],
)
def test_names_become_a_hostlist(names: list[str], short: str) -> None:
    assert hostlist(names, 100) == short
    assert all(name in Hosts([short]) for name in names)


def test_a_long_hostlist_is_cut() -> None:
    assert len(hostlist([f"host-{n * 2}" for n in range(1000)], 50)) == 50
