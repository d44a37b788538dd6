"""The same client for programs without an event loop: a loop in a thread of its own does the work."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any, Self, TypeVar

from rainbow_client.client import RETRY_S
from rainbow_client.client import Client as AsyncClient
from rainbow_client.config import Config
from rainbow_client.document import Source
from rainbow_client.errors import ConnectionFailed
from rainbow_client.finding import Found
from rainbow_client.output import Output
from rainbow_protocol.job import JobRequest, JobState, Totals
from rainbow_protocol.messages.client import (
    Array,
    CancelResult,
    ClusterInfo,
    ClusterShown,
    Event,
    Explanation,
    JobStatus,
    Registered,
    SatisfyAnswer,
    SubmitResult,
)

T = TypeVar("T")


class Client:
    """Use it with `with`. May be shared between threads. The methods are those of the asynchronous client."""

    def __init__(
        self,
        daemon: str,
        tokens: Sequence[str] = (),
        *,
        registration_secret: str | None = None,
        retry_s: float = RETRY_S,
        connect_retry_s: float = 0.0,
    ) -> None:
        def make() -> AsyncClient:
            return AsyncClient(
                daemon,
                tokens,
                registration_secret=registration_secret,
                retry_s=retry_s,
                connect_retry_s=connect_retry_s,
            )

        self._make = make
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._client: AsyncClient | None = None

    @classmethod
    def from_config(cls, config: Config) -> Self:
        return cls(config.daemon, config.tokens, registration_secret=config.registration_secret)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="rainbow client", daemon=True)
        self._thread.start()
        try:
            self._client = self._run(self._open())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._run(self._opened.close())
        finally:
            self._stop()

    def submit(self, job: JobRequest | Sequence[str], **options: Any) -> SubmitResult:
        return self._run(self._opened.submit(job, **options))

    def submit_many(
        self,
        jobs: Iterable[JobRequest],
        keys: Sequence[str | None] | None = None,
        arrays: Sequence[Array | str | None] | None = None,
        check: bool = False,
    ) -> list[SubmitResult]:
        return self._run(self._opened.submit_many(jobs, keys, arrays, check))

    def find(self, names: str | Iterable[str]) -> list[Found]:
        return self._run(self._opened.find(names))

    def status(self, jobs: str | Iterable[str]) -> list[JobStatus]:
        return self._run(self._opened.status(jobs))

    def jobs(
        self,
        *,
        states: Sequence[JobState] | None = None,
        cluster: str | None = None,
        array: str | None = None,
        before: str | None = None,
        limit: int = 100,
    ) -> list[JobStatus]:
        return self._run(self._opened.jobs(states=states, cluster=cluster, array=array, before=before, limit=limit))

    def cancel(self, jobs: str | Iterable[str]) -> list[CancelResult]:
        return self._run(self._opened.cancel(jobs))

    def explain(self, job: str) -> Explanation:
        return self._run(self._opened.explain(job))

    def satisfy(self, job: JobRequest) -> SatisfyAnswer:
        return self._run(self._opened.satisfy(job))

    def clusters(self) -> list[ClusterInfo]:
        return self._run(self._opened.clusters())

    def wait(self, jobs: str | Iterable[str], on_end: Callable[[JobStatus], None] | None = None) -> list[JobStatus]:
        """As in the asynchronous client; `on_end` is called in the client's own thread."""
        return self._run(self._opened.wait(jobs, on_end))

    def watch(self, jobs: str | Iterable[str], since: int = 0) -> Iterator[Event]:
        return self._iterate(lambda client: client.watch(jobs, since))

    def logs(self, job: str, *, follow: bool = False) -> Iterator[Output]:
        return self._iterate(lambda client: client.logs(job, follow=follow))

    def set_state(self, cluster: str, keys: Mapping[str, Any] | None = None, unset: Sequence[str] = ()) -> None:
        self._run(self._opened.set_state(cluster, keys, unset))

    def show_cluster(self, name: str) -> ClusterShown:
        return self._run(self._opened.show_cluster(name))

    def cluster_graph(self, name: str) -> Iterator[bytes]:
        return self._iterate(lambda client: client.cluster_graph(name))

    def register_cluster(
        self, name: str, resources: Totals | None = None, *, document: Source | None = None
    ) -> Registered:
        return self._run(self._opened.register_cluster(name, resources, document=document))

    def register_subsystem(self, cluster: str, name: str, document: Source) -> Registered:
        return self._run(self._opened.register_subsystem(cluster, name, document))

    def delete_subsystem(self, cluster: str, name: str) -> None:
        self._run(self._opened.delete_subsystem(cluster, name))

    def delete_cluster(self, name: str, *, force: bool = False) -> None:
        self._run(self._opened.delete_cluster(name, force=force))

    @property
    def _opened(self) -> AsyncClient:
        if self._client is None:
            raise ConnectionFailed("this client is not open", "Use it as `with Client(…) as rainbow:`.")
        return self._client

    async def _open(self) -> AsyncClient:
        return await self._make().__aenter__()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None:
            work.close()
            raise ConnectionFailed("this client is not open", "Use it as `with Client(…) as rainbow:`.")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except (KeyboardInterrupt, CancelledError):
            future.cancel()
            raise

    def _iterate(self, start: Callable[[AsyncClient], AsyncGenerator[T, None]]) -> Iterator[T]:
        items = start(self._opened)
        try:
            while True:
                try:
                    # A coroutine of ours around anext(): what run_coroutine_threadsafe takes must be a coroutine.
                    yield self._run(_next(items))
                except StopAsyncIteration:
                    return
        finally:
            self._run(items.aclose())

    def _stop(self) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
        self._loop = self._thread = self._client = None


async def _next(items: AsyncGenerator[T, None]) -> T:
    return await anext(items)
