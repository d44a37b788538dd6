"""Hostlists are asked, never expanded."""

import pytest

from rainbow_protocol.hostlist import Hostlist, HostlistError, Numbers
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
        ("n1[0-9]", ["n10", "n19"], ["n1", "n20", "n100"]),
        ("n[1-2]5", ["n15", "n25"], ["n5", "n35"]),
        ("n[1-3,2-9,20]", ["n1", "n9", "n20"], ["n10", "n19", "n21"]),
        ("a1b2c[3-4]d5", ["a1b2c3d5", "a1b2c4d5"], ["a1b2c5d5", "a1b2c3d6"]),
    ],
)
def test_a_hostlist_knows_its_hosts(text: str, inside: list[str], outside: list[str]) -> None:
    hosts = Hostlist([text])
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
    assert all(name in Hostlist([short]) for name in names)


def test_a_long_hostlist_is_cut() -> None:
    assert len(hostlist([f"host-{n * 2}" for n in range(1000)], 50)) == 50


@pytest.mark.parametrize(
    "text", ["n[", "n]", "a[1-", "n[x]", "n[3-1]", "n[1-]", "n[[1]]", "r[1-99]n[1-99]c[1-9]", "n[1-9999]0"]
)
def test_what_is_no_hostlist_is_refused_in_words(text: str) -> None:
    with pytest.raises(HostlistError):
        Hostlist([text])


def test_ranks_are_numbers_and_ranges() -> None:
    ranks = Numbers(["0-2,7", "100-999999999999"])
    assert [rank for rank in (0, 1, 2, 3, 7, 8, 99, 100, 10**11) if rank in ranks] == [0, 1, 2, 7, 100, 10**11]
    with pytest.raises(HostlistError):
        Numbers(["one"])
