"""Clusters and subsystems by the commands that a site's administrator types, against a real daemon."""

import subprocess
from itertools import count
from pathlib import Path
from random import Random

import orjson
import pytest

from rainbow_client import Client
from rainbow_client.local.federation import Federation
from rainbow_client.sync import Client as SyncClient
from tests.integration.client.conftest import Outcome, Rainbow, command_line, environment
from tests.integration.daemon import documents

pytestmark = pytest.mark.xdist_group("client-federation")
_names = count(1)


@pytest.fixture
def name() -> str:
    return f"site{next(_names)}"


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "nodes.json"
    path.write_bytes(documents.as_bytes(documents.cluster(nodes=3, cores=4, gpus=1)))
    return path


@pytest.fixture
def disks(tmp_path: Path) -> Path:
    path = tmp_path / "io.json"
    path.write_bytes(documents.as_bytes(documents.subsystem("node1", "node2", kind="nvme")))
    return path


def done(outcome: Outcome) -> Outcome:
    assert outcome.code == 0, outcome.err
    return outcome


def test_a_cluster_comes_changes_and_goes(rainbow: Rainbow, name: str, graph: Path, disks: Path) -> None:
    made = done(rainbow("register", "cluster", name, "--nodes-json", str(graph), "--json")).json()
    assert (made["cluster"], made["counts"]) == (name, {"cluster": 1, "rack": 1, "node": 3, "core": 12, "gpu": 3})
    assert str(made["secret"]).startswith("rbs_")

    attached = done(rainbow("register", "subsystem", "io", "--cluster", name, "--nodes-json", str(disks)))
    assert attached.out == f"Subsystem io is attached to {name}.\n"

    shown = done(rainbow("clusters", "show", name)).out
    assert f"{name}  offline  told as a graph at its registration" in shown
    assert next(line.split() for line in shown.splitlines() if "core" in line) == ["core", "12"]
    assert "4 cores, 1 gpu" in shown
    assert "host[1-2]" in shown
    assert [line.split()[:3] for line in shown.splitlines() if line.startswith("io")] == [["io", "2", "2"]]

    tree = done(rainbow("clusters", "show", name, "--tree")).out
    assert tree.startswith("cluster\n")
    assert "node × 2  [" in tree

    graph.write_bytes(documents.as_bytes(documents.cluster(nodes=3, cores=8)))
    updated = done(rainbow("register", "cluster", name, "--nodes-json", str(graph)))
    assert updated.out.startswith(f"Cluster {name} is described anew; its secret and token stay the same. It has ")
    assert "1 cluster, 1 rack, 3 nodes, 24 cores" in updated.out

    assert done(rainbow("delete", "subsystem", "io", "--cluster", name)).out == f"Subsystem io of {name} is deleted.\n"
    assert "SUBSYSTEM" not in done(rainbow("clusters", "show", name)).out
    again = rainbow("delete", "subsystem", "io", "--cluster", name)
    assert (again.code, "no subsystem 'io'" in again.err) == (77, True)

    assert done(rainbow("delete", "cluster", name)).out == f"Cluster {name} is deleted.\n"
    gone = rainbow("clusters", "show", name)
    assert (gone.code, "does not exist" in gone.err) == (77, True)


def test_all_of_it_as_json_can_be_registered_again(
    rainbow: Rainbow, name: str, graph: Path, disks: Path, tmp_path: Path
) -> None:
    done(rainbow("register", "cluster", name, "--nodes-json", str(graph)))
    done(rainbow("register", "subsystem", "io", "--cluster", name, "--nodes-json", str(disks)))
    shown = done(rainbow("clusters", "show", name, "--json")).json()
    assert {"name", "state", "described", "counts", "kinds", "subsystems", "document"} <= shown.keys()
    copy = tmp_path / "copy.json"
    copy.write_bytes(orjson.dumps(shown["document"]))
    again = done(rainbow("register", "cluster", f"{name}-copy", "--nodes-json", str(copy), "--json")).json()
    assert again["counts"] == shown["counts"]


def test_a_cluster_of_totals_has_no_document(rainbow: Rainbow, name: str) -> None:
    done(rainbow("register", "cluster", name, "--nodes", "2", "--cores-per-node", "3"))
    shown = done(rainbow("clusters", "show", name, "--json")).json()
    assert (shown["described"], shown["document"], shown["counts"]) == (
        "totals",
        None,
        {"cluster": 1, "node": 2, "core": 6},
    )


