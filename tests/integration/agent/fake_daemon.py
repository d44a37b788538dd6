"""A daemon that does what the test says, on a real socket. It checks every frame by the protocol's own models."""

import asyncio
import base64
import hashlib
import zlib
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import BaseModel
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from rainbow_protocol import SUBPROTOCOL
from rainbow_protocol.codec import encode, from_agent
from rainbow_protocol.ids import JobIds
from rainbow_protocol.job import JobRequest, Shape
from rainbow_protocol.limits import FRAME_BYTES_MAX
from rainbow_protocol.messages import agent as wire

SECRET = "rbs_test"
PATIENCE_S = 60.0  # on a machine that is busy, 20 s were seen to pass before an agent had even begun
TERMINAL = {"completed", "failed", "cancelled", "lost", "returned"}

M = TypeVar("M", bound=BaseModel)


class FakeDaemon:
    def __init__(self) -> None:
        self.url = ""
        self.secret = SECRET
        self.refused = asyncio.Event()
        self.headers: Headers | None = None
        self.sessions: asyncio.Queue[ServerConnection] = asyncio.Queue()
        self.connection: ServerConnection | None = None
        self.seen: deque[BaseModel] = deque()
        self._arrived = asyncio.Condition()
        self._server: Server | None = None
        self._ids = JobIds()

    async def __aenter__(self) -> "FakeDaemon":
        await self.listen()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def listen(self, port: int = 0) -> None:
        self._server = await serve(
            self._session,
            "127.0.0.1",
            port,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            process_request=self._authorize,
            compression=None,
            max_size=FRAME_BYTES_MAX,
            close_timeout=1,
        )
        self.port = next(iter(self._server.sockets)).getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}"

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def _authorize(self, connection: ServerConnection, request: Request) -> Response | None:
        self.headers = request.headers
        if request.headers.get("Authorization") != f"Bearer {self.secret}":
            self.refused.set()
            return connection.respond(401, "who are you?")
        return None

    async def _session(self, connection: ServerConnection) -> None:
        self.sessions.put_nowait(connection)
        async for frame in connection:
            async with self._arrived:
                self.seen.append(from_agent.decode(frame))
                self._arrived.notify_all()

    # --- the script

    async def session(self) -> ServerConnection:
        """The next session that an agent opens."""
        async with asyncio.timeout(PATIENCE_S):
            self.connection = await self.sessions.get()
        return self.connection

    async def greet(self, send_graph: bool = False) -> tuple[wire.AgentHello, list[wire.InventoryItem]]:
        """Take the next session through hello and inventory to the welcome."""
        await self.session()
        hello = await self.expect(wire.AgentHello)
        return hello, await self.welcome(send_graph)

    async def welcome(self, send_graph: bool = False) -> list[wire.InventoryItem]:
        items: list[wire.InventoryItem] = []
        while True:
            frame = await self.expect(wire.Inventory)
            items += frame.items
            if frame.last:
                break
        await self.send(wire.AgentWelcome(cluster="tested", version="0", send_graph=send_graph))
        return items

    async def description(self) -> bytes:
        """The next document that comes whole; a part with another digest begins another one."""
        digest, data = "", b""
        while True:
            part = await self.expect(wire.GraphPart)
            if part.digest != digest:
                digest, data = part.digest, b""
            data += base64.b64decode(part.data)
            if part.last:
                document = zlib.decompress(data)
                assert hashlib.sha256(document).hexdigest() == digest
                assert len(document) == part.bytes
                return document

    async def send(self, message: BaseModel) -> None:
        assert self.connection is not None
        await self.connection.send(encode(message), text=True)

    async def expect(self, kind: type[M], where: Callable[[M], bool] = lambda _: True) -> M:
        """The first message of this kind that satisfies `where`; the others stay for later."""

        def find() -> M | None:
            for message in self.seen:
                if isinstance(message, kind) and where(message):
                    self.seen.remove(message)
                    return message
            return None

        found: list[M] = []

        def look() -> bool:
            message = find()
            if message is not None:
                found.append(message)
            return bool(found)

        async with asyncio.timeout(PATIENCE_S), self._arrived:
            await self._arrived.wait_for(look)
        return found[0]

    # --- whole conversations

    def new_job(self) -> str:
        return self._ids.next(1_800_000_000.0)

    async def offer(self, *shapes: Shape, hold_s: float = 30.0) -> list[wire.Bid]:
        items = [
            wire.Offer(job=self.new_job(), attempt=1, shape=shape, deadline_ms=1000, hold_s=hold_s) for shape in shapes
        ]
        await self.send(wire.Offers(items=items))
        return (await self.expect(wire.Bids)).items

    async def accept(self, request: JobRequest) -> wire.AttemptRef:
        [bid] = await self.offer(request.shape)
        assert bid.answer == "yes", bid.reason
        ref = wire.AttemptRef(job=bid.job, attempt=bid.attempt)
        await self.send(wire.Awards(items=[wire.Award(job=bid.job, attempt=bid.attempt, request=request)]))
        [answer] = (await self.expect(wire.AwardAnswers)).items
        assert answer.answer == "accept", answer.reason
        return ref

    async def start(self, *command: str, shape: Shape | None = None, **more: Any) -> wire.AttemptRef:
        return await self.begin(JobRequest(command=list(command), shape=shape or Shape(), **more))

    async def begin(self, request: JobRequest) -> wire.AttemptRef:
        ref = await self.accept(request)
        await self.send(wire.Starts(items=[ref]))
        return ref

    async def report(self, ref: wire.AttemptRef, *events: str) -> wire.Report:
        """The next report of one of these events about this attempt. Other reports in its frame stay."""

        def fits(report: wire.Report) -> bool:
            return report.job == ref.job and report.attempt == ref.attempt and report.event in events

        frame = await self.expect(wire.Reports, lambda frame: any(fits(report) for report in frame.items))
        found = next(report for report in frame.items if fits(report))
        rest = [report for report in frame.items if report is not found]
        if rest:
            self.seen.appendleft(wire.Reports(items=rest))
        return found

    async def end(self, ref: wire.AttemptRef) -> wire.Report:
        return await self.report(ref, *TERMINAL)

    async def ack(self, report: wire.Report) -> None:
        await self.send(wire.Acks(items=[wire.Ack(job=report.job, attempt=report.attempt, seq=report.seq)]))

    async def cancel(self, ref: wire.AttemptRef) -> None:
        await self.send(wire.Cancels(items=[ref]))

    async def read(
        self, ref: wire.AttemptRef, stdout: int = 0, stderr: int = 0, wait_s: float = 0.0, request: int = 1
    ) -> wire.Output:
        await self.send(
            wire.ReadOutput(
                request=request,
                job=ref.job,
                attempt=ref.attempt,
                stdout_offset=stdout,
                stderr_offset=stderr,
                wait_s=wait_s,
            )
        )
        return await self.expect(wire.Output, lambda output: output.request == request)

    async def output(self, ref: wire.AttemptRef) -> tuple[bytes, bytes]:
        """All of it, read piece by piece as a client would."""
        whole = {"stdout": b"", "stderr": b""}
        for request in range(1, 1000):
            answer = await self.read(ref, len(whole["stdout"]), len(whole["stderr"]), wait_s=5, request=request)
            assert answer.error is None, answer.error
            for chunk in answer.chunks:
                assert chunk.offset == len(whole[chunk.stream])
                whole[chunk.stream] += base64.b64decode(chunk.data)
            if answer.done:
                break
        return whole["stdout"], whole["stderr"]
