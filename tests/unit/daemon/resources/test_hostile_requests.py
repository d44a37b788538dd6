"""Requests made to hurt: every one gets a verdict, nothing is raised, and no more is looked at than is allowed."""

from typing import Any

import pytest

from rainbow_protocol.resources import Condition, Constraint, Requirement, Resource
from rainbowd.resources.asking import ask_of
from rainbowd.resources.capacity import STEPS_MAX
from rainbowd.resources.classes import describe, from_totals
from rainbowd.resources.graph import GraphRefusedError, Kind, ResourceGraph
from rainbowd.resources.match import GraphMatcher
from rainbowd.resources.model import ClassTable, ClusterModel
from tests.unit.daemon.resources import worlds


def tree(*told: tuple[str, int, float, str]) -> ClusterModel:
    """From (type, parent, size, unit); the first is the root."""
    graph = ResourceGraph()
    for number, (kind, parent, size, unit) in enumerate(told):
        graph.kinds.append(Kind(kind, size, unit))
        graph.ids.append(str(number))
        graph.parents.append(parent)
        graph.kind_of.append(number)
    return ClassTable().load(describe(graph))


def slot(count: int, **held: int) -> Resource:
    return Resource(type="slot", count=count, children=[Resource(type=kind, count=n) for kind, n in held.items()])


def memory(count: int, unit: str) -> Resource:
    return Resource(type="memory", count=count, unit=unit)


BIG = tree(("cluster", -1, 1, ""), ("node", 0, 1, ""), ("memory", 1, 512, "GB"), ("core", 1, 64, ""))
HUGE = tree(("cluster", -1, 1, ""), ("node", 0, 1, ""), ("memory", 1, 10**18, "EB"))
UNEVEN = tree(
    ("cluster", -1, 1, ""),
    ("node", 0, 1, ""),
    *(("socket", 1, 1, "") for _ in range(14)),
    *((kind, 2 + n, 3 + n, "") for n in range(14) for kind in ("core", "gpu", "nic")),
)
TWO_OF_BYTES = [
    Resource(type="slot", count=10**11, children=[memory(1, "B")]),
    Resource(type="slot", count=10**10, children=[memory(2, "B")]),
]
SOCKETS = Resource(
    type="slot",
    children=[
        Resource(type="socket", count=6, exclusive=True),
        *(Resource(type=kind, count=60) for kind in ("core", "gpu", "nic")),
    ],
)


@pytest.mark.parametrize(
    ("model", "forest"),
    [
        (BIG, TWO_OF_BYTES),
        (BIG, [slot(n, core=1 + n % 7) for n in range(2, 18)]),
        (HUGE, [Resource(type="node", children=[memory(10**14, "B"), memory(10, "kB")])]),
        (HUGE, [Resource(type="slot", count=10**6, children=[memory(10**15, "EB")])]),
        (UNEVEN, [SOCKETS]),
        (UNEVEN, [Resource(type="slot", count=2, children=[SOCKETS])]),
        (BIG, [Resource(type="node", count=10**15)]),
    ],
)
def test_there_is_a_verdict_and_the_search_is_bounded(model: ClusterModel, forest: list[Resource]) -> None:
    matcher = GraphMatcher()
    ask = ask_of(worlds.request(forest))
    verdict = matcher.measure(ask, model)
    assert verdict.fits or verdict.reason
    # What is spent is counted before it is done: beyond the allowance there is at most the step that was refused.
    assert matcher._capacities[ask].steps_left <= STEPS_MAX


@pytest.mark.parametrize("version", ["²:1", "١٢", "1:", ":", "~" * 500, "9" * 500])
def test_odd_versions_are_compared_not_stumbled_over(version: str) -> None:
    condition = Condition(field="arch", min=version)
    wanted = Requirement(subsystem="node", conditions=[condition])
    graph = ResourceGraph(kinds=[Kind("node", attributes=(("arch", "amd64"),))], ids=["0"])
    graph.parents.append(-1)
    graph.kind_of.append(0)
    model = ClassTable().load(describe(graph))
    verdict = GraphMatcher().match(ask_of(worlds.request([Resource(type="node")], requires=[wanted])), model)
    assert "bug" not in verdict.reason


