"""`rainbow submit`."""

import asyncio
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from rainbow_client.arrays import FORMS as ARRAY_FORMS
from rainbow_client.arrays import read_array
from rainbow_client.cli.bulk import submit_bulk
from rainbow_client.cli.documents import event_document, status_document, submit_document
from rainbow_client.cli.frame import Invocation, common_options, exit_code_of, note, with_client
from rainbow_client.cli.job_options import JobCommand, job_options, request_of
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.output import pass_on
from rainbow_client.cli.wait import tell_ends
from rainbow_client.cli.wish_options import take_wishes, wish_options, wishing
from rainbow_client.printable import printable
from rainbow_client.sentences import sentence
from rainbow_client.wording import count
from rainbow_protocol.job import TERMINAL_STATES, JobRequest
from rainbow_protocol.messages.client import Array, JobStatus

if TYPE_CHECKING:
    from rainbow_client.client import Client


_BULK_FILE = click.Path(dir_okay=False, allow_dash=True)


@click.command(cls=JobCommand)
@job_options
@wish_options
@click.option("--array", metavar="SPEC", help=ARRAY_FORMS)
@click.option("--bulk", type=_BULK_FILE, metavar="FILE", help="Many jobs: JSON lines (- is stdin).")
@click.option("--keep-going", is_flag=True, help="With --bulk: submit the good lines even if others are bad.")
@click.option("--key", help="Idempotency key: a repeated submit with it returns the first job.")
@click.option("--wait", "wait", is_flag=True, help="Wait for the end; exit with the job's exit code.")
@click.option("--watch", "watch", is_flag=True, help="The same, and show events and output as they come.")
@common_options
@click.pass_obj
def submit(
    invocation: Invocation,
    /,
    key: str | None,
    wait: bool,
    watch: bool,
    array: str | None,
    bulk: str | None,
    keep_going: bool,
    words: tuple[str, ...],
    **options: Any,
) -> int:
    """Submit COMMAND as a job, or the job that FILE describes: a jobspec of Flux, of Kubernetes… (- is stdin).

    Options stand before it: what follows COMMAND's first word is passed to COMMAND. Prints the job's id. The
    clusters that could run it are asked, and the best answer gets it: normally the one that starts it first.
    """
    _check_together(words, options["jobspec"], array, bulk, keep_going, watch)
    wishes = take_wishes(invocation, options)
    if bulk is not None:
        return submit_bulk(invocation, bulk, options, wishes, key, keep_going, wait)
    request = wishing(request_of(words, **options), wishes)
    indices = None if array is None else read_array(array)
    job: list[str] = []
    try:
        return with_client(
            invocation,
            lambda client: _submit(client, invocation, request, indices, key, wait, watch, job),
            waiting=wait or watch,
        )
    except KeyboardInterrupt:
        if not job:
            note("\nrainbow: interrupted before the daemon confirmed the job; `rainbow jobs` tells whether it took it")
        else:
            note(
                f"\nrainbow: job {job[0]} goes on; come back with `rainbow wait {job[0]}` or `rainbow logs -f {job[0]}`"
            )
        return 130


def _check_together(
    words: tuple[str, ...], jobspec: str | None, array: str | None, bulk: str | None, keep_going: bool, watch: bool
) -> None:
    if watch and (array is not None or bulk is not None):
        raise click.UsageError("--watch shows one job; of several, --wait tells how they end")
    if bulk is None:
        if keep_going:
            raise click.UsageError("--keep-going is about the lines of --bulk")
        return
    if words or jobspec is not None:
        raise click.UsageError("--bulk says what is run; leave out the command, and what else describes a job")
    if array is not None:
        raise click.UsageError('with --bulk each line says for itself whether it is an array: {"array": "1-9", …}')


async def _submit(
    client: "Client",
    invocation: Invocation,
    request: JobRequest,
    array: Array | None,
    key: str | None,
    wait: bool,
    watch: bool,
    submitted: list[str],
) -> int:
    """Returns the exit code of the command."""
    result = await client.submit(request, array=array, key=key)
    job = str(result.job)
    submitted.append(job)
    if watch:
        return exit_code_of(await _watch(client, job, invocation.json))
    if not wait:
        if invocation.json:
            print_json(submit_document(result))
        else:
            click.echo(job)
            if sys.stdout.isatty():
                note(_what_next(job, result.jobs))
        return 0
    if not invocation.json:
        click.echo(job)
    if array is not None:
        return await tell_ends(client, [job], invocation.json)
    [status] = await client.wait(job)
    if invocation.json:
        print_json(status_document(status))
    elif status.state != "completed":
        note(f"rainbow: job {job} {_end_words(status)}")
    return exit_code_of(status)


def _what_next(job: str, jobs: int | None) -> str:
    if jobs is not None:
        return f"an array of {count(jobs, 'job')}: `rainbow status {job}` tells how they do, `rainbow wait {job}` waits"
    return f"`rainbow explain {job}` tells where it went and why, `rainbow logs -f {job}` shows its output"


async def _watch(client: "Client", job: str, as_json: bool) -> JobStatus:
    """Events go to stderr and output to where the job wrote it, so that a pipe gets the output only."""
    if not as_json:
        note(f"rainbow: job {job}")

    all_output = asyncio.Event()

    async def tell() -> None:
        async with aclosing(client.watch(job)) as events:
            async for event in events:
                if event.state in TERMINAL_STATES:
                    await all_output.wait()  # the end is told last
                if as_json:
                    print_json({"job": event.job} | event_document(event))
                else:
                    note(f"rainbow: {sentence(event)}")

    telling = asyncio.create_task(tell())
    try:
        await pass_on(client.logs(job, follow=True), as_json)
        all_output.set()
        await telling
    finally:
        telling.cancel()
    [status] = await client.status(job)
    if as_json:
        print_json(status_document(status))
    return status


def _end_words(status: JobStatus) -> str:
    return status.state + (f": {printable(status.reason)}" if status.reason else "")
