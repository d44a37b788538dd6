"""Windows of the week, by hand and by counting every hour."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbow_agent.core.hours import DAY_S, EVERY_DAY, LocalTime, Window, utc

HOUR = 3600
MON, TUE, FRI, SAT, SUN = 0, 1, 4, 5, 6
WEEK = [LocalTime(day, hour * HOUR) for day in range(7) for hour in range(24)]


def test_a_window_of_a_day() -> None:
    window = Window(frozenset({MON, FRI}), 8 * HOUR, 20 * HOUR)
    held = [(at.weekday, at.second // HOUR) for at in WEEK if window.holds(at)]
    assert held == [(day, hour) for day in (MON, FRI) for hour in range(8, 20)]


def test_one_over_midnight_belongs_to_the_day_on_which_it_begins() -> None:
    window = Window(frozenset({SUN}), 22 * HOUR, 6 * HOUR)
    held = {(at.weekday, at.second // HOUR) for at in WEEK if window.holds(at)}
    assert held == {(SUN, 22), (SUN, 23), *((MON, hour) for hour in range(6))}


def test_the_whole_day() -> None:
    assert all(Window().holds(at) for at in WEEK)
    assert [at.weekday for at in WEEK if Window(frozenset({SAT})).holds(at)] == [SAT] * 24


@given(
    st.frozensets(st.integers(0, 6), min_size=1),
    st.integers(0, 23),
    st.integers(1, 24),
    st.integers(0, 6),
    st.integers(0, DAY_S - 1),
)
def test_it_begins_when_it_says(days: frozenset[int], begin: int, end: int, weekday: int, second: int) -> None:
    window = Window(days, begin * HOUR, end * HOUR)
    wait = window.begins_in_s(LocalTime(weekday, second))
    assert 0 < wait <= 7 * DAY_S
    then = LocalTime((weekday + (second + wait) // DAY_S) % 7, (second + wait) % DAY_S)
    assert then.second == begin * HOUR
    assert then.weekday in days
    if begin != end:
        assert window.holds(then)


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (Window(), "every day"),
        (Window(EVERY_DAY, 18 * HOUR, 8 * HOUR), "18:00–08:00"),
        (Window(frozenset(range(5)), 8 * HOUR, 20 * HOUR + 1800), "mon–fri 08:00–20:30"),
        (Window(frozenset({SAT, SUN})), "sat, sun"),
        (Window(frozenset({MON, TUE, FRI, SAT, SUN}), 0, HOUR), "mon, tue, fri–sun 00:00–01:00"),
    ],
)
def test_in_words(window: Window, words: str) -> None:
    assert str(window) == words


def test_utc() -> None:
    assert utc(0.0) == LocalTime(3, 0)  # the first of January 1970 was a Thursday
    assert utc(1_795_014_061.9) == LocalTime(2, 15 * HOUR + 1 * 60 + 1)  # 2026-11-18T15:01:01Z, a Wednesday
