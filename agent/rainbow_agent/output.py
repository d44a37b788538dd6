"""Answers `read_output`, each in its own task, so that a reader who waits keeps nobody else waiting."""

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path

from rainbow_agent.backends.base import Backend, OutputFiles
from rainbow_agent.core.effects import Phase
from rainbow_agent.core.model import Key
from rainbow_agent.session import Link
from rainbow_protocol.limits import OUTPUT_CHUNK_BYTES_MAX
from rainbow_protocol.messages.agent import Output, OutputChunk, ReadOutput

READS_MAX = 256  # at once; each holds at most two chunks
LOOK_AGAIN_S = 0.05  # how often a waiting reader looks whether the files grew


class OutputDesk:
    def __init__(self, backend: Backend, phase_of: Callable[[Key], Phase | None]) -> None:
        self._backend = backend
        self._phase_of = phase_of
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, request: ReadOutput, link: Link) -> None:
        if len(self._tasks) >= READS_MAX:
            words = f"{READS_MAX} reads of output are under way in this cluster; try again in a moment"
            link.send(Output(request=request.request, chunks=[], done=False, error=words))
            return
        task = asyncio.create_task(self._answer(request, link))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, request: ReadOutput, link: Link) -> None:
        loop = asyncio.get_running_loop()
        until = loop.time() + request.wait_s
        while True:
            answer = await asyncio.to_thread(self._read, request)
            if answer.chunks or answer.done or answer.error is not None or loop.time() >= until or link.closed:
                link.send(answer)
                return
            await asyncio.sleep(LOOK_AGAIN_S)

    def _read(self, request: ReadOutput) -> Output:
        key = Key(request.job, request.attempt)
        phase = self._phase_of(key)
        files = self._backend.output(key)
        if files is None:
            if phase is None:
                words = "this cluster keeps no output of this attempt (any more)"
                return Output(request=request.request, chunks=[], done=False, error=words)
            # Before it runs there is none yet; if it ended without running there never will be.
            return Output(request=request.request, chunks=[], done=phase == "finished")
        try:
            # A job that was lost, or told and forgotten, has ended too, whatever it left behind.
            return _chunks(request, files, files.ended or phase in (None, "finished"))
        except OSError as cause:
            words = f"the output cannot be read: {cause.strerror}"
            return Output(request=request.request, chunks=[], done=False, error=words)


def _chunks(request: ReadOutput, files: OutputFiles, ended: bool) -> Output:
    out, out_left = _piece(files.stdout, request.stdout_offset)
    err, err_left = _piece(files.stderr, request.stderr_offset)
    chunks = []
    if out:
        chunks.append(OutputChunk(stream="stdout", offset=request.stdout_offset, data=base64.b64encode(out).decode()))
    if err:
        chunks.append(OutputChunk(stream="stderr", offset=request.stderr_offset, data=base64.b64encode(err).decode()))
    done = ended and not out_left and not err_left
    return Output(request=request.request, chunks=chunks, done=done, truncated=files.truncated)


def _piece(path: Path, offset: int) -> tuple[bytes, bool]:
    """The bytes from there, and whether more follow them."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            piece = file.read(OUTPUT_CHUNK_BYTES_MAX + 1)
    except FileNotFoundError:  # it has not begun to write, or never could
        return b"", False
    return piece[:OUTPUT_CHUNK_BYTES_MAX], len(piece) > OUTPUT_CHUNK_BYTES_MAX
