"""Amounts as a person reads them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbow_protocol.amounts import amount_words, bytes_words, number_words


@pytest.mark.parametrize(
    ("amount", "words"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (999, "999 B"),
        (1_000, "1 kB"),
        (1_024, "1 KiB"),
        (64 * 2**30, "64 GiB"),
        (3 * 2**39, "1.5 TiB"),
        (905_438_953_472, "905 GB"),
        (512_000_000_000, "512 GB"),
        (1_000_000_000_000, "1 TB"),
        (999_999_999_999, "1 TB"),
        (16_777_216_000, "16.8 GB"),
        (1.5e9, "1.5 GB"),
        (10**27, "1e+09 EB"),
    ],
)
def test_bytes(amount: float, words: str) -> None:
    assert bytes_words(amount) == words


@pytest.mark.parametrize(
    ("kind", "amount", "words"),
    [
        ("cluster", 1, "1 cluster"),
        ("node", 3, "3 nodes"),
        ("core", 36, "36 cores"),
        ("core", 0.5, "0.5 cores"),
        ("switch", 2, "2 switches"),
        ("chassis", 2, "2 chassis"),
        ("battery", 2, "2 batteries"),
        ("tray", 2, "2 trays"),
        ("nvidia.com/gpu", 4, "4 nvidia.com/gpu"),
        ("gpu1", 4, "4 gpu1"),
        ("memory", 905_438_953_472, "905 GB memory"),
        ("memory", 64, "64 memory"),  # nobody said of what: not of bytes, which would be no memory at all
        ("storage", 10**12, "1 TB storage"),
    ],
)
def test_amounts_of_things(kind: str, amount: float, words: str) -> None:
    assert amount_words(kind, amount) == words


def test_a_column_of_numbers() -> None:
    assert [number_words(kind, amount) for kind, amount in (("core", 36), ("memory", 2**34), ("node", 2.5))] == [
        "36",
        "16 GiB",
        "2.5",
    ]


@given(st.integers(0, 2**63))
def test_what_is_shown_is_near_the_truth(amount: int) -> None:
    number, unit = bytes_words(amount).split()
    power = "BKMGTPE".index(unit[0].upper())
    shown = float(number) * (1024 if "i" in unit else 1000) ** power
    assert shown == pytest.approx(amount, rel=0.006)
