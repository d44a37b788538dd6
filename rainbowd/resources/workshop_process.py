"""The process in which documents are read: started for one job, and gone with all its memory when that is done.

Reads the job from its standard input, and writes the answer to its standard output.
"""

import gc
import mmap
import os
import resource
import sys
import tempfile
import zlib
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from rainbow_protocol import limits
from rainbowd.resources.classes import describe
from rainbowd.resources.export import as_jgf
from rainbowd.resources.graph import GraphRefusedError, Limits, ResourceGraph, SubsystemGraph
from rainbowd.resources.packing import pack, pack_subsystem, unpack, unpack_subsystem
from rainbowd.resources.reading.documents import read_cluster
from rainbowd.resources.reading.subsystems import read_subsystem
from rainbowd.resources.reading.words import told

_CHUNK_BYTES = 1024 * 1024
_NICENESS = 10
_FIRST_TO_GO = "500"  # when memory runs out: rather this than the daemon


class Document(msgspec.Struct):
    """Compressed with zlib in a file; `length` is what was said of it before it was compressed."""

    path: str
    length: int


class Bounds(msgspec.Struct):
    memory_bytes: int
    cpu_s: int


class DescribeCluster(msgspec.Struct, tag=True):
    bounds: Bounds
    document: Document
    subsystems: list[bytes]


class AttachSubsystem(msgspec.Struct, tag=True):
    bounds: Bounds
    graph: bytes
    others: list[bytes]
    name: str
    document: Document


class Detach(msgspec.Struct, tag=True):
    bounds: Bounds
    graph: bytes
    remaining: list[bytes]


class Export(msgspec.Struct, tag=True):
    bounds: Bounds
    graph: bytes
    subsystems: list[bytes]
    name: str


Job = DescribeCluster | AttachSubsystem | Detach | Export


class Done(msgspec.Struct, tag=True):
    graph: bytes = b""
    subsystem: bytes = b""
    description: bytes = b""
    exported: bytes = b""
    vertices: int = 0
    warnings: list[str] = []


class Refused(msgspec.Struct, tag=True):
    words: str


class OutOfMemory(msgspec.Struct, tag=True):
    pass


Answer = Done | Refused | OutOfMemory


def main() -> None:
    gc.disable()  # it lives shortly, and makes nothing that only the collector could free
    job = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=Job)
    _be_modest(job.bounds)
    answer: Answer
    try:
        answer = work(job)
    except GraphRefusedError as error:
        answer = Refused(told(str(error)))
    except MemoryError:
        answer = OutOfMemory()
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer))
    sys.stdout.buffer.flush()
    os._exit(0)  # taking a million objects apart takes time, and the kernel does it better


def _be_modest(bounds: Bounds) -> None:
    with suppress(PermissionError):  # a unit of systemd may forbid it
        os.nice(_NICENESS)
    resource.setrlimit(resource.RLIMIT_AS, (bounds.memory_bytes, bounds.memory_bytes))
    # Whoever started it ends it in time; this is for when that one has died.
    resource.setrlimit(resource.RLIMIT_CPU, (bounds.cpu_s, bounds.cpu_s))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError):  # not there in every container
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)


def work(job: Job) -> Done:
    if isinstance(job, DescribeCluster):
        graph = read_cluster(uncompressed(job.document))
        done = _described(graph, _subsystems(job.subsystems))
        done.graph = pack(graph)
        done.warnings = [told(warning) for warning in graph.warnings] if isinstance(graph, ResourceGraph) else []
        return done
    if isinstance(job, AttachSubsystem):
        graph = unpack(job.graph)
        ids = frozenset(graph.ids) if isinstance(graph, ResourceGraph) else frozenset[str]()
        subsystem = read_subsystem(job.name, uncompressed(job.document), ids)
        others = [one for one in _subsystems(job.others) if one.name != job.name]
        done = _described(graph, [*others, subsystem])
        done.subsystem = pack_subsystem(subsystem)
        return done
    if isinstance(job, Detach):
        return _described(unpack(job.graph), _subsystems(job.remaining))
    return Done(exported=_compressed_export(unpack(job.graph), _subsystems(job.subsystems), job.name))


def _described(graph: ResourceGraph | Limits, subsystems: Sequence[SubsystemGraph]) -> Done:
    description = describe(graph, sorted(subsystems, key=lambda one: one.name))
    return Done(description=description, vertices=len(graph) if isinstance(graph, ResourceGraph) else 0)


def _subsystems(packed: list[bytes]) -> list[SubsystemGraph]:
    return [unpack_subsystem(one) for one in packed]


def uncompressed(document: Document) -> Any:
    """The document as a map of a file without a name, which is gone when nobody reads it any more."""
    if document.length > limits.GRAPH_BYTES_MAX:
        raise GraphRefusedError(
            f"the document has {document.length:,} bytes; at most {limits.GRAPH_BYTES_MAX:,} are read. "
            "Describe cores as pools (one vertex of type core with a size) instead of one by one"
        )
    expander = zlib.decompressobj()
    written = 0
    path = Path(document.path)
    with tempfile.TemporaryFile(dir=path.parent) as out, path.open("rb") as source:
        try:
            while not expander.eof and (chunk := source.read(_CHUNK_BYTES)):
                while chunk:
                    # One byte more than there should be is enough to see that there is too much.
                    part = expander.decompress(chunk, min(_CHUNK_BYTES, document.length - written + 1))
                    written += out.write(part)
                    if written > document.length:
                        raise GraphRefusedError(
                            f"the document is longer than the {document.length:,} bytes it was said to be"
                        )
                    chunk = expander.unconsumed_tail
        except zlib.error as error:
            raise GraphRefusedError(f"the document did not arrive whole: {error}; send it again") from error
        if not expander.eof or written != document.length:
            raise GraphRefusedError(
                f"the document did not arrive whole: {written:,} bytes of {document.length:,}; send it again"
            )
        out.flush()
        return mmap.mmap(out.fileno(), 0, access=mmap.ACCESS_READ)


def _compressed_export(graph: ResourceGraph | Limits, subsystems: Sequence[SubsystemGraph], name: str) -> bytes:
    compressor = zlib.compressobj(1)
    parts = [compressor.compress(part) for part in as_jgf(graph, subsystems, name)]
    return b"".join([*parts, compressor.flush()])


if __name__ == "__main__":
    main()