def test_a_bug_in_matching_is_a_no_and_not_the_end_of_the_daemon(monkeypatch: Any) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("rainbowd.resources.match._match", broken)
    two = [Resource(type="core", count=4242), Resource(type="gpu")]
    verdict = GraphMatcher().match(ask_of(worlds.request(two)), ClassTable().load(from_totals(2, 8, 1)))
    assert (verdict.fits, "bug of rainbowd" in verdict.reason) == (False, True)


def test_a_root_of_type_node_is_a_node() -> None:
    graph = ResourceGraph(kinds=[Kind("node", properties=("amd",)), Kind("core", 8)], ids=["0", "1"])
    graph.parents.extend([-1, 0])
    graph.kind_of.extend([0, 1])
    model = ClassTable().load(describe(graph))

    def fits(*forest: Resource, **more: Any) -> bool:
        return GraphMatcher().match(ask_of(worlds.request(list(forest), **more)), model).fits

    assert fits(Resource(type="node", children=[Resource(type="core", count=8)]))
    assert fits(slot(2, core=4))
    assert not fits(slot(3, core=4))
    assert not fits(Resource(type="node", count=2))
    assert not fits(slot(1, core=1), constraint=Constraint(op="properties", values=["intel"]))
    assert fits(slot(1, core=1), constraint=Constraint(op="properties", values=["amd"]))


def test_nodes_have_size_one_and_sums_have_an_end() -> None:
    with pytest.raises(GraphRefusedError, match="a node has size 5"):
        tree(("cluster", -1, 1, ""), ("node", 0, 5, ""))
    with pytest.raises(GraphRefusedError, match="add up to more than"):
        tree(("cluster", -1, 1, ""), ("memory", 0, 10**18, "B"), ("memory", 0, 10**18, "B"))


def test_what_was_known_of_a_request_goes_when_a_cluster_is_described_anew() -> None:
    table, matcher = ClassTable(), GraphMatcher()
    ask = ask_of(worlds.request([slot(1, core=3), slot(2, core=4)]))
    for cores in range(8, 108):
        matcher.match(ask, table.load(from_totals(2, cores, 0)))
    assert len(table._known) < 10


def test_a_slot_in_a_slot_is_part_of_it() -> None:
    model = ClassTable().load(from_totals(2, 64, 0))
    inner = slot(2, core=40)
    assert not GraphMatcher().match(ask_of(worlds.request([Resource(type="slot", children=[inner])])), model).fits
    assert GraphMatcher().match(ask_of(worlds.request([inner])), model).fits


def test_the_order_of_what_is_asked_does_not_matter() -> None:
    pools = tree(
        ("cluster", -1, 1, ""), ("node", 0, 1, ""), *(("memory", 1, 500, "MB") for _ in range(3)), ("core", 1, 1, "")
    )
    for forest in ([memory(1, "GB"), memory(500, "MB")], [memory(500, "MB"), memory(1, "GB")]):
        assert GraphMatcher().match(ask_of(worlds.request(forest)), pools).fits
    assert not GraphMatcher().match(ask_of(worlds.request([memory(1, "GB"), memory(501, "MB")])), pools).fits


def test_a_third_of_a_gigabyte_is_what_it_says() -> None:
    model = tree(("cluster", -1, 1, ""), ("node", 0, 1, ""), ("memory", 1, 0.3, "GB"))
    assert GraphMatcher().match(ask_of(worlds.request([memory(300, "MB")])), model).fits
    verdict = GraphMatcher().match(ask_of(worlds.request([memory(301, "MB")])), model)
    assert verdict.reason == "needs 301 MB of memory, it has 300 MB"
