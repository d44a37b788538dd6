"""How refusals and warnings name things: short enough to show, and harmless to a terminal."""

import re
from collections.abc import Iterable, Sequence

from rainbow_protocol import limits
from rainbowd.resources.graph import GraphRefusedError

SHOWN_CHARS_MAX = 80
SHOWN_ITEMS_MAX = 5

# Control characters and the Unicode line ends: in a name they could forge a line, or speak to a terminal.
_NOT_OF_A_LINE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def is_line(text: str) -> bool:
    return text.isprintable() or _NOT_OF_A_LINE.search(text) is None


def shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS_MAX else f"{text[:SHOWN_CHARS_MAX]}…"


def told(text: str) -> str:
    """A whole refusal, with somebody else's words in it perhaps: on one line, and no longer than a reason may be."""
    line = _NOT_OF_A_LINE.sub(" ", text)
    return line if len(line) <= limits.REASON_CHARS_MAX else f"{line[: limits.REASON_CHARS_MAX - 1]}…"


def vertex(vertex_id: object) -> str:
    return f"vertex {shown(vertex_id)}"


def listed(things: Sequence[object] | Iterable[object]) -> str:
    items = list(things)
    text = ", ".join(shown(thing) for thing in items[:SHOWN_ITEMS_MAX])
    more = len(items) - SHOWN_ITEMS_MAX
    return f"{text} and {more:,} more" if more > 0 else text


def refused(text: str) -> GraphRefusedError:
    return GraphRefusedError(text)
