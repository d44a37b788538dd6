"""What is committed is what is found again: whole batches, every field, and only by those who may see it."""

import sqlite3
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rainbow_protocol.job import JobRequest
from rainbowd.core import effects as fx
from rainbowd.core.commands import Known
from rainbowd.core.state import Job, Shape
from rainbowd.core.transitions import TERMINAL, JobState
from rainbowd.store.repo import Repo
from rainbowd.store.stored import StoredDescription
from tests.unit.daemon import made

# What a restart may forget.
FORGOTTEN = {
    "failures",
    "not_before",
    "retry_at",
    "is_ready",
    "numbered",
    "asked_at",
    "stay_told",
    "is_out",
    "kept",
    "unmet",
    "has_begun",
    "is_counted",
    "is_charged",
}
ALIVE = sorted(set(JobState) - TERMINAL)


def remembered(job: Job) -> dict[str, Any]:
    return {field.name: getattr(job, field.name) for field in fields(Job) if field.name not in FORGOTTEN}


def ask(request: JobRequest) -> Shape:
    """What the matcher of the tests works on."""
    return Shape(**request.shape.model_dump())


def count(database: Path, table: str) -> int:
    with closing(sqlite3.connect(database)) as connection:
        number: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - names from here
        return number


# --- every field comes back -----------------------------------------------


async def test_every_field_of_a_job_comes_back(repo: Repo) -> None:
    request = {
        "clusters": ["red", "blue"],
        "shape": {
            "nodes": 2, "tasks": 6, "cores_per_task": 3, "gpus_per_task": 1, "time_limit_s": 90.5, "exclusive": True,
        },
        "queue": "batch",
        "wishes": {"policy": "cheapest", "max_cost": 2.5, "after": [{"job": made.job_id(), "until": "ok"}]},
    }  # fmt: skip
    job = made.job(
        ("blue", "red"),
        key="once \u2028 \0 only",
        name="näme",
        shape=Shape(2, 6, 3, 1, 90.5, True),
        terms=b'{"queue":"batch"}',
        payload=made.payload("echo", "ünï", **request),
        submitted_at=1_700_000_000.25,
        state=JobState.RUNNING,
        attempt=7,
        cluster="blue",
        reason="a reason",
        exit_code=-9,
        native_id="ƒ123",
        assigned_at=1_700_000_001.5,
        started_at=1_700_000_002.5,
        finished_at=1_700_000_003.5,
        cancel_requested=True,
        report_seq=3,
        history_len=1,
        user="ada",
        array=made.job_id(),
        array_index=7,
        array_at_once=3,
        moves=2,
        promised_at=1_700_000_002.25,
    )
    unset = [name for name, value in remembered(job).items() if value in (None, 0, "", False)]
    assert unset == []  # a field that is not set here would not be tested
    await repo.commit(made.saved(job))
    (found,) = await repo.load_live_jobs(ask)
    assert remembered(found) == remembered(job)


async def test_a_later_save_changes_everything_that_can_change(repo: Repo) -> None:
    job = made.job()
    await repo.commit(made.saved(job))
    job.state, job.attempt, job.cluster, job.reason = JobState.QUEUED, 4, "red", "waits"
    job.exit_code, job.native_id, job.cancel_requested = 3, "n", True
    job.assigned_at, job.started_at, job.finished_at = 2.0, 3.0, 4.0
    job.report_seq, job.history_len = 5, 1
    await repo.commit([fx.SaveJob(job)])
    (found,) = await repo.load_live_jobs(ask)
    assert remembered(found) == remembered(job)


