"""The command `rainbow`. Each command is a module of its own, loaded only when it is called."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import click

from rainbow_client.cli.frame import EXIT_CODES, Invocation, common_options, tell_error
from rainbow_client.errors import RainbowError

# name → module and the line that `rainbow --help` shows, so that help need not load them all
COMMANDS = {
    "submit": ("submit", "Submit a job: clusters bid, the best one runs it."),
    "satisfy": ("satisfy", "Ask which clusters could hold a job, without submitting it."),
    "validate": ("validate", "Check a jobspec, and show the job that it describes."),
    "jobs": ("jobs", "List jobs, newest first."),
    "status": ("jobs", "Show the state of jobs."),
    "wait": ("wait", "Wait until jobs have ended; exit with their exit code."),
    "logs": ("logs", "Show a job's output; with -f, follow it."),
    "cancel": ("jobs", "Cancel jobs."),
    "explain": ("explain", "Tell why a job runs where it runs: who was asked, each bid, who won."),
    "clusters": ("clusters", "List the clusters that you may use; `clusters show NAME` tells all of one."),
    "state": ("state", "Show, set or unset what policies see of a cluster."),
    "register": ("register", "Register a cluster or a subsystem with the daemon."),
    "delete": ("delete", "Delete a cluster or a subsystem."),
    "config": ("config", "Write the configuration of this command."),
    "up": ("local", "Start a federation on this machine: a daemon and clusters."),
    "down": ("local", "Stop the federation that `rainbow up` started."),
}


class LazyCommands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"rainbow_client.cli.{module}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), words) for code, words in EXIT_CODES.items()])


def _show_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"rainbow {version('rainbowd')}")
        ctx.exit()


@click.command(cls=LazyCommands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version", is_flag=True, is_eager=True, expose_value=False, callback=_show_version, help="Show the version."
)
@common_options
def rainbow() -> None:
    """Submit jobs to many clusters at once: they bid in real time, and the best bid runs the job."""


def main(args: Sequence[str] | None = None) -> NoReturn:
    invocation = Invocation()
    words = sys.argv[1:] if args is None else list(args)
    if sys.stderr is None:
        sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for as long as the process lives
    if sys.stdout is None:  # told before anything is done that nobody could be told of
        sys.exit(tell_error(invocation, "output", "standard output is closed", "Send it to a file or to /dev/null."))
    try:
        code = rainbow.main(words, prog_name="rainbow", standalone_mode=False, obj=invocation)
        sys.stdout.flush()
    except click.UsageError as mistake:
        code = _tell_usage(invocation, mistake, words)
    except click.ClickException as mistake:
        tell_error(invocation, "error", mistake.format_message(), "")
        code = mistake.exit_code
    except click.Abort:
        code = 130
    except RainbowError as error:
        code = tell_error(invocation, error.code, error.message, error.hint, error)
    except OSError as cause:
        # Files and the network have errors of their own: what is left is our output.
        where = f"{cause.filename}: " if cause.filename else "the output cannot be written: "
        words_of_it = (cause.strerror or str(cause)).lower()
        code = tell_error(
            invocation, "output", where + words_of_it, "What was asked of the daemon has been done: `rainbow jobs`."
        )
        _drop_what_is_unwritten()
    sys.exit(code or 0)


def _tell_usage(invocation: Invocation, mistake: click.UsageError, words: Sequence[str]) -> int:
    if isinstance(mistake, getattr(click.exceptions, "NoArgsIsHelpError", ())):  # a group without a command
        mistake.show()
        return mistake.exit_code
    # The parser stops at the first mistake and may not have come to --json.
    invocation.json |= "--json" in words[: words.index("--") if "--" in words else None]
    help_command = f"{mistake.ctx.command_path} --help" if mistake.ctx else "rainbow --help"
    tell_error(invocation, "usage", mistake.format_message().rstrip("."), f"`{help_command}` tells how.")
    return 2


def _drop_what_is_unwritten() -> None:
    """Or the interpreter would try once more as it ends, and complain in its own way."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
