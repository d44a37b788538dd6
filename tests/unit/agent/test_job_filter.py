"""Which jobs are wanted; and that an expression can do nothing but say so."""

import math

import pytest

from rainbow_agent.job_filter import FilterError, JobFilter

FACTS = {
    "name": "train-7",
    "user": "anna",
    "queue": "",
    "nodes": 2,
    "tasks": 8,
    "cores": 16,
    "gpus": 0,
    "time_limit_s": math.inf,
}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("cores <= 16", True),
        ("cores < 16", False),
        ('user == "anna" and not gpus', True),
        ('"train" in name', True),
        ('"train" not in name or nodes == 2', True),
        ("time_limit_s <= 3600", False),
        ("1 < nodes < 3", True),
        ("cores / nodes == 8 and tasks * 2 == cores and -nodes < 0", True),
        ("True", True),
    ],
)
def test_what_is_wanted(text: str, wanted: bool) -> None:
    words = JobFilter(text).objection(FACTS)
    assert words == (None if wanted else f"not wanted here now: the filter is {text!r}")


@pytest.mark.parametrize("text", ["user < 3", "nodes / gpus > 1", "user * 3 == user", "3 in nodes"])
def test_what_makes_no_sense_for_a_job_is_a_no(text: str) -> None:
    assert "cannot be applied: " in (JobFilter(text).objection(FACTS) or "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "cannot be read"),
        ("cores <", "cannot be read"),
        ("memory > 1", "has no name 'memory'; there are name, user"),
        ("__import__('os')", "and not Call"),
        ("user.upper == 'A'", "and not Attribute"),
        ("name[0] == 'a'", "and not Subscript"),
        ("user in ['a']", "and not List"),
        ("[x for x in name]", "and not ListComp"),
        ("9 ** 9 ** 9", "the operator Pow"),
        ("'%99999999d' % 1", "the operator Mod"),
        ("1 << 99999999", "the operator LShift"),
        ("None == user", "cannot use None"),
        ("1e999 > 1", "a number in the filter is too large"),
        ("x" * 501, "longer than 500 characters"),
        (" + ".join(["1"] * 120), "more than 100 parts"),
        ("(" * 240 + "1" + ")" * 240, "cannot be read"),
        ("cores\0", "cannot be read"),
    ],
)
def test_what_is_no_filter(text: str, words: str) -> None:
    with pytest.raises(FilterError) as refusal:
        JobFilter(text)
    assert words in str(refusal.value)


def test_the_names_that_it_needs() -> None:
    assert JobFilter("cores > 1 and name == user").names == {"cores", "name", "user"}
