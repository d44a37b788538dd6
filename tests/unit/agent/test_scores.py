"""Forecasts against what then happened."""

import pytest

from rainbow_agent.core.scores import LOW_MIN, SCORED_MAX, Scores, Told


def test_nothing_to_tell_at_first() -> None:
    scores = Scores()
    assert scores.keys() == {}
    assert scores.low(Told(0.0, 100.0)) == 100.0


def test_errors_count_in_both_directions_and_the_bias_keeps_its_sign() -> None:
    scores = Scores()
    for started in (90.0, 100.0, 100.0, 130.0):
        scores.add(Told(0.0, 100.0), started)
    assert scores.keys() == {
        "forecast_n": 4.0,
        "forecast_error_p50_s": 10.0,
        "forecast_error_p90_s": 30.0,
        "forecast_bias_s": 5.0,
    }


def test_low_is_what_one_in_ten_had_in_proportion_to_the_wait() -> None:
    scores = Scores()
    for number in range(LOW_MIN):
        scores.add(Told(1000.0, 1100.0), 1050.0 if number < LOW_MIN // 5 else 1200.0)
    assert scores.low(Told(0.0, 10.0)) == pytest.approx(5.0)
    assert scores.low(Told(7.0, 7.0)) == 7.0


def test_low_is_never_later_than_what_is_expected() -> None:
    scores = Scores()
    for _ in range(LOW_MIN):
        scores.add(Told(0.0, 100.0), 500.0)
    assert scores.low(Told(0.0, 10.0)) == 10.0


def test_only_the_latest_count() -> None:
    scores = Scores()
    scores.add(Told(0.0, 0.0), 1e6)
    for _ in range(SCORED_MAX):
        scores.add(Told(0.0, 0.0), 0.0)
    assert scores.keys()["forecast_bias_s"] == 0.0
    assert scores.keys()["forecast_n"] == SCORED_MAX
