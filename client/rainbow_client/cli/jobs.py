"""`rainbow jobs`, `rainbow status` and `rainbow cancel`."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rainbow_client.arrays import job_names
from rainbow_client.cli.documents import status_document
from rainbow_client.cli.frame import Invocation, common_options, with_client
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.screen import Cell, print_line, print_table, state_text
from rainbow_client.duration import format_duration
from rainbow_client.errors import UnknownJob
from rainbow_client.finding import Found
from rainbow_client.folding import newest_folded
from rainbow_client.requests import job_ids
from rainbow_client.whole import Whole, member_name
from rainbow_client.wording import count
from rainbow_protocol.job import JOB_STATES, JobState
from rainbow_protocol.messages.client import CancelResult, JobStatus

if TYPE_CHECKING:
    from rainbow_client.client import Client

MEMBERS_TOLD_MAX = 20  # of arrays, one by one
_OUTCOMES = {
    "cancelled": "is cancelled",
    "cancelling": "is being cancelled: its cluster was told",
    "already_over": "had already ended",
}
_OF_MANY = {"cancelled": "cancelled", "cancelling": "being cancelled", "already_over": "had already ended"}

all_option = click.option("--all", "every", is_flag=True, help="Each job of an array, too.")


@click.command()
@click.option("--state", "states", multiple=True, type=click.Choice(JOB_STATES), help="Only these; may be repeated.")
@click.option("--cluster", metavar="CLUSTER", help="Only jobs of this cluster.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@all_option
@common_options
@click.argument("array", required=False)
@click.pass_obj
def jobs(
    invocation: Invocation,
    states: tuple[JobState, ...],
    cluster: str | None,
    limit: int,
    every: bool,
    array: str | None,
) -> None:
    """List jobs, newest first, each array as one. Of ARRAY, list its jobs."""
    [only] = [None] if array is None else job_ids(array)

    async def ask(client: "Client") -> Sequence[JobStatus | Whole]:
        if not every and not invocation.json and only is None:
            return await newest_folded(client, states, cluster, limit)
        return await client.jobs(states=states, cluster=cluster, array=only, limit=limit)

    found = with_client(invocation, ask)
    if invocation.json:
        print_json([status_document(one) for one in found if isinstance(one, JobStatus)])
    elif found:
        _print_statuses(found)
    else:
        matching = "No jobs that match" if states or cluster or array else "No jobs"
        print_line(f"{matching}. `rainbow submit -- COMMAND` makes one; those of others need their clusters' tokens.")


@click.command()
@all_option
@common_options
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@click.pass_obj
def status(invocation: Invocation, every: bool, jobs: tuple[str, ...]) -> None:
    """Show the state of one or more jobs: JOB, or ARRAY for the whole of one, or ARRAY_7 for a member."""

    def show(found: list[Found]) -> None:
        each = [one for some in found for one in some.jobs]
        if invocation.json:
            for one in each:
                print_json(status_document(one))
            return
        wholes = [Whole(some.name.id, list(some.jobs)) if some.whole else some.jobs[0] for some in found]
        _print_statuses(each if every else wholes, with_command=True)

    with _the_known_first(show):
        show(with_client(invocation, lambda client: client.find(jobs)))


@click.command()
@common_options
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@click.pass_obj
def cancel(invocation: Invocation, jobs: tuple[str, ...]) -> None:
    """Cancel one or more jobs, or whole arrays. A running one gets SIGTERM, and SIGKILL if that does not end it."""
    named = {name.id for name in job_names(jobs)}

    def show(results: list[CancelResult]) -> None:
        members = [result for result in results if result.job not in named]
        in_a_line = len(members) > MEMBERS_TOLD_MAX
        for result in results:
            if invocation.json:
                print_json(result.model_dump())
            elif result.job in named or not in_a_line:
                words = _OUTCOMES[result.outcome]
                if result.reason:
                    words = f"{words.partition(':')[0]}: {result.reason}"
                print_line(f"{result.job} {words} (", state_text(result.state), ")")
        if in_a_line and not invocation.json:
            outcomes: Counter[str] = Counter(result.outcome for result in members)
            told = ", ".join(f"{outcomes[outcome]} {words}" for outcome, words in _OF_MANY.items() if outcomes[outcome])
            print_line(f"{count(len(members), 'job')} of arrays: {told}")

    with _the_known_first(show):
        show(with_client(invocation, lambda client: client.cancel(jobs)))


@contextmanager
def _the_known_first(show: Callable[[list[Any]], None]) -> Iterator[None]:
    """One id that does not exist is an error, but no reason to hide the answer about the others."""
    try:
        yield
    except UnknownJob as unknown:
        if unknown.found:
            show(unknown.found)
        raise


def _print_statuses(found: Sequence[JobStatus | Whole], *, with_command: bool = False) -> None:
    now = time.time()
    print_table(
        ["JOB", "~NAME", "STATE", "CLUSTER", ">EXIT", ">AGE", ">RAN", *(["~COMMAND"] * with_command), "REASON"],
        [
            _whole_row(one, now, with_command)
            if isinstance(one, Whole)
            else (
                member_name(one),
                one.name,
                state_text(one.state),
                one.cluster or "-",
                "-" if one.exit_code is None else str(one.exit_code),
                format_duration(max(0.0, now - one.submitted_at)),
                _ran(one, now),
                *([one.command] * with_command),
                _why(one),
            )
            for one in found
        ],
    )


def _whole_row(whole: Whole, now: float, with_command: bool) -> tuple[Cell, ...]:
    first = whole.jobs[0]
    return (
        whole.array,
        first.name,
        state_text(whole.state),
        whole.clusters or "-",
        "-" if whole.exit_code is None else str(whole.exit_code),
        format_duration(max(0.0, now - first.submitted_at)),
        "-",
        *([first.command] * with_command),
        whole.words,
    )


def _why(one: JobStatus) -> str:
    if one.reason == f"exit code {one.exit_code}":
        return ""  # a column has it
    return one.reason or ("cancel requested" if one.cancel_requested and one.finished_at is None else "")


def _ran(one: JobStatus, now: float) -> str:
    if one.started_at is None:
        return "-"
    return format_duration(max(0.0, (one.finished_at or now) - one.started_at))
