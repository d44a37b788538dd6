"""What those do who hold the registration secret: clusters and subsystems come, change and go."""

import asyncio
import itertools
import zlib
from base64 import b64decode
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from rainbow_client.document import Progress, Source, send_document
from rainbow_client.errors import ConnectionFailed, Refused, SessionLost
from rainbow_client.link import Link
from rainbow_client.patience import busy_pauses
from rainbow_client.requests import invalid
from rainbow_client.session import refusal
from rainbow_protocol.errors import ErrorCode
from rainbow_protocol.job import Totals
from rainbow_protocol.messages.client import (
    Answer,
    ClusterShown,
    DeleteCluster,
    DeleteSubsystem,
    Done,
    RegisterCluster,
    Registered,
    RegisterSubsystem,
    Request,
    SetState,
    ShowCluster,
)
from rainbow_protocol.messages.common import Error

READ_S_MAX = 600.0  # others' documents may be read first
_NAMES = "A cluster's name has small letters, digits and dashes, like a host name."

A = TypeVar("A", bound=Answer)


class Administration:
    """What comes and goes is not repeated when the connection breaks: what was told only once would be lost.

    What the daemon had no time to read is asked for again a few times; `on_busy` is told in how many seconds.
    """

    def __init__(self, link: Link, on_busy: Callable[[float], None] | None = None) -> None:
        self._link = link
        self._on_busy = on_busy
        self._numbers = itertools.count(1)
        self._one_document = asyncio.Lock()  # a session has one at a time

    async def register_cluster(
        self, name: str, resources: Totals | None, document: Source | None, on_progress: Progress | None
    ) -> Registered:
        try:
            request = RegisterCluster(id=0, name=name, resources=resources)
        except ValidationError as cause:
            raise invalid(cause, _NAMES) from None
        if document is None:
            return await self._link.call(request, Registered, repeatable=False)
        return await self._with_document(request, document, on_progress)

    async def register_subsystem(
        self, cluster: str, name: str, document: Source, on_progress: Progress | None
    ) -> Registered:
        reference = {"document": 0, "bytes": 1}  # until the document was sent
        try:
            request = RegisterSubsystem.model_validate(
                {"id": 0, "cluster": cluster, "name": name, "document": reference}
            )
        except ValidationError as cause:
            raise invalid(cause, "A subsystem's name has letters, digits, dots and dashes.") from None
        return await self._with_document(request, document, on_progress)

    async def delete_subsystem(self, cluster: str, name: str) -> None:
        try:
            request = DeleteSubsystem(id=0, cluster=cluster, name=name)
        except ValidationError as cause:
            raise invalid(cause, _NAMES) from None
        # What is left of the cluster is read again for this, so it may be refused as a document may be.
        await self._while_busy(lambda: self._link.call(request, Done, repeatable=False, answer_s=READ_S_MAX))

    async def delete_cluster(self, name: str, force: bool) -> None:
        try:
            request = DeleteCluster(id=0, name=name, force=force)
        except ValidationError as cause:
            raise invalid(cause, _NAMES) from None
        await self._link.call(request, Done, repeatable=False)

    async def set_state(self, cluster: str, keys: Mapping[str, Any], unset: Sequence[str]) -> None:
        try:
            request = SetState(id=0, cluster=cluster, keys=dict(keys), unset=list(unset))
        except ValidationError as cause:
            hint = f"A key has letters, digits and _; a value is a number, true, false or a line of text. {_NAMES}"
            raise invalid(cause, hint) from None
        await self._link.call(request, Done)  # the same again changes nothing, so it may be repeated

    async def _with_document(self, request: Request, document: Source, on_progress: Progress | None) -> Registered:
        begin = None if isinstance(document, Path) or not document.seekable() else document.tell()
        # What comes through a pipe can be read once only.
        if not isinstance(document, Path) and begin is None:
            return await self._once_with_document(request, document, on_progress)

        async def from_the_beginning() -> Registered:
            if not isinstance(document, Path) and begin is not None:
                document.seek(begin)
            return await self._once_with_document(request, document, on_progress)

        return await self._while_busy(from_the_beginning)

    async def _while_busy(self, ask: Callable[[], Awaitable[A]]) -> A:
        """Only what was refused unread is asked for again, so nothing is done twice."""
        for pause_s in busy_pauses():
            try:
                return await ask()
            except Refused as refused:
                if refused.code != ErrorCode.READING_BUSY:
                    raise
            if self._on_busy is not None:
                self._on_busy(pause_s)
            await asyncio.sleep(pause_s)
        return await ask()

    async def _once_with_document(self, request: Request, document: Source, on_progress: Progress | None) -> Registered:
        async with self._one_document:
            session = await self._link.session()
            try:
                sent = await send_document(session, next(self._numbers), document, on_progress)
                async with asyncio.timeout(READ_S_MAX):
                    answer = await session.ask(request.model_copy(update={"document": sent}))
            except SessionLost as lost:
                raise ConnectionFailed(
                    f"{lost.message}; whether the document was taken is not known",
                    "`rainbow clusters show NAME` tells what the daemon knows of a cluster.",
                ) from None
            except TimeoutError:
                words = f"{self._link.url} did not read the document within {READ_S_MAX:g} s"
                raise ConnectionFailed(words, "`rainbow clusters show NAME` tells whether it was taken.") from None
        if isinstance(answer, Error):
            raise refusal(answer)
        if not isinstance(answer, Registered):
            raise ConnectionFailed(f"the daemon answered with {type(answer).__name__}, which does not fit")
        return answer


async def show_cluster(link: Link, name: str, part: int | None = None) -> ClusterShown:
    try:
        request = ShowCluster(id=0, name=name, part=part)
    except ValidationError as cause:
        raise invalid(cause, _NAMES) from None
    return await link.call(request, ClusterShown, answer_s=READ_S_MAX)


async def cluster_graph(link: Link, name: str) -> AsyncGenerator[bytes, None]:
    """The whole graph as one JSON document, piece by piece."""
    expander = zlib.decompressobj()
    part, parts = 0, 1
    while part < parts:
        shown = await show_cluster(link, name, part)
        if shown.part is None or shown.parts is None:
            raise ConnectionFailed("the daemon did not send the graph that it was asked for")
        part, parts = part + 1, shown.parts
        piece = b64decode(shown.part)
        while piece:
            yield expander.decompress(piece, 1024 * 1024)
            piece = expander.unconsumed_tail
    yield expander.flush()
