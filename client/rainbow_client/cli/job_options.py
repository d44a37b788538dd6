"""A job on the command line: a command with its counts, or a document that describes it, and options for both."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rainbow_client.cli.frame import F, note
from rainbow_client.cli.options import naming_options
from rainbow_client.duration import FORMS, parse_duration_s
from rainbow_client.errors import InvalidRequest
from rainbow_client.printable import printable
from rainbow_client.requests import job_request, read_compatibility, read_jobspec, with_changes
from rainbow_protocol import limits
from rainbow_protocol.job import JobRequest
from rainbow_protocol.resources import Requirement

STDIN = "-"
FORMATS = ("flux", "nextgen", "rainbow", "kubernetes")
_SUFFIXES = (".yaml", ".yml", ".json")
_PEEK_BYTES = 64 * 1024
_OPTIONS = {
    "nodes": "-N/--nodes",
    "tasks": "-n/--tasks",
    "cores_per_task": "-c/--cores-per-task",
    "gpus_per_task": "-g/--gpus-per-task",
    "name": "--name",
    "cwd": "--cwd",
    "env": "--env",
    "clusters": "--cluster",
    "image": "--image",
    "command": "COMMAND",
}
_COUNTS = ("nodes", "tasks", "cores_per_task", "gpus_per_task")


def _seconds(ctx: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    try:
        return None if value is None else parse_duration_s(value)
    except InvalidRequest as mistake:
        raise click.BadParameter(f"{mistake.message}. {mistake.hint}", ctx, parameter) from None


format_option = click.option(
    "--format", type=click.Choice(FORMATS), help="What FILE is.  [default: what it looks like]"
)


class JobCommand(click.Command):
    """Options stand before a COMMAND, since what follows its first word is its own; of a FILE, on both sides."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_interspersed_args = False
        if not ctx.resilient_parsing and "--help" not in args and "-h" not in args:
            options, _, _ = self.make_parser(ctx).parse_args(args=list(args))
            words, form = options.get("words"), options.get("format")
            if isinstance(words, tuple) and words:
                ctx.allow_interspersed_args = _is_document(words[0], form if isinstance(form, str) else None)
        return super().parse_args(ctx, args)


def job_options(command: F) -> F:
    """For every command that takes a job; `request_of` makes one of them."""
    path = click.Path(dir_okay=False, allow_dash=True)
    for option in reversed(
        [
            click.option("-N", "--nodes", type=int, metavar="N", help="Spread the tasks over so many nodes."),
            click.option(
                "-n", "--tasks", type=int, metavar="N", help="Number of tasks.  [default: one, or one a node]"
            ),
            click.option("-c", "--cores-per-task", type=int, metavar="N", help="[default: 1]"),
            click.option("-g", "--gpus-per-task", type=int, metavar="N", help="[default: 0]"),
            click.option("-t", "--time-limit", "time_limit_s", metavar="TIME", callback=_seconds, help=FORMS),
            click.option("--name", help="A name for people.  [default: the command's]"),
            click.option("--cwd", metavar="DIR", help="Where it runs.  [default: the cluster decides]"),
            click.option("--env", multiple=True, metavar="NAME=VALUE", help="Set a variable; may be repeated."),
            click.option(
                "--cluster",
                "clusters",
                multiple=True,
                metavar="CLUSTER",
                help="Only this one, or these: A,B; may be repeated.",
            ),
            click.option("--image", help="A container image to run it in, where the cluster can."),
            click.option("--compat", type=path, metavar="FILE", help="What the image needs: a compatibility artifact."),
            click.option("--jobspec", type=path, metavar="FILE", help="The job is what this document describes."),
            format_option,
            click.argument("words", metavar="COMMAND... | FILE", nargs=-1, type=click.UNPROCESSED),
        ]
    ):
        command = option(command)
    return command


def request_of(
    words: Sequence[str],
    *,
    jobspec: str | None,
    format: str | None,  # noqa: A002 - the option's name
    **options: Any,
) -> JobRequest:
    """The job, from the command's words and its options. Tells on stderr what of a document is not used."""
    document = _document(words, jobspec, format)
    if document is None:
        changes = _changes(options)
        counts = {name: options[name] for name in _COUNTS if options[name] is not None}
        with naming_options(_OPTIONS):
            return job_request(words, **counts, **changes)
    change = changing(options, document)
    reading = read_jobspec(read_document(document), format=format, name=_shown(document))
    tell_warnings(document, reading.warnings)
    return change(reading.request)