def test_a_document_from_standard_input(federation: Federation, tmp_path: Path, name: str, graph: Path) -> None:
    env = environment(tmp_path, RAINBOW_CONFIG=str(federation.layout.client_config))
    command = command_line("register", "cluster", name, "--nodes-json", "-", "--json")
    piped = subprocess.run(command, env=env, input=graph.read_bytes(), capture_output=True, timeout=60, check=True)
    assert orjson.loads(piped.stdout)["counts"]["node"] == 3


def test_a_bad_document_is_refused_in_words_and_burns_no_name(
    rainbow: Rainbow, name: str, graph: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"graph": {"nodes": {"a": {"metadata": {"type": "cluster"}}}, "edges": [{"source": "a"}]}}')
    refused = rainbow("register", "cluster", name, "--nodes-json", str(bad), "--json")
    assert refused.code == 77
    assert orjson.loads(refused.err)["error"]["code"] == "bad_graph"
    made = done(rainbow("register", "cluster", name, "--nodes-json", str(graph), "--json")).json()
    assert made["secret"]


def test_a_file_that_is_too_long_is_refused_before_anything_is_sent(
    rainbow: Rainbow, name: str, tmp_path: Path
) -> None:
    huge = tmp_path / "huge.json"
    with huge.open("wb") as file:
        file.truncate(256 * 1024 * 1024 + 1)
    refused = rainbow("register", "cluster", name, "--nodes-json", str(huge))
    assert (refused.code, "a document may have 268,435,456 bytes" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("args", "code", "words"),
    [
        (("register", "cluster", "x", "--nodes-json", "f", "--nodes", "2"), 2, "not both"),
        (("register", "cluster", "x", "--nodes-json", "/nonexistent"), 2, "/nonexistent: cannot be read"),
        (("register", "cluster", "x", "--nodes-json", "/dev/null"), 2, "the document is empty"),
        (("register", "cluster", "x", "--cores-per-node", "3"), 2, "--cores-per-node needs --nodes"),
        (("register", "cluster", "x", "--nodes-json", "f", "--gpus-per-node", "3"), 2, "--gpus-per-node needs --nodes"),
        (("register", "subsystem", "io", "--nodes-json", "f"), 2, "--cluster"),
        (("register", "subsystem", "!", "--cluster", "x", "--nodes-json", "/dev/null"), 2, "name: has characters"),
        (("delete", "cluster", "nowhere"), 77, "there is no cluster 'nowhere'"),
        (("delete", "cluster", "No_Name"), 2, "name: has characters"),
        (("delete", "subsystem", "io", "--cluster", "nowhere"), 77, "there is no cluster 'nowhere'"),
        (("clusters", "show", "nowhere"), 77, "does not exist"),
        (("clusters", "show", "small", "--tree", "--json"), 2, "--tree is for reading"),
    ],
)
def test_mistakes_are_told_in_words(rainbow: Rainbow, args: tuple[str, ...], code: int, words: str) -> None:
    refused = rainbow(*args)
    assert (refused.code, words in refused.err) == (code, True), refused.err


def test_a_cluster_with_jobs_is_deleted_only_by_force(federation: Federation, name: str) -> None:
    """The agent of such a cluster is a peer of the daemon's own tests; here only the words are looked at."""
    with SyncClient.from_config(federation.config) as rainbow:
        made = rainbow.register_cluster(name)
        assert made.secret
        rainbow.delete_cluster(name, force=True)


async def test_the_sdk_sends_a_document_of_many_parts(federation: Federation, name: str, tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    # Names that do not compress, so that it takes several parts.
    document = documents.cluster(nodes=40, cores=2)
    for number, vertex in enumerate(document["graph"]["nodes"].values()):
        vertex["metadata"]["paths"] = {"containment": _noise(number, 20_000)}
    large.write_bytes(documents.as_bytes(document))
    seen: list[tuple[int, int | None]] = []
    async with Client.from_config(federation.config) as rainbow:
        made = await rainbow.register_cluster(
            name, document=large, on_progress=lambda read, size: seen.append((read, size))
        )
        pieces = [piece async for piece in rainbow.cluster_graph(name)]
    assert made.counts["node"] == 40
    assert len(seen) > 2
    assert seen[-1] == (large.stat().st_size, large.stat().st_size)
    assert len(orjson.loads(b"".join(pieces))["graph"]["nodes"]) == len(document["graph"]["nodes"])


def _noise(number: int, length: int) -> str:
    return Random(number).randbytes(length).hex()
