"""The document that describes a cluster: its digest, its parts, and what is refused before it is sent."""

import base64
import hashlib
import os
import random
import tracemalloc
import zlib
from collections import Counter
from pathlib import Path

import orjson
import pytest

from rainbow_agent import description
from rainbow_agent.backends.launching import LocalSettings
from rainbow_agent.backends.own_nodes import node_list
from rainbow_agent.core.model import Totals
from rainbow_agent.description import DescriptionChangedError, DescriptionError, parts, survey
from rainbow_protocol.codec import encode, from_agent
from rainbow_protocol.limits import FRAME_BYTES_MAX, GRAPH_PART_BYTES_MAX
from rainbow_protocol.messages.agent import GraphPart
from rainbowd.resources.graph import ResourceGraph
from rainbowd.resources.reading.documents import read_cluster


def whole(sent: list[GraphPart]) -> bytes:
    return zlib.decompress(b"".join(base64.b64decode(part.data) for part in sent))


@pytest.mark.parametrize("size", [1, 1000, 5 * GRAPH_PART_BYTES_MAX // 2])
@pytest.mark.parametrize("in_a_file", [False, True])
def test_it_arrives_as_it_is(tmp_path: Path, size: int, in_a_file: bool) -> None:
    document = random.Random(size).randbytes(size)  # nothing that compresses
    path = tmp_path / "nodes"
    path.write_bytes(document)
    found = survey(path if in_a_file else document)
    assert found.digest == hashlib.sha256(document).hexdigest()
    assert found.bytes == size
    sent = list(parts(found))
    assert whole(sent) == document
    assert [part.last for part in sent] == [False] * (len(sent) - 1) + [True]
    for part in sent:
        assert (part.digest, part.bytes) == (found.digest, size)
        assert 0 < len(base64.b64decode(part.data)) <= GRAPH_PART_BYTES_MAX
        assert len(encode(part)) < FRAME_BYTES_MAX
        assert from_agent.decode(encode(part).decode()) == part


def test_only_a_piece_of_it_is_ever_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    with path.open("wb") as file:
        for number in range(32):
            file.write(f'{{"vertex": {number}}}\n'.encode() * 70_000)
    assert path.stat().st_size > 30 * 1024**2
    tracemalloc.start()
    try:
        for _ in parts(survey(path)):
            pass
        assert tracemalloc.get_traced_memory()[1] < 6 * 1024**2
    finally:
        tracemalloc.stop()


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match=r"none\.json: cannot be read: No such file or directory"):
        survey(tmp_path / "none.json")


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(DescriptionError, match="empty: is empty; write"):
        survey(tmp_path / "empty")


def test_what_is_not_a_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(DescriptionError, match=r"is not a file|Is a directory"):
            survey(path)


def test_the_size_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "nodes"
    path.write_bytes(b"x" * 1000)
    monkeypatch.setattr(description, "GRAPH_BYTES_MAX", 1000)
    assert survey(path).bytes == 1000
    monkeypatch.setattr(description, "GRAPH_BYTES_MAX", 999)
    with pytest.raises(DescriptionError, match="has more than 999 bytes"):
        survey(path)


def test_the_compressed_size_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(description, "GRAPH_SENT_BYTES_MAX", 3 * 1024**2)
    small, large = (survey(random.Random(1).randbytes(mib * 1024**2)) for mib in (2, 4))
    assert list(parts(small))[-1].last
    with pytest.raises(DescriptionError, match="bytes when compressed"):
        list(parts(large))


def test_a_file_that_changed_is_not_passed_off_as_the_one_that_was_told(tmp_path: Path) -> None:
    path = tmp_path / "nodes"
    path.write_bytes(b"first")
    found = survey(path)
    path.write_bytes(b"second")
    with pytest.raises(DescriptionChangedError, match="changed while it was sent"):
        list(parts(found))


def test_the_local_backend_describes_its_nodes() -> None:
    settings = LocalSettings(
        Totals(2, 8, 1),
        Path("jobs"),
        Path("work"),
        lambda: "tested",
        labels={"arch": "riscv64", "site": "here"},
        properties=("ib", "fast"),
        memory_per_node=1024,
    )
    document = orjson.loads(node_list(settings))
    labels = {"os": "linux", "arch": "riscv64", "site": "here"}
    node = {"cores": 8, "gpus": 1, "memory": 1024, "labels": labels, "properties": ["fast", "ib"]}
    assert document == {"nodes": [{"name": "node0", "rank": 0, **node}, {"name": "node1", "rank": 1, **node}]}
    assert node_list(settings) == node_list(settings)


def test_the_daemon_understands_all_of_it() -> None:
    settings = LocalSettings(
        Totals(3, 8, 2), Path("jobs"), Path("work"), lambda: "tested", labels={"gpu.model": "a100"}, properties=("ib",)
    )
    graph = read_cluster(node_list(settings))
    assert isinstance(graph, ResourceGraph)
    assert graph.warnings == []
    assert sorted(graph.names.values()) == ["node0", "node1", "node2"]
    assert sorted(graph.ranks.values()) == [0, 1, 2]
    sizes = Counter[str]()
    for kind in (graph.kinds[position] for position in graph.kind_of):
        sizes[kind.type] += int(kind.size)
    assert (sizes["core"], sizes["gpu"]) == (24, 6)
    node = next(kind for kind in graph.kinds if kind.type == "node")
    assert node.properties == ("ib",)
    assert dict(node.attributes)["gpu.model"] == "a100"


def test_the_machines_memory_is_shared_by_its_nodes() -> None:
    def memory(nodes: int) -> int:
        settings = LocalSettings(Totals(nodes, 1), Path("jobs"), Path("work"), lambda: "tested")
        amount: int = orjson.loads(node_list(settings))["nodes"][0]["memory"]
        return amount

    assert memory(1) > 64 * 1024**2
    assert memory(4) == memory(1) // 4
