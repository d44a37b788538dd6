"""The two clocks: small differences are left alone, a jump of the wall's is followed."""

import pytest

from rainbow_agent import clock


def test_a_jump_is_followed_and_drift_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    wall = 1000.0
    monkeypatch.setattr(clock.time, "monotonic", lambda: 100.0)
    monkeypatch.setattr(clock.time, "time", lambda: wall)
    watch = clock.WallClock()
    assert watch.offset_s() == 900.0
    wall = 1000.4
    assert watch.offset_s() == 900.0
    wall = 4600.0
    assert watch.offset_s() == 4500.0
