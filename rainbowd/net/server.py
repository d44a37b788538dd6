"""The listening socket: credentials before the upgrade, health for whoever asks, a session for the rest."""

import asyncio
import http
from collections.abc import Awaitable, Callable
from typing import Final

import orjson
import structlog
from websockets.asyncio.server import Server as WebSocketServer
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from rainbow_protocol import AGENT_PATH, CLIENT_PATH, SUBPROTOCOL, limits
from rainbow_protocol.errors import HINTS, ErrorCode
from rainbowd.net.agent_session import AgentSession
from rainbowd.net.auth import AgentOf, Principal, Registrar, UserOf, UserOfDeleted, bearer
from rainbowd.net.client_session import ClientSession
from rainbowd.net.services import Services
from rainbowd.net.session import CLOSE_S, Session

_log = structlog.get_logger()
_PRINCIPAL: Final = "rainbow_principal"
_OPEN_S: Final = 5.0  # for the handshake; a connection that says nothing holds up the end of the daemon for so long


class Server:
    def __init__(self, services: Services, is_ready: Callable[[], bool]) -> None:
        self._services = services
        self._is_ready = is_ready
        self._stopping = False
        self._handlers: dict[str, Callable[[ServerConnection, Principal], Session]] = {
            AGENT_PATH: self._agent,
            CLIENT_PATH: self._client,
        }

    async def listen(self, host: str, port: int) -> WebSocketServer:
        return await serve(
            self._handle,
            host,
            port,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            process_request=self._process_request,
            compression=None,  # small JSON on short paths: the CPU is worth more than the bytes
            max_size=limits.FRAME_BYTES_MAX,
            ping_interval=limits.PING_INTERVAL_S,
            ping_timeout=limits.PING_TIMEOUT_S,
            open_timeout=_OPEN_S,
            close_timeout=CLOSE_S,
            server_header="rainbowd",
        )

    async def say_goodbye(self, reason: str) -> None:
        """Tell every session that we stop, and wait until they are closed or have had their time."""
        self._stopping = True
        sessions = list(self._services.sessions.values())
        for session in sessions:
            session.farewell(reason)
        if sessions:
            closed = [asyncio.create_task(session.connection.wait_closed()) for session in sessions]
            _, late = await asyncio.wait(closed, timeout=CLOSE_S)
            for task in late:
                task.cancel()

    # --- before the upgrade -----------------------------------------------

    def _process_request(self, connection: ServerConnection, request: Request) -> Response | None:
        path = _path(request)
        if path == "/healthz":
            return connection.respond(http.HTTPStatus.OK, "ok\n")
        if path == "/readyz":
            return self._readiness(connection)
        if path not in self._handlers:
            return connection.respond(http.HTTPStatus.NOT_FOUND, "rainbowd speaks at /v1/agent and /v1/client\n")
        if self._stopping:
            return connection.respond(http.HTTPStatus.SERVICE_UNAVAILABLE, HINTS[ErrorCode.SHUTTING_DOWN] + "\n")
        given = request.headers.get_all("Authorization")
        credential = bearer(given[0]) if len(given) == 1 else None
        principal = None if credential is None else self._services.credentials.identify(credential)
        fitting = AgentOf if path == AGENT_PATH else UserOf | UserOfDeleted | Registrar
        fits = isinstance(principal, fitting)
        if not fits:
            return self._unauthorized(connection, path, missing=credential is None)
        setattr(connection, _PRINCIPAL, principal)
        return None

    def _readiness(self, connection: ServerConnection) -> Response:
        ready = self._is_ready() and not self._stopping
        world = self._services.engine.core.world
        words = {"ready": ready, "clusters_online": len(world.sessions), "jobs_alive": len(world.jobs)}
        status = http.HTTPStatus.OK if ready else http.HTTPStatus.SERVICE_UNAVAILABLE
        return connection.respond(status, orjson.dumps(words).decode() + "\n")

    def _unauthorized(self, connection: ServerConnection, path: str, *, missing: bool) -> Response:
        needed = "the cluster's secret" if path == AGENT_PATH else "a submit token or the registration secret"
        problem = "no credential was given" if missing else "this credential is not valid here"
        words = f"{problem}: {path} needs {needed} as 'Authorization: Bearer …'. {HINTS[ErrorCode.UNAUTHORIZED]}\n"
        response = connection.respond(http.HTTPStatus.UNAUTHORIZED, words)
        response.headers["WWW-Authenticate"] = 'Bearer realm="rainbow"'
        _log.warning("handshake refused", path=path, reason=problem, peer=_address(connection))
        return response

    # --- after the upgrade ------------------------------------------------

    def _agent(self, connection: ServerConnection, principal: Principal) -> Session:
        if not isinstance(principal, AgentOf):
            raise TypeError(f"expected an agent, got {principal}")
        return AgentSession(connection, principal, self._services)

    def _client(self, connection: ServerConnection, principal: Principal) -> Session:
        return ClientSession(connection, principal, self._services)

    async def _handle(self, connection: ServerConnection) -> None:
        request = connection.request
        if request is None:
            raise RuntimeError("a connection without a handshake reached the handler")
        session = self._handlers[_path(request)](connection, getattr(connection, _PRINCIPAL))
        self._services.sessions[session.id] = session
        reader: Awaitable[None] = session.read()
        writer = asyncio.create_task(session.write())
        try:
            await reader
        finally:
            del self._services.sessions[session.id]
            session.close(1000, "")
            await writer


def _path(request: Request) -> str:
    return request.path.partition("?")[0]


def _address(connection: ServerConnection) -> str:
    host, port, *_ = connection.remote_address or ("unknown", 0)
    return f"{host}:{port}"
