"""Before a session: who is let in where, and what the others are told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson
import pytest

from rainbow_protocol import AGENT_PATH, CLIENT_PATH, SUBPROTOCOL
from tests.integration.daemon.conftest import Federation, register
from tests.integration.daemon.peers import PATIENCE_S, AgentPeer, ClientPeer, Registrar
from tests.integration.daemon.process import SECRET, DaemonProcess


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: str


@asynccontextmanager
async def tcp(daemon: DaemonProcess) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    parts = urlsplit(daemon.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        yield reader, writer
    finally:
        writer.close()
        await writer.wait_closed()


async def raw(daemon: DaemonProcess, request: bytes) -> Answer:
    """Bytes out, and the head and body of what comes back."""
    async with tcp(daemon) as (reader, writer), asyncio.timeout(PATIENCE_S):
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        status, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Answer(int(status.split()[1]), headers, body.decode())


async def handshake(
    daemon: DaemonProcess, path: str, *authorization: str | bytes, subprotocol: str | None = SUBPROTOCOL
) -> Answer:
    lines = [b"GET " + path.encode() + b" HTTP/1.1", b"Host: localhost", b"Upgrade: websocket", b"Connection: Upgrade"]
    lines += [b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", b"Sec-WebSocket-Version: 13"]
    if subprotocol is not None:
        lines.append(b"Sec-WebSocket-Protocol: " + subprotocol.encode())
    for value in authorization:
        lines.append(b"Authorization: " + (value if isinstance(value, bytes) else value.encode()))
    return await raw(daemon, b"\r\n".join(lines) + b"\r\n\r\n")


async def get(daemon: DaemonProcess, path: str) -> Answer:
    return await raw(daemon, f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())


# --- credentials ----------------------------------------------------------


@pytest.mark.parametrize("path", [AGENT_PATH, CLIENT_PATH])
@pytest.mark.parametrize(
    ("authorization", "problem"),
    [
        ([], "no credential was given"),
        (["Basic dXNlcjpwYXNz"], "no credential was given"),
        (["Bearer "], "no credential was given"),
        (["Bearer rbt_wrong"], "this credential is not valid here"),
        ([b"Bearer \xff\xfe"], "this credential is not valid here"),
        (["Bearer " + "x" * 4000], "this credential is not valid here"),
        (["Bearer a", "Bearer b"], "no credential was given"),
    ],
)
async def test_without_a_valid_credential_it_is_401_with_words(
    daemon: DaemonProcess, path: str, authorization: list[str | bytes], problem: str
) -> None:
    answer = await handshake(daemon, path, *authorization)
    assert answer.status == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert answer.body.startswith(f"{problem}: {path} needs ")


async def test_a_clusters_secret_is_for_agents_and_its_token_for_clients(daemon: DaemonProcess) -> None:
    cluster = await register(daemon)
    assert (await handshake(daemon, CLIENT_PATH, f"Bearer {cluster.secret}")).status == 401
    assert (await handshake(daemon, AGENT_PATH, f"Bearer {cluster.token}")).status == 401
    assert (await handshake(daemon, AGENT_PATH, f"Bearer {SECRET}")).status == 401
    assert (await handshake(daemon, AGENT_PATH, f"Bearer {cluster.secret}")).status == 101
    assert (await handshake(daemon, CLIENT_PATH, f"Bearer {cluster.token}")).status == 101
    assert (await handshake(daemon, CLIENT_PATH, f"bearer {SECRET}")).status == 101


async def test_a_refused_credential_is_not_logged(daemon: DaemonProcess) -> None:
    await handshake(daemon, CLIENT_PATH, "Bearer rbt_mistyped-but-nearly-right")
    assert "mistyped" not in daemon.log()


# --- paths and subprotocols -----------------------------------------------


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/agents", "/v2/client", "/v1/client/", "//[", "/%00", "/v1/client%2f"]
)
async def test_any_other_path_is_404(daemon: DaemonProcess, path: str) -> None:
    answer = await handshake(daemon, path, f"Bearer {SECRET}")
    assert answer.status == 404
    assert answer.body == "rainbowd speaks at /v1/agent and /v1/client\n"


async def test_a_query_does_not_matter(daemon: DaemonProcess) -> None:
    assert (await handshake(daemon, f"{CLIENT_PATH}?x=1", f"Bearer {SECRET}")).status == 101


@pytest.mark.parametrize("subprotocol", [None, "rainbow.v2", "chat"])
async def test_without_our_subprotocol_it_is_400(daemon: DaemonProcess, subprotocol: str | None) -> None:
    answer = await handshake(daemon, CLIENT_PATH, f"Bearer {SECRET}", subprotocol=subprotocol)
    assert answer.status == 400
    assert "subprotocol" in answer.body


async def test_ours_is_chosen_among_several(daemon: DaemonProcess) -> None:
    answer = await handshake(daemon, CLIENT_PATH, f"Bearer {SECRET}", subprotocol=f"chat, {SUBPROTOCOL}")
    assert (answer.status, answer.headers["sec-websocket-protocol"]) == (101, SUBPROTOCOL)


async def test_the_credential_is_looked_at_before_the_subprotocol(daemon: DaemonProcess) -> None:
    assert (await handshake(daemon, CLIENT_PATH, subprotocol=None)).status == 401


async def test_plain_http_at_an_endpoint_is_refused(daemon: DaemonProcess) -> None:
    assert (await get(daemon, CLIENT_PATH)).status == 401


@pytest.mark.parametrize("junk", [b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\r\n\r\n"])
async def test_what_is_not_http_disturbs_nobody(federation: Federation, junk: bytes) -> None:
    async with tcp(federation.daemon) as (reader, writer), asyncio.timeout(PATIENCE_S):
        writer.write(junk)
        assert await reader.read() == b""  # closed, without a word that it could not understand
    job = await federation.client.submit()
    await federation.agent.run(job)
    assert (await federation.client.status(job))["state"] == "completed"


# --- health ---------------------------------------------------------------


async def test_health(daemon: DaemonProcess) -> None:
    answer = await get(daemon, "/healthz")
    assert (answer.status, answer.body) == (200, "ok\n")


async def test_readiness_counts_clusters_and_jobs(federation: Federation) -> None:
    before = orjson.loads((await get(federation.daemon, "/readyz")).body)
    await federation.client.submit()
    agent = await federation.new_agent(await federation.new_cluster())
    answer = await get(federation.daemon, "/readyz")
    assert answer.status == 200
    after = orjson.loads(answer.body)
    assert after["ready"] is True
    assert after["clusters_online"] == before["clusters_online"] + 1
    assert after["jobs_alive"] == before["jobs_alive"] + 1
    await agent.socket.close()


# --- hello ----------------------------------------------------------------


async def test_a_client_is_told_its_clusters_and_which_tokens_open_nothing(daemon: DaemonProcess) -> None:
    first, second = await register(daemon, "hello-a"), await register(daemon, "hello-b")
    tokens = ["rbt_wrong", second.token, second.secret, SECRET, first.token]
    async with ClientPeer(daemon.url, first.token, tokens) as client:
        assert client.welcome["clusters"] == ["hello-a", "hello-b"]
        assert client.welcome["unknown_tokens"] == [0, 2, 3]
        assert client.welcome["version"]


async def test_a_client_must_say_hello_first_and_may_do_so_late(daemon: DaemonProcess) -> None:
    cluster = await register(daemon)
    async with ClientPeer(daemon.url, cluster.token, greets=False) as early:
        refusal = await early.ask("clusters")
        assert (refusal["type"], refusal["code"]) == ("error", "invalid")
        assert "hello" in refusal["message"]
        assert (await early.ask("hello"))["clusters"] == [cluster.name]
        assert (await early.ask("clusters"))["items"][0]["name"] == cluster.name


async def test_a_second_hello_adds_tokens(daemon: DaemonProcess) -> None:
    first, second = await register(daemon), await register(daemon)
    async with ClientPeer(daemon.url, first.token) as client:
        welcome = await client.ask("hello", tokens=[second.token])
        assert welcome["clusters"] == sorted([first.name, second.name])


async def test_the_registration_secret_registers_and_does_nothing_else(daemon: DaemonProcess) -> None:
    async with Registrar(daemon.url) as registrar:
        assert registrar.welcome["clusters"] == []
        cluster = await registrar.register("fresh")
        assert cluster.secret.startswith("rbs_")
        assert cluster.token.startswith("rbt_")
        assert (await registrar.ask("clusters"))["items"] == []
        assert (await registrar.ask("list"))["items"] == []
        refusal = await registrar.ask("submit", items=[{"request": {"command": ["true"]}}])
        assert refusal["code"] == "not_allowed"


async def test_a_name_is_registered_once(daemon: DaemonProcess) -> None:
    cluster = await register(daemon)
    async with Registrar(daemon.url) as registrar:
        refusal = await registrar.ask("register_cluster", name=cluster.name)
        assert (refusal["code"], "secret" in refusal) == ("cluster_exists", False)
    async with AgentPeer(daemon.url, cluster) as agent:
        await agent.introduce()


async def test_a_submit_token_does_not_register(federation: Federation) -> None:
    refusal = await federation.client.ask("register_cluster", name="mine")
    assert refusal["code"] == "not_allowed"
