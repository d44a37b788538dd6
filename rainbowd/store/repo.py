"""Writes a batch of effects in one transaction, and answers questions about what is committed.

Reads go to the disk's truth on a connection of their own, never to the core's
memory: nobody learns of a state that a crash could still undo.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiosqlite
import orjson

from rainbow_protocol.job import JobRequest
from rainbowd.core.commands import Known, NewJob
from rainbowd.core.effects import Happened, RetireCluster, SaveCluster, SaveDescription, SaveJob, StoreEffect
from rainbowd.core.state import Cluster, Job
from rainbowd.core.transitions import JobState
from rainbowd.store.db import DatabaseRefusedError, open_database, open_reader
from rainbowd.store.queries import QUERIES
from rainbowd.store.rows import cluster_row, job_row, owner_row, read_cluster, read_job
from rainbowd.store.stored import RetiredCluster, StoredDescription, StoredGraph

_KEYS_PER_QUERY = 400  # two variables each, and an old SQLite takes 999
_LINES_PER_READ = 500
_Write = tuple[str, Sequence[Any]]


class Repo:
    def __init__(self, writer: aiosqlite.Connection, reader: aiosqlite.Connection) -> None:
        self._writer = writer
        self._reader = reader
        self._owners: dict[str, frozenset[str]] = {}  # every set of grants on disk

    @classmethod
    async def open(cls, path: Path) -> "Repo":
        async with AsyncExitStack() as undo:  # a connection that stays open keeps the process from ending
            writer = await open_database(path)
            undo.push_async_callback(writer.close)
            try:
                reader = await open_reader(path)
                undo.push_async_callback(reader.close)
                owners = await reader.execute_fetchall(QUERIES["load_owners"])
            except sqlite3.Error as cause:
                raise DatabaseRefusedError(f"{path}: cannot be read: {cause}") from None
            repo = cls(writer, reader)
            repo._owners = {row["owner"]: frozenset(orjson.loads(row["grants"])) for row in owners}
            undo.pop_all()
        return repo

    async def close(self) -> None:
        await self._reader.close()
        await self._writer.close()

    # --- writing ----------------------------------------------------------

    async def commit(self, effects: Iterable[StoreEffect]) -> None:
        """All of it, or nothing. A job saved several times in one batch is written once, as it is now."""
        jobs: dict[str, Job] = {}
        about_clusters: list[_Write] = []  # in order: a name may be deleted and registered in one batch
        events: list[tuple[Any, ...]] = []
        requests: list[tuple[str, str]] = []
        owners: dict[str, frozenset[str]] = {}
        renamed: dict[str, frozenset[str]] = {}
        for effect in effects:
            if isinstance(effect, Happened):
                data = orjson.dumps(effect.data).decode()
                events.append((effect.job, effect.seq, effect.at, effect.event, effect.state, data))
            elif isinstance(effect, SaveJob):
                jobs[effect.job.id] = effect.job
            elif isinstance(effect, SaveCluster):
                about_clusters.append(("save_cluster", [cluster_row(effect.cluster)]))
            elif isinstance(effect, SaveDescription):
                about_clusters += _description(effect.cluster, effect.stored)
            elif isinstance(effect, RetireCluster):
                about_clusters += _retirement(effect)
                renamed |= _renamed(self._owners | renamed, effect)
        first_events = {event[0] for event in events if event[1] == 1}
        for job_id in first_events:
            job = jobs[job_id]
            requests.append((job.id, job.payload.decode()))
            if job.owner not in self._owners:
                owners[job.owner] = frozenset(job.grants)
        await self._write(
            *about_clusters,
            ("rename_grants", [owner_row(owner, grants) for owner, grants in renamed.items()]),
            ("save_owner", [owner_row(owner, grants) for owner, grants in owners.items()]),
            ("save_job", [job_row(job) for job in jobs.values()]),
            ("save_request", requests),
            ("save_event", events),
        )
        self._owners |= renamed | owners

    async def _write(self, *writes: _Write) -> None:
        """One transaction. The first statement begins it, and the commit only follows when all have succeeded.

        The statements are handed over together: the database's thread takes one after the other without waiting for
        the event loop in between.
        """
        statements = [self._writer.executemany(QUERIES[name], rows) for name, rows in writes if rows]
        if not statements:
            return
        try:
            await asyncio.gather(*statements)
            await self._writer.commit()
        except sqlite3.Error:
            await self._writer.rollback()
            raise

    # --- reading ----------------------------------------------------------

    async def load_clusters(self, load: Callable[[bytes], Any]) -> list[Cluster]:
        """`load` makes of a stored description what the matcher works with."""
        return [read_cluster(row, load) for row in await self._reader.execute_fetchall(QUERIES["load_clusters"])]

    async def load_retired(self) -> list[RetiredCluster]:
        return [RetiredCluster(*row) for row in await self._reader.execute_fetchall(QUERIES["load_retired"])]

    async def load_graph(self, cluster: str) -> StoredGraph | None:
        """All that was told of a cluster's resources; None if there is no such cluster."""
        rows = list(await self._reader.execute_fetchall(QUERIES["load_graph"], {"cluster": cluster}))
        own = next((row for row in rows if row["name"] is None), None)
        if own is None:
            return None
        subsystems = {row["name"]: row["packed"] for row in rows if row["name"] is not None}
        return StoredGraph(own["revision"], own["packed"], subsystems)

    async def load_live_jobs(self, ask_of: Callable[[JobRequest], Any]) -> list[Job]:
        """`ask_of` makes of a request what the matcher works with."""
        return [read_job(row, ask_of) for row in await self._reader.execute_fetchall(QUERIES["load_live_jobs"])]

    async def newest_job(self) -> str | None:
        (row,) = await self._reader.execute_fetchall(QUERIES["newest_job"])
        newest: str | None = row["id"]
        return newest

    async def find_keys(self, items: Sequence[NewJob]) -> dict[int, Known]:
        """Which of these were submitted before, by position. Asked on the writer, behind every commit."""
        keyed = list(dict.fromkeys((item.owner, item.key) for item in items if item.key is not None))
        found: dict[tuple[str, str], sqlite3.Row] = {}
        for start in range(0, len(keyed), _KEYS_PER_QUERY):
            part = keyed[start : start + _KEYS_PER_QUERY]
            # Bound one by one and not as one JSON text, as for ids: SQLite's JSON functions end a text at a NUL.
            query = QUERIES["find_keys"].replace(":pairs", ", ".join(["(?, ?)"] * len(part)))
            rows = await self._writer.execute_fetchall(query, [value for pair in part for value in pair])
            found |= {(row["owner"], row["key"]): row for row in rows}
        if not found:
            return {}
        numbers: dict[str, list[int | None]] = {}
        for item in items:
            if item.array is not None:
                numbers.setdefault(item.array, []).append(item.array_index)
        return {
            position: Known(row["id"], row["state"], await self._same(row, item, numbers), row["array"])
            for position, item in enumerate(items)
            if item.key is not None and (row := found.get((item.owner, item.key))) is not None
        }

    async def _same(self, row: sqlite3.Row, item: NewJob, numbers: dict[str, list[int | None]]) -> bool:
        """Does it ask for the same; if they are arrays, as often and with the same indices?"""
        if row["request"].encode() != item.payload or row["array_at_once"] != item.array_at_once:
            return False
        if row["array"] is None or item.array is None:
            return row["array"] is item.array
        wanted = numbers[item.array]
        # One more than can be the same: how much is read depends on what was sent, not on what the key belongs to.
        parameters = {"array": row["array"], "limit": len(wanted) + 1}
        there = await self._writer.execute_fetchall(QUERIES["indices"], parameters)
        return [one["array_index"] for one in there] == wanted

    async def find_jobs(self, ids: Sequence[str], grants: frozenset[str]) -> dict[str, sqlite3.Row]:
        """Those of these jobs that may be seen with these grants."""
        parameters = {"ids": orjson.dumps(list(ids)).decode(), "owners": self._visible(grants)}
        return {row["id"]: row for row in await self._reader.execute_fetchall(QUERIES["find_jobs"], parameters)}

    async def list_jobs(
        self,
        grants: frozenset[str],
        states: Sequence[str] | None,
        cluster: str | None,
        before: str | None,
        limit: int,
        array: str | None = None,
    ) -> list[sqlite3.Row]:
        parameters = {
            "owners": self._visible(grants),
            "states": None if states is None else orjson.dumps(list(states)).decode(),
            "cluster": cluster,
            "before": before,
            "limit": limit,
        }
        if array is None:
            return list(await self._reader.execute_fetchall(QUERIES["list_jobs"], parameters))
        parameters["array"] = array
        return list(await self._reader.execute_fetchall(QUERIES["list_members"], parameters))

    async def arrays(self, names: Sequence[str], grants: frozenset[str] | None) -> dict[str, JobState]:
        """How those of these that are arrays stand, as a whole: running, completed, or failed (once a member has).

        With `grants`, only those that these open. One that has failed may still have members that are not over.
        """
        parameters = {
            "arrays": orjson.dumps(list(names)).decode(),
            "owners": None if grants is None else self._visible(grants),
        }
        rows = await self._reader.execute_fetchall(QUERIES["arrays"], parameters)
        over = {True: JobState.FAILED, False: JobState.COMPLETED}
        return {
            row["array"]: JobState.RUNNING if row["alive"] and not row["failed"] else over[bool(row["failed"])]
            for row in rows
        }

    async def ends(self, ids: Sequence[str]) -> dict[str, JobState]:
        """How those of these jobs ended that are over."""
        rows = await self._reader.execute_fetchall(QUERIES["ends"], {"ids": orjson.dumps(list(ids)).decode()})
        return {row["id"]: JobState(row["state"]) for row in rows}

    async def load_history(self, job: str, since: int, limit: int) -> list[dict[str, Any]]:
        parameters = {"job": job, "since": since, "limit": limit}
        rows = await self._reader.execute_fetchall(QUERIES["load_history"], parameters)
        return [{**dict(row), "data": orjson.loads(row["data"])} for row in rows]

    async def whole_history(self, job: str, since: int) -> AsyncIterator[dict[str, Any]]:
        """Every line after `since`, read in pieces: what is always written may be more than one read brings."""
        lines = await self.load_history(job, since, _LINES_PER_READ)
        while lines:
            for line in lines:
                yield line
            full = len(lines) == _LINES_PER_READ
            lines = await self.load_history(job, lines[-1]["seq"], _LINES_PER_READ) if full else []

    def may_go_to(self, owner: str, cluster: str) -> bool:
        """Is the cluster that now has this name one that the owner's jobs were ever allowed to go to?"""
        return cluster in self._owners.get(owner, ())

    def _visible(self, grants: frozenset[str]) -> str:
        """Owners whose jobs may be seen: whoever holds all the tokens that a job was submitted with."""
        return orjson.dumps([owner for owner, needed in self._owners.items() if needed <= grants]).decode()


def _description(cluster: str, stored: StoredDescription) -> list[_Write]:
    writes: list[_Write] = []
    if stored.anew:
        writes += [("delete_graph", [(cluster,)]), ("delete_subsystems", [(cluster,)])]
    writes.append(("save_description", [(cluster, stored.description)]))
    if stored.graph is not None:
        writes.append(("save_graph", [(cluster, stored.graph)]))
    for name, packed in stored.subsystems.items():
        if packed is None:
            writes.append(("delete_subsystem", [(cluster, name)]))
        else:
            writes.append(("save_subsystem", [(cluster, name, packed)]))
    return writes


def _retirement(effect: RetireCluster) -> list[_Write]:
    row = (effect.retired, effect.name, effect.generation, effect.token_hash, effect.at)
    return [("delete_cluster", [(effect.name,)]), ("save_retired", [row])]


def _renamed(owners: dict[str, frozenset[str]], effect: RetireCluster) -> dict[str, frozenset[str]]:
    """Jobs that could go to the old cluster stay with those who held its token, and with nobody else."""
    return {
        owner: grants - {effect.name} | {effect.retired} for owner, grants in owners.items() if effect.name in grants
    }
