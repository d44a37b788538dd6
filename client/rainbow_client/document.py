"""Sends a document of any size to the daemon: read, compressed and sent in pieces, never held whole."""

import asyncio
import zlib
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from rainbow_client.errors import InvalidRequest
from rainbow_client.session import Session, refusal
from rainbow_protocol import limits
from rainbow_protocol.messages.client import DocumentPart, DocumentRef
from rainbow_protocol.messages.common import Error

Source = Path | BinaryIO
Progress = Callable[[int, int | None], None]  # bytes read so far, and of how many if that is known

_READ_BYTES = 1024 * 1024
_PART_BYTES = limits.GRAPH_PART_BYTES_MAX // 4  # a frame that the daemon is done with before anybody notices
_PARTS_IN_FLIGHT = 4
_SHORTER = "Describe equal cores and nodes by their number (`size`, a list of nodes), or register fewer of them."


class _Counted:
    """The document's file, with a count of what was read of it."""

    def __init__(self, file: BinaryIO, size: int | None) -> None:
        self.file = file
        self.size = size
        self.read_bytes = 0

    def compressed(self) -> Iterator[bytes]:
        """Of the right size to be sent, all but the last."""
        compressor = zlib.compressobj(1)
        ready = bytearray()
        while piece := self._read():
            self.read_bytes += len(piece)
            if self.read_bytes > limits.GRAPH_BYTES_MAX:
                raise too_long(None)
            ready += compressor.compress(piece)
            while len(ready) >= _PART_BYTES:
                yield bytes(ready[:_PART_BYTES])
                del ready[:_PART_BYTES]
        if not self.read_bytes:
            raise InvalidRequest("the document is empty", "Name a file that describes the resources.")
        ready += compressor.flush()
        for start in range(0, len(ready), _PART_BYTES):
            yield bytes(ready[start : start + _PART_BYTES])

    def _read(self) -> bytes:
        try:
            return self.file.read(_READ_BYTES)
        except OSError as cause:
            raise InvalidRequest(f"the document cannot be read: {cause.strerror}", "Name another file.") from None


def too_long(size: int | None) -> InvalidRequest:
    has = "more" if size is None else f"{size:,}"
    return InvalidRequest(f"a document may have {limits.GRAPH_BYTES_MAX:,} bytes, and this has {has}", _SHORTER)


@asynccontextmanager
async def _opened(source: Source) -> AsyncIterator[_Counted]:
    if not isinstance(source, Path):
        yield _Counted(source, None)
        return
    try:
        file = source.open("rb")
    except OSError as cause:
        raise InvalidRequest(f"{source}: cannot be read: {cause.strerror}", "Name a file that you can read.") from None
    with file:
        size = source.stat().st_size
        if size > limits.GRAPH_BYTES_MAX:
            raise too_long(size)
        yield _Counted(file, size or None)  # 0 is what pipes and devices say, which are to be read all the same


async def send_document(
    session: Session, number: int, source: Source, on_progress: Progress | None = None
) -> DocumentRef:
    """All of it, under this number. What is too long to be taken is refused before anything is sent."""
    gate = asyncio.Semaphore(_PARTS_IN_FLIGHT)

    async def send(piece: bytes) -> None:
        try:
            answer = await session.ask(DocumentPart(id=0, document=number, data=b64encode(piece).decode()))
        finally:
            gate.release()
        if isinstance(answer, Error):
            raise refusal(answer)

    async with _opened(source) as document:
        pieces = document.compressed()
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    await gate.acquire()
                    # In a thread: compressing takes the time in which the daemon wants its pings answered.
                    piece = await asyncio.to_thread(_next, pieces)
                    if piece is None:
                        break
                    group.create_task(send(piece))
                    if on_progress is not None:
                        on_progress(document.read_bytes, document.size)
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return DocumentRef(document=number, bytes=document.read_bytes)


def _next(pieces: Iterator[bytes]) -> bytes | None:
    return next(pieces, None)
