"""A session without a socket: keeps the frames it is given, read back as the peer would read them."""

from typing import Any

import orjson

from rainbow_protocol.codec import to_agent, to_client
from rainbow_protocol.messages.common import Error
from rainbowd.net.session import Session


class FakeSession(Session):
    def __init__(self) -> None:
        super().__init__(connection=None)  # type: ignore[arg-type]
        self.frames: list[bytes] = []
        self.closed: tuple[int, str] | None = None

    async def read(self) -> None:
        """Nothing ever comes."""

    def send_frame(self, frame: bytes) -> None:
        self.frames.append(frame)

    def close(self, code: int, reason: str, within_s: float = 0.0) -> None:
        self.closed = (code, reason)

    def to_agent(self) -> list[Any]:
        return [to_agent.decode(frame.decode()) for frame in self.frames]

    def to_client(self) -> list[Any]:
        return [to_client.decode(frame.decode()) for frame in self.frames]

    def types(self) -> list[str]:
        return [orjson.loads(frame)["type"] for frame in self.frames]

    def errors(self) -> list[str]:
        return [message.code for message in self.to_client() if isinstance(message, Error)]
