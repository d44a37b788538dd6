"""A daemon that does as it is told: a real WebSocket server with a script for its answers.

It remembers submissions by key, as the real one does, and can drop a
connection at the worst moment.
"""

from collections import defaultdict
from collections.abc import Callable
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

import orjson
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from rainbow_protocol import SUBPROTOCOL, limits
from rainbow_protocol.codec import from_client
from rainbow_protocol.ids import JobIds

Message = dict[str, Any]
Handler = Callable[[Message], list[Message]]
TOKEN, OTHER_TOKEN, REGISTRATION = "rbt_one", "rbt_two", "rbr_site"


class FakeDaemon:
    def __init__(self) -> None:
        self.jobs: dict[str, str] = {}  # key → job
        self.requests: list[Message] = []
        self.sessions: list[str] = []  # the credential of each
        self.credentials = {TOKEN, OTHER_TOKEN, REGISTRATION}
        self.handlers: dict[str, Handler] = {}
        self.drops: dict[str, int] = defaultdict(int)  # so many requests of this type are taken, not answered
        self.ids = JobIds()
        self.frame_bytes_max = limits.FRAME_BYTES_MAX
        self._server: Server | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        self._server = await serve(
            self._session,
            "127.0.0.1",
            self._port,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            process_request=self._admit,
            compression=None,
            max_size=self.frame_bytes_max,
        )
        self._port = next(iter(self._server.sockets)).getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
            self._server = None

    def of_type(self, kind: str) -> list[Message]:
        return [request for request in self.requests if request["type"] == kind]

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        credential = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if credential not in self.credentials:
            return connection.respond(HTTPStatus.UNAUTHORIZED, "no\n")
        self.sessions.append(credential)
        return None

    async def _session(self, connection: ServerConnection) -> None:
        try:
            async for frame in connection:
                from_client.decode(frame)  # what the client sends must be what the protocol says
                request = orjson.loads(frame)
                self.requests.append(request)
                answers = self._answers(request)
                if self.drops[request["type"]] > 0:
                    self.drops[request["type"]] -= 1
                    connection.transport.abort()
                    return
                for answer in answers:
                    await connection.send(orjson.dumps({"ref": request["id"], **answer}), text=True)
                    if answer["type"] == "goodbye":
                        return
        except ConnectionClosed:
            return

    def _answers(self, request: Message) -> list[Message]:
        kind = request["type"]
        if kind in self.handlers:
            return self.handlers[kind](request)
        if kind == "hello":
            return [{"type": "welcome", "version": "0", "clusters": ["one"], "unknown_tokens": []}]
        if kind == "submit":
            return [{"type": "submitted", "items": [self._submit(item["key"]) for item in request["items"]]}]
        if kind == "clusters":
            return [{"type": "cluster_list", "items": []}]
        if kind == "list":
            return [{"type": "jobs", "items": []}]
        if kind == "unwatch":
            return [{"type": "done"}]
        return [{"type": "error", "code": "unknown_type", "message": kind, "hint": "teach the fake"}]

    def _submit(self, key: str) -> Message:
        duplicate = key in self.jobs
        job = self.jobs.setdefault(key, self.ids.next(1.8e9))
        return {"job": job, "state": "pending", "duplicate": duplicate}


def status(job: str, state: str = "completed", **changes: Any) -> Message:
    return {
        "job": job,
        "name": "a job",
        "state": state,
        "cluster": "one",
        "attempt": 1,
        "exit_code": 0 if state == "completed" else None,
        "reason": "",
        "submitted_at": 1.0,
        "assigned_at": None,
        "started_at": None,
        "finished_at": None,
    } | changes


def event(job: str, seq: int, name: str, state: str, **data: Any) -> Message:
    return {"job": job, "seq": seq, "at": float(seq), "event": name, "state": state, "data": data}
