"""`rainbow submit --bulk`: many jobs from one file, each answered under the number of its line."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rainbow_client.bulk import Bulk, BulkJob, read_bulk
from rainbow_client.cli.documents import submit_document
from rainbow_client.cli.frame import Invocation, note, with_client
from rainbow_client.cli.job_options import STDIN, changing, tell_warnings
from rainbow_client.cli.json_lines import print_json
from rainbow_client.cli.wait import tell_ends
from rainbow_client.cli.wish_options import wishing
from rainbow_client.errors import InvalidRequest, RainbowError, Refused
from rainbow_client.printable import printable
from rainbow_client.wording import count
from rainbow_protocol import limits
from rainbow_protocol.messages.client import SubmitResult

if TYPE_CHECKING:
    from rainbow_client.client import Client

MISTAKES_TOLD_MAX = 50
_SOME_BAD, _SOME_REFUSED = 2, 77


def submit_bulk(
    invocation: Invocation,
    file: str,
    options: Mapping[str, Any],
    wishes: dict[str, Any],
    key: str | None,
    keep_going: bool,
    wait: bool,
) -> int:
    """Submits all of them, or none if one line is bad and nobody said to keep going. Returns the exit code."""
    change = changing(options, file)
    bulk = _read(file, lambda request: wishing(change(request), wishes))
    _tell_mistakes(file, bulk, invocation.json)
    if bulk.mistakes and not keep_going:
        raise InvalidRequest(
            f"{count(len(bulk.mistakes), 'line')} of {len(bulk.mistakes) + len(bulk.jobs)} cannot be submitted; "
            "nothing was submitted",
            "Correct what was named above, or submit the others with --keep-going.",
        )
    if not bulk.jobs:
        raise InvalidRequest(f"there is no job in {_shown(file)}", 'Write one a line: {"command": ["hostname"]}.')
    for job in bulk.jobs[:MISTAKES_TOLD_MAX]:
        tell_warnings(f"{_shown(file)}, line {job.line}", job.warnings)
    keys = [_key_of(job, key) for job in bulk.jobs]
    whole = not keep_going
    ended = with_client(
        invocation, lambda client: _submit(client, bulk.jobs, keys, invocation.json, wait, whole), waiting=wait
    )
    return max(ended, _SOME_BAD if bulk.mistakes else 0)


async def _submit(
    client: "Client", jobs: Sequence[BulkJob], keys: Sequence[str | None], as_json: bool, wait: bool, whole: bool
) -> int:
    if whole:
        checked = await client.submit_many((job.request for job in jobs), keys, [job.array for job in jobs], check=True)
        refused = [(job, result) for job, result in zip(jobs, checked, strict=True) if result.error is not None]
        for job, result in refused[:MISTAKES_TOLD_MAX]:
            _tell(job.line, result, as_json)
        if refused:
            raise InvalidRequest(
                f"the daemon would refuse {count(len(refused), 'line')} of {len(jobs)}; nothing was submitted",
                "Correct what was named above, or submit the others with --keep-going.",
            )
    results = await client.submit_many((job.request for job in jobs), keys, [job.array for job in jobs])
    taken = [str(result.job) for result in results if result.error is None]
    for job, result in zip(jobs, results, strict=True):
        _tell(job.line, result, as_json)
    code = 0 if len(taken) == len(results) else _SOME_REFUSED
    return max(code, await tell_ends(client, taken, as_json)) if wait and taken else code


def _tell(line: int, result: SubmitResult, as_json: bool) -> None:
    if result.error is not None:
        _tell_error(line, Refused(result.error.code, result.error.message, result.error.hint), as_json)
    elif as_json:
        print_json({"line": line} | submit_document(result))
    else:
        click.echo(result.job)


def _tell_mistakes(file: str, bulk: Bulk, as_json: bool) -> None:
    for number, mistake in list(bulk.mistakes.items())[:MISTAKES_TOLD_MAX]:
        _tell_error(number, mistake, as_json, f"{printable(_shown(file))}, ")
    more = len(bulk.mistakes) - MISTAKES_TOLD_MAX
    if more > 0 and not as_json:
        note(f"rainbow: and {count(more, 'more bad line')}")


def _tell_error(line: int, error: RainbowError, as_json: bool, where: str = "") -> None:
    if as_json:
        told = {"code": str(error.code), "message": error.message, "hint": error.hint}
        print_json({"line": line, "error": told})
    else:
        click.echo(f"rainbow: {where}line {line}: {printable(error.message)}", err=True)


def _read(file: str, change: Any) -> Bulk:
    if file == STDIN:
        return read_bulk(sys.stdin.buffer, change)
    try:
        with Path(file).open("rb") as lines:
            return read_bulk(lines, change)
    except OSError as cause:
        words = (cause.strerror or str(cause)).lower()
        raise InvalidRequest(f"{file}: cannot be read: {words}", "Name a file of JSON lines, or - for stdin.") from None


def _key_of(job: BulkJob, key: str | None) -> str | None:
    """A key for all of them becomes one for each line, so that the same file submitted again makes nothing twice."""
    if job.key is not None or key is None:
        return job.key
    whole = f"{key}:{job.line}"
    if len(whole) > limits.KEY_CHARS_MAX:
        raise InvalidRequest("--key: is too long to be told apart for each line", "Take a shorter one.")
    return whole


def _shown(file: str) -> str:
    return "standard input" if file == STDIN else file
