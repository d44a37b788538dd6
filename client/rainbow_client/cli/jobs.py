"""`rainbow jobs`, `rainbow status` and `rainbow cancel`."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from rainbow_client.cli.documents import status_document
from rainbow_client.cli.frame import Invocation, common_options, with_client
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.screen import print_line, print_table, state_text
from rainbow_client.duration import format_duration
from rainbow_client.errors import UnknownJob
from rainbow_protocol.job import JOB_STATES, JobState
from rainbow_protocol.messages.client import CancelResult, JobStatus

_OUTCOMES = {
    "cancelled": "is cancelled",
    "cancelling": "is being cancelled: its cluster was told",
    "already_over": "had already ended",
}


@click.command()
@click.option("--state", "states", multiple=True, type=click.Choice(JOB_STATES), help="Only these; may be repeated.")
@click.option("--cluster", metavar="CLUSTER", help="Only jobs of this cluster.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@common_options
@click.pass_obj
def jobs(invocation: Invocation, states: tuple[JobState, ...], cluster: str | None, limit: int) -> None:
    """List jobs, newest first."""
    found = with_client(invocation, lambda client: client.jobs(states=states, cluster=cluster, limit=limit))
    if invocation.json:
        print_json([status_document(status) for status in found])
    elif found:
        _print_statuses(found)
    else:
        matching = "No jobs that match" if states or cluster else "No jobs"
        print_line(f"{matching}. `rainbow submit -- COMMAND` makes one; those of others need their clusters' tokens.")


@click.command()
@common_options
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@click.pass_obj
def status(invocation: Invocation, jobs: tuple[str, ...]) -> None:
    """Show the state of one or more jobs."""
    with _the_known_first(lambda found: _show(found, invocation.json)):
        _show(with_client(invocation, lambda client: client.status(jobs)), invocation.json)


@click.command()
@common_options
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@click.pass_obj
def cancel(invocation: Invocation, jobs: tuple[str, ...]) -> None:
    """Cancel one or more jobs. A running one gets SIGTERM, and SIGKILL if that does not end it."""

    def show(results: list[CancelResult]) -> None:
        for result in results:
            if invocation.json:
                print_json(result.model_dump())
            else:
                words = _OUTCOMES[result.outcome]
                if result.reason:
                    words = f"{words.partition(':')[0]}: {result.reason}"
                print_line(f"{result.job} {words} (", state_text(result.state), ")")

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


def _show(found: list[JobStatus], as_json: bool) -> None:
    if as_json:
        for one in found:
            print_json(status_document(one))
    else:
        _print_statuses(found, with_command=True)


def _print_statuses(found: list[JobStatus], *, with_command: bool = False) -> None:
    now = time.time()
    print_table(
        ["JOB", "~NAME", "STATE", "CLUSTER", ">EXIT", ">AGE", ">RAN", *(["~COMMAND"] * with_command), "REASON"],
        [
            (
                one.job,
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


def _why(one: JobStatus) -> str:
    if one.reason == f"exit code {one.exit_code}":
        return ""  # a column has it
    return one.reason or ("cancel requested" if one.cancel_requested and one.finished_at is None else "")


def _ran(one: JobStatus, now: float) -> str:
    if one.started_at is None:
        return "-"
    return format_duration(max(0.0, (one.finished_at or now) - one.started_at))
