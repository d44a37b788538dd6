"""What the disk keeps of clusters' resources, and what it lets go of when they change or are deleted."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from rainbowd.core import effects as fx
from rainbowd.core.state import Cluster
from rainbowd.net.auth import owner_of
from rainbowd.resources.model import ClassTable
from rainbowd.store.db import migrations
from rainbowd.store.repo import Repo
from rainbowd.store.stored import RetiredCluster, StoredDescription, StoredGraph
from tests.unit.daemon import made


def saved(cluster: Cluster, **stored: Any) -> list[fx.StoreEffect]:
    given = {"description": b"classes", **stored}
    return [fx.SaveCluster(cluster), fx.SaveDescription(cluster.name, StoredDescription(**given))]


def retired(cluster: Cluster, at: float = 9.0) -> fx.RetireCluster:
    grant = f"{cluster.name}~{cluster.generation}"
    return fx.RetireCluster(cluster.name, cluster.generation, grant, cluster.secret_hash, cluster.token_hash, at)


def rows(database: Path, table: str) -> int:
    with closing(sqlite3.connect(database)) as connection:
        number: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - names from here
        return number


async def test_all_that_was_told_of_a_cluster_comes_back_with_its_revision(repo: Repo) -> None:
    await repo.commit(saved(made.cluster(revision=5), graph=b"graph", subsystems={"io": b"disks", "os": b"linux"}))
    assert await repo.load_graph("red") == StoredGraph(5, b"graph", {"io": b"disks", "os": b"linux"})


async def test_of_a_cluster_that_told_nothing_there_is_nothing(repo: Repo) -> None:
    await repo.commit([fx.SaveCluster(made.cluster())])
    assert await repo.load_graph("red") == StoredGraph()
    assert await repo.load_graph("blue") is None


async def test_a_subsystem_is_added_replaced_and_removed_beside_the_rest(repo: Repo) -> None:
    await repo.commit(saved(made.cluster(), graph=b"graph", subsystems={"os": b"linux"}))
    for change, expected in (
        ({"io": b"disks"}, {"io": b"disks", "os": b"linux"}),
        ({"io": b"tapes"}, {"io": b"tapes", "os": b"linux"}),
        ({"io": None}, {"os": b"linux"}),
    ):
        await repo.commit(saved(made.cluster(), description=b"other", subsystems=change))
        found = await repo.load_graph("red")
        assert found is not None
        assert (found.graph, found.subsystems) == (b"graph", expected)


async def test_a_description_made_anew_leaves_nothing_of_the_old(repo: Repo, database: Path) -> None:
    await repo.commit(saved(made.cluster(), graph=b"graph", subsystems={"os": b"linux"}))
    await repo.commit(saved(made.cluster(), description=b"totals", anew=True))
    assert await repo.load_graph("red") == StoredGraph()
    assert rows(database, "subsystems") == 0
    (found,) = await repo.load_clusters(bytes)
    assert found.resources == b"totals"


async def test_nothing_of_a_deleted_cluster_is_left_but_its_token(repo: Repo, database: Path) -> None:
    red = made.cluster("red")
    await repo.commit(saved(red, graph=b"graph", subsystems={"os": b"linux"}))
    await repo.commit(saved(made.cluster("blue"), graph=b"graph", subsystems={"os": b"linux"}))
    await repo.commit([retired(red)])
    assert {table: rows(database, table) for table in ("clusters", "descriptions", "graphs", "subsystems")} == {
        "clusters": 1, "descriptions": 1, "graphs": 1, "subsystems": 1,
    }  # fmt: skip
    assert await repo.load_retired() == [RetiredCluster("red~0", "red", 0, red.token_hash)]


async def test_a_name_can_be_deleted_and_registered_in_one_batch(repo: Repo) -> None:
    red = made.cluster("red")
    await repo.commit(saved(red, graph=b"old"))
    again = made.cluster("red", secret_hash=b"s", token_hash=b"t", generation=1)
    await repo.commit([retired(red), *saved(again, graph=b"new")])
    (found,) = await repo.load_clusters(bytes)
    assert (found.generation, found.secret_hash) == (1, b"s")
    assert await repo.load_graph("red") == StoredGraph(0, b"new", {})


@pytest.mark.parametrize("reopened", [False, True], ids=["at once", "after opening again"])
async def test_jobs_of_a_deleted_cluster_are_seen_by_those_who_saw_them(database: Path, reopened: bool) -> None:
    repo = await Repo.open(database)
    try:
        red = made.cluster("red")
        mine, shared, other = made.job(("red",)), made.job(("blue", "red")), made.job(("blue",))
        await repo.commit([fx.SaveCluster(red), *made.saved(mine, shared, other)])
        for job in (mine, shared):  # as the core does with those that are alive
            job.grants = tuple("red~0" if grant == "red" else grant for grant in job.grants)
        await repo.commit([retired(red)])
        if reopened:
            await repo.close()
            repo = await Repo.open(database)
        ids = [mine.id, shared.id, other.id]
        assert set(await repo.find_jobs(ids, frozenset({"red~0"}))) == {mine.id}
        assert set(await repo.find_jobs(ids, frozenset({"red~0", "blue"}))) == set(ids)
        assert set(await repo.find_jobs(ids, frozenset({"red", "blue"}))) == {other.id}
        assert not repo.may_go_to(mine.owner, "red")
        assert repo.may_go_to(other.owner, "blue")
        alive = {job.id: job.grants for job in await repo.load_live_jobs(lambda request: request.shape)}
        assert alive[shared.id] == ("blue", "red~0")
    finally:
        await repo.close()


async def test_jobs_submitted_in_the_very_batch_that_deletes_their_cluster_are_not_the_next_ones(repo: Repo) -> None:
    red, job = made.cluster("red"), made.job(("red",))
    await repo.commit([fx.SaveCluster(red)])
    effects = made.saved(job)
    job.grants = ("red~0",)
    await repo.commit([*effects, retired(red)])
    assert set(await repo.find_jobs([job.id], frozenset({"red"}))) == set()
    assert set(await repo.find_jobs([job.id], frozenset({"red~0"}))) == {job.id}


async def test_the_owner_of_a_job_stays_the_same_when_its_cluster_is_deleted(repo: Repo, database: Path) -> None:
    """So the deletion of a cluster with a million jobs touches a handful of rows."""
    red, job = made.cluster("red"), made.job(("red",))
    await repo.commit([fx.SaveCluster(red), *made.saved(job)])
    await repo.commit([retired(red)])
    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT owner, grants FROM owners").fetchall() == [
            (owner_of(frozenset({"red"})), '["red~0"]')
        ]


async def test_a_database_of_the_first_schema_is_taken_over(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript(migrations()[0][1])
        told = orjson.dumps({"nodes": 3, "cores_per_node": 4, "gpus_per_node": 2}).decode()
        row = "INSERT INTO clusters VALUES (?, ?, ?, ?, ?)"
        connection.execute(row, ("red", 1.5, b"s", b"t", told))
        connection.execute(row, ("blue", 2.5, b"u", b"v", None))
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    repo = await Repo.open(database)
    try:
        blue, red = await repo.load_clusters(ClassTable().load)
        assert (blue.resources, blue.form, blue.described_by) == (None, None, None)
        assert red.resources.counts == {"cluster": 1, "node": 3, "core": 12, "gpu": 6}
        assert (red.form, red.described_by, red.described_at, red.generation) == ("totals", "agent", 1.5, 0)
        assert await repo.load_graph("red") == StoredGraph()
    finally:
        await repo.close()
    assert (database.parent / "rainbow.db.schema-1.backup").exists()
