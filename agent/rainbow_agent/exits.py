"""How the command ends. Exit codes are a promise to systemd and to scripts."""

import os
import sys
from pathlib import Path
from typing import NoReturn

import click

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_CONFIG = 2
EXIT_REFUSED = 3
EXIT_IN_USE = 4

EXIT_CODES = """
\b
Exit codes:
  0  stopped as asked
  1  something failed that should not; the log says what
  2  wrong usage or configuration, or an unusable state directory
  3  refused by the daemon: it does not know the secret, or sent us away
  4  the state directory is in use by another agent
"""


def give_up(words: str, code: int) -> NoReturn:
    for line in words.splitlines():
        click.echo(f"rainbow-agent: {line}", err=True)
    sys.exit(code)


def config_from_environment() -> Path | None:
    path = os.environ.get("RAINBOW_AGENT_CONFIG")
    return Path(path) if path else None
