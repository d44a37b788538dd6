"""The availability profile, against examples and against a slower one that is easy to believe."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rainbow_agent.core.forecast import Profile, Slot
from rainbow_agent.core.model import Placement, Shape, Totals
from rainbow_agent.core.placement import place, why_never

TOTALS = Totals(nodes=3, cores_per_node=4, gpus_per_node=2)

shapes = st.builds(
    Shape,
    tasks=st.integers(1, 13),
    cores_per_task=st.integers(1, 5),
    gpus_per_task=st.integers(0, 2),
    nodes=st.one_of(st.none(), st.integers(1, 4)),
    exclusive=st.booleans(),
).filter(lambda shape: shape.nodes is None or shape.nodes <= shape.tasks)
durations = st.integers(1, 20).map(float)
requests = st.lists(st.tuples(shapes, durations, st.booleans()), max_size=25)


def free_throughout(profile: Profile, start: float, end: float) -> tuple[list[int], list[int]]:
    times = [start, *(time for time in profile.breakpoints() if start < time < end)]
    rows = [profile.free_at(time) for time in times]
    cores = [min(node) for node in zip(*(row[0] for row in rows), strict=True)]
    gpus = [min(node) for node in zip(*(row[1] for row in rows), strict=True)]
    return cores, gpus


def earliest_the_slow_way(profile: Profile, shape: Shape, duration_s: float, now: float) -> float | None:
    for start in sorted({now, *(time for time in profile.breakpoints() if time > now)}):
        if place(shape, *free_throughout(profile, start, start + duration_s), TOTALS) is not None:
            return start
    return None


def test_an_empty_cluster_is_free_now() -> None:
    slot = Profile(TOTALS, 10.0).earliest(Shape(tasks=12), 5.0, 10.0)
    assert slot == Slot(10.0, 15.0, ((0, 4), (1, 4), (2, 4)))


def test_a_hole_between_two_others_is_found() -> None:
    profile = Profile(Totals(1, 4), 0.0)
    whole = Shape(tasks=4)
    profile.occupy(whole, Slot(0.0, 10.0, ((0, 4),)))
    profile.occupy(whole, Slot(20.0, 30.0, ((0, 4),)))
    assert profile.earliest(Shape(), 10.0, 0.0) == Slot(10.0, 20.0, ((0, 1),))
    assert profile.earliest(Shape(), 10.1, 0.0) == Slot(30.0, 40.1, ((0, 1),))


def test_enough_in_sum_is_not_enough_on_one_node() -> None:
    profile = Profile(Totals(2, 4), 0.0)
    profile.occupy(Shape(tasks=2), Slot(0.0, 10.0, ((0, 2),)))
    profile.occupy(Shape(tasks=2), Slot(0.0, 20.0, ((1, 2),)))
    slot = profile.earliest(Shape(cores_per_task=4), 5.0, 0.0)
    assert slot == Slot(10.0, 15.0, ((0, 1),))


def test_an_exclusive_job_waits_for_wholly_free_nodes_and_keeps_them_whole() -> None:
    profile = Profile(Totals(2, 4, 2), 0.0)
    profile.occupy(Shape(), Slot(0.0, 10.0, ((0, 1),)))
    alone = Shape(tasks=2, nodes=2, exclusive=True)
    slot = profile.earliest(alone, 5.0, 0.0)
    assert slot == Slot(10.0, 15.0, ((0, 1), (1, 1)))
    profile.occupy(alone, slot)
    assert profile.free_at(10.0) == ((0, 0), (0, 0))
    assert profile.earliest(Shape(), 20.0, 0.0) == Slot(15.0, 35.0, ((0, 1),))
    profile.release(alone, slot)
    assert profile.free_at(10.0) == ((4, 4), (2, 2))


def test_release_gives_the_place_back() -> None:
    profile = Profile(Totals(1, 1), 0.0)
    first = profile.earliest(Shape(), 10.0, 0.0)
    assert first is not None
    profile.occupy(Shape(), first)
    second = profile.earliest(Shape(), 10.0, 0.0)
    assert second is not None
    assert second.start == 10.0
    profile.release(Shape(), first)
    assert profile.earliest(Shape(), 10.0, 0.0) == first


@settings(max_examples=300, deadline=None)
@given(requests)
def test_never_overcommitted_and_never_late(wanted: list[tuple[Shape, float, bool]]) -> None:
    """Every answer is the earliest that the slow way finds, and no node ever has less than nothing free."""
    now = 100.0
    profile = Profile(TOTALS, now)
    placed: list[tuple[Shape, Slot]] = []
    for shape, duration_s, withdraw in wanted:
        if withdraw and placed:
            profile.release(*placed.pop(0))
        slot = profile.earliest(shape, duration_s, now)
        if why_never(shape, TOTALS) is not None:
            assert slot is None
            continue
        assert slot is not None
        assert slot.start == earliest_the_slow_way(profile, shape, duration_s, now)
        assert slot.end == slot.start + duration_s
        fits_now = place(shape, *free_throughout(profile, now, now + duration_s), TOTALS) is not None
        assert (slot.start == now) == fits_now
        profile.occupy(shape, slot)
        placed.append((shape, slot))
        for time in profile.breakpoints():
            cores, gpus = profile.free_at(time)
            assert min(cores) >= 0
            assert min(gpus) >= 0


@settings(max_examples=300)
@given(shapes, st.lists(st.integers(0, 6), min_size=1, max_size=5), st.data())
def test_placements_are_what_the_shape_asks(shape: Shape, cores: list[int], data: st.DataObject) -> None:
    gpus = data.draw(st.lists(st.integers(0, 3), min_size=len(cores), max_size=len(cores)))
    whole = Totals(len(cores), cores_per_node=6, gpus_per_node=3)
    placement = place(shape, cores, gpus, whole)
    if shape.exclusive:
        cores = [free if free == whole.cores_per_node else 0 for free in cores]
    if placement is None:
        assert not _fits_by_trying(shape, cores, gpus)
        return
    assert sum(tasks for _, tasks in placement) == shape.tasks
    assert len({node for node, _ in placement}) == len(placement)
    for node, tasks in placement:
        assert tasks >= 1
        assert tasks * shape.cores_per_task <= cores[node]
        assert tasks * shape.gpus_per_task <= gpus[node]
    if shape.nodes is not None:
        assert len(placement) == shape.nodes
        assert max(tasks for _, tasks in placement) == -(-shape.tasks // shape.nodes)
        assert min(tasks for _, tasks in placement) == shape.tasks // shape.nodes


def _fits_by_trying(shape: Shape, cores: list[int], gpus: list[int]) -> bool:
    room = [
        min(free // shape.cores_per_task, gpus[node] // shape.gpus_per_task if shape.gpus_per_task else free)
        for node, free in enumerate(cores)
    ]
    if shape.nodes is None:
        return sum(room) >= shape.tasks
    low, extra = divmod(shape.tasks, shape.nodes)
    best = sorted(room, reverse=True)[: shape.nodes]
    wanted = [low + 1] * extra + [low] * (shape.nodes - extra)
    return len(best) == shape.nodes and all(have >= want for have, want in zip(best, wanted, strict=True))


def test_a_search_in_a_huge_profile_is_bounded() -> None:
    """Fragmented so that sums suffice and nodes do not: the answer is late but comes soon."""
    profile = Profile(Totals(2, 2), 0.0)
    for index in range(2_000):
        placement: Placement = ((index % 2, 1),)
        profile.occupy(Shape(), Slot(float(index), float(index + 3), placement))
    slot = profile.earliest(Shape(tasks=2, cores_per_task=2, nodes=2), 5.0, 0.0)
    assert slot is not None
    assert slot.start <= profile.horizon
