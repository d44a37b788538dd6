"""The process in which descriptions are read: its answers, its refusals, and its ends."""

import asyncio
import json
import os
import zlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from rainbowd.resources.classes import describe
from rainbowd.resources.graph import GraphRefusedError
from rainbowd.resources.packing import pack, unpack, unpack_subsystem
from rainbowd.resources.reading.documents import read_cluster
from rainbowd.resources.workshop import Workshop, WorkshopBusyError, WorkshopFailedError


def cluster(nodes: int) -> dict[str, Any]:
    vertices: dict[str, Any] = {"c": {"metadata": {"type": "cluster"}}}
    edges = []
    for number in range(nodes):
        vertices[f"n{number}"] = {"metadata": {"type": "node", "name": f"host{number}"}}
        vertices[f"k{number}"] = {"metadata": {"type": "core", "size": 8}}
        edges += [{"source": "c", "target": f"n{number}"}, {"source": f"n{number}", "target": f"k{number}"}]
    return {"graph": {"nodes": vertices, "edges": edges}}


SPACK = {
    "graph": {
        "nodes": {"gcc": {"metadata": {"type": "compiler", "version": "12.1"}}},
        "edges": [{"source": "n0", "target": "gcc"}],
    }
}


class Spool:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._count = 0

    def __call__(self, document: object) -> tuple[Path, int]:
        """The compressed file and the length of what is in it."""
        self._count += 1
        text = document if isinstance(document, bytes) else json.dumps(document).encode()
        path = self._directory / f"{self._count}.z"
        path.write_bytes(zlib.compress(text))
        return path, len(text)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    return Spool(tmp_path)


@pytest.fixture
async def workshop() -> AsyncIterator[Workshop]:
    opened = Workshop()
    yield opened
    await opened.aclose()


@pytest.fixture
async def sluggish() -> AsyncIterator[Workshop]:
    """Given a FIFO to read that nobody writes into, it works until it is stopped."""
    opened = Workshop(waiting_max=2)
    yield opened
    await opened.aclose()


