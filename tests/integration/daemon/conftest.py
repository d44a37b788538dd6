"""One daemon for the tests of a module, and clusters of its own for each test, so that none meets another's jobs.

Tests that stop, kill or starve a daemon start one for themselves.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.integration.daemon.peers import AgentPeer, ClientPeer, Cluster, Registrar
from tests.integration.daemon.process import DaemonProcess

_names = count(1)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    process = DaemonProcess(tmp_path_factory.mktemp("daemon")).start()
    try:
        yield process
        assert process.running, f"a test brought the daemon down: {process.log()}"
        process.stop()
    finally:
        process.end()


StartDaemon = Callable[..., DaemonProcess]


@pytest.fixture
def new_daemon(tmp_path: Path) -> Iterator[StartDaemon]:
    """Makes daemons that are this test's own; without a directory they share one."""
    made: list[DaemonProcess] = []

    def make(directory: Path = tmp_path, **settings: Any) -> DaemonProcess:
        made.append(DaemonProcess(directory, **settings))
        return made[-1]

    yield make
    for process in made:
        process.end()


async def register(daemon: DaemonProcess, name: str | None = None, **fields: Any) -> Cluster:
    async with Registrar(daemon.url) as registrar:
        return await registrar.register(name or f"c{next(_names)}", **fields)


@pytest.fixture
async def registrar(daemon: DaemonProcess) -> AsyncIterator[Registrar]:
    async with Registrar(daemon.url) as peer:
        yield peer


@pytest.fixture
def name() -> str:
    """Of a cluster that is not there yet."""
    return f"described{next(_names)}"


class Federation:
    """A cluster with its agent, and a client with its token. More of each on demand."""

    def __init__(self, daemon: DaemonProcess, stack: AsyncExitStack) -> None:
        self.daemon = daemon
        self.stack = stack
        self.cluster: Cluster
        self.agent: AgentPeer
        self.client: ClientPeer

    async def new_cluster(self, **fields: Any) -> Cluster:
        return await register(self.daemon, **fields)

    async def connect(self, cluster: Cluster, agent_id: str = "agent-of-the-tests") -> AgentPeer:
        """An agent that has not said hello."""
        return await self.stack.enter_async_context(AgentPeer(self.daemon.url, cluster, agent_id))

    async def new_agent(self, cluster: Cluster, **introduction: Any) -> AgentPeer:
        return await (await self.connect(cluster)).introduce(**introduction)

    async def new_client(self, *clusters: Cluster) -> ClientPeer:
        first, *more = [cluster.token for cluster in clusters]
        return await self.stack.enter_async_context(ClientPeer(self.daemon.url, first, more))


Federate = Callable[[DaemonProcess], Awaitable[Federation]]


@pytest.fixture
async def federate() -> AsyncIterator[Federate]:
    async with AsyncExitStack() as stack:

        async def make(daemon: DaemonProcess) -> Federation:
            made = Federation(daemon, stack)
            made.cluster = await made.new_cluster()
            made.agent = await made.new_agent(made.cluster)
            made.client = await made.new_client(made.cluster)
            return made

        yield make


@pytest.fixture
async def federation(daemon: DaemonProcess, federate: Federate) -> Federation:
    return await federate(daemon)
