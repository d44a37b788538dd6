"""The session of a user's program: each request is answered, one after the other, from disk or by the engine."""

import asyncio
from dataclasses import dataclass
from itertools import count
from typing import cast

import structlog
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from rainbow_protocol import ids, limits
from rainbow_protocol.codec import from_client
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.job import TERMINAL_STATES, JobState
from rainbow_protocol.messages import client as wire
from rainbow_protocol.messages.common import Error, Goodbye, error
from rainbowd import __version__
from rainbowd.core import commands
from rainbowd.engine import Engine
from rainbowd.net import explaining, translate
from rainbowd.net.auth import Credentials, Principal, Registrar, UserOf, fingerprint, owner_of
from rainbowd.net.pending import PendingAnswers
from rainbowd.net.relay import ClusterGoneError, OutputRelay
from rainbowd.net.session import Session
from rainbowd.net.watchers import Watchers, pages
from rainbowd.store.repo import Repo

_log = structlog.get_logger()
_serials = count(1)
_LOG_READS_MAX = 64  # of one session at a time


@dataclass(slots=True)
class Services:
    """What every client session works with."""

    engine: Engine
    repo: Repo
    credentials: Credentials
    watchers: Watchers
    pending: PendingAnswers
    relay: OutputRelay
    sessions: dict[int, Session]
    job_ids: ids.JobIds

    def online(self) -> frozenset[str]:
        return frozenset(self.engine.core.world.sessions.values())


