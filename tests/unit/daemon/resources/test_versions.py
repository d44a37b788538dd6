"""Real version strings in their order."""

import pytest

from rainbowd.resources.versions import compare, within

IN_ORDER = [
    "0.5.1",
    "0.5.2",
    "0.5.10",
    "0.7",
    "1.0.0-rc1",
    "1.0",
    "1.0.1~beta2",
    "1.0.1",
    "1.0.1a",
    "3.10.0",
    "5.4.0-150-generic",
    "9.4.0-1ubuntu1~20.04",
    "9.4.0-1ubuntu1~20.04.2",
    "9.4.0-1ubuntu1",
    "9.4.0-2",
    "9.4.1",
    "12.0rc1",
    "12.0",
    "2024.1",
    "1:0.1",  # an epoch comes first
]


def test_every_version_is_later_than_those_before_it() -> None:
    for place, later in enumerate(IN_ORDER):
        for earlier in IN_ORDER[:place]:
            if "-" not in earlier and "-" in later and later.startswith(earlier + "-"):
                continue  # a bound without a revision is about the version alone
            assert compare(later, earlier) >= 0, (later, earlier)
            if earlier.partition("-")[0] != later.partition("-")[0]:
                assert compare(earlier, later) < 0, (earlier, later)


@pytest.mark.parametrize(
    ("version", "low", "high", "inside"),
    [
        ("0.5.2", "0.5.1", "0.5.5", True),
        ("0.5.2", "0.7.1", "0.7.5", False),
        ("0.5.1", "0.5.1", "0.5.5", True),
        ("0.5.5", "0.5.1", "0.5.5", True),
        ("0.5.10", "0.5.1", "0.5.5", False),
        ("9.4.0-1ubuntu1~20.04", "9.4.0", "9.4.0", True),
        ("9.4.0-1ubuntu1~20.04", "9.3", None, True),
        ("9.4.0-1ubuntu1~20.04", None, "9.3.9", False),
        ("9.4.0-1ubuntu1~20.04", "9.4.0-1ubuntu1", None, False),
        ("9.4", "9.4.0", "9.4.0", True),
        ("v1.2.3", "1.2.3", "1.2.3", True),
        ("1.0rc1", "1.0", None, False),
        ("1.10", "1.9", None, True),
        ("5.15.0-91-generic", "5.4", "6", True),
    ],
)
def test_a_range_includes_its_ends(version: str, low: str | None, high: str | None, inside: bool) -> None:
    assert within(version, low, high) is inside


def test_odd_texts_have_an_order_too() -> None:
    odd = ["", "~", "-", "::", "1:", "x" * 500, "9" * 500, "…", "1..2"]
    for one in odd:
        assert compare(one, one) == 0
        for other in odd:
            assert compare(one, other) in (-1, 0, 1)
