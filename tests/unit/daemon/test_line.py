"""The order of pending jobs: urgency, then fair between users, then age."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbowd.core import line
from rainbowd.core.line import HALF_LIFE_S, Line, Shares


def in_line(*jobs: tuple[str, int, float, str], **had: float) -> Line:
    shares = Shares()
    for user, core_s in had.items():
        shares.charge(user, core_s, 0.0)
    made = Line(shares)
    for job in jobs:
        made.add(*job)
    return made


def test_the_more_urgent_goes_first_then_who_had_less_then_the_older() -> None:
    made = in_line(
        ("ada", 16, 1.0, "old"),
        ("ada", 16, 2.0, "young"),
        ("bob", 16, 3.0, "of one who had less"),
        ("ada", 31, 4.0, "urgent"),
        ada=100.0,
    )
    assert list(made.in_order()) == ["urgent", "of one who had less", "old", "young"]


def test_what_somebody_had_fades() -> None:
    shares = Shares()
    shares.charge("ada", 100.0, 0.0)
    assert shares.had("ada", HALF_LIFE_S) == pytest.approx(50.0)
    shares.charge("bob", 60.0, HALF_LIFE_S)
    made = Line(shares)
    made.add("ada", 16, 0.0, "a")
    made.add("bob", 16, 0.0, "b")
    assert made.pop() == "a"


def test_users_without_number_do_not_take_memory_without_end() -> None:
    shares = Shares()
    for number in range(line.USERS_MAX + 10):
        shares.charge(f"user{number}", float(number), 0.0)
    assert shares.had(f"user{line.USERS_MAX + 9}", 0.0) > 0
    assert shares.had("user1", 0.0) == 0
    assert len(shares._ranks) <= line.USERS_MAX


_JOBS = st.lists(
    st.tuples(st.sampled_from(["ada", "bob", "eve"]), st.integers(0, 31), st.integers(0, 5).map(float)), max_size=30
)


@given(_JOBS, st.data())
def test_pop_goes_by_the_order_whatever_left_in_between(
    jobs: list[tuple[str, int, float]], data: st.DataObject
) -> None:
    made = in_line(*((*job, f"j{number}") for number, job in enumerate(jobs)), ada=5.0, bob=1.0)
    gone = data.draw(st.sets(st.sampled_from([f"j{number}" for number in range(len(jobs))]))) if jobs else set()
    for job in gone:
        made.discard(job)
        assert job not in made
    order = list(made.in_order())
    assert sorted(order) == sorted({f"j{number}" for number in range(len(jobs))} - gone)
    assert [made.pop() for _ in range(len(made))] == order
    assert len(made) == 0


def test_who_was_charged_meanwhile_goes_later() -> None:
    shares = Shares()
    made = Line(shares)
    for user in ("ada", "bob"):
        for number in range(3):
            made.add(user, 16, float(number), f"{user}{number}")
    order = []
    while len(made):
        job = made.pop()
        order.append(job)
        shares.charge(job[:3], 10.0, 0.0)
    assert order == ["ada0", "bob0", "ada1", "bob1", "ada2", "bob2"]
