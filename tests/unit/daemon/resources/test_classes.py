"""Equal subtrees are one class, whatever the order in which they were written or registered."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rainbow_protocol.job import JobRequest, Shape
from rainbow_protocol.resources import Condition, Requirement, Resource
from rainbowd.resources.asking import ask_of
from rainbowd.resources.classes import describe, from_totals
from rainbowd.resources.graph import GraphRefusedError, Kind, Limits, ResourceGraph, SubsystemGraph, SubsystemVertex
from rainbowd.resources.match import GraphMatcher
from rainbowd.resources.model import ClassTable
from rainbowd.resources.overview import _title, node_kinds, tree_lines
from tests.unit.daemon.resources import worlds
from tests.unit.daemon.resources.brute import Vertex, numbered


def shuffled(root: Vertex, dice: Random) -> Vertex:
    children = [shuffled(child, dice) for child in root.children]
    dice.shuffle(children)
    attached = dice.sample(root.attached, len(root.attached))
    return Vertex(root.type, root.size, root.properties, attached, children)


@settings(deadline=None, max_examples=150)
@given(st.randoms(use_true_random=False), st.integers(0, 2**32))
def test_the_same_cluster_has_the_same_classes_in_any_order(dice: Random, seed: int) -> None:
    root = worlds.cluster(dice)
    again = shuffled(root, Random(seed))
    table = ClassTable()
    one, other = worlds.model_of(root, table), worlds.model_of(again, table)
    assert one.root is other.root
    assert tree_lines(one) == tree_lines(other)
    assert one.counts == other.counts


@settings(deadline=None, max_examples=150)
@given(st.randoms(use_true_random=False), st.integers(0, 2**32))
def test_the_same_question_has_the_same_answer(dice: Random, seed: int) -> None:
    """Whatever was asked or registered before, and after a restart."""
    root, forest = worlds.cluster(dice), worlds.forest(dice)
    ask = ask_of(worlds.request(forest))
    before = GraphMatcher().measure(ask, worlds.model_of(root))
    others = Random(seed)
    table = ClassTable()
    neighbours = [worlds.model_of(worlds.cluster(others), table) for _ in range(3)]
    matcher = GraphMatcher()
    for model in neighbours:
        matcher.measure(ask_of(worlds.request(worlds.forest(others))), model)
        matcher.measure(ask, model)
    assert matcher.measure(ask, worlds.model_of(shuffled(root, others), table)) == before
    assert matcher.measure(ask, table.load(describe(*worlds.graph_of(root)))) == before


def test_a_thousand_equal_nodes_are_one_class() -> None:
    root = Vertex(
        "cluster", children=[Vertex("node", children=[Vertex("core") for _ in range(4)]) for _ in range(1000)]
    )
    numbered(root)
    model = worlds.model_of(root)
    [(node, number)] = model.root.children
    assert number == 1000
    assert [(child.type, child.size, count) for child, count in node.children] == [("core", 4, 1)]
    assert tree_lines(model) == ["cluster", "└─ node × 1000", "   └─ core × 4"]
    [kind], more = node_kinds(model)
    assert (kind.nodes, kind.contents, more) == (1000, {"core": 4}, 0)


@pytest.mark.parametrize(
    ("size", "unit", "words"),
    [
        (905_438_953_472, "", "memory 905 GB"),
        (64 * 2**30, "B", "memory 64 GiB"),
        (64, "GB", "memory 64 GB"),
        (4, "", "memory × 4"),
    ],
)
def test_memory_is_told_in_a_unit_that_can_be_read(size: int, unit: str, words: str) -> None:
    table = ClassTable()
    memory = table.intern("memory", size, unit, frozenset(), (), (), ())
    assert _title(memory, 1) == words


def test_kinds_are_shared_between_clusters_and_let_go_with_them() -> None:
    table = ClassTable()
    one, other = (table.load(from_totals(nodes, 64, 4)) for nodes in (10, 20))
    assert one.root is not other.root
    assert one.root.children[0][0] is other.root.children[0][0]
    known = len(table._known)
    del other
    assert len(table._known) < known


def test_counts_only_and_limits_are_descriptions_too() -> None:
    matcher, table = GraphMatcher(), ClassTable()
    totals = table.load(from_totals(2, 8, 1))
    grows = table.load(describe(Limits(None, (("core", 64, ""), ("memory", 256 * 10**9, "B")))))
    assert totals.counts == {"cluster": 1, "node": 2, "core": 16, "gpu": 2}

    def fits(model: object, **shape: int) -> bool:
        return matcher.match(ask_of(JobRequest(command=["a"], shape=Shape(**shape))), model).fits

    assert fits(totals, tasks=2, cores_per_task=8)
    assert not fits(totals, tasks=1, cores_per_task=9)
    assert not fits(totals, nodes=3, tasks=3)
    assert fits(grows, nodes=900_000, tasks=900_000)
    assert not fits(grows, tasks=1, cores_per_task=65)


def test_sizes_are_the_same_whether_cores_are_one_pool_or_vertices() -> None:
    def cluster(cores: list[int]) -> ResourceGraph:
        graph = ResourceGraph(kinds=[Kind("cluster"), Kind("node"), *(Kind("core", size) for size in cores)])
        graph.ids = [str(n) for n in range(2 + len(cores))]
        graph.parents.extend([-1, 0, *[1] * len(cores)])
        graph.kind_of.extend(range(2 + len(cores)))
        graph.names[1] = "n1"
        return graph

    assert describe(cluster([4])) == describe(cluster([1, 1, 2]))
    assert describe(cluster([4])) != describe(cluster([5]))


def test_memory_is_counted_in_any_unit() -> None:
    graph = ResourceGraph(kinds=[Kind("cluster"), Kind("node"), Kind("memory", 64, "GiB")])
    graph.ids = ["0", "1", "2"]
    graph.parents.extend([-1, 0, 1])
    graph.kind_of.extend([0, 1, 2])
    model = ClassTable().load(describe(graph))

    def fits(count: int, unit: str) -> bool:
        memory = Resource(type="memory", count=count, unit=unit)
        return GraphMatcher().match(ask_of(worlds.request([Resource(type="node", children=[memory])])), model).fits

    assert fits(64, "GiB")
    assert not fits(65, "GiB")
    assert fits(68, "GB")
    assert not fits(69, "GB")
    assert fits(64 * 2**30, "B")
    assert not fits(64 * 2**30 + 1, "B")
    assert fits(64, "")  # of the pool's own unit
    assert not fits(1, "litres")


def test_a_cluster_that_grows_may_have_software_everywhere_but_nowhere_in_particular() -> None:
    grows = Limits(10, (("core", 4, ""),))
    arch = SubsystemGraph("arch", [SubsystemVertex("a", "arch", (("name", "arm64"),))], everywhere=[0])
    model = ClassTable().load(describe(grows, [arch]))
    wanted = Requirement(subsystem="arch", conditions=[Condition(field="name", any_of=["arm64"])])
    node = Resource(type="node", requires=[wanted])
    assert GraphMatcher().match(ask_of(worlds.request([node])), model).fits
    arch.attached = {"node7": [0]}
    with pytest.raises(GraphRefusedError, match="attached to vertex 'node7', which the cluster does not have"):
        describe(grows, [arch])
