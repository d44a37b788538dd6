"""What an array may become before anything is unfolded, and how its members are found on disk."""

import sqlite3
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rainbow_protocol.ids import JobIds
from rainbow_protocol.job import JobRequest
from rainbow_protocol.messages import client as wire
from rainbowd.core.commands import Known, NewJob
from rainbowd.core.state import Job
from rainbowd.core.transitions import JobState
from rainbowd.net import submitting
from rainbowd.net.auth import Credentials, UserOf
from rainbowd.net.grants import Grants
from rainbowd.net.pending import Part
from rainbowd.net.services import Services
from rainbowd.policies import Policies, Site
from rainbowd.store.queries import QUERIES
from rainbowd.store.repo import Repo
from tests.unit.daemon import made

RED = frozenset({"red"})

# --- unfolding ------------------------------------------------------------


def array(indices: str, key: str | None = None) -> wire.Submission:
    return wire.Submission(key=key, request=JobRequest(command=["true"]), array=wire.Array(indices=indices))


async def unfolded(live: int, *items: wire.Submission) -> tuple[list[NewJob], list[Part]]:
    """There is room for ten jobs, and `live` are there."""
    core = made.core(made.cluster(), live_jobs_max=10)
    core.step(made.submit(*(made.new_job() for _ in range(live))), 1.0)
    given: dict[str, Any] = dict.fromkeys(Services.__dataclass_fields__)
    given["engine"] = SimpleNamespace(core=core, clock=lambda: 1.0)
    given |= {"credentials": Credentials(None, []), "job_ids": JobIds()}
    given |= {"policies": Policies.installed(), "site": Site()}
    grants = Grants()
    grants.add(UserOf("red"))
    return await submitting.unfolded(Services(**given), grants, "me", items)


def codes(parts: list[Part]) -> list[Any]:
    return [cast(Any, part.error).code if isinstance(part, wire.SubmitResult) else part for part in parts]


async def test_an_array_that_there_is_no_room_for_is_not_unfolded() -> None:
    jobs, parts = await unfolded(4, array("1-6"), array("1-7"), array("1-10000"))
    assert (len(jobs), codes(parts)) == (6, [6, "overloaded", "overloaded"])


async def test_with_a_key_it_may_be_one_that_needs_no_room() -> None:
    jobs, parts = await unfolded(4, array("1-10", "k"), array("1-11", "k"))
    assert (len(jobs), codes(parts)) == (10, [10, "overloaded"])


async def test_the_first_member_has_the_key_for_all_of_them() -> None:
    jobs, _ = await unfolded(0, array("1-3", "k"))
    assert [(one.key, one.array_begins) for one in jobs] == [("k", True), (None, False), (None, False)]


# --- on disk --------------------------------------------------------------


def members(*indices: int, **fields: Any) -> list[Job]:
    whole = made.job_id()
    return [made.job(array=whole, array_index=index, **fields) for index in indices]


async def test_what_is_read_for_a_key_is_of_the_whole_array(repo: Repo) -> None:
    first, *others = members(1, 2, 3, state=JobState.COMPLETED)
    first.key = "k"
    await repo.commit(made.saved(first, *others))

    async def same(*indices: int) -> bool:
        asked = [
            made.new_job("k" if place == 0 else None, array="new", array_index=index)
            for place, index in enumerate(indices)
        ]
        found = await repo.find_keys([made.new_job("other"), *asked])
        assert found == {1: Known(first.id, "completed", found[1].same, first.array)}
        return found[1].same

    assert await same(1, 2, 3)
    assert not await same(1, 2)
    assert not await same(1, 2, 3, 4)
    assert not await same(1, 2, 4)
    assert not (await repo.find_keys([made.new_job("k")]))[0].same


async def test_the_members_of_an_array_are_listed_page_by_page(repo: Repo) -> None:
    mine, others = members(1, 2, 3, 4, 5), members(1, 2)
    mine[0].state = JobState.FAILED
    await repo.commit(made.saved(*mine, *others, made.job()))

    async def listed(
        before: str | None = None, states: list[str] | None = None, grants: frozenset[str] = RED
    ) -> list[str]:
        return [row["id"] for row in await repo.list_jobs(grants, states, None, before, 3, mine[0].array)]

    newest_first = [one.id for one in reversed(mine)]
    assert await listed() == newest_first[:3]
    assert await listed(newest_first[2]) == newest_first[3:]
    assert await listed(states=["failed"]) == [mine[0].id]
    assert await listed(grants=frozenset({"blue"})) == []


@pytest.mark.parametrize("query", ["list_members", "indices"])
async def test_other_jobs_are_not_looked_at_for_an_array(repo: Repo, database: Path, query: str) -> None:
    given = {"array": "a", "owners": "[]", "states": None, "cluster": None, "before": None, "limit": 3}
    with closing(sqlite3.connect(database)) as connection:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {QUERIES[query]}", given)]
    assert any("jobs_by_array (array=?" in step for step in plan)
    assert not [step for step in plan if step.startswith("SCAN jobs")]