class Endless:
    """A document that is never there to be read: a FIFO that nobody writes into."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._writers: list[int] = []

    async def reached(self, workshop: Workshop) -> int:
        """The id of the process, once it has opened the document."""
        self._writers.append(await asyncio.to_thread(os.open, self.path, os.O_WRONLY))
        assert workshop.pid is not None
        return workshop.pid

    def close(self) -> None:
        for writer in self._writers:
            os.close(writer)


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[Endless]:
    made = Endless(tmp_path / "endless")
    yield made
    made.close()


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_cluster_is_described_as_it_would_be_here(workshop: Workshop, spool: Spool) -> None:
    document = cluster(3)
    described = await workshop.describe_cluster(*spool(document))
    expected = read_cluster(json.dumps(document).encode())
    assert described.graph == pack(expected)
    assert described.description == describe(expected, [])
    assert described.vertices == 7
    assert described.warnings == []


async def test_subsystems_come_and_go(workshop: Workshop, spool: Spool) -> None:
    bare = await workshop.describe_cluster(*spool(cluster(3)))
    with_spack = await workshop.attach_subsystem(bare.graph, [], "spack", *spool(SPACK))
    assert with_spack.description != bare.description
    subsystem = unpack_subsystem(with_spack.subsystem)
    assert subsystem.attached == {"n0": [0]}
    assert describe(unpack(bare.graph), [subsystem]) == with_spack.description

    replaced = await workshop.attach_subsystem(bare.graph, [with_spack.subsystem], "spack", *spool(SPACK))
    assert replaced.description == with_spack.description
    again = await workshop.describe_cluster(*spool(cluster(3)), [with_spack.subsystem])
    assert again.description == with_spack.description
    assert (await workshop.detach(bare.graph, [])).description == bare.description

    exported = json.loads(zlib.decompress(await workshop.export(bare.graph, [with_spack.subsystem], "red")))
    assert exported["name"] == "red"
    assert exported["graph"]["nodes"]["gcc"]["metadata"]["attributes"] == {"version": "12.1"}
    plain = zlib.decompress(await workshop.export(bare.graph, [], "red"))
    assert read_cluster(plain) == unpack(bare.graph)


async def test_a_refusal_comes_back_in_words(workshop: Workshop, spool: Spool) -> None:
    document = cluster(1)
    document["graph"]["edges"].append({"source": "n0", "target": "nowhere"})
    with pytest.raises(GraphRefusedError, match="there is no vertex 'nowhere'"):
        await workshop.describe_cluster(*spool(document))
    bare = await workshop.describe_cluster(*spool(cluster(1)))
    other = {"graph": {**SPACK["graph"], "edges": [{"source": "n9", "target": "gcc"}]}}
    with pytest.raises(GraphRefusedError, match="has a vertex 'n9'"):
        await workshop.attach_subsystem(bare.graph, [], "spack", *spool(other))


async def test_a_subsystem_that_lost_its_place(workshop: Workshop, spool: Spool) -> None:
    bare = await workshop.describe_cluster(*spool(cluster(1)))
    spack = await workshop.attach_subsystem(bare.graph, [], "spack", *spool(SPACK))
    with pytest.raises(GraphRefusedError, match="'n0'"):
        await workshop.describe_cluster(
            *spool({"graph": {"nodes": {"x": {"metadata": {"type": "node"}}}}}), [spack.subsystem]
        )


async def test_a_document_that_grows_far_beyond_what_was_said(workshop: Workshop, spool: Spool) -> None:
    path, _ = spool(b" " * 100_000_000)
    assert path.stat().st_size < 200_000
    with pytest.raises(GraphRefusedError, match="longer than the 1,000 bytes"):
        await workshop.describe_cluster(path, 1_000)
    assert sorted(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("damage", [lambda data: data[:-10], lambda data: b"x" + data, lambda data: b""])
async def test_a_document_that_did_not_arrive_whole(workshop: Workshop, spool: Spool, damage: Any) -> None:
    path, length = spool(cluster(3))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(GraphRefusedError, match="did not arrive whole"):
        await workshop.describe_cluster(path, length)


async def test_a_document_shorter_than_was_said(workshop: Workshop, spool: Spool) -> None:
    path, length = spool(cluster(3))
    with pytest.raises(GraphRefusedError, match=f"{length:,} bytes of {length + 1:,}"):
        await workshop.describe_cluster(path, length + 1)


async def test_a_document_that_is_too_long(workshop: Workshop, spool: Spool) -> None:
    path, _ = spool(cluster(1))
    with pytest.raises(GraphRefusedError, match="300,000,000 bytes; at most"):
        await workshop.describe_cluster(path, 300_000_000)


async def test_what_takes_too_long_is_given_up(endless: Endless) -> None:
    workshop = Workshop(time_limit_s=0.2)
    with pytest.raises(WorkshopFailedError, match=r"took longer than 0.2 s"):
        await workshop.describe_cluster(endless.path, 1)
    assert workshop.pid is None
    await workshop.aclose()


async def test_what_needs_too_much_memory_is_given_up(spool: Spool) -> None:
    workshop = Workshop(memory_bytes_max=192 * 2**20)
    with pytest.raises(WorkshopFailedError, match="needed more than 192 MiB of memory"):
        await workshop.describe_cluster(
            *spool(json.dumps([{"name": f"n{n}", "cores": 1} for n in range(400_000)]).encode())
        )
    await workshop.aclose()


async def test_a_killed_process_fails_its_job_and_no_other(sluggish: Workshop, endless: Endless, spool: Spool) -> None:
    job = asyncio.create_task(sluggish.describe_cluster(endless.path, 1))
    os.kill(await endless.reached(sluggish), 9)
    with pytest.raises(WorkshopFailedError):
        await job
    assert (await sluggish.describe_cluster(*spool(cluster(1)))).vertices == 3


async def test_a_process_that_breaks_says_so(workshop: Workshop, tmp_path: Path) -> None:
    with pytest.raises(WorkshopFailedError, match="the daemon's log says why"):
        await workshop.describe_cluster(tmp_path / "there is no such file", 1)


async def test_jobs_wait_their_turn_but_not_too_many(sluggish: Workshop, endless: Endless, spool: Spool) -> None:
    first = asyncio.create_task(sluggish.describe_cluster(endless.path, 1))
    await endless.reached(sluggish)
    second = asyncio.create_task(sluggish.describe_cluster(*spool(cluster(1))))
    await asyncio.sleep(0)
    with pytest.raises(WorkshopBusyError, match="try again in a minute"):
        await sluggish.describe_cluster(*spool(cluster(1)))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert (await second).vertices == 3


async def test_exports_leave_room_for_registrations(endless: Endless, spool: Spool) -> None:
    workshop = Workshop(waiting_max=3, exports_max=1)
    graph = (await workshop.describe_cluster(*spool(cluster(1)))).graph
    first = asyncio.create_task(workshop.describe_cluster(endless.path, 1))
    await endless.reached(workshop)
    export = asyncio.create_task(workshop.export(graph, (), "red"))
    await asyncio.sleep(0)
    with pytest.raises(WorkshopBusyError, match="graphs are being fetched"):
        await workshop.export(graph, (), "red")
    described = asyncio.create_task(workshop.describe_cluster(*spool(cluster(1))))
    first.cancel()
    assert zlib.decompress(await export)
    assert (await described).vertices == 3
    assert await workshop.export(graph, (), "red")
    await workshop.aclose()


async def test_whoever_gives_up_takes_the_process_along(sluggish: Workshop, endless: Endless) -> None:
    job = asyncio.create_task(sluggish.describe_cluster(endless.path, 1))
    pid = await endless.reached(sluggish)
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert not _is_there(pid)


async def test_closing_ends_what_is_under_way(sluggish: Workshop, endless: Endless, spool: Spool) -> None:
    job = asyncio.create_task(sluggish.describe_cluster(endless.path, 1))
    pid = await endless.reached(sluggish)
    await sluggish.aclose()
    assert not _is_there(pid)
    with pytest.raises(WorkshopFailedError, match="the daemon is stopping"):
        await job
    with pytest.raises(WorkshopFailedError, match="the daemon is stopping"):
        await sluggish.describe_cluster(*spool(cluster(1)))


async def test_no_secret_of_the_daemon_reaches_the_process(
    sluggish: Workshop, endless: Endless, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAINBOWD_SECRET", "chocolate")
    job = asyncio.create_task(sluggish.describe_cluster(endless.path, 1))
    environment = Path(f"/proc/{await endless.reached(sluggish)}/environ").read_bytes()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job
    assert b"chocolate" not in environment


async def test_the_loop_goes_on_while_a_document_is_read(workshop: Workshop, spool: Spool) -> None:
    job = asyncio.create_task(workshop.describe_cluster(*spool(cluster(20_000))))
    turns = 0
    while not job.done():
        await asyncio.sleep(0)
        turns += 1
    assert (await job).vertices == 40_001
    assert turns > 100


async def test_warnings_travel_too(workshop: Workshop, spool: Spool) -> None:
    described = await workshop.describe_cluster(*spool([{"name": "n", "cores": 1, "colour": "red"}]))
    assert described.warnings == ["not understood, and left out of every node: 'colour'"]
    assert (await workshop.detach(described.graph, [])).warnings == []


async def test_a_cluster_that_grows_on_demand(workshop: Workshop, spool: Spool) -> None:
    described = await workshop.describe_cluster(*spool({"max_nodes": 9, "cores_per_node": 4}))
    assert described.vertices == 0
    assert read_cluster(zlib.decompress(await workshop.export(described.graph, [], "cloud"))) == unpack(described.graph)
