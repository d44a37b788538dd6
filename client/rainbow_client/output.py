"""A piece of a job's output, decoded."""

from base64 import b64decode
from dataclasses import dataclass
from typing import Literal

from rainbow_protocol.messages.agent import OutputChunk


@dataclass(frozen=True, slots=True)
class Output:
    stream: Literal["stdout", "stderr"]
    offset: int
    data: bytes

    @classmethod
    def of(cls, chunk: OutputChunk) -> "Output":
        return cls(chunk.stream, chunk.offset, b64decode(chunk.data))

    @property
    def end(self) -> int:
        return self.offset + len(self.data)
