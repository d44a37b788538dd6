"""A fake daemon, and agents to connect to it: in this process for speed, or as a process that can be killed."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from rainbow_agent.app import Agent
from rainbow_agent.backends.processes import open_process
from rainbow_agent.config import AgentSettings
from rainbow_agent.state_dir import StateDir
from tests.integration.agent.fake_daemon import SECRET, FakeDaemon


@pytest.fixture
async def daemon() -> AsyncIterator[FakeDaemon]:
    async with FakeDaemon() as running:
        yield running


@pytest.fixture
def settings(daemon: FakeDaemon, tmp_path: Path) -> Iterator[dict[str, Any]]:
    yield {
        "daemon": daemon.url,
        "name": "tested",
        "secret": SECRET,
        "state_dir": tmp_path / "state",
        "workdir": tmp_path,
        "nodes": 2,
        "cores_per_node": 2,
        "kill_grace_s": 0.3,
        "stop_timeout_s": 0.5,
    }
    # Jobs outlive their agent, and those of a test that failed would outlive the tests.
    for claim in (tmp_path / "state" / "jobs").glob("*/*/claim"):
        document = orjson.loads(claim.read_bytes())
        pidfd = document["pid"] and open_process(document["pid"], document["start_ticks"])
        if pidfd:
            signal.pidfd_send_signal(pidfd, signal.SIGTERM)
            os.close(pidfd)


@asynccontextmanager
async def running_agent(settings: dict[str, Any]) -> AsyncIterator[Agent]:
    loaded = AgentSettings.load(None, settings)
    state_dir = StateDir(loaded.state_dir)
    agent = Agent(loaded, state_dir)
    task = asyncio.create_task(agent.run())
    try:
        yield agent
    finally:
        agent.stop()
        try:
            await task
        finally:
            state_dir.close()


@pytest.fixture
async def agent(daemon: FakeDaemon, settings: dict[str, Any]) -> AsyncIterator[Agent]:
    """An agent that the daemon has welcomed."""
    async with running_agent(settings) as running:
        await daemon.greet()
        yield running


class AgentProcess:
    """`python -m rainbow_agent run`, as systemd would have it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()

    async def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return await self.process.wait()


StartAgent = Callable[..., Any]


@pytest.fixture
async def start_agent(settings: dict[str, Any]) -> AsyncIterator[StartAgent]:
    async with AsyncExitStack() as stack:

        async def start(**changes: Any) -> AgentProcess:
            given = {**settings, **changes}
            env = {name: value for name, value in os.environ.items() if not name.startswith("RAINBOW_")}
            env |= {f"RAINBOW_AGENT_{name.upper()}": str(value) for name, value in given.items()}
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "rainbow_agent", "run", env=env, stderr=asyncio.subprocess.PIPE
            )
            agent = AgentProcess(process)

            async def end() -> None:
                code = process.returncode
                if code is None:
                    await agent.kill()
                # Shown by pytest if the test fails: else nobody knows whether the agent was slow or had died.
                assert process.stderr is not None
                words = (await process.stderr.read()).decode(errors="replace")
                print(f"--- an agent ({'still there' if code is None else f'exit code {code}'}) said:\n{words}")

            stack.push_async_callback(end)
            return agent

        yield start
