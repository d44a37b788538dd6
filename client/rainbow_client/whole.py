"""An array told as one thing: how many of its jobs are in which state, and what that makes of the whole. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rainbow_client.wording import count
from rainbow_protocol.job import JOB_STATES, TERMINAL_STATES, JobState
from rainbow_protocol.messages.client import JobStatus

# What is furthest speaks for an array that goes on; what is worst for one that is over.
_FURTHEST: tuple[JobState, ...] = ("running", "queued", "assigned", "awarded", "offered", "pending")
_WORST: tuple[JobState, ...] = ("lost", "failed", "rejected", "cancelled", "completed")


@dataclass(slots=True)
class Whole:
    """Some or all jobs of one array; `more` if there may be others that nobody looked at."""

    array: str
    jobs: list[JobStatus] = field(default_factory=list)
    more: bool = False

    @property
    def counts(self) -> dict[JobState, int]:
        """By state, in the order of a job's life."""
        found = Counter(job.state for job in self.jobs)
        return {state: found[state] for state in JOB_STATES if found[state]}

    @property
    def state(self) -> JobState:
        states = self.counts.keys()
        order = _WORST if states <= TERMINAL_STATES else _FURTHEST
        return next(state for state in order if state in states)

    @property
    def words(self) -> str:
        """`1000 jobs: 200 completed, 50 running, 750 pending`."""
        some = "at least " if self.more else ""
        states = ", ".join(f"{number} {state}" for state, number in reversed(self.counts.items()))
        return f"{some}{count(len(self.jobs), 'job')}: {states}"

    @property
    def clusters(self) -> str:
        names = sorted({job.cluster for job in self.jobs if job.cluster})
        return ", ".join(names) if len(names) <= 2 else f"{len(names)} clusters"

    @property
    def exit_code(self) -> int | None:
        return max((job.exit_code for job in self.jobs if job.exit_code is not None), default=None)

    def reasons(self) -> list[tuple[JobState, str, list[JobStatus]]]:
        """The jobs by state and reason, the most frequent first."""
        groups: dict[tuple[JobState, str], list[JobStatus]] = {}
        for job in self.jobs:
            groups.setdefault((job.state, job.reason), []).append(job)
        return sorted(
            ((state, reason, jobs) for (state, reason), jobs in groups.items()), key=lambda group: -len(group[2])
        )


def folded(jobs: Iterable[JobStatus]) -> Iterator[JobStatus | Whole]:
    """Jobs in their order, those of an array as one, where the first of them stands."""
    rows: dict[str, JobStatus | Whole] = {}
    for job in jobs:
        if job.array is None:
            rows[job.job] = job
            continue
        row = rows.setdefault(f"array {job.array}", Whole(job.array))
        if isinstance(row, Whole):
            row.jobs.append(job)
    yield from rows.values()


def member_name(job: JobStatus) -> str:
    """What a person types to name it: no shell takes ARRAY_7 for a pattern, as it would ARRAY[7]."""
    return job.job if job.array is None else f"{job.array}_{job.array_index}"


def index_words(jobs: Sequence[JobStatus], most: int = 5) -> str:
    """`1-4, 7, 9-1000`; of very scattered ones the first, and how many there are more."""
    runs: list[list[int]] = []
    for index in sorted(job.array_index or 0 for job in jobs):
        if runs and index == runs[-1][-1] + 1:
            runs[-1][1:] = [index]
        else:
            runs.append([index])
    words = ["-".join(map(str, run)) for run in runs]
    return ", ".join(words if len(words) <= most else [*words[:most], "…"])
