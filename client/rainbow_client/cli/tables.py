"""Tables laid out for a width: what a person would have to type or to know is never cut.

A header says how its column may be treated: `>` aligns it to the right, `~` lets it be shortened, the rightmost
first. A last column without a sign holds words, which are wrapped; where there is no room for that, they stand below
their row. Without a width, as in a pipe, nothing is cut and nothing is wrapped.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from rich.console import Console
from rich.text import Text

GAP = 2
WORDS_COLUMNS_MIN = 30  # a narrower column of words is a ladder of single ones
SHORTENED_COLUMNS = (14, 6)  # what is shortened can be recognised at the first of these; at less it only has a place
BELOW_INDENT = 4
WRAP_COLUMNS_MIN = 20


@dataclass(slots=True)
class _Column:
    title: str
    right: bool
    shortens: bool
    width: int

    def slack(self, least: int = SHORTENED_COLUMNS[-1]) -> int:
        return max(0, self.width - max(least, len(self.title))) if self.shortens else 0


def table_lines(
    headers: Sequence[str], rows: Iterable[Sequence[Text]], width: int | None, indent: int = 0
) -> Iterator[Text]:
    """The header, unless all are empty, and the lines of each row."""
    cells = [list(row) for row in rows]
    columns = [_Column(header.lstrip(">~"), ">" in header[:1], "~" in header[:1], 0) for header in headers]
    for position, column in enumerate(columns):
        column.width = max([len(column.title), *(row[position].cell_len for row in cells)])
    room = None if width is None else width - indent
    words = columns[-1] if not columns[-1].right and not columns[-1].shortens else None
    below_from = _fit(columns, words, room) if room is not None else None
    margin = " " * indent
    titles = [Text(column.title, style="bold") for column in columns]
    if below_from is not None and all(row[-1].cell_len == 0 or row[-1].cell_len > below_from for row in cells):
        titles[-1] = Text("")
    if any(headers):
        yield from _row(columns, titles, margin, wraps=False)
    for row in cells:
        below = None
        if below_from is not None and row[-1].cell_len > below_from:
            below, row[-1] = row[-1], Text("")
        yield from _row(columns, row, margin, wraps=words is not None and room is not None)
        if below is not None and room is not None:
            lead = margin + " " * BELOW_INDENT
            for line in _wrapped(below, room - BELOW_INDENT):
                yield Text(lead).append_text(line)


def wrapped_lines(text: Text, width: int | None, hang: int) -> Iterator[Text]:
    """The text at this width, its further lines indented by `hang`; as it is if there is no width."""
    if width is None or text.cell_len <= width:
        yield text
        return
    first, *others = _wrapped(text, width)
    yield first
    rest = Text(" ").join(others)
    for line in _wrapped(rest, width - hang) if others else []:
        yield Text(" " * hang).append_text(line)


def _fit(columns: list[_Column], words: _Column | None, room: int) -> int | None:
    """Narrows the columns. Returns how long a cell of words may be to stand in its row, None if any may."""
    total = sum(column.width for column in columns) + GAP * (len(columns) - 1)
    if total <= room:
        return None
    if words is None:
        _shorten(columns, total - room)
        return None
    others = total - words.width
    over = others + min(words.width, WORDS_COLUMNS_MIN) - room
    if over <= sum(column.slack() for column in columns):
        _shorten(columns, over)
        words.width = min(words.width, room - (others - max(0, over)))
        return None
    _shorten(columns, others - GAP - room)
    words.width = max(0, room - sum(column.width for column in columns[:-1]) - GAP * (len(columns) - 1))
    return words.width


def _shorten(columns: list[_Column], over: int) -> None:
    for least in SHORTENED_COLUMNS:
        for column in reversed(columns):
            given = min(column.slack(least), max(0, over))
            column.width -= given
            over -= given


def _row(columns: list[_Column], cells: Sequence[Text], margin: str, wraps: bool) -> Iterator[Text]:
    line = Text(margin)
    for column, cell in zip(columns[:-1], cells, strict=False):
        shown = _shortened(cell, column)
        blanks = " " * max(0, column.width - shown.cell_len)
        line.append(blanks if column.right else "").append_text(shown)
        line.append(("" if column.right else blanks) + " " * GAP)
    column, cell = columns[-1], cells[-1]
    if wraps and cell.cell_len > column.width:
        first, *others = _wrapped(cell, column.width)
        lead = " " * line.cell_len
        yield line.append_text(first)
        for other in others:
            yield Text(lead).append_text(other)
        return
    shown = _shortened(cell, column)
    line.append(" " * (column.width - shown.cell_len) if column.right else "").append_text(shown)
    line.rstrip()
    yield line


def _shortened(cell: Text, column: _Column) -> Text:
    if not column.shortens or cell.cell_len <= column.width:
        return cell
    shown = cell.copy()
    shown.truncate(column.width, overflow="ellipsis")
    return shown


def _wrapped(text: Text, width: int) -> list[Text]:
    lines = text.wrap(_console(), max(width, WRAP_COLUMNS_MIN), overflow="fold")
    for line in lines:
        line.rstrip()
    return list(lines) or [Text("")]


@cache
def _console() -> Console:
    """Rich asks for one to wrap a text; it is never written to."""
    return Console(color_system=None, width=80)
