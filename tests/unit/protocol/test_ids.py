"""Job ids sort by time and never repeat, whatever the clock does."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbow_protocol import ids, limits

NOW = 1_800_000_000.0


@given(st.lists(st.floats(0, 3e9), min_size=2, max_size=50))
def test_ids_only_grow_whatever_the_clock_does(clock: list[float]) -> None:
    job_ids = ids.JobIds()
    made = [job_ids.next(now) for now in clock]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert all(ids.is_job_id(job_id) for job_id in made)


def test_within_one_millisecond_they_grow_too() -> None:
    job_ids = ids.JobIds()
    made = [job_ids.next(NOW) for _ in range(10_000)]
    assert made == sorted(set(made))


def test_after_a_step_back_they_grow_on_and_catch_up_with_the_clock() -> None:
    job_ids = ids.JobIds()
    before = job_ids.next(NOW)
    stepped_back = job_ids.next(NOW - 86_400)
    later = job_ids.next(NOW + 1)
    assert before < stepped_back < later
    assert later > ids.JobIds().next(NOW + 0.5)  # of the clock again, not one more than the last


def test_ids_of_different_makers_sort_by_time() -> None:
    made = [ids.JobIds().next(NOW + second) for second in range(100)]
    assert made == sorted(made)


def test_ids_of_the_same_millisecond_are_hard_to_guess() -> None:
    assert len({ids.JobIds().next(NOW) for _ in range(100)}) > 90


def test_they_have_twelve_characters_until_2093() -> None:
    last_ms = 1_704_067_200_000 + 2**41 - 1
    for job_id in (ids.JobIds().next(0), ids.JobIds().next(NOW), ids.JobIds().next(last_ms / 1000)):
        assert len(job_id) == limits.JOB_ID_CHARS == 12
        assert re.fullmatch(ids.JOB_ID_PATTERN, job_id)
    assert ids.JobIds().next(last_ms / 1000).startswith("zzzzzzzz")


@pytest.mark.parametrize(
    "text", ["", "0" * 11, "0" * 13, "0" * 12 + "\n", "\n" + "0" * 12, "00000000000I", "00000000000u", "\uff10" * 12]
)
def test_what_is_not_an_id(text: str) -> None:
    assert not ids.is_job_id(text)


@pytest.mark.parametrize("prefix", [ids.REGISTRATION_PREFIX, ids.SECRET_PREFIX, ids.TOKEN_PREFIX])
def test_secrets_say_what_they_are_and_fit_into_a_header(prefix: str) -> None:
    made = {ids.new_secret(prefix) for _ in range(100)}
    assert len(made) == 100
    for secret in made:
        assert re.fullmatch(rf"{prefix}[A-Za-z0-9_-]{{43}}", secret)
        assert len(secret) <= limits.TOKEN_CHARS_MAX


def test_a_restart_with_the_clock_set_back_goes_on_behind_the_newest_id() -> None:
    before = ids.JobIds().next(2_000_000_000.0)
    after = ids.JobIds(before).next(1_800_000_000.0)
    assert after > before
    assert ids.is_job_id(after)
