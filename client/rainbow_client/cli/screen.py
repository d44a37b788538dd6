"""Results for people on stdout: aligned tables, coloured on a terminal, plain in a pipe."""

import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache

from rich.console import Console
from rich.table import Table
from rich.text import Text

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
    line = Text()
    for part in parts:
        line.append(printable(part) if isinstance(part, str) else part)
    console().print(line, soft_wrap=True)


def print_table(headers: Sequence[str], rows: Iterable[Sequence[Cell]], indent: int = 0) -> None:
    """The last column takes what room is left and is cut on a terminal; `>` before a header aligns right."""
    table = Table(
        box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_edge=False, show_header=any(headers)
    )
    if indent:
        table.add_column("", width=indent - 2 if indent > 2 else 0)
    for header in headers:
        last = header is headers[-1]
        table.add_column(
            header.lstrip(">"),
            justify="right" if header.startswith(">") else "left",
            no_wrap=not last or not sys.stdout.isatty(),
            overflow="fold" if last else "ellipsis",
        )
    for row in rows:
        cells = [styled(cell) if isinstance(cell, str) else cell for cell in row]
        table.add_row(*([Text("")] if indent else []), *cells)
    # Rich pads every line to the table's width; blanks at the end of a line help nobody.
    with console().capture() as captured:
        console().print(table)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))
    sys.stdout.flush()
