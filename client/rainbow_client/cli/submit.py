"""`rainbow submit`."""

import asyncio
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import click

from rainbow_client.cli.documents import event_document, status_document, submit_document
from rainbow_client.cli.frame import Invocation, common_options, exit_code_of, note, with_client
from rainbow_client.cli.job_options import JobCommand, job_options, request_of
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.output import pass_on
from rainbow_client.printable import printable
from rainbow_client.story import sentence
from rainbow_protocol.job import TERMINAL_STATES, JobRequest
from rainbow_protocol.messages.client import JobStatus

if TYPE_CHECKING:
    from rainbow_client.client import Client


@click.command(cls=JobCommand)
@job_options
@click.option("--key", help="Idempotency key: a repeated submit with it returns the first job.")
@click.option("--wait", "wait", is_flag=True, help="Wait for the end; exit with the job's exit code.")
@click.option("--watch", "watch", is_flag=True, help="The same, and show events and output as they come.")
@common_options
@click.pass_obj
def submit(
    invocation: Invocation, /, key: str | None, wait: bool, watch: bool, words: tuple[str, ...], **options: Any
) -> int:
    """Submit COMMAND as a job, or the job that FILE describes: a jobspec of Flux, of Kubernetes… (- is stdin).

    Options stand before it: what follows COMMAND's first word is passed to COMMAND. Prints the job's id. The
    clusters that could run it are asked, and the one that starts it first gets it.
    """
    request = request_of(words, **options)
    job: list[str] = []
    try:
        status = with_client(
            invocation,
            lambda client: _submit(client, invocation, request, key, wait, watch, job),
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
    return exit_code_of(status) if status is not None else 0


async def _submit(
    client: "Client",
    invocation: Invocation,
    request: JobRequest,
    key: str | None,
    wait: bool,
    watch: bool,
    submitted: list[str],
) -> JobStatus | None:
    result = await client.submit(request, key=key)
    job = str(result.job)
    submitted.append(job)
    if watch:
        return await _watch(client, job, invocation.json)
    if not wait:
        if invocation.json:
            print_json(submit_document(result))
        else:
            click.echo(job)
            if sys.stdout.isatty():
                note(f"`rainbow explain {job}` tells where it went and why, `rainbow logs -f {job}` shows its output")
        return None
    if not invocation.json:
        click.echo(job)
    [status] = await client.wait(job)
    if invocation.json:
        print_json(status_document(status))
    elif status.state != "completed":
        note(f"rainbow: job {job} {_end_words(status)}")
    return status


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
