"""The JSON that others build on: these names are promised in docs/cli.md."""

from typing import Any

from rainbow_client.output import Output
from rainbow_client.whole import Whole
from rainbow_protocol.messages.client import ClusterInfo, ClusterShown, Event, Explanation, JobStatus, SubmitResult


def submit_document(result: SubmitResult) -> dict[str, Any]:
    document: dict[str, Any] = {"job": result.job, "state": result.state, "duplicate": result.duplicate}
    return document if result.jobs is None else document | {"jobs": result.jobs}


def status_document(status: JobStatus) -> dict[str, Any]:
    return {
        "job": status.job,
        "state": status.state,
        "cluster": status.cluster,
        "attempt": status.attempt,
        "exit_code": status.exit_code,
        "reason": status.reason,
        "submitted_at": status.submitted_at,
        "assigned_at": status.assigned_at,
        "started_at": status.started_at,
        "finished_at": status.finished_at,
        "name": status.name,
        "native_id": status.native_id,
        "cancel_requested": status.cancel_requested,
        "command": status.command,
        "user": status.user,
        "array": status.array,
        "array_index": status.array_index,
    }


def event_document(event: Event) -> dict[str, Any]:
    return {"at": event.at, "event": event.event} | event.data | {"seq": event.seq, "state": event.state}


def explain_document(explanation: Explanation) -> dict[str, Any]:
    return {
        "job": explanation.job,
        "state": explanation.state,
        "reason": explanation.reason,
        "request": explanation.request.model_dump() if explanation.request else None,
        "policy": explanation.policy,
        "clusters": [verdict.model_dump() for verdict in explanation.clusters],
        "bids": [bid.model_dump() for bid in explanation.bids],
        "winner": explanation.winner,
        "history": [event_document(event) for event in explanation.history],
    }


def whole_document(whole: Whole) -> dict[str, Any]:
    return {
        "array": whole.array,
        "state": whole.state,
        "jobs": len(whole.jobs),
        "states": whole.counts,
        "reasons": [{"state": state, "reason": reason, "jobs": len(jobs)} for state, reason, jobs in whole.reasons()],
    }


def cluster_document(cluster: ClusterInfo) -> dict[str, Any]:
    known, totals = cluster.counts, cluster.resources
    if not known and totals is not None:  # a daemon that knows no more than that
        each = {"core": totals.cores_per_node, "gpu": totals.gpus_per_node}
        known = {"node": totals.nodes, **{kind: totals.nodes * count for kind, count in each.items()}}
    return {
        "name": cluster.name,
        "state": cluster.state,
        "nodes": known.get("node", 0) if known else None,
        "cores": known.get("core", 0) if known else None,
        "gpus": known.get("gpu", 0) if known else None,
        "free": cluster.free.model_dump() if cluster.free else {},
        "draining": cluster.draining,
        "keys": cluster.keys,
    }


def shown_document(shown: ClusterShown) -> dict[str, Any]:
    """All but the graph itself."""
    return shown.model_dump(exclude={"type", "ref", "tree", "part", "parts"})


def output_document(piece: Output, text: str) -> dict[str, Any]:
    return {"stream": piece.stream, "offset": piece.offset, "data": text}
