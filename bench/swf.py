"""Reads logs in the Standard Workload Format, plain or gzipped: one job a line, eighteen numbers, `;` for comments.

https://www.cs.huji.ac.il/labs/parallel/workload/swf.html
"""

import gzip
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import IO

NUMBER, SUBMIT, WAIT, RUN, ALLOCATED, PROCESSORS, REQUESTED, USER = 0, 1, 2, 3, 4, 7, 8, 11
FIELDS = 18


class LogError(Exception):
    """The file is not such a log; in words for who named it."""


@dataclass(frozen=True, slots=True)
class Job:
    """`wait_s` is what the log says it waited; a simulation of the same log can be held against it."""

    number: int
    submit_s: float
    wait_s: float
    run_s: float
    processors: int
    requested_s: float
    user: int


def read(path: Path) -> list[Job]:
    """All jobs that ran, in the order in which they were submitted."""
    try:
        with _opened(path) as lines:
            jobs = list(parse(lines))
    except (OSError, UnicodeDecodeError) as cause:
        raise LogError(f"{path}: cannot be read as a log: {cause}") from cause
    except LogError as mistake:
        raise LogError(f"{path}, {mistake}") from None
    if not jobs:
        raise LogError(f"{path}: there is no job in it that ran")
    return sorted(jobs, key=lambda job: (job.submit_s, job.number))


def parse(lines: Iterable[str]) -> Iterable[Job]:
    """-1 means that nobody knows. Jobs that never ran are left out; what was not asked for is what was used."""
    for place, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith(";"):
            continue
        try:
            values = [float(word) for word in line.split()]
        except ValueError:
            raise LogError(f"line {place}: expected numbers, got {line.strip()[:60]!r}") from None
        if len(values) < FIELDS:
            raise LogError(f"line {place}: expected {FIELDS} numbers, got {len(values)}")
        processors = int(values[PROCESSORS] if values[PROCESSORS] > 0 else values[ALLOCATED])
        run_s = values[RUN]
        if run_s < 0 or processors < 1:
            continue
        requested_s = values[REQUESTED] if values[REQUESTED] > 0 else max(1.0, run_s)
        yield Job(
            number=int(values[NUMBER]),
            submit_s=values[SUBMIT],
            wait_s=max(0.0, values[WAIT]),
            run_s=min(run_s, requested_s),  # a cluster ends a job at its limit
            processors=processors,
            requested_s=requested_s,
            user=int(values[USER]),
        )


def header(path: Path, lines_max: int) -> list[str]:
    """The comments at the top."""
    with _opened(path) as lines:
        return list(takewhile(lambda line: line.startswith(";"), islice(lines, lines_max)))


def _opened(path: Path) -> IO[str]:
    return gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
