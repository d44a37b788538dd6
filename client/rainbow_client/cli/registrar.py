"""What the commands for clusters and subsystems share: the registration secret, and documents that take a while."""

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rainbow_client.cli.frame import Invocation, load, note
from rainbow_client.config import Config
from rainbow_client.errors import ConfigError, Unauthorized

if TYPE_CHECKING:
    from rainbow_client.client import Client

T = TypeVar("T")
_HOW_TO_GIVE_IT = (
    "Give the secret of the daemon's registration_secret_file with --secret-file or $RAINBOW_REGISTRATION_SECRET."
)
_TOLD_FROM_BYTES = 8 * 1024 * 1024  # less is sent before anybody could read how it goes

secret_option: Callable[[Any], Any] = click.option(
    "--secret-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the registration secret.  [default: $RAINBOW_REGISTRATION_SECRET, then the configuration]",
)
DOCUMENT = click.Path(path_type=Path, dir_okay=False, allow_dash=True)


def with_registrar(
    invocation: Invocation, secret_file: Path | None, work: Callable[["Client"], Awaitable[T]]
) -> tuple[T, Config]:
    """Runs the work with a client that may register; returns what came of it, and the configuration."""
    import asyncio

    from rainbow_client.client import Client

    config = load(invocation)
    secret = _registration_secret(secret_file, config)

    async def run() -> T:
        try:
            async with Client(config.daemon, registration_secret=secret, on_busy=_tell_busy) as client:
                return await work(client)
        except Unauthorized as refused:
            refused.hint = _HOW_TO_GIVE_IT
            raise

    return asyncio.run(run()), config


def _tell_busy(pause_s: float) -> None:
    if sys.stderr.isatty():
        note(f"rainbow: the daemon is busy reading documents of others; trying again in {pause_s:.0f} s")


def document_source(path: Path | None) -> Any:
    return sys.stdin.buffer if path == Path("-") else path


class Meter:
    """How far the document is, on a terminal; nothing elsewhere, nor for one that is sent at once."""

    def __init__(self) -> None:
        self._shown = False

    def __call__(self, read: int, size: int | None) -> None:
        if sys.stderr.isatty() and (size or read) >= _TOLD_FROM_BYTES:
            self._shown = True
            how_far = f"{100 * read // size} %" if size else f"{read // 2**20} MiB"
            sys.stderr.write(f"\rsending the document: {how_far} ")
            sys.stderr.flush()

    def done(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _registration_secret(path: Path | None, config: Config) -> str:
    if path is not None:
        try:
            secret = path.read_text().strip()
        except (OSError, UnicodeDecodeError) as cause:
            words = cause.strerror if isinstance(cause, OSError) else "it is not text"
            raise ConfigError(f"{path}: cannot be read: {words}", "Name the file with --secret-file.") from None
        if not secret:
            raise ConfigError(f"{path}: is empty", "It must hold the registration secret.")
        return secret
    secret = os.environ.get("RAINBOW_REGISTRATION_SECRET", "") or config.registration_secret or ""
    if not secret:
        raise ConfigError(
            "this needs the site's registration secret",
            "Give it with --secret-file, $RAINBOW_REGISTRATION_SECRET, or registration_secret in the configuration.",
        )
    return secret
