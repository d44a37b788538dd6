"""Cuts a long JSON array or object into pieces that are decoded one after the other, so that memory stays small.

Where to cut is guessed, and what comes out of the decoder is the proof: a piece that begins between two members can
only be whole if it ends between two members as well.
"""

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

PIECE_BYTES = 256 * 1024  # what is made of it fits into a processor's cache
_TAILS_BYTES = (4 * 1024, PIECE_BYTES)  # where a cut is looked for: at the end first, which is nearly always enough
_TRIES_MAX = 8

# The likeliest places first: a vertex that ends with its metadata, then any member that is an object, before another.
_IN_OBJECT = (re.compile(rb'\}\s*\}\s*(,)\s*"[^"\\]*"\s*:\s*\{'), re.compile(rb'\}\s*(,)\s*"[^"\\]*"\s*:\s*\{'))
_IN_ARRAY = (re.compile(rb"\}\s*(,)\s*\{"),)

T = TypeVar("T")


def decoded(
    container: memoryview, decode: Callable[[bytes], T], closely: Callable[[bytes], T], piece_bytes: int = PIECE_BYTES
) -> Iterator[tuple[bytes, T]]:
    """The pieces, each an array or object of its own, and what `decode` makes of them.

    `container` must be valid JSON. What `decode` finds invalid goes to `closely`, which may find better words.
    """
    opening, closing = bytes(container[:1]), bytes(container[-1:])
    patterns = _IN_OBJECT if opening == b"{" else _IN_ARRAY
    start, end = 1, container.nbytes - 1
    while start < end:
        length = piece_bytes
        while True:
            stop = min(start + length, end)
            found = None
            for cut in [stop] if stop == end else _cuts(container, patterns, start, stop):
                piece = b"".join((opening, container[start:cut], closing))
                found = _whole(piece, decode, closely)
                if found is not None:
                    break
            if found is not None:
                yield piece, found[0]
                start = cut + 1  # behind the comma
                break
            if stop == end:
                raise ValueError("the container is not valid JSON")
            length *= 2


def _cuts(container: memoryview, patterns: tuple[re.Pattern[bytes], ...], start: int, stop: int) -> Iterator[int]:
    """Places of commas that may stand between two members, the last ones first."""
    for tail_bytes in _TAILS_BYTES:
        tail = max(start, stop - tail_bytes)
        for pattern in patterns:
            cuts = [tail + match.start(1) for match in pattern.finditer(container[tail:stop])]
            yield from cuts[: -_TRIES_MAX - 1 : -1]


def _whole(piece: bytes, decode: Callable[[bytes], T], closely: Callable[[bytes], T]) -> tuple[T] | None:
    try:
        return (decode(piece),)
    except (msgspec.ValidationError, UnicodeDecodeError):
        # Wrong content, or a wrong cut behind it: only the syntax tells.
        if not is_json(piece):
            return None
        return (closely(piece),)
    except msgspec.DecodeError:
        return None


def is_json(text: bytes | memoryview) -> bool:
    try:
        msgspec.json.decode(text, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
