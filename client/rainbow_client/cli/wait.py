"""`rainbow wait`."""

import click

from rainbow_client.cli.documents import status_document
from rainbow_client.cli.frame import Invocation, common_options, exit_code_of, note, with_client
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.screen import Cell, print_line, state_text
from rainbow_protocol.messages.client import JobStatus


@click.command()
@common_options
@click.argument("jobs", metavar="JOB...", nargs=-1, required=True)
@click.pass_obj
def wait(invocation: Invocation, jobs: tuple[str, ...]) -> int:
    """Wait until all these jobs have ended; exit with the highest of their exit codes."""

    def tell(status: JobStatus) -> None:
        if invocation.json:
            print_json(status_document(status))
            return
        parts: list[Cell] = [f"{status.job} ", state_text(status.state)]
        if status.exit_code is not None:
            parts.append(f" with exit code {status.exit_code}")
        if status.reason and status.reason != f"exit code {status.exit_code}":
            parts.append(f": {status.reason}")
        print_line(*parts)

    try:
        ended = with_client(invocation, lambda client: client.wait(jobs, tell), waiting=True)
    except KeyboardInterrupt:
        note(f"\nrainbow: the jobs go on; come back with `rainbow wait {' '.join(jobs)}`")
        return 130
    return max(exit_code_of(status) for status in ended)
