"""The session of a user's program: its requests are answered one by one, as the disk has it or by the engine."""

import asyncio
from collections import defaultdict
from collections.abc import Coroutine
from itertools import count
from typing import Any, cast

import structlog
from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from rainbow_protocol import limits
from rainbow_protocol.codec import from_client
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.job import TERMINAL_STATES, JobState
from rainbow_protocol.messages import client as wire
from rainbow_protocol.messages.common import Error, Goodbye
from rainbowd import __version__
from rainbowd.core import commands
from rainbowd.core.state import Cluster
from rainbowd.net import explaining, showing, submitting, translate
from rainbowd.net.auth import Principal, Registrar, UserOf, UserOfDeleted
from rainbowd.net.grants import Grants
from rainbowd.net.registrar_desk import RegistrarDesk
from rainbowd.net.relay import ClusterGoneError
from rainbowd.net.services import Services
from rainbowd.net.session import Session
from rainbowd.net.watchers import pages

_log = structlog.get_logger()
_serials = count(1)
_LOG_READS_MAX = 64  # of one session at a time
_NO_CLUSTER = "this session has no token of any cluster that is there"


class ClientSession(Session):
    def __init__(self, connection: ServerConnection, principal: Principal, services: Services) -> None:
        super().__init__(connection)
        self._services = services
        self._desk = RegistrarDesk(self, services) if isinstance(principal, Registrar) else None
        self._greeted = False
        self._user = ""
        self._grants = Grants()
        principal = services.credentials.as_of_now(principal)
        if isinstance(principal, UserOf | UserOfDeleted):
            self._grants.add(principal)
        self._running: dict[type[wire.Request], set[asyncio.Task[None]]] = defaultdict(set)
        self._exports = showing.Exports()

    def cluster_deleted(self, name: str, generation: int, grant: str) -> None:
        self._grants.cluster_deleted(name, generation, grant)

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
            for tasks in self._running.values():
                for task in tasks:
                    task.cancel()
            self._exports.close()
            if self._desk is not None:
                self._desk.close()
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
                services, seeing = self._services, self._grants.seeing
                online, policy = services.online(), services.site.default
                self.send(await explaining.explain(services.repo, message, seeing, online, policy))
            case wire.ListClusters():
                await self._from_memory(message)
                self._list_clusters(message)
            case wire.Watch():
                await self._watch(message)
            case wire.Unwatch():
                self._services.watchers.end_all(self, message.jobs)
                self.send(wire.Done(ref=message.id))
            case wire.Logs():
                self._start_reading(message)
            case wire.ShowCluster():
                await self._from_memory(message)
                self._show(message)
            case wire.Satisfy():
                await self._from_memory(message)
                self._satisfy(message)
            case wire.DocumentPart():
                await self._at_desk(message.id).take_part(message)
            case (
                wire.RegisterCluster()
                | wire.RegisterSubsystem()
                | wire.DeleteSubsystem()
                | wire.DeleteCluster()
                | wire.SetState()
            ):
                self._at_desk(message.id).take(message)
            case wire.ClientHello():
                self._hello(message)

    def _origin(self, request: int) -> commands.Origin:
        return commands.Origin(self.id, request, next(_serials))

    def _hello(self, message: wire.ClientHello) -> None:
        unknown = []
        for position, token in enumerate(message.tokens):
            principal = self._services.credentials.identify(token)
            if isinstance(principal, UserOf | UserOfDeleted):
                self._grants.add(principal)
            else:
                unknown.append(position)
        self._greeted = True
        self._user = message.user or ""
        names = list(self._grants.in_order)
        self.send(wire.ClientWelcome(ref=message.id, version=__version__, clusters=names, unknown_tokens=unknown))

    # --- jobs -------------------------------------------------------------

    async def _submit(self, message: wire.Submit) -> None:
        if not self._grants.usable:
            raise ProtocolError(ErrorCode.NOT_ALLOWED, f"{_NO_CLUSTER}, so it may not submit jobs", message.id)
        items, parts = await submitting.unfolded(self._services, self._grants, self._user, message.items)
        if message.check:
            told = [part if isinstance(part, wire.SubmitResult) else wire.SubmitResult() for part in parts]
            self.send(wire.Submitted(ref=message.id, items=told))
            return
        origin = self._origin(message.id)
        self._services.pending.keep_submit(origin, parts)
        await self._services.engine.put(commands.Submit(origin, items, {}))

    async def _status(self, message: wire.Status) -> None:
        """An array's id is unknown here: its members come page by page, with `list`."""
        rows = await self._services.repo.find_jobs(message.jobs, self._grants.seeing)
        online = self._services.online()
        found = [translate.job_status(rows[job], online) for job in message.jobs if job in rows]
        unknown = [job for job in message.jobs if job not in rows]
        self.send(wire.Jobs(ref=message.id, items=found, unknown=unknown))

    async def _list(self, message: wire.ListJobs) -> None:
        rows = await self._services.repo.list_jobs(
            self._grants.seeing, message.states, message.cluster, message.before, message.limit, message.array
        )
        online = self._services.online()
        self.send(wire.Jobs(ref=message.id, items=[translate.job_status(row, online) for row in rows]))

    async def _cancel(self, message: wire.Cancel) -> None:
        """An array's id is unknown here, as for `status`: an answer has no more items than its request named."""
        named = list(dict.fromkeys(message.jobs))
        rows = await self._services.repo.find_jobs(named, self._grants.seeing)
        unknown = [job for job in named if job not in rows]
        origin = self._origin(message.id)
        self._services.pending.keep_cancel(origin, {job: row["state"] for job, row in rows.items()}, unknown)
        await self._services.engine.put(commands.Cancel(origin, tuple(job for job in named if job in rows)))

    async def _watch(self, message: wire.Watch) -> None:
        watchers, repo = self._services.watchers, self._services.repo
        jobs = list(dict.fromkeys(message.jobs))
        if watchers.count(self) + len(jobs) > limits.WATCHES_PER_SESSION_MAX:
            words = f"a session may watch {limits.WATCHES_PER_SESSION_MAX} jobs at a time"
            raise ProtocolError(ErrorCode.TOO_MANY, words, message.id)
        rows = await repo.find_jobs(jobs, self._grants.seeing)
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
        self._room_for(message, _LOG_READS_MAX, f"wait for the output of {_LOG_READS_MAX} jobs")
        self._beside(message, self._read_output(message))

    def _room_for(self, message: wire.Request, at_once_max: int, words: str) -> None:
        if len(self._running[type(message)]) >= at_once_max:
            raise ProtocolError(ErrorCode.TOO_MANY, f"a session may {words} at a time", message.id)
        running = sum(map(len, self._running.values())) + (0 if self._desk is None else self._desk.at_work)
        if running >= limits.REQUESTS_IN_FLIGHT_MAX:
            words = f"a session may have {limits.REQUESTS_IN_FLIGHT_MAX} requests in flight"
            raise ProtocolError(ErrorCode.TOO_MANY, words, message.id)

    def _beside(self, message: wire.Request, work: Coroutine[Any, Any, None]) -> None:
        """Counted from here on, not only when it begins: the next request may be taken before that."""
        task = asyncio.create_task(work)
        self._running[type(message)].add(task)
        task.add_done_callback(self._running[type(message)].discard)

    async def _read_output(self, message: wire.Logs) -> None:
        rows = await self._services.repo.find_jobs([message.job], self._grants.seeing)
        row = rows.get(message.job)
        if row is None:
            self.refuse(ErrorCode.UNKNOWN_JOB, f"there is no job {message.job} that you can see", message.id)
        elif row["assigned_at"] is None:
            state = cast(JobState, row["state"])
            self.refuse(ErrorCode.NO_OUTPUT, f"job {message.job} is {state} and has never run", message.id)
        else:
            await self._relay(message, row["cluster"], row["owner"], row["attempt"])

    async def _relay(self, message: wire.Logs, cluster: str, owner: str, attempt: int) -> None:
        known = self._services.engine.core.world.clusters.get(cluster)
        if known is None or not self._services.repo.may_go_to(owner, cluster):  # or its name is another's now
            words = f"the output of job {message.job} lay at {cluster}, which was deleted"
            self.refuse(ErrorCode.UNKNOWN_CLUSTER, words, message.id)
            return
        number = known.session
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

    # --- clusters: from the core's memory, in which they all are, as soon as the disk has the same -------------------

    async def _from_memory(self, message: wire.Request) -> None:
        """What is read after this must be read at once: the next step of the core is ahead of the disk again."""
        if not await self._services.engine.on_disk():
            raise ProtocolError(ErrorCode.SHUTTING_DOWN, "the daemon is stopping", message.id)

    def _list_clusters(self, message: wire.ListClusters) -> None:
        known = self._services.engine.core.world.clusters
        items = [translate.cluster_info(known[name]) for name in self._grants.in_order if name in known]
        self.send(wire.Clusters(ref=message.id, items=items))

    def _satisfy(self, message: wire.Satisfy) -> None:
        if not self._grants.usable:
            raise ProtocolError(ErrorCode.NOT_ALLOWED, f"{_NO_CLUSTER}, so there is none to ask", message.id)
        named = frozenset(message.request.clusters or self._grants.usable)
        if strange := sorted(named - self._grants.usable):
            words = f"cluster {strange[0]!r} does not exist, or you have no token for it"
            raise ProtocolError(ErrorCode.UNKNOWN_CLUSTER, words, message.id)
        self.send(showing.satisfy(self._services.engine.core.world, message, sorted(named)))

    def _show(self, message: wire.ShowCluster) -> None:
        if message.part == 0:  # the only one that takes long
            at_once = showing.EXPORTS_OF_SESSION_MAX
            self._room_for(message, at_once, f"begin to fetch the graphs of {at_once} clusters")
            self._beside(message, self._begin_export(message))
            return
        cluster = self._shown(message)
        if message.part is None:
            self.send(showing.summary(cluster, message.id, self._services.engine.core.world.settings.groups))
            return
        try:
            self.send(self._exports.part(cluster, message))
        except ProtocolError as problem:
            self.refuse(problem.code, problem.message, message.id)

    def _shown(self, message: wire.ShowCluster) -> Cluster:
        cluster = self._services.engine.core.world.clusters.get(message.name)
        if cluster is None or not (self._desk is not None or message.name in self._grants.usable):
            words = f"cluster {message.name!r} does not exist, or you have no token for it"
            raise ProtocolError(ErrorCode.UNKNOWN_CLUSTER, words, message.id)
        return cluster

    async def _begin_export(self, message: wire.ShowCluster) -> None:
        try:
            await self._exports.begin(self._services.describing, self._shown(message))
            await self._from_memory(message)
            # Looked up once more: while the document was made, the cluster may have been deleted or described anew.
            self.send(self._exports.part(self._shown(message), message))
        except ProtocolError as problem:
            self.refuse(problem.code, problem.message, message.id)
        except Exception:
            _log.exception("a graph could not be shown", session=self.id, cluster=message.name)
            self.refuse(ErrorCode.INTERNAL, f"the graph of {message.name!r} could not be shown", message.id)

    def _at_desk(self, ref: int) -> RegistrarDesk:
        if self._desk is None:
            words = "to register, describe or delete clusters needs the registration secret"
            raise ProtocolError(ErrorCode.NOT_ALLOWED, words, ref)
        return self._desk