@settings(max_examples=25)
@given(request_=st.builds(
    dict,
    command=st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8), max_size=3)
    .map(lambda words: ["x", *words]),
    env=st.dictionaries(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0="), min_size=1, max_size=5),
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8), max_size=3),
))  # fmt: skip
async def test_any_request_comes_back_byte_for_byte(
    request_: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    payload = made.payload(*request_["command"], env=request_["env"])
    JobRequest.model_validate_json(payload)
    repo = await Repo.open(tmp_path_factory.mktemp("store") / "rainbow.db")
    try:
        job = made.job(payload=payload)
        await repo.commit(made.saved(job))
        (found,) = await repo.load_live_jobs(ask)
        assert found.payload == payload
    finally:
        await repo.close()


async def test_only_jobs_that_are_not_over_are_restored_oldest_first(repo: Repo) -> None:
    jobs = [made.job(state=state, cluster="red") for state in JobState]
    await repo.commit(made.saved(*reversed(jobs)))
    restored = await repo.load_live_jobs(ask)
    assert [job.id for job in restored] == [job.id for job in jobs if job.state not in TERMINAL]
    assert {job.state for job in restored} == set(ALIVE)


async def test_every_field_of_a_cluster_comes_back(repo: Repo) -> None:
    told = {"form": "graph", "described_by": "agent", "described_at": 4.0, "digest": "d" * 64, "revision": 7}
    described, plain = made.cluster("red", b"classes", generation=2, **told), made.cluster("blue")
    stored = fx.SaveDescription("red", StoredDescription(b"classes", b"graph"))
    await repo.commit([fx.SaveCluster(described), stored, fx.SaveCluster(plain)])
    assert await repo.load_clusters(bytes) == [plain, described]


async def test_a_cluster_that_describes_itself_anew_keeps_its_credentials(repo: Repo) -> None:
    await repo.commit([fx.SaveCluster(made.cluster("red", form="graph", revision=1))])
    changed = made.cluster("red", form="limits", revision=2, secret_hash=b"other", token_hash=b"another")
    await repo.commit([fx.SaveCluster(changed)])
    (found,) = await repo.load_clusters(bytes)
    assert found == made.cluster("red", form="limits", revision=2)


async def test_everything_is_there_after_opening_again(database: Path) -> None:
    first = await Repo.open(database)
    job = made.job(("blue", "red"), key="k")
    await first.commit([fx.SaveCluster(made.cluster("red")), *made.saved(job)])
    await first.close()
    second = await Repo.open(database)
    try:
        assert [cluster.name for cluster in await second.load_clusters(bytes)] == ["red"]
        assert set(await second.find_jobs([job.id], frozenset({"blue", "red"}))) == {job.id}
        assert await second.newest_job() == job.id
    finally:
        await second.close()


async def test_the_newest_job_is_known_even_when_it_is_over(repo: Repo) -> None:
    assert await repo.newest_job() is None
    older, newer = made.job(), made.job(state=JobState.COMPLETED)
    await repo.commit(made.saved(newer, older))
    assert await repo.newest_job() == newer.id


# --- one batch is one transaction -----------------------------------------


async def test_a_statement_that_fails_leaves_nothing_of_its_batch(repo: Repo, database: Path) -> None:
    good, bad = made.job(key="a"), made.job(key="b")
    before = made.job(("green",))
    await repo.commit(made.saved(before))
    twice = fx.Happened(bad.id, 1, 1.0, "submitted", JobState.PENDING, {})
    effects = [fx.SaveCluster(made.cluster("blue")), *made.saved(good), *made.saved(bad), twice]
    with pytest.raises(sqlite3.IntegrityError):
        await repo.commit(effects)
    assert {table: count(database, table) for table in ("clusters", "owners", "jobs", "requests", "history")} == {
        "clusters": 0, "owners": 1, "jobs": 1, "requests": 1, "history": 1,
    }  # fmt: skip


async def test_after_a_failed_batch_the_next_one_is_written(repo: Repo) -> None:
    job = made.job(("red",))
    with pytest.raises(sqlite3.IntegrityError):
        await repo.commit([*made.saved(job), *made.saved(job)])
    # The owner of the failed batch must not be taken for one that is on disk.
    await repo.commit(made.saved(job))
    assert set(await repo.find_jobs([job.id], frozenset({"red"}))) == {job.id}


async def test_a_job_of_the_failed_batch_is_seen_by_nobody(repo: Repo) -> None:
    job = made.job(("red",))
    with pytest.raises(sqlite3.IntegrityError):
        await repo.commit([*made.saved(job), *made.saved(job)])
    assert await repo.find_jobs([job.id], frozenset({"red"})) == {}


async def test_nothing_to_save_is_no_transaction(repo: Repo, database: Path) -> None:
    wal = database.with_name(database.name + "-wal")
    before = wal.stat().st_size
    await repo.commit([])
    assert wal.stat().st_size == before


async def test_a_job_saved_often_in_one_batch_is_written_as_it_is_at_the_end(repo: Repo) -> None:
    job = made.job()
    effects = made.saved(job)
    job.attempt, job.state = 1, JobState.OFFERED
    await repo.commit([*effects, fx.SaveJob(job), fx.SaveJob(job)])
    (found,) = await repo.load_live_jobs(ask)
    assert (found.attempt, found.state) == (1, JobState.OFFERED)


async def test_a_commit_is_on_disk_when_it_returns(repo: Repo, database: Path) -> None:
    await repo.commit(made.saved(made.job()))
    assert count(database, "jobs") == 1  # another connection, as after a crash


# --- keys -----------------------------------------------------------------


async def test_keys_are_found_by_position_with_what_they_asked_for(repo: Repo) -> None:
    same = made.job(key="same", state=JobState.COMPLETED)
    other = made.job(key="other", payload=made.payload("false"))
    await repo.commit(made.saved(same, other))
    items = [made.new_job("new"), made.new_job("same"), made.new_job(None), made.new_job("other")]
    assert await repo.find_keys(items) == {1: Known(same.id, "completed", True), 3: Known(other.id, "pending", False)}


async def test_a_key_belongs_to_one_set_of_grants(repo: Repo) -> None:
    await repo.commit(made.saved(made.job(("red",), key="k")))
    assert await repo.find_keys([made.new_job("k", ("blue",)), made.new_job("k", ("blue", "red"))]) == {}


async def test_a_key_that_comes_twice_is_found_twice(repo: Repo) -> None:
    job = made.job(key="k")
    await repo.commit(made.saved(job))
    found = await repo.find_keys([made.new_job("k"), made.new_job("k")])
    assert [found[position].job for position in (0, 1)] == [job.id, job.id]


@pytest.mark.parametrize(
    "key", ["'; DROP TABLE jobs; --", '"', "\\", "\0", "a\0b", "\n", "\U0001f308", "%", "1", "null"]
)
async def test_a_key_may_be_any_text(repo: Repo, key: str) -> None:
    decoy = made.job(key="a")
    job = made.job(key=key)
    await repo.commit(made.saved(decoy, job))
    assert await repo.find_keys([made.new_job(key)]) == {0: Known(job.id, "pending", True)}


async def test_more_keys_than_a_batch_of_the_engine_can_hold(repo: Repo) -> None:
    job = made.job(key="key 4999")
    await repo.commit(made.saved(job))
    found = await repo.find_keys([made.new_job(f"key {number}") for number in range(5_000)])
    assert found == {4_999: Known(job.id, "pending", True)}


# --- who sees what --------------------------------------------------------


@pytest.mark.parametrize(
    ("grants", "seen"),
    [
        (set(), []),
        ({"blue"}, ["blue"]),
        ({"red"}, []),
        ({"blue", "red"}, ["blue", "both"]),
        ({"blue", "green", "red"}, ["blue", "both", "all"]),
        ({"yellow"}, []),
    ],
)
async def test_a_job_is_seen_with_all_the_tokens_it_was_submitted_with_and_not_with_fewer(
    repo: Repo, grants: set[str], seen: list[str]
) -> None:
    jobs = {
        "blue": made.job(("blue",)),
        "both": made.job(("blue", "red")),
        "all": made.job(("blue", "green", "red")),
    }
    await repo.commit(made.saved(*jobs.values()))
    expected = {jobs[name].id for name in seen}
    asked = [job.id for job in jobs.values()]
    assert set(await repo.find_jobs(asked, frozenset(grants))) == expected
    listed = await repo.list_jobs(frozenset(grants), None, None, None, 100)
    assert {row["id"] for row in listed} == expected


async def test_a_job_of_a_new_owner_is_seen_as_soon_as_it_is_committed(repo: Repo) -> None:
    first, second = made.job(("red",)), made.job(("blue", "red"))
    await repo.commit(made.saved(first))
    await repo.commit(made.saved(second))
    everything = await repo.list_jobs(frozenset({"red", "blue"}), None, None, None, 10)
    assert [row["id"] for row in everything] == [second.id, first.id]


async def test_unknown_ids_are_not_found(repo: Repo) -> None:
    assert await repo.find_jobs([made.job_id()], frozenset({"red"})) == {}


async def test_jobs_are_listed_newest_first_and_paged_without_gap_or_repeat(repo: Repo) -> None:
    jobs = [made.job() for _ in range(7)]
    await repo.commit(made.saved(*jobs))
    pages, before = [], None
    while page := await repo.list_jobs(frozenset({"red"}), None, None, before, 3):
        pages.append([row["id"] for row in page])
        before = pages[-1][-1]
    assert [len(page) for page in pages] == [3, 3, 1]
    assert [job_id for page in pages for job_id in page] == [job.id for job in reversed(jobs)]


async def test_a_list_can_be_narrowed_by_state_and_cluster(repo: Repo) -> None:
    running, over = made.job(state=JobState.RUNNING, cluster="red"), made.job(state=JobState.FAILED, cluster="red")
    away, fresh = made.job(state=JobState.RUNNING, cluster="blue"), made.job()
    await repo.commit(made.saved(running, over, away, fresh))

    async def ids(states: list[str] | None, cluster: str | None) -> set[str]:
        return {row["id"] for row in await repo.list_jobs(frozenset({"red"}), states, cluster, None, 10)}

    assert await ids(["running"], None) == {running.id, away.id}
    assert await ids(["running", "failed"], "red") == {running.id, over.id}
    assert await ids(None, "blue") == {away.id}
    assert await ids([], None) == set()


# --- history --------------------------------------------------------------


async def test_a_history_is_read_in_order_from_where_one_wants_and_so_much_of_it(repo: Repo) -> None:
    job, other = made.job(), made.job()
    data = {"clusters": [{"cluster": "red", "reason": "zu groß"}], "eta_s": 0.1, "none": None}
    lines = [fx.Happened(job.id, seq, seq / 2, f"event {seq}", JobState.PENDING, data) for seq in range(2, 6)]
    await repo.commit([*made.saved(job, other), *lines])
    history = await repo.load_history(job.id, 2, 2)
    assert history == [
        {"job": job.id, "seq": 3, "at": 1.5, "event": "event 3", "state": "pending", "data": data},
        {"job": job.id, "seq": 4, "at": 2.0, "event": "event 4", "state": "pending", "data": data},
    ]
    assert [line["seq"] for line in await repo.load_history(job.id, 0, 100)] == [1, 2, 3, 4, 5]


async def test_a_line_of_history_is_never_written_over(repo: Repo) -> None:
    job = made.job()
    second = fx.Happened(job.id, 2, 2.0, "rejected", JobState.REJECTED, {})
    await repo.commit([*made.saved(job), second])
    with pytest.raises(sqlite3.IntegrityError):
        await repo.commit([fx.Happened(job.id, 2, 3.0, "completed", JobState.COMPLETED, {})])
    assert [line["event"] for line in await repo.load_history(job.id, 0, 9)] == ["submitted", "rejected"]
