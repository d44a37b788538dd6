"""`rainbow wait`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from rainbow_client.cli.documents import status_document
from rainbow_client.cli.frame import Invocation, common_options, exit_code_of, note, with_client
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.screen import Cell, print_line, state_text
from rainbow_client.whole import Whole, folded, member_name
from rainbow_protocol.messages.client import JobStatus

if TYPE_CHECKING:
    from rainbow_client.client import Client

MEMBERS_TOLD_MAX = 100  # of arrays, one by one


@click.command()
@click.option("--all", "every", is_flag=True, help="Tell of each job of an array, also of those that end well.")
@common_options
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@click.pass_obj
def wait(invocation: Invocation, every: bool, jobs: tuple[str, ...]) -> int:
    """Wait until all these jobs have ended, and those of these arrays; exit with the highest of their exit codes."""
    try:
        return with_client(
            invocation, lambda client: tell_ends(client, jobs, invocation.json, every=every), waiting=True
        )
    except KeyboardInterrupt:
        note(f"\nrainbow: the jobs go on; come back with `rainbow wait {' '.join(jobs)}`")
        return 130


async def tell_ends(client: "Client", jobs: Sequence[str], as_json: bool, *, every: bool = False) -> int:
    """Tells of each job as it ends, and of each array when all of it has; the highest of their exit codes.

    Of arrays' jobs only those that did not end well are told one by one, and not all of these: there may be thousands.
    """
    told = 0

    def tell(status: JobStatus) -> None:
        nonlocal told
        if as_json:
            print_json(status_document(status))
        elif status.array is None or every:
            _tell_end(status)
        elif status.state != "completed":
            told += 1
            if told <= MEMBERS_TOLD_MAX:
                _tell_end(status)
            elif told == MEMBERS_TOLD_MAX + 1:
                note("rainbow: the others that do not end well are only counted; `rainbow wait --all` tells of each")

    ended = await client.wait(jobs, tell)
    for one in folded(ended):
        if isinstance(one, Whole) and not as_json and len(one.jobs) > 1:
            print_line(f"{one.array} ", state_text(one.state), f": {one.words}")
    return max(exit_code_of(status) for status in ended)


def _tell_end(status: JobStatus) -> None:
    parts: list[Cell] = [f"{member_name(status)} ", state_text(status.state)]
    if status.exit_code is not None:
        parts.append(f" with exit code {status.exit_code}")
    if status.reason and status.reason != f"exit code {status.exit_code}":
        parts.append(f": {status.reason}")
    print_line(*parts)
