"""The SDK: everything a user can ask of Rainbow, as methods of one asynchronous client."""

import asyncio
import uuid
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from rainbow_client.administration import Administration, cluster_graph, show_cluster
from rainbow_client.config import Config
from rainbow_client.document import Progress, Source
from rainbow_client.errors import InvalidRequest, Refused, UnknownJob
from rainbow_client.following import follow_events, follow_output
from rainbow_client.link import Link
from rainbow_client.output import Output
from rainbow_client.requests import batches, invalid, job_ids, job_request, pages
from rainbow_protocol import limits
from rainbow_protocol.job import TERMINAL_STATES, JobRequest, JobState, Totals
from rainbow_protocol.messages.client import (
    Cancel,
    CancelAnswer,
    CancelResult,
    ClusterInfo,
    Clusters,
    ClusterShown,
    Event,
    Explain,
    Explanation,
    Jobs,
    JobStatus,
    ListClusters,
    ListJobs,
    Registered,
    Satisfy,
    SatisfyAnswer,
    Status,
    Submission,
    Submit,
    SubmitResult,
    Submitted,
)

RETRY_S = 30.0
SUBMIT_FRAMES_IN_FLIGHT = 4


class Client:
    """A user's connection to one daemon. Use it with `async with`; its methods may overlap freely.

    `retry_s` is how long a broken connection is mended before a call fails, `connect_retry_s` the same for the
    very first connection. `on_lost(url)` is told whenever mending begins, `on_busy(pause_s)` whenever a document is
    sent again after a pause because the daemon had no time to read it.
    """

    def __init__(
        self,
        daemon: str,
        tokens: Sequence[str] = (),
        *,
        registration_secret: str | None = None,
        retry_s: float = RETRY_S,
        connect_retry_s: float = 0.0,
        on_lost: Callable[[str], None] | None = None,
        on_busy: Callable[[float], None] | None = None,
    ) -> None:
        def link(credentials: Sequence[str]) -> Link:
            return Link(daemon, credentials, retry_s=retry_s, connect_retry_s=connect_retry_s, on_lost=on_lost)

        registrar = [registration_secret] if registration_secret else []
        self._link = link(list(tokens) or registrar)
        # The registration secret opens a session of its own, and only when somebody registers:
        # a user's everyday session has no business carrying it.
        self._registrar = link(registrar)
        self._may_register = bool(registrar)
        self._administration = Administration(self._registrar, on_busy)

    @classmethod
    def from_config(cls, config: Config, *, retry_s: float = RETRY_S, connect_retry_s: float = 0.0) -> Self:
        return cls(
            config.daemon,
            config.tokens,
            registration_secret=config.registration_secret,
            retry_s=retry_s,
            connect_retry_s=connect_retry_s,
        )

    async def __aenter__(self) -> Self:
        try:
            await self._link.session()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._link.close()
        await self._registrar.close()

    async def submit(
        self,
        job: JobRequest | Sequence[str],
        *,
        nodes: int | None = None,
        tasks: int | None = None,
        cores_per_task: int = 1,
        gpus_per_task: int = 0,
        time_limit_s: float | None = None,
        name: str | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        clusters: Sequence[str] | None = None,
        key: str | None = None,
    ) -> SubmitResult:
        """Submits one job: a command with counts, or a finished `JobRequest`. `Refused` if it is not taken."""
        if not isinstance(job, JobRequest):
            job = job_request(
                job,
                nodes=nodes,
                tasks=tasks,
                cores_per_task=cores_per_task,
                gpus_per_task=gpus_per_task,
                time_limit_s=time_limit_s,
                name=name,
                cwd=cwd,
                env=env,
                clusters=clusters,
            )
        [result] = await self.submit_many([job], None if key is None else [key])
        if result.error is not None:
            raise Refused(result.error.code, result.error.message, result.error.hint)
        return result

    async def submit_many(self, jobs: Iterable[JobRequest], keys: Sequence[str] | None = None) -> list[SubmitResult]:
        """Submits any number of jobs; the results, errors among them, are in the order given.

        Each job gets a key of its own unless `keys` has one, so a repetition after a broken connection
        returns the first job instead of making a second.
        """
        requests = list(jobs)
        if keys is not None and len(keys) != len(requests):
            raise InvalidRequest(f"{len(requests)} jobs were given with {len(keys)} keys", "Give each job one key.")
        try:
            submissions = [
                Submission(key=keys[position] if keys is not None else uuid.uuid4().hex, request=request)
                for position, request in enumerate(requests)
            ]
        except ValidationError as cause:
            raise invalid(cause) from None
        gate = asyncio.Semaphore(SUBMIT_FRAMES_IN_FLIGHT)

        async def send(batch: list[Submission]) -> list[SubmitResult]:
            async with gate:
                answer = await self._link.call(Submit(id=0, items=batch), Submitted)
            if len(answer.items) != len(batch):
                raise Refused("internal", f"the daemon answered {len(answer.items)} of {len(batch)} jobs")
            return answer.items

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(send(batch)) for batch in batches(submissions)]
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        return [result for task in tasks for result in task.result()]

    async def status(self, jobs: str | Iterable[str]) -> list[JobStatus]:
        """The state of these jobs, in the order given; `UnknownJob` if one does not exist."""
        found: list[JobStatus] = []
        unknown: list[str] = []
        for page in pages(job_ids(jobs)):
            answer = await self._link.call(Status(id=0, jobs=page), Jobs)
            found += answer.items
            unknown += answer.unknown
        if unknown:
            raise UnknownJob(unknown, found)
        return found

    async def jobs(
        self, *, states: Sequence[JobState] | None = None, cluster: str | None = None, limit: int = 100
    ) -> list[JobStatus]:
        """The newest jobs first, at most `limit`."""
        found: list[JobStatus] = []
        before: str | None = None
        while len(found) < limit:
            page = min(limit - len(found), limits.JOBS_PAGE_MAX)
            try:
                request = ListJobs(
                    id=0, states=list(states) if states else None, cluster=cluster, before=before, limit=page
                )
            except ValidationError as cause:
                raise invalid(cause) from None
            answer = await self._link.call(request, Jobs)
            found += answer.items
            if len(answer.items) < page:
                break
            before = answer.items[-1].job
        return found

    async def cancel(self, jobs: str | Iterable[str]) -> list[CancelResult]:
        """Asks that these jobs end; `UnknownJob` names those that do not exist, after the others were cancelled."""
        results: list[CancelResult] = []
        unknown: list[str] = []
        for page in pages(job_ids(jobs)):
            answer = await self._link.call(Cancel(id=0, jobs=page), CancelAnswer)
            results += answer.items
            unknown += answer.unknown
        if unknown:
            raise UnknownJob(unknown, results)
        return results

    async def explain(self, job: str) -> Explanation:
        [job] = job_ids(job)
        return await self._link.call(Explain(id=0, job=job), Explanation)

    async def satisfy(self, job: JobRequest) -> SatisfyAnswer:
        """Which clusters could hold this job, online or not, and why the others could not. Submits nothing."""
        return await self._link.call(Satisfy(id=0, request=job), SatisfyAnswer)

    async def clusters(self) -> list[ClusterInfo]:
        return (await self._link.call(ListClusters(id=0), Clusters)).items

    def watch(self, jobs: str | Iterable[str], since: int = 0) -> AsyncGenerator[Event, None]:
        """The history of these jobs, then what happens to them, until all have ended. Survives reconnects."""
        return follow_events(self._link, job_ids(jobs), since)

    async def wait(
        self, jobs: str | Iterable[str], on_end: Callable[[JobStatus], None] | None = None
    ) -> list[JobStatus]:
        """Returns when all these jobs have ended, with their states; `on_end` is told of each as it ends."""
        ids = job_ids(jobs)
        ended = {status.job: status for status in await self.status(ids) if status.state in TERMINAL_STATES}
        if on_end is not None:
            for status in ended.values():
                on_end(status)
        going = [job for job in ids if job not in ended]
        if going:
            async for event in follow_events(self._link, going, 0):
                if event.state in TERMINAL_STATES and event.job not in ended:
                    [status] = await self.status(event.job)
                    ended[event.job] = status
                    if on_end is not None:
                        on_end(status)
        return [ended[job] for job in ids]

    def logs(
        self, job: str, *, follow: bool = False, on_away: Callable[[str], None] | None = None
    ) -> AsyncGenerator[Output, None]:
        """The job's output so far; with `follow`, until the job has ended and all of it was read.

        `on_away` is told when its cluster is offline and following waits until it is back.
        """
        [job] = job_ids(job)
        return follow_output(self._link, job, follow, on_away)

    async def show_cluster(self, name: str) -> ClusterShown:
        """What a cluster has: how many of each type, its kinds of node, its subsystems, its graph in brief."""
        return await show_cluster(await self._link_for(name), name)

    async def cluster_graph(self, name: str) -> AsyncGenerator[bytes, None]:
        """All of a cluster's graph as one JSON document (JSON Graph Format), in pieces of its text."""
        async for piece in cluster_graph(await self._link_for(name), name):
            yield piece

    # --- with the registration secret -------------------------------------

    async def register_cluster(
        self,
        name: str,
        resources: Totals | None = None,
        *,
        document: Source | None = None,
        on_progress: Progress | None = None,
    ) -> Registered:
        """A new cluster; or, for a known one, what it has now: it keeps its credentials, which are told only once.

        A document is a file in one of the forms of docs/resources.md; `on_progress(read, size)` is told how it goes.
        """
        return await self._administration.register_cluster(name, resources, document, on_progress)

    async def register_subsystem(
        self, cluster: str, name: str, document: Source, *, on_progress: Progress | None = None
    ) -> Registered:
        """A graph that is attached to the cluster's, in the place of the one that had this name, if any."""
        return await self._administration.register_subsystem(cluster, name, document, on_progress)

    async def delete_subsystem(self, cluster: str, name: str) -> None:
        await self._administration.delete_subsystem(cluster, name)

    async def delete_cluster(self, name: str, *, force: bool = False) -> None:
        """`Refused` while jobs are assigned to it, unless forced: they then count as lost."""
        await self._administration.delete_cluster(name, force)

    async def _link_for(self, cluster: str) -> Link:
        """Who has no token of a cluster may still look at it with the registration secret."""
        session = await self._link.session()
        return self._link if cluster in session.clusters or not self._may_register else self._registrar