def changing(options: Mapping[str, Any], document: str) -> Callable[[JobRequest], JobRequest]:
    """What the options say about a job that a document describes, or about each of those that it does."""
    for name in _COUNTS:
        if options[name] is not None:
            raise InvalidRequest(
                f"{_OPTIONS[name]} cannot be given beside {_shown(document)}, which says itself what it needs",
                "Change the document.",
            )
    if options["compat"] is not None and options["compat"] == document:
        raise InvalidRequest("--compat and the job cannot be the same document", "Give each a file of its own.")
    changes = _changes(options)
    env, requires, clusters = changes.pop("env"), changes.pop("requires"), changes.pop("clusters")

    def change(request: JobRequest) -> JobRequest:
        with naming_options(_OPTIONS):
            return with_changes(
                request,
                **changes,
                env={**request.env, **env} if env else None,
                clusters=clusters or None,
                requires=[*request.requires, *requires] if requires else None,
            )

    return change


def _changes(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options that say the same about a command and about a document."""
    requires: list[Requirement] = []
    if options["compat"] is not None:
        requires, warnings = read_compatibility(read_document(options["compat"]), _shown(options["compat"]))
        tell_warnings(options["compat"], warnings)
    return {
        **{name: options[name] for name in ("time_limit_s", "name", "cwd", "image")},
        "env": _variables(options["env"]),
        "clusters": [one.strip() for several in options["clusters"] for one in several.split(",")],
        "requires": requires,
    }


def _document(words: Sequence[str], jobspec: str | None, format: str | None) -> str | None:  # noqa: A002
    """Where the document is that describes the job; None if the words are the command."""
    if jobspec is not None:
        if words:
            raise InvalidRequest(
                f"--jobspec {jobspec} says what is run, and {words[0]!r} is there beside it", "Leave out one of them."
            )
        return jobspec
    if not words:
        raise click.MissingParameter(param_type="argument", param_hint="'COMMAND...'")
    word = words[0]
    if _is_document(word, format):
        if len(words) > 1:
            raise InvalidRequest(
                f"{word} is a document that describes a job, and {words[1]!r} is there beside it",
                "Leave that out; or, if it is a command, write: sh -c …",
            )
        return word
    if len(words) > 1:
        return None
    if word.endswith(_SUFFIXES) and "/" not in word.removeprefix("./"):
        raise InvalidRequest(
            f"{word}: there is no such file here", f"If it is a command of the cluster, write: sh -c {word}"
        )
    if _looks_like_a_jobspec(Path(word)):
        note(f"rainbow: {printable(word)} is taken as a command; if it is a jobspec, write --jobspec {printable(word)}")
    return None


def _is_document(word: str, format: str | None) -> bool:  # noqa: A002
    return word == STDIN or format is not None or (word.endswith(_SUFFIXES) and Path(word).is_file())


def _looks_like_a_jobspec(path: Path) -> bool:
    try:
        if not path.is_file() or os.access(path, os.X_OK):
            return False
        with path.open("rb") as file:
            start = file.read(_PEEK_BYTES)
    except OSError:
        return False
    return b"resources" in start and (b"tasks" in start or b"task" in start or b"apiVersion" in start)


def read_document(path: str) -> str:
    """The text of a file, or of stdin; no more of it than a document may have."""
    most = 4 * limits.JOBSPEC_CHARS_MAX + 1  # a character takes at most four bytes
    try:
        if path == STDIN:
            data = sys.stdin.buffer.read(most)
        else:
            with Path(path).open("rb") as file:
                data = file.read(most)
        return data.decode("utf-8-sig")
    except OSError as cause:
        raise InvalidRequest(
            f"{path}: cannot be read: {(cause.strerror or str(cause)).lower()}", _NAME_A_FILE
        ) from None
    except UnicodeDecodeError:
        raise InvalidRequest(f"{path}: is not a text in UTF-8", _NAME_A_FILE) from None


_NAME_A_FILE = "Name a file in YAML or JSON, or - for standard input."


def tell_warnings(path: str, warnings: Sequence[str]) -> None:
    for warning in warnings:
        click.echo(f"rainbow: warning: {printable(_shown(path))}: {printable(warning)}", err=True)


def _shown(path: str) -> str:
    return "standard input" if path == STDIN else path


def _variables(pairs: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{pair!r} is not of the form NAME=VALUE", param_hint="'--env'")
        found[name] = value
    return found
