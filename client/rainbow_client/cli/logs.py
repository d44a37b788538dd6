"""`rainbow logs`."""

import click

from rainbow_client.cli.frame import Invocation, common_options, note, with_client
from rainbow_client.cli.output import pass_on


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Wait for the job and show its output until it ends.")
@common_options
@click.argument("job")
@click.pass_obj
def logs(invocation: Invocation, follow: bool, job: str) -> int:
    """Show a job's output: its stdout on stdout, its stderr on stderr, unchanged."""
    try:
        with_client(
            invocation,
            lambda client: pass_on(client.logs(job, follow=follow), invocation.json),
            waiting=follow,
        )
    except KeyboardInterrupt:
        note(f"\nrainbow: the job goes on; come back with `rainbow logs -f {job}`")
        return 130
    return 0
