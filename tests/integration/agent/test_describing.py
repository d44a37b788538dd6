"""How a cluster tells the daemon what it has: when asked, when it changed, and when that goes wrong."""

import base64
import hashlib
import random
import signal
import socket
import zlib
from pathlib import Path
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs

from rainbow_protocol.limits import GRAPH_PART_BYTES_MAX
from rainbow_protocol.messages import agent as wire
from tests.integration.agent.conftest import StartAgent, running_agent
from tests.integration.agent.fake_daemon import FakeDaemon


@pytest.fixture
def nodes_json(settings: dict[str, Any], tmp_path: Path) -> Path:
    path = tmp_path / "nodes.json"
    path.write_text('{"nodes": [{"name": "a", "cores": 2}]}')
    settings["nodes_json"] = path
    return path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


async def test_nothing_is_sent_that_the_daemon_has(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    async with running_agent(settings):
        hello, _ = await daemon.greet()
        assert hello.graph is not None
        await daemon.end(await daemon.start("true"))
        assert not [message for message in daemon.seen if isinstance(message, wire.GraphPart)]


async def test_a_local_cluster_describes_itself(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    settings |= {"labels": {"site": "here"}, "properties": ["fast"], "memory_per_node": 4096}
    async with running_agent(settings):
        hello, _ = await daemon.greet(send_graph=True)
        document = await daemon.description()
        assert hashlib.sha256(document).hexdigest() == hello.graph
    nodes = orjson.loads(document)["nodes"]
    assert [node["name"] for node in nodes] == ["node0", "node1"]
    assert nodes[0]["cores"] == 2
    assert nodes[0]["memory"] == 4096
    assert nodes[0]["labels"]["site"] == "here"
    assert nodes[0]["properties"] == ["fast"]


async def test_a_document_is_sent_as_it_is_in_as_many_parts_as_it_takes(
    daemon: FakeDaemon, settings: dict[str, Any], nodes_json: Path
) -> None:
    nodes_json.write_bytes(random.Random(1).randbytes(5 * GRAPH_PART_BYTES_MAX // 2))
    async with running_agent(settings):
        hello, _ = await daemon.greet(send_graph=True)
        parts = [await daemon.expect(wire.GraphPart) for _ in range(3)]
        assert [part.last for part in parts] == [False, False, True]
        assert {part.digest for part in parts} == {hello.graph} == {digest(nodes_json)}
        assert zlib.decompress(b"".join(base64.b64decode(part.data) for part in parts)) == nodes_json.read_bytes()
        # Bids do not wait for it, and it does not come again unless it is asked for.
        assert daemon.connection is not None
        await daemon.connection.close()
        again, _ = await daemon.greet()
        assert again.graph == hello.graph
        await daemon.end(await daemon.start("true"))
        assert not [message for message in daemon.seen if isinstance(message, wire.GraphPart)]


async def test_a_refusal_is_told_and_the_cluster_goes_on(
    daemon: FakeDaemon,
    settings: dict[str, Any],
    nodes_json: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    status = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    status.bind(str(tmp_path / "notify"))
    status.setblocking(False)
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
    with capture_logs() as logs:
        async with running_agent(settings):
            await daemon.greet(send_graph=True)
            await daemon.description()
            await daemon.send(wire.GraphTaken(digest=digest(nodes_json), error="node a:\nhas no room"))
            assert (await daemon.end(await daemon.start("true"))).event == "completed"
    words = "the daemon refused this cluster's description: node a: has no room"
    assert [line["words"] for line in logs if line["log_level"] == "error"] == [words]
    said = b"|".join(_datagrams(status)).decode()
    status.close()
    assert f"STATUS=connected as tested; {words}" in said


def _datagrams(status: socket.socket) -> list[bytes]:
    found = []
    while True:
        try:
            found.append(status.recv(65536))
        except BlockingIOError:
            return found


async def test_a_busy_daemon_gets_it_again_later(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    async with running_agent(settings) as agent:
        agent._announcer.pause_s = (0.0, 0.01)
        hello, _ = await daemon.greet(send_graph=True)
        assert hello.graph is not None
        first = await daemon.description()
        for _ in range(2):
            await daemon.send(wire.GraphTaken(digest=hello.graph, error="busy", busy=True))
            assert await daemon.description() == first
        assert agent._announcer.trouble is None


async def test_a_changed_document_is_sent_without_being_asked_for(
    daemon: FakeDaemon, start_agent: StartAgent, nodes_json: Path
) -> None:
    agent = await start_agent()
    hello, _ = await daemon.greet()
    assert hello.graph == digest(nodes_json)
    nodes_json.write_text('{"nodes": [{"name": "b", "cores": 2}]}')
    agent.process.send_signal(signal.SIGHUP)
    assert await daemon.description() == nodes_json.read_bytes()
    # After a break the hello tells of the new one.
    assert daemon.connection is not None
    await daemon.connection.close()
    again, _ = await daemon.greet()
    assert again.graph == digest(nodes_json)
    assert await agent.stop() == 0


async def test_a_change_between_hello_and_welcome_is_sent(
    daemon: FakeDaemon, settings: dict[str, Any], nodes_json: Path
) -> None:
    async with running_agent(settings) as agent:
        await daemon.session()
        await daemon.expect(wire.AgentHello)
        nodes_json.write_text("other")
        await agent._announcer.look()
        await daemon.welcome()
        assert await daemon.description() == b"other"


async def test_a_document_that_vanished_leaves_the_old_one(
    daemon: FakeDaemon, settings: dict[str, Any], nodes_json: Path
) -> None:
    with capture_logs() as logs:
        async with running_agent(settings) as agent:
            before, _ = await daemon.greet()
            document = nodes_json.read_bytes()
            nodes_json.unlink()
            agent.look_again()
            assert agent._announcer._looking is not None
            await agent._announcer._looking
            assert agent._announcer.trouble is not None
            nodes_json.write_bytes(document)
            agent.look_again()
            await agent._announcer._looking
            assert agent._announcer.trouble is None
            assert daemon.connection is not None
            await daemon.connection.close()
            again, _ = await daemon.greet()
            assert again.graph == before.graph
    [line] = [line for line in logs if line["log_level"] == "error"]
    assert "stays as it was" in line["words"]
    assert "nodes.json: cannot be read: No such file or directory" in line["words"]


async def test_a_file_that_changes_while_it_is_sent_is_sent_again(
    daemon: FakeDaemon, settings: dict[str, Any], nodes_json: Path
) -> None:
    async with running_agent(settings):
        await daemon.session()
        hello = await daemon.expect(wire.AgentHello)
        nodes_json.write_text("other")
        await daemon.welcome(send_graph=True)
        assert await daemon.description() == b"other"
        assert hello.graph != digest(nodes_json)


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, b"cannot be read: No such file or directory"), ("", b"is empty; write what this cluster has")],
)
async def test_a_document_that_cannot_be_sent_stops_the_start(
    start_agent: StartAgent, nodes_json: Path, content: str | None, words: bytes
) -> None:
    nodes_json.unlink()
    if content is not None:
        nodes_json.write_text(content)
    agent = await start_agent()
    _, said = await agent.process.communicate()
    assert agent.process.returncode == 2
    assert b"nodes_json: " + str(nodes_json).encode() + b": " + words in said
