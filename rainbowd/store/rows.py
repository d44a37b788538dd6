"""Rows to what the core remembers, and back."""

import sqlite3
from collections.abc import Callable
from typing import Any

import orjson

from rainbow_protocol.job import JobRequest
from rainbowd.core.state import Cluster, Job
from rainbowd.core.transitions import JobState
from rainbowd.requested import facts_of, shape_of, wishes_of
from rainbowd.resources.classes import from_totals
from rainbowd.resources.terms import terms_of


def job_row(job: Job) -> tuple[Any, ...]:
    """In the order of the query `save_job`."""
    return (
        job.id,
        job.owner,
        job.key,
        job.name,
        job.state,
        job.attempt,
        job.cluster,
        job.reason,
        job.exit_code,
        job.native_id,
        job.submitted_at,
        job.assigned_at,
        job.started_at,
        job.finished_at,
        job.cancel_requested,
        job.report_seq,
        job.history_len,
        job.user,
        job.array,
        job.array_index,
        job.array_at_once,
        job.moves,
        job.promised_at,
    )


def read_job(row: sqlite3.Row, ask_of: Callable[[JobRequest], Any]) -> Job:
    request = JobRequest.model_validate_json(row["request"])
    return Job(
        id=row["id"],
        owner=row["owner"],
        grants=tuple(orjson.loads(row["grants"])),
        key=row["key"],
        name=row["name"],
        shape=shape_of(request),
        payload=row["request"].encode(),
        ask=ask_of(request),
        terms=terms_of(request),
        submitted_at=row["submitted_at"],
        state=JobState(row["state"]),
        attempt=row["attempt"],
        cluster=row["cluster"],
        reason=row["reason"],
        exit_code=row["exit_code"],
        native_id=row["native_id"],
        assigned_at=row["assigned_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        cancel_requested=bool(row["cancel_requested"]),
        report_seq=row["report_seq"],
        history_len=row["history_len"],
        user=row["user"],
        wishes=wishes_of(request),
        facts=facts_of(request),
        array=row["array"],
        array_index=row["array_index"],
        array_at_once=row["array_at_once"],
        moves=row["moves"],
        promised_at=row["promised_at"],
    )


def owner_row(owner: str, grants: frozenset[str]) -> dict[str, Any]:
    return {"owner": owner, "grants": orjson.dumps(sorted(grants)).decode()}


def cluster_row(cluster: Cluster) -> dict[str, Any]:
    return {
        "name": cluster.name,
        "registered_at": cluster.registered_at,
        "secret_hash": cluster.secret_hash,
        "token_hash": cluster.token_hash,
        "form": cluster.form,
        "described_by": cluster.described_by,
        "described_at": cluster.described_at,
        "digest": cluster.digest,
        "revision": cluster.revision,
        "generation": cluster.generation,
        "site_keys": orjson.dumps(cluster.site_keys).decode(),
    }


def read_cluster(row: sqlite3.Row, load: Callable[[bytes], Any]) -> Cluster:
    description: bytes | None = row["description"]
    if description is None and row["resources"] is not None:  # of a database that knew totals only
        told = orjson.loads(row["resources"])
        description = from_totals(told["nodes"], told["cores_per_node"], told["gpus_per_node"])
    return Cluster(
        name=row["name"],
        registered_at=row["registered_at"],
        secret_hash=row["secret_hash"],
        token_hash=row["token_hash"],
        resources=None if description is None else load(description),
        form=row["form"],
        described_by=row["described_by"],
        described_at=row["described_at"],
        digest=row["digest"],
        revision=row["revision"],
        generation=row["generation"],
        site_keys=orjson.loads(row["site_keys"]),
    )
