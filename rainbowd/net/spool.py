"""Documents on their way in, compressed as they came, in files that only the daemon can read.

They stand beside the database, are bounded each and all together, and none outlives its session or the daemon.
"""

import asyncio
import binascii
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from rainbow_protocol import limits
from rainbow_protocol.errors import ErrorCode

SPOOLED_BYTES_MAX = 32 * limits.GRAPH_SENT_BYTES_MAX


class SpoolRefusedError(Exception):
    """A piece of a document that cannot be taken; the document is of no use any more."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code


class SpoolFolder:
    def __init__(self, database: Path, bytes_max: int = SPOOLED_BYTES_MAX) -> None:
        self._folder = database.parent
        self._prefix = f"{database.name}.spool-"
        self.bytes_max = bytes_max
        self.bytes_used = 0

    def sweep(self) -> None:
        """Away with what a daemon that was killed has left."""
        for left in self._folder.iterdir():
            if left.name.startswith(self._prefix):
                left.unlink(missing_ok=True)

    def new(self) -> "Spool":
        return Spool(self, self._folder / f"{self._prefix}{secrets.token_hex(8)}")


class Spool:
    """One document. Use it with `with`, or `remove` it."""

    def __init__(self, folder: SpoolFolder, path: Path) -> None:
        self._folder = folder
        self.path = path
        self.size = 0
        self._there = False

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    async def add(self, data: str) -> None:
        """The next piece, as base64. Written by a thread: a slow disk holds up this session only."""
        try:
            piece = binascii.a2b_base64(data, strict_mode=True)
        except (binascii.Error, ValueError) as cause:  # ValueError: characters that are not ASCII
            raise SpoolRefusedError(ErrorCode.INVALID, f"data: is not base64: {cause}") from None
        if self.size + len(piece) > limits.GRAPH_SENT_BYTES_MAX:
            words = f"a compressed document may have {limits.GRAPH_SENT_BYTES_MAX} bytes, and this has more"
            raise SpoolRefusedError(ErrorCode.TOO_LARGE, words)
        if self._folder.bytes_used + len(piece) > self._folder.bytes_max:
            raise SpoolRefusedError(ErrorCode.READING_BUSY, "too many documents are on their way at this moment")
        if not self._there:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            self._there = True
        self.size += len(piece)
        self._folder.bytes_used += len(piece)
        try:
            await asyncio.to_thread(_append, self.path, piece)
        except OSError as cause:
            words = f"the document cannot be kept while it is on its way: {cause.strerror}"
            raise SpoolRefusedError(ErrorCode.READING_BUSY, words) from None

    def remove(self) -> None:
        if self._there:
            self._there = False
            self._folder.bytes_used -= self.size
            self.path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Document:
    """All of a document is in its spool; `length` is what it has when it is not compressed, says its sender."""

    spool: Spool
    length: int


def _append(path: Path, piece: bytes) -> None:
    # Without O_CREAT: a session that ended meanwhile has removed the file, and it must stay so.
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    with os.fdopen(handle, "ab") as file:
        file.write(piece)
