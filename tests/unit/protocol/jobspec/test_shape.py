"""What must be set aside: exact where it can be, never too little anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbow_protocol import limits
from rainbow_protocol.job import Shape
from rainbow_protocol.jobspec import JobspecError, shape_of
from rainbow_protocol.resources import CountRange, CountSet, Need, Resource, least


def make(kind: str, count: int = 1, *children: Resource, exclusive: bool | None = None) -> Resource:
    return Resource(type=kind, count=count, children=list(children), exclusive=exclusive)


def shape(*forest: Resource) -> Shape:
    return shape_of([Need(alternatives=[list(forest)])])


CORE, GPU = make("core"), make("gpu")
MEMORY = Resource(type="memory", count=4 * 10**9, unit="B")


@pytest.mark.parametrize(
    ("forest", "meant"),
    [
        (
            [make("node", 4, make("slot", 2, make("core", 3), GPU))],
            Shape(nodes=4, tasks=8, cores_per_task=3, gpus_per_task=1),
        ),
        (
            [make("node", 4, make("socket", 2, make("slot", 2, make("core", 3))))],
            Shape(nodes=4, tasks=16, cores_per_task=3),
        ),
        (
            [make("node", 4, make("slot", 2, make("core", 3), MEMORY), MEMORY)],
            Shape(nodes=4, tasks=8, cores_per_task=3),
        ),
        ([make("slot", 10, make("core", 2))], Shape(tasks=10, cores_per_task=2)),
        ([make("slot", 10, make("socket", 2, make("core", 4)))], Shape(tasks=10, cores_per_task=8)),
        ([make("rack", 2, make("slot", 5, make("core", 2)))], Shape(tasks=10, cores_per_task=2)),
        (
            [make("rack", 2, make("node", 5, make("slot", 1, make("core", 2))))],
            Shape(nodes=10, tasks=10, cores_per_task=2),
        ),
        ([make("slot", 3, make("node", 2))], Shape(nodes=6, tasks=6, exclusive=True)),
        (
            [make("slot", 3, make("node", 2, make("core", 4)))],
            Shape(nodes=6, tasks=6, cores_per_task=4, exclusive=True),
        ),
        (
            [make("slot", 3, make("node", 2, make("core", 4), exclusive=False))],
            Shape(nodes=6, tasks=6, cores_per_task=4),
        ),
        ([make("node", 3, make("core", 4))], Shape(nodes=3, tasks=3, cores_per_task=4)),
        ([make("node", 3, make("core", 4), exclusive=True)], Shape(nodes=3, tasks=3, cores_per_task=4, exclusive=True)),
        ([make("node", 3)], Shape(nodes=3, tasks=3)),
        ([make("core", 8)], Shape(tasks=8)),
        ([make("gpu", 2)], Shape(tasks=2, gpus_per_task=1)),
        ([make("socket", 2, make("core", 4))], Shape(tasks=2, cores_per_task=4)),
        ([MEMORY], Shape()),
        ([MEMORY, make("slot", 2, CORE)], Shape(tasks=2)),
        # No longer uniform: room for all of it on every node.
        (
            [make("node", 1, make("slot", 10, CORE), make("slot", 1, make("core", 6)))],
            Shape(nodes=1, tasks=1, cores_per_task=16),
        ),
        (
            [make("slot", 2, CORE), make("slot", 3, make("core", 4), GPU)],
            Shape(tasks=5, cores_per_task=4, gpus_per_task=1),
        ),
        (
            [make("node", 2, make("core", 8)), make("node", 3, make("gpu", 2))],
            Shape(nodes=5, tasks=5, cores_per_task=8, gpus_per_task=2),
        ),
        ([make("node", 2, make("core", 8)), make("slot", 3, CORE)], Shape(nodes=2, tasks=6, cores_per_task=8)),
    ],
)
def test_shapes(forest: list[Resource], meant: Shape) -> None:
    assert shape(*forest) == meant


def test_ranges_count_with_their_least() -> None:
    node = Resource(type="node", count=CountRange(min=3, max=30), children=[make("core", 2)])
    assert shape(node) == Shape(nodes=3, tasks=3, cores_per_task=2)
    slot = Resource(type="slot", count=CountSet(any_of=[9, 4]), children=[CORE])
    assert shape(slot).tasks == 4


def test_several_needs_have_room_for_the_largest_of_each() -> None:
    many_nodes = Need(alternatives=[[make("node", 4, CORE)]])
    one_full_node = Need(alternatives=[[make("node", 1, make("slot", 8, make("core", 2)))]])
    anywhere = Need(alternatives=[[make("slot", 50, GPU)]])
    assert shape_of([many_nodes, one_full_node]) == Shape(nodes=4, tasks=32, cores_per_task=2)
    assert shape_of([many_nodes, anywhere]) == Shape(nodes=4, tasks=52, gpus_per_task=1)


def test_of_alternatives_the_one_that_takes_least() -> None:
    gpus, nodes, cores = make("slot", 2, GPU), make("node", 2, make("core", 2)), make("slot", 9, CORE)
    for alternatives in ([[gpus], [nodes], [cores]], [[cores], [gpus], [nodes]]):
        assert shape_of([Need(alternatives=alternatives)]) == Shape(tasks=9)
    assert shape_of([Need(alternatives=[[gpus], [nodes]])]) == Shape(nodes=2, tasks=2, cores_per_task=2)


def test_the_time_limit_is_kept() -> None:
    assert shape_of([Need(alternatives=[[CORE]])], 90.0).time_limit_s == 90.0


def test_what_is_beyond_all_bounds_is_told() -> None:
    with pytest.raises(JobspecError, match=r"resources: in all they are too many: nodes: must be at most 1000000"):
        shape(make("node", limits.NODES_MAX + 1, CORE))
    with pytest.raises(JobspecError, match="cores_per_task: must be at most"):
        shape(make("slot", 1, make("core", limits.CORES_PER_TASK_MAX + 1)))


def resources() -> st.SearchStrategy[Resource]:
    leaves = st.builds(make, st.sampled_from(["core", "gpu", "node", "memory"]), st.integers(1, 4))
    inner = st.recursive(
        leaves,
        lambda some: st.builds(
            lambda kind, count, children, exclusive: make(kind, count, *children, exclusive=exclusive),
            st.sampled_from(["cluster", "rack", "node", "socket", "slot"]),
            st.integers(1, 4),
            st.lists(some, min_size=1, max_size=3),
            st.sampled_from([None, True, False]),
        ),
        max_leaves=8,
    )
    return inner.filter(lambda one: one.depth <= limits.RESOURCE_DEPTH_MAX)


def total(resource: Resource, kind: str) -> int:
    inside = 1 if resource.type == kind else sum(total(child, kind) for child in resource.children)
    return least(resource.count) * inside


def nodes(resource: Resource) -> list[Resource]:
    return [resource] if resource.type == "node" else [one for child in resource.children for one in nodes(child)]


needs = st.lists(
    st.lists(st.lists(resources(), min_size=1, max_size=2), min_size=1, max_size=2).map(
        lambda alternatives: Need(alternatives=alternatives)
    ),
    min_size=1,
    max_size=2,
)


@given(needs)
def test_it_is_never_less_than_what_is_needed(wanted: list[Need]) -> None:
    try:
        found = shape_of(wanted)
    except JobspecError:
        return
    for need in wanted:
        assert any(holds(found, forest) for forest in need.alternatives)


def holds(shape: Shape, forest: list[Resource]) -> bool:
    """Whether it has enough of everything, in all and on each node."""
    if shape.tasks * shape.cores_per_task < sum(total(one, "core") for one in forest):
        return False
    if shape.tasks * shape.gpus_per_task < sum(total(one, "gpu") for one in forest):
        return False
    on_nodes = [node for one in forest for node in nodes(one)]
    if not on_nodes:
        return True
    if shape.nodes is None or shape.nodes < sum(total(one, "node") for one in forest):
        return False
    a_node_has = -(-shape.tasks // shape.nodes)
    return all(
        a_node_has * shape.cores_per_task >= sum(total(child, "core") for child in node.children)
        and a_node_has * shape.gpus_per_task >= sum(total(child, "gpu") for child in node.children)
        for node in on_nodes
    )
