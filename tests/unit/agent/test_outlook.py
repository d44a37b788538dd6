"""Forecasts with learned run times, beside the plan by limits that decides."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rainbow_agent.core.bidder import Bidder, Yes
from rainbow_agent.core.forecast import Profile, Slot
from rainbow_agent.core.model import Asked, Key, Shape, Totals
from rainbow_agent.core.pricing import Tariff
from rainbow_agent.core.schedule import Schedule

HOUR = Shape(tasks=2, time_limit_s=3600.0)


def key(number: int) -> Key:
    return Key(f"job{number}", 1)


def run(schedule: Schedule, number: int, start: float, ran_s: float, shape: Shape = HOUR, user: str = "ada") -> None:
    schedule.enqueue(key(number), shape, user)
    assert [one for one, _ in schedule.due(start)] == [key(number)]
    schedule.end(key(number), ran_s)


def taught() -> Schedule:
    """A cluster of two cores where ada's jobs of an hour have taken ten minutes."""
    schedule = Schedule(Totals(1, 2), 3600.0)
    for number in (1, 2):
        run(schedule, number, 0.0, 600.0)
    return schedule


def test_without_knowledge_there_is_one_forecast() -> None:
    schedule = Schedule(Totals(1, 2), 3600.0)
    schedule.enqueue(key(0), HOUR, "ada")
    schedule.due(0.0)
    estimate = schedule.hold(key(1), HOUR, 0.0, "ada")
    assert (estimate.low, estimate.expected, estimate.start) == (3600.0, 3600.0, 3600.0)


def test_what_was_learned_changes_what_is_expected_and_not_what_is_promised() -> None:
    schedule = taught()
    schedule.enqueue(key(3), HOUR, "ada")
    schedule.due(1000.0)
    first = schedule.hold(key(4), HOUR, 1000.0, "ada")
    second = schedule.hold(key(5), HOUR, 1000.0, "ada")
    assert (first.expected, first.start) == (1600.0, 4600.0)
    assert (second.expected, second.start) == (2200.0, 8200.0)
    assert schedule.earliest(HOUR, 1000.0, "ada").expected == 2800.0
    schedule.drop_hold(key(4))
    assert schedule.earliest(HOUR, 1000.0, "ada").expected == 1600.0


def test_a_job_that_ended_otherwise_teaches_nothing() -> None:
    schedule = Schedule(Totals(1, 2), 3600.0)
    schedule.enqueue(key(0), HOUR, "ada")
    schedule.due(0.0)
    schedule.end(key(0))
    schedule.enqueue(key(1), HOUR, "ada")
    schedule.due(1.0)
    assert schedule.earliest(HOUR, 1.0, "ada").expected == 3601.0


def test_a_job_past_its_prediction_is_expected_to_double() -> None:
    schedule = taught()
    schedule.enqueue(key(3), HOUR, "ada")
    schedule.due(0.0)
    assert schedule.earliest(HOUR, 599.0).expected == 600.0
    assert schedule.earliest(HOUR, 700.0).expected == 1400.0
    assert schedule.earliest(HOUR, 3000.0).expected == 3600.0
    assert schedule.earliest(HOUR, 4000.0).expected > 4000.0


def test_expectations_start_nobody() -> None:
    """By ada's habit the long job would fit before the big one; by its limit it would delay it."""
    schedule = Schedule(Totals(1, 4), 3600.0)
    for number in (1, 2):
        run(schedule, number, 0.0, 10.0, Shape(time_limit_s=2000.0))
    schedule.enqueue(key(3), Shape(tasks=3, time_limit_s=1000.0), "bob")
    schedule.enqueue(key(4), Shape(tasks=4, time_limit_s=1000.0), "bob")
    schedule.enqueue(key(5), Shape(time_limit_s=2000.0), "ada")
    assert [one for one, _ in schedule.due(0.0)] == [key(3)]


def test_the_start_of_one_that_waits_in_the_queue() -> None:
    schedule = taught()
    for number in (3, 4, 5):
        schedule.hold(key(number), HOUR, 0.0, "ada")
        schedule.enqueue(key(number), HOUR)
    schedule.due(0.0)
    estimate = schedule.waiting_start(key(5), 0.0)
    assert estimate is not None
    assert (estimate.expected, estimate.start) == (1200.0, 7200.0)
    assert schedule.waiting_start(key(3), 0.0) is None  # it runs
    assert schedule.waiting_start(key(9), 0.0) is None
    schedule.dequeue(key(4))
    moved_up = schedule.waiting_start(key(5), 100.0)
    assert moved_up is not None
    assert (moved_up.expected, moved_up.start) == (600.0, 3600.0)


def test_forecasts_are_scored_when_the_job_starts() -> None:
    schedule = taught()
    for number in (3, 4):
        schedule.hold(key(number), HOUR, 0.0, "ada")
        schedule.enqueue(key(number), HOUR)
    assert [one for one, _ in schedule.due(0.0)] == [key(3)]
    schedule.end(key(3), 650.0)
    assert [one for one, _ in schedule.due(650.0)] == [key(4)]
    assert schedule.forecast_keys() == {
        "forecast_n": 2.0,
        "forecast_error_p50_s": 50.0,
        "forecast_error_p90_s": 50.0,
        "forecast_bias_s": 25.0,
    }


def test_a_bid_says_how_sure_it_is() -> None:
    schedule = taught()
    bidder = Bidder(schedule, Tariff(schedule.totals), 100)
    assert bidder.price(Asked(HOUR), schedule.earliest(HOUR, 0.0, "ada"), 0.0) == Yes(0.0, 0.0)
    schedule.enqueue(key(3), HOUR, "ada")
    schedule.due(0.0)
    answer = bidder.price(Asked(HOUR), schedule.earliest(HOUR, 0.0, "ada"), 0.0)
    assert answer == Yes(600.0, 0.0, eta_low_s=600.0, eta_high_s=3600.0)


shapes = st.builds(Shape, tasks=st.integers(1, 6), gpus_per_task=st.integers(0, 1), exclusive=st.booleans())


@settings(deadline=None)
@given(st.lists(st.tuples(shapes, st.integers(1, 20).map(float)), max_size=12), st.floats(0.0, 30.0))
def test_what_runs_is_laid_out_at_once_as_it_would_be_one_by_one(wanted: list[tuple[Shape, float]], at: float) -> None:
    totals = Totals(3, 4, 2)
    one_by_one, at_once = Profile(totals, 0.0), Profile(totals, 0.0)
    running = []
    for shape, end in wanted:
        slot = one_by_one.earliest(shape, end, 0.0)
        if slot is not None and slot.start == 0.0:
            one_by_one.occupy(shape, slot)
            running.append((shape, Slot(0.0, end, slot.placement)))
    at_once.begin(running)
    assert at_once.breakpoints() == one_by_one.breakpoints()
    assert at_once.free_at(at) == one_by_one.free_at(at)
    for shape, duration_s in wanted:
        assert at_once.earliest(shape, duration_s, 0.0) == one_by_one.earliest(shape, duration_s, 0.0)
