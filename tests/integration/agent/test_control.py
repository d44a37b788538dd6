"""The site's people and the running agent: drain, resume, keys, and what the daemon hears."""

import asyncio
import os
import socket
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs

from rainbow_agent.app import Agent
from rainbow_agent.control import SOCKET, socket_address
from rainbow_agent.site_orders import ORDER_BYTES_MAX
from rainbow_protocol.job import Shape
from rainbow_protocol.messages import agent as wire
from tests.integration.agent.conftest import StartAgent, running_agent
from tests.integration.agent.fake_daemon import FakeDaemon


async def command(settings: dict[str, Any], *words: str) -> tuple[int, str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAINBOW_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "rainbow_agent", *words, "--state-dir", str(settings["state_dir"])),
        env=env,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


async def test_draining_is_told_and_refuses_and_survives(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    async with running_agent(settings):
        hello, _ = await daemon.greet()
        assert (hello.draining, hello.keys) == (None, {})
        job = await daemon.start("sleep", "30")
        await daemon.report(job, "running")
        assert await command(settings, "drain", "--reason", "new cooling") == (0, "draining: new cooling\n")
        await daemon.expect(wire.ClusterState, lambda state: state.draining == "new cooling")
        [bid] = await daemon.offer(Shape())
        assert (bid.answer, bid.reason) == ("no", "draining: new cooling")
    async with running_agent(settings):
        hello, inventory = await daemon.greet()
        assert hello.draining == "new cooling"
        assert [item.phase for item in inventory] == ["started"]
        assert await command(settings, "resume") == (0, "taking jobs\n")
        await daemon.expect(wire.ClusterState, lambda state: state.draining is None)
        [bid] = await daemon.offer(Shape())
        assert bid.answer == "yes"
        await daemon.cancel(job)
        await daemon.end(job)


async def test_keys_are_told(daemon: FakeDaemon, agent: Agent, settings: dict[str, Any]) -> None:
    code, _ = await command(settings, "state", "set", "rack=b", "watts=1.5", "gpu=true")
    assert code == 0
    keys = {"rack": "b", "watts": 1.5, "gpu": True}
    await daemon.expect(wire.ClusterState, lambda state: state.keys == keys)
    assert (await command(settings, "state", "unset", "rack"))[0] == 0
    await daemon.expect(wire.ClusterState, lambda state: "rack" not in state.keys)
    code, shown = await command(settings, "state")
    assert (code, shown) == (0, "taking jobs\ngpu=true\nwatts=1.5\n")


async def test_the_socket_is_private_and_goes_with_the_agent(
    daemon: FakeDaemon, settings: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "state" / SOCKET
    async with running_agent(settings):
        await daemon.greet()
        assert path.is_socket()
        assert path.stat().st_mode & 0o777 == 0o600
    assert not path.exists()


async def test_a_killed_agents_socket_is_in_nobodys_way(
    daemon: FakeDaemon, settings: dict[str, Any], start_agent: StartAgent, tmp_path: Path
) -> None:
    agent = await start_agent()
    await daemon.greet()
    await agent.kill()
    assert (tmp_path / "state" / SOCKET).is_socket()
    code, words = await command(settings, "drain", "--reason", "dark")
    assert (code, words) == (0, "draining: dark (no agent runs here now: from its next start on)\n")
    await start_agent()
    hello, _ = await daemon.greet()
    assert hello.draining == "dark"


async def test_a_path_longer_than_an_address_will_do(daemon: FakeDaemon, settings: dict[str, Any]) -> None:
    settings["state_dir"] = settings["state_dir"] / ("d" * 120)
    async with running_agent(settings):
        await daemon.greet()
        assert await command(settings, "drain", "--reason", "x") == (0, "draining: x\n")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"what?\n", "Invalid JSON"),
        (b"no end of line", "expected one line of JSON"),
        (b"x" * (ORDER_BYTES_MAX + 1) + b"\n", "expected one line of JSON"),
    ],
)
async def test_nonsense_is_answered(agent: Agent, settings: dict[str, Any], line: bytes, words: str) -> None:
    with socket_address(settings["state_dir"]) as address:
        reader, writer = await asyncio.open_unix_connection(address)
    writer.write(line)
    writer.write_eof()
    answer = orjson.loads(await reader.readline())
    assert words in answer["error"]
    writer.close()


async def test_another_account_is_refused(
    agent: Agent, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rainbow_agent.control._peer_uid", lambda _: 65534)
    with socket_address(settings["state_dir"]) as address:
        reader, writer = await asyncio.open_unix_connection(address)
    writer.write(b'{"order": "show"}\n')
    answer = orjson.loads(await reader.readline())
    assert answer["error"] == "only the agent's own account may do this"
    writer.close()


async def test_an_agent_without_a_socket_works_all_the_same(
    daemon: FakeDaemon, settings: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "state" / SOCKET).mkdir(parents=True)  # nothing can listen there
    with capture_logs() as logs:
        async with running_agent(settings):
            await daemon.greet()
            [bid] = await daemon.offer(Shape())
            assert bid.answer == "yes"
    assert any("cannot reach this agent" in entry["event"] for entry in logs)


def test_the_address_names_the_socket(tmp_path: Path) -> None:
    with socket_address(tmp_path) as address, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
    assert (tmp_path / SOCKET).is_socket()
