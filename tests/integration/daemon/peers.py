"""Peers that speak frames: an agent that does what the test says and nothing by itself, and a client."""

import asyncio
import hashlib
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import count
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import orjson
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State
from websockets.typing import Subprotocol

from rainbow_protocol import AGENT_PATH, CLIENT_PATH, SUBPROTOCOL
from rainbow_protocol.codec import to_agent, to_client
from tests.integration.daemon import documents
from tests.integration.daemon.process import SECRET

PATIENCE_S = 20.0
Message = dict[str, Any]


@dataclass(frozen=True)
class Cluster:
    """What registering it returned."""

    name: str
    secret: str
    token: str


class Peer:
    """A connection, and every message that came and was not asked for yet."""

    path = ""
    decoder: Any = None

    def __init__(self, url: str, credential: str) -> None:
        self._url = url
        self._credential = credential
        self._unread: list[Message] = []
        self.socket: ClientConnection

    async def __aenter__(self) -> Self:
        self.socket = await connect(
            self._url + self.path,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            additional_headers={"Authorization": f"Bearer {self._credential}"},
            compression=None,
            max_size=None,
            max_queue=None,
            proxy=None,
            sock=self._connected(),
        )
        return self

    def _connected(self) -> socket.socket | None:
        """A socket to use, for who needs a special one."""
        return None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self.socket.state is not State.CLOSED:  # closing again fails where asyncio forgets a transport's loop
            await self.socket.close()

    async def send(self, message: Message | str | bytes) -> None:
        await self.socket.send(orjson.dumps(message).decode() if isinstance(message, dict) else message)

    async def receive(self) -> Message:
        """The next message, whatever it is."""
        if self._unread:
            return self._unread.pop(0)
        async with asyncio.timeout(PATIENCE_S):
            frame = await self.socket.recv()
        self.decoder.decode(frame)  # whatever the daemon says is valid under the protocol
        message: Message = orjson.loads(frame)
        return message

    async def get(self, kind: str, **fields: Any) -> Message:
        """The next message of this type with these fields; what comes before it is kept for later."""
        skipped = []
        try:
            while True:
                message = await self.receive()
                if message["type"] == kind and all(message.get(name) == value for name, value in fields.items()):
                    return message
                skipped.append(message)
        except TimeoutError:
            raise AssertionError(f"no {kind} {fields} came, but {skipped}") from None
        finally:
            self._unread[:0] = skipped

    async def closed(self) -> int:
        """Until the daemon closes the connection: its close code."""
        try:
            while True:
                self._unread.append(await self.receive_fresh())
        except ConnectionClosed:
            assert self.socket.close_code is not None
            return self.socket.close_code

    async def receive_fresh(self) -> Message:
        async with asyncio.timeout(PATIENCE_S):
            message: Message = orjson.loads(await self.socket.recv())
        return message

    def left(self) -> list[Message]:
        """What came and nobody asked for."""
        return list(self._unread)


class AgentPeer(Peer):
    path = AGENT_PATH
    decoder = to_agent

    def __init__(self, url: str, cluster: Cluster, agent_id: str = "agent-of-the-tests") -> None:
        super().__init__(url, cluster.secret)
        self.cluster = cluster
        self.agent_id = agent_id

    async def hello_only(self, cores: int = 8, **more: Any) -> None:
        resources = {"nodes": 1, "cores_per_node": cores, "gpus_per_node": 0}
        hello = {"type": "hello", "agent_id": self.agent_id, "version": "1", "backend": "test", "resources": resources}
        await self.send(hello | more)

    async def hello(self, cores: int = 8, inventory: Sequence[tuple[str, int, str]] = (), **more: Any) -> Self:
        await self.hello_only(cores, **more)
        items = [{"job": job, "attempt": attempt, "phase": phase} for job, attempt, phase in inventory]
        await self.send({"type": "inventory", "items": items, "last": True})
        return self

    async def introduce(self, cores: int = 8, inventory: Sequence[tuple[str, int, str]] = (), **more: Any) -> Self:
        await self.hello(cores, inventory, **more)
        await self.get("welcome")
        return self

    async def send_graph(self, document: Any) -> str:
        """All of it in its parts; returns its digest."""
        content = documents.as_bytes(document)
        digest = hashlib.sha256(content).hexdigest()
        pieces = list(documents.parts(content))
        for position, data in enumerate(pieces, 1):
            part = {"digest": digest, "bytes": len(content), "data": data, "last": position == len(pieces)}
            await self.send({"type": "graph_part", **part})
        return digest

    async def item(self, kind: str, job: str | None = None) -> Message:
        """The one item of the next batch of this type (about this job)."""
        while True:
            for message in [m for m in self._unread if m["type"] == kind]:
                for item in message["items"]:
                    if job is None or item["job"] == job:
                        message["items"].remove(item)
                        if not message["items"]:
                            self._unread.remove(message)
                        found: Message = item
                        return found
            seen = len(self._unread)
            fresh = await self._await_fresh()
            self._unread.insert(seen, fresh)

    async def _await_fresh(self) -> Message:
        kept, self._unread = self._unread, []
        try:
            return await self.receive()
        finally:
            self._unread = kept

    async def bid(self, offer: Message, **fields: Any) -> None:
        given = {"answer": "yes", "eta_s": 0.0, "cost": 1.0, **fields}
        await self.send({"type": "bids", "items": [{"job": offer["job"], "attempt": offer["attempt"], **given}]})

    async def accept(self, award: Message) -> None:
        item = {"job": award["job"], "attempt": award["attempt"], "answer": "accept"}
        await self.send({"type": "award_answers", "items": [item]})

    async def report(self, attempt: Message, seq: int, event: str, **fields: Any) -> None:
        item = {"job": attempt["job"], "attempt": attempt["attempt"], "seq": seq, "event": event, "at": 1.0}
        await self.send({"type": "reports", "items": [item | fields]})

    async def take(self, job: str) -> Message:
        """From the offer to the start: the attempt is this cluster's."""
        await self.bid(await self.item("offers", job))
        await self.accept(await self.item("awards", job))
        return await self.item("starts", job)

    async def run(self, job: str, exit_code: int = 0) -> None:
        """All of a job's life, to an end that the daemon has acknowledged."""
        attempt = await self.take(job)
        await self.report(attempt, 1, "running")
        await self.report(attempt, 2, "failed" if exit_code else "completed", exit_code=exit_code)
        while (await self.item("acks", job))["seq"] < 2:
            pass

    async def serve(self) -> None:
        """Take every job there is and complete it, until cancelled."""
        while True:
            message = await self.receive()
            for item in message.get("items", ()):
                if message["type"] == "offers":
                    await self.bid(item)
                elif message["type"] == "awards":
                    await self.accept(item)
                elif message["type"] == "starts":
                    await self.report(item, 1, "running")
                    await self.report(item, 2, "completed", exit_code=0)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """An agent that does its work by itself, meanwhile."""
        task = asyncio.create_task(self.serve())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])


