"""What every command shares: --config and --json, one way to fail, one way to run with a client."""

import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rainbow_client.errors import ConfigError, ConnectionFailed, FederationError, InvalidRequest, RainbowError, Refused

if TYPE_CHECKING:
    from rainbow_client.client import Client
    from rainbow_client.config import Config
    from rainbow_protocol.messages.client import JobStatus

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

EXIT_CODES: dict[int, str] = {
    0: "done; with --wait, --watch and `wait`: the job completed",
    1: "the job failed without an exit code, no cluster could hold it (`satisfy`), or something unexpected happened",
    2: "the command line is wrong",
    65: "the job was rejected: no cluster could ever run it",
    66: "the job was lost: its cluster cannot tell how it ended",
    67: "the job was cancelled",
    69: "the daemon cannot be reached",
    71: "a process of `rainbow up` or `rainbow down` failed",
    77: "the daemon refused: unknown job, no permission…",
    78: "the configuration is wrong or missing",
    130: "interrupted with Ctrl-C; jobs go on",
}
_OF_ERROR: tuple[tuple[type[RainbowError], int], ...] = (
    (InvalidRequest, 2),
    (ConnectionFailed, 69),
    (Refused, 77),
    (ConfigError, 78),
    (FederationError, 71),
)
_OF_STATE = {"completed": 0, "failed": 1, "rejected": 65, "lost": 66, "cancelled": 67}

# A person who waits for a job wants to keep waiting while the daemon is upgraded.
WAITING_RETRY_S = 600.0


@dataclass(slots=True)
class Invocation:
    """What was given before it is known which command will need it."""

    json: bool = False
    config: Path | None = None


def _keep_config(ctx: click.Context, _parameter: click.Parameter, value: Path | None) -> None:
    if value is not None:
        ctx.ensure_object(Invocation).config = value


def _keep_json(ctx: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(Invocation).json = True


def common_options(command: F) -> F:
    """--config and --json, taken before and after the command's name alike."""
    config = click.option(
        "--config",
        type=click.Path(path_type=Path, dir_okay=False),
        expose_value=False,
        is_eager=True,
        callback=_keep_config,
        help="Configuration file.",
    )
    # Eager: an error in a later option must already know how it is to be told.
    json = click.option(
        "--json", is_flag=True, expose_value=False, is_eager=True, callback=_keep_json, help="Print JSON."
    )
    return config(json(command))


def tell_error(invocation: Invocation, code: str, message: str, hint: str, error: RainbowError | None = None) -> int:
    if invocation.json:
        import orjson

        document = {"error": {"code": str(code), "message": message, "hint": hint}}
        click.echo(orjson.dumps(document).decode(), err=True)
    else:
        from rainbow_client.printable import printable

        lines = [printable(line) for line in message.splitlines()]
        click.echo(f"{note_style('rainbow:', fg='red')} " + "\n".join(lines), err=True)
        if hint:
            click.echo(f"  {note_style(printable(hint), dim=True)}", err=True)
    return next((number for kind, number in _OF_ERROR if isinstance(error, kind)), 1)


def note_style(text: str, **style: Any) -> str:
    """Colour for stderr, where a terminal wants it."""
    return click.style(text, **style) if sys.stderr.isatty() and not os.environ.get("NO_COLOR") else text


def note(text: str) -> None:
    """A remark to the person, beside the result: on stderr, so that a pipe gets the result only."""
    click.echo(note_style(text, dim=True), err=True)


def load(invocation: Invocation) -> "Config":
    from rainbow_client.config_search import load_config

    return load_config(
        invocation.config, os.environ, Path.cwd(), lambda words: click.echo(f"rainbow: warning: {words}", err=True)
    )


def with_client(invocation: Invocation, work: Callable[["Client"], Awaitable[T]], *, waiting: bool = False) -> T:
    """Runs the work with an open client. `waiting` work outlasts a restart of the daemon."""
    import asyncio

    from rainbow_client.client import RETRY_S, Client

    config = load(invocation)
    if not config.tokens and not config.registration_secret:
        raise ConfigError(
            "there is no token to show to the daemon",
            "Set RAINBOW_TOKEN, or add a cluster with its token to the configuration.",
        )

    async def run() -> T:
        async with Client(
            config.daemon,
            config.tokens,
            registration_secret=config.registration_secret,
            retry_s=WAITING_RETRY_S if waiting else RETRY_S,
            connect_retry_s=_connect_retry_s(),
            on_lost=lambda url: note(f"rainbow: lost the connection to {url}; trying again"),
        ) as client:
            return await work(client)

    return asyncio.run(run())


def _connect_retry_s() -> float:
    """$RAINBOW_CONNECT_RETRY_S: for scripts that start together with the daemon. A person wants to know at once."""
    text = os.environ.get("RAINBOW_CONNECT_RETRY_S", "0")
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86_400:
        raise ConfigError(f"$RAINBOW_CONNECT_RETRY_S: {text!r} is not a number of seconds", "Write 0 to 86400.")
    return seconds


def exit_code_of(status: "JobStatus") -> int:
    """The job's own exit code where there is one, as 0…255; else what became of it.

    A job that was cancelled and then ended with 0 has not completed: its 0 does not count.
    """
    code = status.exit_code
    if code is None or (code == 0 and status.state != "completed"):
        return _OF_STATE.get(status.state, 1)
    if code < 0:  # ended by a signal, as Python's subprocess counts them
        return min(128 - code, 255)
    return code if code <= 255 else 1
