"""Logs of real machines, as they are found in archives."""

import gzip
from pathlib import Path

import pytest

from bench.swf import LogError, header, parse, read

HEADER = "; Computer: one\n;  MaxProcs: 8\n"
FIRST = "2 50 7 10 4 -1 -1 4 60 -1 1 9 -1 -1 -1 -1 -1 -1\n"
SECOND = "1 40 -1 100 4 -1 -1 -1 60 -1 1 9 -1 -1 -1 -1 -1 -1\n"
NEVER_RAN = "3 60 -1 -1 4 -1 -1 4 60 -1 5 9 -1 -1 -1 -1 -1 -1\n"


def test_jobs_come_in_the_order_of_their_submission(tmp_path: Path) -> None:
    path = tmp_path / "log.swf.gz"
    path.write_bytes(gzip.compress((HEADER + FIRST + SECOND + NEVER_RAN).encode()))
    first, second = read(path)
    assert (first.number, first.submit_s, first.wait_s) == (1, 40.0, 0.0)
    assert (second.number, second.run_s, second.processors, second.requested_s, second.user) == (2, 10.0, 4, 60.0, 9)
    assert header(path, 10) == HEADER.splitlines(keepends=True)


def test_what_nobody_asked_for_is_what_was_used_and_limits_hold() -> None:
    (job,) = parse([SECOND])
    assert job.processors == 4
    assert job.run_s == 60.0


@pytest.mark.parametrize("line", ["1 2 3", "one " * 18])
def test_a_mistake_names_its_line(line: str, tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(HEADER + line)
    with pytest.raises(LogError, match=r"log\.swf, line 3: expected"):
        read(path)


def test_a_log_without_jobs_is_none(tmp_path: Path) -> None:
    path = tmp_path / "log.swf"
    path.write_text(HEADER + NEVER_RAN)
    with pytest.raises(LogError, match="no job"):
        read(path)
    with pytest.raises(LogError, match="cannot be read"):
        read(tmp_path / "missing.swf")
