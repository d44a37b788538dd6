"""Between the wire's models and the core's dataclasses, and nothing more."""

import shlex
import sqlite3
from typing import Any, cast

import orjson

from rainbow_protocol import limits
from rainbow_protocol.job import Free
from rainbow_protocol.job import JobState as WireState
from rainbow_protocol.messages import agent as wire
from rainbow_protocol.messages.client import (
    BidRecord,
    ClusterInfo,
    ClusterVerdict,
    Event,
    JobStatus,
    Submission,
)
from rainbowd.core import commands
from rainbowd.core.selection.base import Facts
from rainbowd.core.state import Cluster, Shape
from rainbowd.core.transitions import STARTED, TERMINAL
from rainbowd.net import figures
from rainbowd.requested import facts_of, shape_of, wishes_of
from rainbowd.resources.asking import ask_of
from rainbowd.resources.terms import terms_of

# --- inward ---------------------------------------------------------------


def new_job(
    job_id: str, owner: str, grants: tuple[str, ...], submission: Submission, deletions_seen: int, user: str = ""
) -> commands.NewJob:
    request = submission.request
    return commands.NewJob(
        id=job_id,
        owner=owner,
        grants=grants,
        key=submission.key,
        name=request.display_name,
        shape=shape_of(request),
        payload=orjson.dumps(request.model_dump(exclude_defaults=True), option=orjson.OPT_SORT_KEYS),
        ask=ask_of(request),
        terms=terms_of(request),
        deletions_seen=deletions_seen,
        user=user,
        wishes=wishes_of(request),
        facts=facts_of(request),
    )


def bids(session: int, message: wire.Bids) -> commands.BidsReceived:
    items = [
        commands.BidItem(
            bid.job,
            bid.attempt,
            bid.answer == "yes",
            bid.eta_s or 0.0,
            bid.cost or 0.0,
            bid.reason,
            bid.eta_low_s,
            bid.eta_high_s,
        )
        for bid in message.items
    ]
    return commands.BidsReceived(session, items)


def state_facts(free: Free | None, keys: dict[str, Any]) -> Facts:
    """What an agent says of its cluster, by the names that policies know. Its own keys do not hide what is free."""
    if free is None:
        return keys
    return keys | {
        "nodes_free": free.nodes,
        "cores_free": free.cores,
        "gpus_free": free.gpus,
        "jobs_queued": free.queued,
        "jobs_running": free.running,
    }


def agent_state(session: int, message: wire.ClusterState) -> commands.AgentState:
    return commands.AgentState(session, message.free, state_facts(message.free, dict(message.keys)), message.draining)


def answers(session: int, message: wire.AwardAnswers) -> commands.AwardsAnswered:
    items = [commands.AnswerItem(a.job, a.attempt, a.answer == "accept", a.reason) for a in message.items]
    return commands.AwardsAnswered(session, items)


def reports(session: int, message: wire.Reports) -> commands.ReportsReceived:
    items = [
        commands.ReportItem(r.job, r.attempt, r.seq, r.event, r.at, r.exit_code, r.reason, r.native_id)
        for r in message.items
    ]
    return commands.ReportsReceived(session, items)


# --- outward --------------------------------------------------------------


def shape_data(needed: Shape) -> dict[str, Any]:
    return {
        "nodes": needed.nodes,
        "tasks": needed.tasks,
        "cores_per_task": needed.cores_per_task,
        "gpus_per_task": needed.gpus_per_task,
        "time_limit_s": needed.time_limit_s,
        "exclusive": needed.exclusive,
    }


def job_status(row: sqlite3.Row, online: frozenset[str]) -> JobStatus:
    """A committed job as the user sees it. Who waits for an absent cluster is told so."""
    reason = row["reason"]
    if row["state"] in STARTED and row["cluster"] not in online:
        reason = f"{row['cluster']} is offline; the job stays there, and its fate is known when it is back"
    elif row["cancel_requested"] and row["state"] not in TERMINAL:
        reason = f"cancel requested; waiting for {row['cluster']} to end it"
    return JobStatus(
        job=row["id"],
        name=row["name"],
        command=_one_line(orjson.loads(row["request"])["command"]),
        state=cast(WireState, row["state"]),
        cluster=row["cluster"],
        attempt=row["attempt"],
        exit_code=row["exit_code"],
        reason=reason,
        cancel_requested=bool(row["cancel_requested"]),
        native_id=row["native_id"],
        user=row["user"],
        array=row["array"],
        array_index=row["array_index"],
        submitted_at=row["submitted_at"],
        assigned_at=row["assigned_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
    )


def _one_line(words: list[str]) -> str:
    """Enough words to fill the line; the rest is never looked at."""
    limit = limits.COMMAND_SHOWN_CHARS_MAX
    shown = shlex.join(word[:limit] for word in words[:limit])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def event(row: dict[str, Any]) -> Event:
    return Event(**row)


def cluster_info(cluster: Cluster) -> ClusterInfo:
    return ClusterInfo(
        name=cluster.name,
        state="online" if cluster.online else "offline",
        resources=figures.totals(cluster),
        counts=figures.counts(cluster.resources),
        free=cluster.free,
        draining=cluster.draining,
        keys=dict(cluster.state),
    )


def verdicts(history: list[Event]) -> list[ClusterVerdict]:
    """The latest survey's word on every cluster. One that was asked in any round of an attempt stays asked."""
    latest: dict[str, ClusterVerdict] = {}
    attempt = None
    for happened in history:
        rows = happened.data.get("clusters", [])
        if rows and (happened.event != "offered" or happened.data["attempt"] != attempt):
            attempt, latest = happened.data.get("attempt"), {}
        for row in rows:
            verdict = ClusterVerdict(**row)
            old = latest.get(verdict.cluster)
            if old is None or old.verdict != "asked":
                latest[verdict.cluster] = verdict
    return sorted(latest.values(), key=lambda verdict: verdict.cluster)


def bid_records(history: list[Event]) -> list[BidRecord]:
    """All bids of all attempts. An attempt's last word repeats its earlier rounds, so each bid is taken once."""
    records: dict[tuple[int, int, str], BidRecord] = {}
    for happened in history:
        for row in happened.data.get("bids", []):
            record = BidRecord(attempt=happened.data["attempt"], **row)
            records[record.attempt, record.round, record.cluster] = record
    return list(records.values())
