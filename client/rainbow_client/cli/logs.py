"""`rainbow logs`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from rainbow_client.arrays import job_names
from rainbow_client.cli.frame import Invocation, common_options, note, with_client
from rainbow_client.cli.output import pass_on
from rainbow_client.errors import Refused
from rainbow_client.printable import printable
from rainbow_client.whole import member_name
from rainbow_protocol.errors import ErrorCode
from rainbow_protocol.job import TERMINAL_STATES
from rainbow_protocol.messages.client import JobStatus

if TYPE_CHECKING:
    from rainbow_client.client import Client


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Wait for the job and show its output until it ends.")
@common_options
@click.argument("job")
@click.pass_obj
def logs(invocation: Invocation, follow: bool, job: str) -> int:
    """Show a job's output: its stdout on stdout, its stderr on stderr, unchanged. Of ARRAY, that of all its jobs."""
    try:
        with_client(invocation, lambda client: _of_name(client, job, follow, invocation.json), waiting=follow)
    except KeyboardInterrupt:
        note(f"\nrainbow: the job goes on; come back with `rainbow logs -f {job}`")
        return 130
    return 0


async def _of_name(client: "Client", name: str, follow: bool, as_json: bool) -> None:
    [known] = job_names(name)
    if known.index is None:
        try:
            await _show(client, known.id, follow, as_json)
        except Refused as refused:
            if refused.code != ErrorCode.UNKNOWN_JOB:
                raise
        else:
            return
    [found] = await client.find(name)
    if not found.whole:
        await _show(client, found.jobs[0].job, follow, as_json)
        return
    for member in found.jobs:
        await _of_member(client, member, follow, as_json)


async def _of_member(client: "Client", member: JobStatus, follow: bool, as_json: bool) -> None:
    """One after the other, in the order of their indices; whose output it is stands on stderr."""
    if not as_json:
        note(f"rainbow: {member_name(member)}")
    try:
        await _show(client, member.job, follow, as_json, {"job": member.job, "array_index": member.array_index})
    except Refused as refused:
        if refused.code not in (ErrorCode.NO_OUTPUT, ErrorCode.CLUSTER_OFFLINE):
            raise
        note(f"rainbow: {printable(refused.message)}")


async def _show(
    client: "Client", job: str, follow: bool, as_json: bool, whose: Mapping[str, Any] | None = None
) -> None:
    def tell_away(words: str) -> None:
        note(f"rainbow: {printable(words)}; waiting for it")

    try:
        if not await pass_on(client.logs(job, follow=follow, on_away=tell_away), as_json, whose):
            await _tell_why_nothing(client, job)
    except Refused as refused:
        if refused.code == ErrorCode.NO_OUTPUT:
            await _tell_why_nothing(client, job)
        raise


async def _tell_why_nothing(client: "Client", job: str) -> None:
    """Silence is right for a job that ran and wrote nothing, and for no other."""
    [status] = await client.status(job)
    if status.started_at is not None or status.state == "lost":
        return
    if status.state in TERMINAL_STATES:
        raise Refused(
            ErrorCode.NO_OUTPUT,
            f"job {job} is {status.state}: it never ran, so there is no output",
            f"`rainbow explain {job}` tells why.",
        )
    raise Refused(
        ErrorCode.NO_OUTPUT,
        f"job {job} is {status.state} and has not started yet",
        f"`rainbow logs -f {job}` waits for it.",
    )
