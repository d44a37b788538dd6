"""Tables for people: fitted to a terminal without cutting what somebody would have to type or to know."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from rainbow_client.cli.tables import table_lines, wrapped_lines

JOB = "00000001fk3a"
HEADERS = ["JOB", "~NAME", "STATE", "CLUSTER", ">EXIT", ">AGE", ">RAN", "~COMMAND", "REASON"]
REASON = "no cluster can hold it: small has 2 cores and it asks for 96, medium has 8 cores and it asks for 96"


def row(name: str = "train", reason: str = "", command: str = "python train.py") -> tuple[str, ...]:
    return (JOB, name, "completed", "medium", "0", "12m 3s", "10m 58s", command, reason)


def told(headers: list[str], rows: list[tuple[str, ...]], width: int | None, indent: int = 0) -> list[str]:
    cells = [[Text(cell) for cell in one] for one in rows]
    return [line.plain for line in table_lines(headers, cells, width, indent)]


def test_what_fits_is_left_as_it_is() -> None:
    assert told(["A", ">B", "C"], [("one", "2", "x y"), ("1", "22", "")], 80) == [
        "A     B  C",
        "one   2  x y",
        "1    22",
    ]


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_what_identifies_a_job_is_never_cut(width: int) -> None:
    lines = told(HEADERS, [row("a-rather-long-name-of-a-job", REASON, "python train.py " + "--option " * 12)], width)
    assert lines[1].startswith(JOB)
    for cell in ("completed", "medium", "12m 3s", "10m 58s"):
        assert f" {cell} " in f"{lines[1]} "
    assert "…" in lines[1]
    # 60 columns do not hold seven columns of numbers and names: only then is a line longer than the screen.
    assert all(len(line) <= max(width, 75) for line in lines)


def test_the_command_is_shortened_before_the_name() -> None:
    lines = told(HEADERS, [row("a-long-name", command="python train.py --epochs 100 --rate 0.1")], 90)
    assert "a-long-name" in lines[1]
    assert "python…" in lines[1] or "python " in lines[1]
    assert len(lines[1]) <= 90


def test_a_reason_without_room_has_lines_of_its_own_below() -> None:
    lines = told(HEADERS, [row(reason=REASON), row("other")], 80)
    below = [line for line in lines if line.startswith("    ")]
    assert " ".join(line.strip() for line in below) == REASON
    assert lines.index(below[0]) == 2
    assert len(lines) == 3 + len(below)
    assert "REASON" not in lines[0]  # there is nothing below that header


def test_words_are_wrapped_in_their_column_if_there_is_room() -> None:
    lines = told(["CLUSTER", "WHY"], [("small", REASON)], 60, indent=2)
    assert lines[1].startswith("  small    no cluster can hold it")
    assert all(line.startswith(" " * 11) for line in lines[2:])
    assert " ".join(" ".join(lines[1:]).split()) == f"small {REASON}"


def test_a_pipe_gets_everything_on_one_line() -> None:
    lines = told(HEADERS, [row("n" * 300, REASON * 40, "c" * 12_000)], None)
    assert len(lines) == 2
    assert "…" not in lines[1]
    assert REASON * 40 in lines[1]


def test_wide_characters_take_two_columns() -> None:
    lines = told(["~NAME", "X"], [("日本語" * 20, "x"), ("a", "y")], 30)
    assert lines[1].endswith("…  x") or lines[1].endswith("…   x")


@given(
    st.lists(st.tuples(*[st.text(st.characters(categories=["L", "N", "P"]), max_size=60)] * 4), max_size=5),
    st.integers(20, 200),
    st.integers(0, 6),
)
def test_every_row_is_told_at_any_width(rows: list[tuple[str, ...]], width: int, indent: int) -> None:
    lines = told(["KEY", "~NAME", ">N", "WORDS"], rows, width, indent)
    assert len(lines) >= len(rows) + 1
    text = "".join("".join(lines).split())
    for key, _, number, words in rows:
        assert key in text
        assert number in text
        assert set(words) <= set(text)


def test_long_lines_are_wrapped_at_words_and_hang() -> None:
    lines = [line.plain for line in wrapped_lines(Text("Asks for " + REASON), 50, hang=2)]
    assert all(len(line) <= 50 for line in lines)
    assert all(line.startswith("  ") for line in lines[1:])
    assert " ".join(" ".join(lines).split()) == "Asks for " + REASON
    assert [line.plain for line in wrapped_lines(Text("x" * 500), None, hang=2)] == ["x" * 500]
