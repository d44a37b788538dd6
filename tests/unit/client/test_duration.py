import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbow_client.duration import format_duration, parse_duration_s
from rainbow_client.errors import InvalidRequest
from rainbow_protocol import limits


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("1.5", 1.5),
        ("90s", 90),
        ("5m", 300),
        ("1h30m", 5400),
        ("1h 30m".replace(" ", ""), 5400),
        ("2d", 172_800),
        ("1d2h3m4s", 93_784),
        ("2:30", 150),
        ("90:00", 5400),
        ("01:30:00", 5400),
        ("1-02:03:04", 93_784),
        ("1-12:30", 131_400),
        ("1-12", 129_600),
        ("0-1", 3_600),
        (" 5M ", 300),
    ],
)
def test_what_people_write(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "x", "5x", "-5", "5m5h", "1:2", "1:2:3", ":30", "1e3", "inf", "nan", "5 m", "٣", "9" * 5000, "1.5m"),
        *("1h30", "5m30", "1:99", "1:60:00", "1:00:60", "1-24", "1-", "1-2:3", "1-2:30:99"),
    ],
)
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(InvalidRequest, match="is not a duration"):
        parse_duration_s(text)


@pytest.mark.parametrize("text", ["0", "0s", "0:00", "367d"])
def test_what_is_out_of_range(text: str) -> None:
    with pytest.raises(InvalidRequest, match="out of range"):
        parse_duration_s(text)


@given(st.integers(min_value=1, max_value=limits.TIME_LIMIT_S_MAX))
def test_whole_seconds_in_every_notation(seconds: int) -> None:
    minutes, rest = divmod(seconds, 60)
    hours, minutes_left = divmod(minutes, 60)
    assert parse_duration_s(f"{seconds}s") == seconds
    assert parse_duration_s(f"{minutes}:{rest:02}") == seconds
    assert parse_duration_s(f"{hours}:{minutes_left:02}:{rest:02}") == seconds
    assert parse_duration_s(f"{hours}h{minutes_left}m{rest}s") == seconds


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0s"),
        (0.04, "0s"),
        (0.44, "0.4s"),
        (9.96, "10s"),
        (12, "12s"),
        (303, "5m 3s"),
        (7_201, "2h"),
        (7_800, "2h 10m"),
        (273_600, "3d 4h"),
    ],
)
def test_what_people_read(seconds: float, words: str) -> None:
    assert format_duration(seconds) == words