class ClientPeer(Peer):
    path = CLIENT_PATH
    decoder = to_client

    def __init__(self, url: str, credential: str, tokens: Sequence[str] = (), *, greets: bool = True) -> None:
        super().__init__(url, credential)
        self._tokens = list(tokens)
        self._greets = greets
        self._numbers = count(1)
        self.welcome: Message = {}

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        if self._greets:
            self.welcome = await self.ask("hello", tokens=self._tokens)
        return self

    async def request(self, kind: str, **fields: Any) -> int:
        number = next(self._numbers)
        await self.send({"type": kind, "id": number, **fields})
        return number

    async def answer(self, ref: int) -> Message:
        skipped = []
        try:
            while (message := await self.receive()).get("ref") != ref:
                skipped.append(message)
            return message
        except TimeoutError:
            raise AssertionError(f"request {ref} was not answered; there came {skipped}") from None
        finally:
            self._unread[:0] = skipped

    async def ask(self, kind: str, **fields: Any) -> Message:
        return await self.answer(await self.request(kind, **fields))

    async def submit(self, *command: str, key: str | None = None, **request: Any) -> str:
        (item,) = await self.submit_all([{"key": key, "request": {"command": list(command or ("true",)), **request}}])
        assert item["error"] is None, item
        job: str = item["job"]
        return job

    async def submit_all(self, items: Sequence[Message]) -> list[Message]:
        answer = await self.ask("submit", items=list(items))
        assert answer["type"] == "submitted", answer
        results: list[Message] = answer["items"]
        return results

    async def status(self, job: str) -> Message:
        answer = await self.ask("status", jobs=[job])
        assert answer["unknown"] == [], f"{job} is unknown"
        found: Message = answer["items"][0]
        return found

    async def history(self, job: str) -> list[Message]:
        answer = await self.ask("explain", job=job)
        lines: list[Message] = answer["history"]
        return lines

    async def watch_until(self, job: str, event: str) -> list[Message]:
        """Watch the job until this has happened: everything that happened until then."""
        ref = await self.request("watch", jobs=[job])
        seen: list[Message] = []
        while not any(line["event"] == event for line in seen):
            seen += (await self.answer(ref))["items"]
        return seen


class StuckClient(ClientPeer):
    """A client that asks and asks and never reads, so that the answers fill every buffer on their way."""

    async def ask_and_never_read(self, count: int) -> None:
        """So many requests. To refuse each is quick for the daemon and takes it half a kilobyte."""
        self.socket.transport.pause_reading()
        wrong = {"x" * 200: 1, "y" * 200: 1}
        with suppress(ConnectionClosed):
            for _ in range(count):
                await self.request("submit", items=[{"request": {"command": ["x"], "env": wrong}}])

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.socket.transport.abort()

    def _connected(self) -> socket.socket | None:
        parts = urlsplit(self._url)
        made = socket.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # the kernel is not to read it all for us
        made.connect((parts.hostname, parts.port))
        return made


class Registrar(ClientPeer):
    def __init__(self, url: str) -> None:
        super().__init__(url, SECRET)
        self._documents = count(1)

    async def register(self, name: str, **fields: Any) -> Cluster:
        answer = await self.ask("register_cluster", name=name, **fields)
        assert answer["type"] == "registered", answer
        return Cluster(name, answer["secret"], answer["token"])

    async def send_document(self, document: Any) -> Message:
        """All parts of it, each answered; returns what a registration refers to it by."""
        content, number = documents.as_bytes(document), next(self._documents)
        for part in documents.parts(content):
            answer = await self.ask("document_part", document=number, data=part)
            assert answer["type"] == "done", answer
        return {"document": number, "bytes": len(content)}

    async def describe(self, name: str, document: Any) -> Message:
        """Register it with a document, or describe it anew: whatever the daemon answers."""
        return await self.ask("register_cluster", name=name, document=await self.send_document(document))

    async def attach(self, cluster: str, name: str, document: Any) -> Message:
        reference = await self.send_document(document)
        return await self.ask("register_subsystem", cluster=cluster, name=name, document=reference)
