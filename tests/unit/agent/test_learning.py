"""What ended jobs teach about those to come."""

from hypothesis import given
from hypothesis import strategies as st

from rainbow_agent.core import learning
from rainbow_agent.core.learning import EVERYBODY_MIN, KINDS_MAX, USERS_MAX, RunTimes, outlived


def test_without_knowledge_a_job_runs_to_its_limit() -> None:
    assert RunTimes().expect("ada", 3600.0) == 3600.0
    assert not RunTimes().known


def test_the_last_two_of_the_same_user_and_limit_count() -> None:
    times = RunTimes()
    for ran_s in (3000.0, 100.0, 200.0):
        times.learn("ada", 3600.0, ran_s)
    assert times.known
    assert times.expect("ada", 3600.0) == 150.0


def test_another_limit_of_the_same_user_is_taken_in_proportion() -> None:
    times = RunTimes()
    times.learn("ada", 1000.0, 500.0)
    assert times.expect("ada", 1000.0) == 500.0
    assert times.expect("ada", 4000.0) == 2000.0


def test_a_stranger_is_taken_for_anybody_once_enough_is_known() -> None:
    times = RunTimes()
    for _ in range(EVERYBODY_MIN - 1):
        times.learn("ada", 1000.0, 250.0)
    assert times.expect("bob", 1000.0) == 1000.0
    times.learn("", 1000.0, 250.0)
    assert times.expect("bob", 1000.0) == 250.0
    assert times.expect("", 400.0) == 100.0


def test_a_job_that_outlived_its_prediction_gets_a_longer_one() -> None:
    assert outlived(10.0, 3600.0) == 60.0
    assert outlived(600.0, 3600.0) == 1200.0
    assert outlived(3000.0, 3600.0) == 3600.0


@given(
    st.lists(st.tuples(st.sampled_from(["", "ada", "bob"]), st.floats(0.0, 1e6), st.floats(0.0, 1e7))),
    st.sampled_from(["", "ada", "eve"]),
    st.floats(1.0, 1e6),
)
def test_a_prediction_is_positive_and_never_above_the_limit(
    ended: list[tuple[str, float, float]], user: str, limit_s: float
) -> None:
    times = RunTimes()
    for one in ended:
        times.learn(*one)
    assert 0.0 < times.expect(user, limit_s) <= limit_s


def test_memory_is_bounded_and_the_longest_unused_goes_first() -> None:
    times = RunTimes()
    for _ in range(2):
        times.learn("first", 10.0, 1.0)
    for number in range(KINDS_MAX):
        times.learn(f"user{number % (USERS_MAX + 10)}", 10.0 + number, 5.0)
    assert len(times._of_kind) == KINDS_MAX
    assert len(times._of_user) == USERS_MAX
    assert len(times._shares) == learning.EVERYBODY
