"""Results for people on stdout: aligned tables, coloured on a terminal, plain in a pipe."""

import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache

from rich.console import Console
from rich.text import Text

from rainbow_client.cli.tables import table_lines, wrapped_lines
from rainbow_client.printable import printable

PIPE_COLUMNS = 10_000  # in a pipe nothing is cut to fit

STATE_STYLES = {
    "completed": "green",
    "failed": "red",
    "lost": "red",
    "rejected": "red",
    "cancelled": "yellow",
    "running": "cyan",
    "pending": "yellow",
    "online": "green",
    "offline": "red",
    "draining": "yellow",
    "yes": "green",
    "no": "yellow",
}

Cell = str | Text


@cache
def console() -> Console:
    on_terminal = sys.stdout.isatty()
    plain = not on_terminal or bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Console(
        color_system=None if plain else "auto",
        width=None if on_terminal else PIPE_COLUMNS,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )


def styled(text: str, style: str = "") -> Text:
    return Text(printable(text), style=style)


def state_text(state: str) -> Text:
    return styled(state, STATE_STYLES.get(state, "blue"))


def print_line(*parts: Cell) -> None:
    _write(_joined(parts))


def print_words(*parts: Cell, hang: int = 2) -> None:
    """A line of words, wrapped at the terminal's width. What somebody may want to copy belongs into a plain line."""
    for line in wrapped_lines(_joined(parts), _columns(), hang):
        _write(line)


def print_table(headers: Sequence[str], rows: Iterable[Sequence[Cell]], indent: int = 0) -> None:
    """Fitted to the terminal; `>` before a header aligns right, `~` lets its column be shortened (tables.py)."""
    cells = ([styled(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    for line in table_lines(headers, cells, _columns(), indent):
        _write(line)
    sys.stdout.flush()


def _joined(parts: Iterable[Cell]) -> Text:
    line = Text()
    for part in parts:
        line.append(printable(part) if isinstance(part, str) else part)
    return line


def _write(line: Text) -> None:
    console().print(line, soft_wrap=True)


def _columns() -> int | None:
    """None where nothing may be cut nor wrapped: in a pipe."""
    return console().width if sys.stdout.isatty() else None
