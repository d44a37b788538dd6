"""The document that describes this cluster: its digest, and the parts in which it travels.

It is read in pieces and never held as a whole. What it says is the daemon's to judge.
"""

import base64
import hashlib
import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rainbow_protocol.limits import GRAPH_BYTES_MAX, GRAPH_PART_BYTES_MAX, GRAPH_SENT_BYTES_MAX
from rainbow_protocol.messages.agent import GraphPart

PIECE_BYTES = 1024 * 1024
# Such documents repeat themselves a lot: the fastest level makes them nearly as small as the best.
COMPRESSION_LEVEL = 1

Source = Path | bytes


class DescriptionError(Exception):
    """The document cannot be sent, in words that name it."""


class DescriptionChangedError(DescriptionError):
    """It is not the one any more whose digest was told."""


@dataclass(frozen=True, slots=True)
class Description:
    source: Source
    digest: str
    bytes: int


def survey(source: Source) -> Description:
    """Read it once, for its digest. DescriptionError if it is missing, empty or too large."""
    digest = hashlib.sha256()
    size = 0
    for piece in _pieces(source):
        digest.update(piece)
        size += len(piece)
    if size == 0:
        raise DescriptionError(f"{_name(source)}: is empty; write what this cluster has into it, or leave it out")
    return Description(source, digest.hexdigest(), size)


def parts(description: Description) -> Iterator[GraphPart]:
    """The document in frames. DescriptionChangedError, before the last of them, if it changed since its survey."""
    digest = hashlib.sha256()
    compressor = zlib.compressobj(COMPRESSION_LEVEL)
    waiting = bytearray()
    sent = 0
    for piece in _pieces(description.source):
        digest.update(piece)
        waiting += compressor.compress(piece)
        while len(waiting) > GRAPH_PART_BYTES_MAX:
            sent += GRAPH_PART_BYTES_MAX
            _check_sent(description, sent)
            yield _part(description, waiting[:GRAPH_PART_BYTES_MAX], last=False)
            del waiting[:GRAPH_PART_BYTES_MAX]
    waiting += compressor.flush()
    if digest.hexdigest() != description.digest:
        raise DescriptionChangedError(f"{_name(description.source)}: changed while it was sent")
    _check_sent(description, sent + len(waiting))
    while len(waiting) > GRAPH_PART_BYTES_MAX:
        yield _part(description, waiting[:GRAPH_PART_BYTES_MAX], last=False)
        del waiting[:GRAPH_PART_BYTES_MAX]
    yield _part(description, waiting, last=True)


def _part(description: Description, data: bytearray, last: bool) -> GraphPart:
    return GraphPart(
        digest=description.digest, bytes=description.bytes, data=base64.b64encode(data).decode(), last=last
    )


def _check_sent(description: Description, sent: int) -> None:
    if sent > GRAPH_SENT_BYTES_MAX:
        raise DescriptionError(
            f"{_name(description.source)}: has more than {GRAPH_SENT_BYTES_MAX} bytes when compressed, "
            "which is the most that a daemon takes; describe the cluster by fewer vertices"
        )


def _pieces(source: Source) -> Iterator[bytes]:
    if isinstance(source, bytes):
        for begin in range(0, len(source), PIECE_BYTES):
            yield source[begin : begin + PIECE_BYTES]
        return
    read = 0
    try:
        # Not to wait for whoever writes into a pipe of that name; for a file this changes nothing.
        with os.fdopen(os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise DescriptionError(f"{source}: is not a file")
            while piece := file.read(PIECE_BYTES):
                read += len(piece)
                if read > GRAPH_BYTES_MAX:
                    raise DescriptionError(
                        f"{source}: has more than {GRAPH_BYTES_MAX} bytes, the most that a daemon takes; "
                        "describe the cluster by fewer vertices, or without indentation"
                    )
                yield piece
    except OSError as cause:
        raise DescriptionError(f"{source}: cannot be read: {cause.strerror}") from None


def _name(source: Source) -> str:
    return "the cluster's description" if isinstance(source, bytes) else str(source)