class ClientSession(Session):
    def __init__(self, connection: ServerConnection, principal: Principal, services: Services) -> None:
        super().__init__(connection)
        self._services = services
        self._may_register = isinstance(principal, Registrar)
        self._greeted = False
        self._grant({principal.cluster} if isinstance(principal, UserOf) else set())
        self._reads: set[asyncio.Task[None]] = set()

    def _grant(self, clusters: set[str]) -> None:
        self._grants = frozenset(clusters)
        self._owner = owner_of(self._grants)
        self._sorted_grants = tuple(sorted(self._grants))

    async def read(self) -> None:
        try:
            async for frame in self.connection:
                try:
                    await self._take(from_client.decode(frame))
                except ProtocolError as problem:
                    self.refuse(problem.code, problem.message, problem.ref)
        except ConnectionClosed as end:
            _log.debug("client connection ended", session=self.id, end=str(end))
        finally:
            for task in self._reads:
                task.cancel()
            self._services.watchers.forget(self)
            self._services.pending.forget(self)

    async def _take(self, message: wire.FromClient) -> None:
        if isinstance(message, Goodbye | Error):
            return
        if not self._greeted and not isinstance(message, wire.ClientHello):
            raise ProtocolError(ErrorCode.INVALID, "the first message of a client must be 'hello'", message.id)
        match message:
            case wire.Submit():
                await self._submit(message)
            case wire.Status():
                await self._status(message)
            case wire.ListJobs():
                await self._list(message)
            case wire.Cancel():
                await self._cancel(message)
            case wire.Explain():
                self.send(await explaining.explain(self._services.repo, message, self._grants, self._services.online()))
            case wire.ListClusters():
                self._list_clusters(message)
            case wire.Watch():
                await self._watch(message)
            case wire.Unwatch():
                self._services.watchers.end_all(self, message.jobs)
                self.send(wire.Done(ref=message.id))
            case wire.Logs():
                self._start_reading(message)
            case wire.RegisterCluster():
                await self._register(message)
            case wire.ClientHello():
                self._hello(message)

    def _origin(self, request: int) -> commands.Origin:
        return commands.Origin(self.id, request, next(_serials))

    def _hello(self, message: wire.ClientHello) -> None:
        clusters, unknown = set(self._grants), []
        for position, token in enumerate(message.tokens):
            principal = self._services.credentials.identify(token)
            if isinstance(principal, UserOf):
                clusters.add(principal.cluster)
            else:
                unknown.append(position)
        self._greeted = True
        self._grant(clusters)
        names = list(self._sorted_grants)
        self.send(wire.ClientWelcome(ref=message.id, version=__version__, clusters=names, unknown_tokens=unknown))

    # --- jobs -------------------------------------------------------------

    async def _submit(self, message: wire.Submit) -> None:
        if not self._grants:
            words = "this session has no token of any cluster, so it may not submit jobs"
            raise ProtocolError(ErrorCode.NOT_ALLOWED, words, message.id)
        now = self._services.engine.clock()
        refused: dict[int, wire.SubmitResult] = {}
        items: list[commands.NewJob] = []
        for position, submission in enumerate(message.items):
            named = frozenset(submission.request.clusters or self._grants)
            if strange := sorted(named - self._grants):
                words = f"cluster {strange[0]!r} does not exist, or you have no token for it"
                refused[position] = wire.SubmitResult(error=error(ErrorCode.UNKNOWN_CLUSTER, words))
                continue
            # A job belongs to the tokens of the clusters that it may go to, and to no others.
            owner, grants = self._belongs_to(named)
            items.append(translate.new_job(self._services.job_ids.next(now), owner, grants, submission))
        origin = self._origin(message.id)
        self._services.pending.keep_refused(origin, refused)
        await self._services.engine.put(commands.Submit(origin, items, {}))

    def _belongs_to(self, clusters: frozenset[str]) -> tuple[str, tuple[str, ...]]:
        if clusters == self._grants:
            return self._owner, self._sorted_grants
        return owner_of(clusters), tuple(sorted(clusters))

    async def _status(self, message: wire.Status) -> None:
        rows = await self._services.repo.find_jobs(message.jobs, self._grants)
        online = self._services.online()
        found = [translate.job_status(rows[job], online) for job in message.jobs if job in rows]
        unknown = [job for job in message.jobs if job not in rows]
        self.send(wire.Jobs(ref=message.id, items=found, unknown=unknown))

    async def _list(self, message: wire.ListJobs) -> None:
        rows = await self._services.repo.list_jobs(
            self._grants, message.states, message.cluster, message.before, message.limit
        )
        online = self._services.online()
        self.send(wire.Jobs(ref=message.id, items=[translate.job_status(row, online) for row in rows]))

    async def _cancel(self, message: wire.Cancel) -> None:
        rows = await self._services.repo.find_jobs(message.jobs, self._grants)
        unknown = [job for job in message.jobs if job not in rows]
        origin = self._origin(message.id)
        self._services.pending.keep_cancel(origin, {job: row["state"] for job, row in rows.items()}, unknown)
        known = tuple(dict.fromkeys(job for job in message.jobs if job in rows))
        await self._services.engine.put(commands.Cancel(origin, known))

    async def _watch(self, message: wire.Watch) -> None:
        watchers, repo = self._services.watchers, self._services.repo
        jobs = list(dict.fromkeys(message.jobs))
        if watchers.count(self) + len(jobs) > limits.WATCHES_PER_SESSION_MAX:
            words = f"a session may watch {limits.WATCHES_PER_SESSION_MAX} jobs at a time"
            raise ProtocolError(ErrorCode.TOO_MANY, words, message.id)
        rows = await repo.find_jobs(jobs, self._grants)
        for job in rows:
            watchers.begin(self, message.id, job, message.since)
        for job, row in rows.items():
            past = [translate.event(line) async for line in repo.whole_history(job, message.since)]
            for page in pages(watchers.caught_up(self, message.id, job, past)):
                self.send(wire.Events(ref=message.id, items=page))
            if row["state"] in TERMINAL_STATES:  # the event that says so may have been seen before
                watchers.end(self, message.id, job)
        unknown = [job for job in jobs if job not in rows]
        self.send(wire.Events(ref=message.id, items=[], live=True, unknown=unknown))

    # --- output: may wait long, so it runs beside the session's reader ----

    def _start_reading(self, message: wire.Logs) -> None:
        if len(self._reads) >= _LOG_READS_MAX:
            words = f"a session may wait for the output of {_LOG_READS_MAX} jobs at a time"
            raise ProtocolError(ErrorCode.TOO_MANY, words, message.id)
        task = asyncio.create_task(self._read_output(message))
        self._reads.add(task)
        task.add_done_callback(self._reads.discard)

    async def _read_output(self, message: wire.Logs) -> None:
        rows = await self._services.repo.find_jobs([message.job], self._grants)
        row = rows.get(message.job)
        if row is None:
            self.refuse(ErrorCode.UNKNOWN_JOB, f"there is no job {message.job} that you can see", message.id)
        elif row["assigned_at"] is None:
            state = cast(JobState, row["state"])
            self.refuse(ErrorCode.NO_OUTPUT, f"job {message.job} is {state} and has never run", message.id)
        else:
            await self._relay(message, row["cluster"], row["attempt"])

    async def _relay(self, message: wire.Logs, cluster: str, attempt: int) -> None:
        number = self._services.engine.core.world.clusters[cluster].session
        agent = self._services.sessions.get(number) if number is not None else None
        if agent is None:
            words = f"the output of job {message.job} lies at {cluster}, which is offline"
            self.refuse(ErrorCode.CLUSTER_OFFLINE, words, message.id)
            return
        try:
            output = await self._services.relay.read(
                agent, message.job, attempt, message.stdout_offset, message.stderr_offset, message.wait_s
            )
        except ClusterGoneError as problem:
            self.refuse(ErrorCode.CLUSTER_OFFLINE, f"{cluster}: {problem}", message.id)
            return
        if output.error is not None:
            self.refuse(ErrorCode.NO_OUTPUT, f"{cluster}: {output.error}", message.id)
            return
        answer = wire.LogsAnswer(ref=message.id, chunks=output.chunks, done=output.done, truncated=output.truncated)
        self.send(answer)

    # --- clusters ---------------------------------------------------------

    def _list_clusters(self, message: wire.ListClusters) -> None:
        known = self._services.engine.core.world.clusters
        items = [translate.cluster_info(known[name]) for name in self._sorted_grants if name in known]
        self.send(wire.Clusters(ref=message.id, items=items))

    async def _register(self, message: wire.RegisterCluster) -> None:
        if not self._may_register:
            words = "registering a cluster needs the registration secret"
            raise ProtocolError(ErrorCode.NOT_ALLOWED, words, message.id)
        secret, token = ids.new_secret(ids.SECRET_PREFIX), ids.new_secret(ids.TOKEN_PREFIX)
        origin = self._origin(message.id)
        self._services.pending.keep_credentials(origin, secret, token)
        resources = None if message.resources is None else translate.totals(message.resources)
        command = commands.RegisterCluster(origin, message.name, resources, fingerprint(secret), fingerprint(token))
        await self._services.engine.put(command)
