"""The SDK: everything a user can ask of Rainbow, as methods of one asynchronous client."""

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rainbow_client.administration import Administration, cluster_graph, show_cluster
from rainbow_client.arrays import job_names
from rainbow_client.config import Config
from rainbow_client.document import Progress, Source
from rainbow_client.errors import Refused, UnknownJob
from rainbow_client.finding import Found, cancel, find, list_jobs
from rainbow_client.following import follow_events, follow_output
from rainbow_client.link import Link
from rainbow_client.output import Output
from rainbow_client.requests import job_ids, job_request, with_changes
from rainbow_client.submitting import submissions, submit_all
from rainbow_client.waiting import wait_for_all
from rainbow_protocol.job import JobRequest, JobState, Totals
from rainbow_protocol.messages.client import (
    Array,
    CancelResult,
    ClusterInfo,
    Clusters,
    ClusterShown,
    Event,
    Explain,
    Explanation,
    JobStatus,
    ListClusters,
    Registered,
    Satisfy,
    SatisfyAnswer,
    SubmitResult,
)
from rainbow_protocol.wishes import Wishes

RETRY_S = 30.0


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
        wishes: Wishes | None = None,
        array: Array | str | None = None,
        key: str | None = None,
    ) -> SubmitResult:
        """Submits one job: a command with counts, or a finished `JobRequest`. `Refused` if it is not taken.

        With an `array` (`"1-1000%50"`) it is submitted once for each index, and the result has the id of the whole.
        """
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
        if wishes is not None:
            job = with_changes(job, wishes=wishes)
        [result] = await self.submit_many([job], None if key is None else [key], [array])
        if result.error is not None:
            raise Refused(result.error.code, result.error.message, result.error.hint)
        return result

    async def submit_many(
        self,
        jobs: Iterable[JobRequest],
        keys: Sequence[str | None] | None = None,
        arrays: Sequence[Array | str | None] | None = None,
        check: bool = False,
    ) -> list[SubmitResult]:
        """Submits any number of jobs; the results, errors among them, are in the order given.

        With `check` nothing is submitted, and only what the daemon would refuse has a result with an error.

        Each job gets a key of its own unless `keys` has one, so a repetition after a broken connection
        returns the first job instead of making a second.
        """
        return await submit_all(self._link, submissions(jobs, keys, arrays), check)

    async def find(self, names: str | Iterable[str]) -> list[Found]:
        """What these names stand for: jobs, arrays (`whole`), members of arrays (`ARRAY[7]`, `ARRAY_7`)."""
        return await find(self._link, names)

    async def status(self, jobs: str | Iterable[str]) -> list[JobStatus]:
        """The state of these jobs, in the order given, of an array's all; `UnknownJob` if one does not exist."""
        try:
            return [one for each in await find(self._link, jobs) for one in each.jobs]
        except UnknownJob as unknown:
            raise UnknownJob(unknown.jobs, [one for each in unknown.found for one in each.jobs]) from None

    async def jobs(
        self,
        *,
        states: Sequence[JobState] | None = None,
        cluster: str | None = None,
        array: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[JobStatus]:
        """The newest jobs first, at most `limit`; those older than `before`, and of `array`, if that is given."""
        return await list_jobs(self._link, states=states, cluster=cluster, array=array, before=before, limit=limit)

    async def cancel(self, jobs: str | Iterable[str]) -> list[CancelResult]:
        """Asks that these jobs end; `UnknownJob` names those that do not exist, after the others were cancelled."""
        return await cancel(self._link, jobs)

    async def explain(self, job: str) -> Explanation:
        """Of one job; for an array, name one of its members."""
        return await self._link.call(Explain(id=0, job=await self._one(job)), Explanation)

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
        return await wait_for_all(self._link, await self.status(jobs), on_end)

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

    async def set_state(self, cluster: str, keys: Mapping[str, Any] | None = None, unset: Sequence[str] = ()) -> None:
        """Site keys of a cluster, such as `cost_per_node_hour`, that policies see beside those of its agent."""
        await self._administration.set_state(cluster, keys or {}, unset)

    async def _one(self, name: str) -> str:
        """The id that a name stands for, which is asked for only if it is a member's."""
        [known] = job_names(name)
        if known.index is None:
            return known.id
        [found] = await find(self._link, name)
        return found.jobs[0].job

    async def _link_for(self, cluster: str) -> Link:
        """Who has no token of a cluster may still look at it with the registration secret."""
        session = await self._link.session()
        return self._link if cluster in session.clusters or not self._may_register else self._registrar
