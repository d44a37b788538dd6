"""FIFO with conservative backfill: who starts when, and that nobody before them is delayed."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rainbow_agent.core.model import Key, Shape, Totals
from rainbow_agent.core.plan import PLANNED_MAX
from rainbow_agent.core.schedule import REPLAN_S, Schedule


def key(number: int) -> Key:
    return Key(f"job{number}", 1)


def started(schedule: Schedule, now: float) -> list[str]:
    names = [str(key.job) for key, _ in schedule.due(now)]
    assert schedule.problems() == []
    return names


def test_first_come_first_served() -> None:
    schedule = Schedule(Totals(1, 4), 3600.0)
    for number in range(3):
        schedule.enqueue(key(number), Shape(tasks=2))
    assert started(schedule, 0.0) == ["job0", "job1"]
    schedule.end(key(1))
    assert started(schedule, 1.0) == ["job2"]


def test_a_short_job_may_jump_ahead_but_a_long_one_may_not() -> None:
    schedule = Schedule(Totals(1, 4), 3600.0)
    schedule.enqueue(key(0), Shape(tasks=3, time_limit_s=100.0))
    schedule.enqueue(key(1), Shape(tasks=4, time_limit_s=100.0))
    schedule.enqueue(key(2), Shape(tasks=1, time_limit_s=101.0))
    schedule.enqueue(key(3), Shape(tasks=1, time_limit_s=100.0))
    assert started(schedule, 0.0) == ["job0", "job3"]


def test_a_job_that_ends_early_lets_the_queue_move_up() -> None:
    schedule = Schedule(Totals(1, 4), 3600.0)
    schedule.enqueue(key(0), Shape(tasks=4, time_limit_s=100.0))
    schedule.enqueue(key(1), Shape(tasks=3, time_limit_s=100.0))
    schedule.enqueue(key(2), Shape(tasks=4, time_limit_s=100.0))
    schedule.enqueue(key(3), Shape(tasks=1, time_limit_s=100.0))
    assert started(schedule, 0.0) == ["job0"]
    schedule.end(key(0))
    assert started(schedule, 1.0) == ["job1", "job3"]


def test_bids_wait_behind_the_queue_and_each_other() -> None:
    schedule = Schedule(Totals(1, 2), 3600.0)
    schedule.enqueue(key(0), Shape(tasks=2, time_limit_s=10.0))
    started(schedule, 0.0)
    assert schedule.hold(key(1), Shape(tasks=2, time_limit_s=10.0), 0.0).start == 10.0
    assert schedule.hold(key(2), Shape(tasks=1, time_limit_s=5.0), 0.0).start == 20.0
    assert schedule.hold(key(3), Shape(tasks=1, time_limit_s=5.0), 0.0).start == 20.0
    assert schedule.hold(key(4), Shape(tasks=1, time_limit_s=5.0), 0.0).start == 25.0
    schedule.drop_hold(key(1))
    assert schedule.hold(key(5), Shape(tasks=1, time_limit_s=5.0), 0.0).start == 10.0


def test_a_job_past_its_expected_end_is_not_taken_for_gone() -> None:
    schedule = Schedule(Totals(1, 1), 10.0)
    schedule.enqueue(key(0), Shape())
    started(schedule, 0.0)
    assert schedule.earliest(Shape(), 5.0).start == 10.0
    assert schedule.earliest(Shape(), 50.0).start > 50.0


def test_gpus_are_given_out_by_number() -> None:
    schedule = Schedule(Totals(1, 8, 4), 3600.0)
    for number in range(2):
        schedule.enqueue(key(number), Shape(tasks=2, gpus_per_task=1))
    shares = [assignment for _, assignment in schedule.due(0.0)]
    assert [share.gpus for assignment in shares for share in assignment] == [(0, 1), (2, 3)]
    schedule.end(key(0))
    schedule.enqueue(key(2), Shape(gpus_per_task=2))
    assert schedule.due(1.0)[0][1][0].gpus == (0, 1)


def test_an_exclusive_job_shares_its_node_with_nobody() -> None:
    schedule = Schedule(Totals(2, 4, 2), 3600.0)
    schedule.enqueue(key(0), Shape())
    schedule.enqueue(key(1), Shape(exclusive=True, time_limit_s=10.0))
    schedule.enqueue(key(2), Shape(exclusive=True))
    schedule.enqueue(key(3), Shape(tasks=3))
    starts = dict(schedule.due(0.0))
    assert {one.job: [share.node for share in assignment] for one, assignment in starts.items()} == {
        "job0": [0],
        "job1": [1],
        "job3": [0],
    }
    assert (schedule.free().nodes, schedule.free().cores, schedule.free().gpus) == (0, 0, 2)
    schedule.end(key(0))
    assert started(schedule, 1.0) == []
    schedule.end(key(3))
    assert started(schedule, 2.0) == ["job2"]


def test_an_exclusive_job_has_all_the_devices_of_its_node() -> None:
    schedule = Schedule(Totals(1, 4, 4), 3600.0)
    schedule.enqueue(key(0), Shape(gpus_per_task=1, exclusive=True))
    assert schedule.due(0.0)[0][1][0].gpus == (0,)
    assert schedule.free().gpus == 0
    schedule.end(key(0))
    schedule.enqueue(key(1), Shape(gpus_per_task=4))
    assert schedule.due(1.0)[0][1][0].gpus == (0, 1, 2, 3)


def test_a_long_queue_is_estimated_beyond_the_plan() -> None:
    schedule = Schedule(Totals(1, 1), 10.0)
    for number in range(PLANNED_MAX + 100):
        schedule.enqueue(key(number), Shape())
    started(schedule, 0.0)
    start = schedule.earliest(Shape(), 0.0).start
    assert start == 10.0 * (PLANNED_MAX + 100)


def test_backfill_in_a_long_queue_is_tried_again_when_due() -> None:
    schedule = Schedule(Totals(1, 4), 10.0)
    schedule.enqueue(key(0), Shape(tasks=3, time_limit_s=1000.0))
    schedule.enqueue(key(1), Shape(tasks=4))
    for number in range(2, 100):
        schedule.enqueue(key(number), Shape(tasks=2))
    assert started(schedule, 0.0) == ["job0"]
    schedule.enqueue(key(100), Shape(tasks=1))
    assert started(schedule, 0.1) == []
    retry = schedule.retry_at()
    assert retry is not None
    assert retry >= REPLAN_S
    assert started(schedule, retry) == ["job100"]
    assert schedule.retry_at() is None


shapes = st.builds(
    Shape,
    tasks=st.integers(1, 6),
    cores_per_task=st.integers(1, 2),
    time_limit_s=st.integers(1, 50).map(float),
    exclusive=st.booleans(),
).filter(lambda shape: shape.cores <= 8 and (shape.tasks <= 4 or shape.cores_per_task == 1))


@settings(max_examples=200, deadline=None)
@given(st.lists(shapes, min_size=2, max_size=20))
def test_backfill_delays_nobody(wanted: list[Shape]) -> None:
    """If every job runs exactly as long as its limit, all start no later than they were told when they queued."""
    schedule = Schedule(Totals(2, 4), 3600.0)
    promised: dict[Key, float] = {}
    for number, shape in enumerate(wanted):
        promised[key(number)] = schedule.earliest(shape, 0.0).start
        schedule.enqueue(key(number), shape)
    now = 0.0
    ends: dict[Key, float] = {}
    where: dict[Key, set[int]] = {}
    while True:
        for one, assignment in schedule.due(now):
            assert now <= promised[one]
            where[one] = {share.node for share in assignment}
            ends[one] = now + (wanted[int(one.job[3:])].time_limit_s or 0.0)
        assert schedule.problems() == []
        for one in ends:
            others = set().union(*(where[other] for other in ends if other != one))
            assert not (wanted[int(one.job[3:])].exclusive and where[one] & others)
        if not ends:
            break
        now = min(ends.values())
        for one in [one for one, end in ends.items() if end == now]:
            del ends[one]
            schedule.end(one)
    assert schedule.queued == 0
    free = schedule.free()
    assert (free.nodes, free.cores, free.gpus) == (2, 8, 0)
