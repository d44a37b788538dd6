"""The error codes of the protocol, each with words that say what to do next.

An expected refusal is a message, not an exception: `ErrorCode` plus a sentence.
`ProtocolError` is what the codec raises on a frame it cannot take; the session
answers it with an `error` message and goes on.
"""

from enum import StrEnum


class ErrorCode(StrEnum):
    MALFORMED = "malformed"
    UNKNOWN_TYPE = "unknown_type"
    INVALID = "invalid"
    TOO_LARGE = "too_large"
    UNAUTHORIZED = "unauthorized"
    NOT_ALLOWED = "not_allowed"
    UNKNOWN_JOB = "unknown_job"
    UNKNOWN_CLUSTER = "unknown_cluster"
    CLUSTER_EXISTS = "cluster_exists"
    CLUSTER_BUSY = "cluster_busy"
    CLUSTER_OFFLINE = "cluster_offline"
    CLUSTER_HAS_JOBS = "cluster_has_jobs"
    CLUSTER_CHANGED = "cluster_changed"
    UNKNOWN_SUBSYSTEM = "unknown_subsystem"
    BAD_GRAPH = "bad_graph"
    READING_BUSY = "reading_busy"
    READING_FAILED = "reading_failed"
    NO_OUTPUT = "no_output"
    KEY_REUSED = "key_reused"
    OVERLOADED = "overloaded"
    TOO_MANY = "too_many"
    SHUTTING_DOWN = "shutting_down"
    INTERNAL = "internal"


HINTS: dict[ErrorCode, str] = {
    ErrorCode.MALFORMED: "Send one JSON object per text frame, with a string field 'type'.",
    ErrorCode.UNKNOWN_TYPE: "Use a message type of rainbow.v1; a newer peer may know types that this one does not.",
    ErrorCode.INVALID: "Correct the field that the message names and send it again.",
    ErrorCode.TOO_LARGE: "Split it into smaller batches; docs/protocol.md lists the limits.",
    ErrorCode.UNAUTHORIZED: "Check the secret or token: `rainbow register cluster` gives them out.",
    ErrorCode.NOT_ALLOWED: "Use a credential that was granted this.",
    ErrorCode.UNKNOWN_JOB: "`rainbow jobs` lists the jobs that you can see.",
    ErrorCode.UNKNOWN_CLUSTER: "`rainbow clusters` lists the clusters that you may use.",
    ErrorCode.CLUSTER_EXISTS: "To update it, give its resources (--nodes-json FILE); else choose another name.",
    ErrorCode.CLUSTER_BUSY: "Stop the other agent of this cluster, or register this one under its own name.",
    ErrorCode.CLUSTER_OFFLINE: "Try again when the cluster is back: `rainbow clusters` tells.",
    ErrorCode.CLUSTER_HAS_JOBS: "Cancel them or wait for them; with --force they count as lost.",
    ErrorCode.CLUSTER_CHANGED: "Look at what it is now (`rainbow clusters show NAME`), then send yours again.",
    ErrorCode.UNKNOWN_SUBSYSTEM: "`rainbow clusters show NAME` lists the subsystems of a cluster.",
    ErrorCode.BAD_GRAPH: "Nothing was changed. Correct the document where the message says, and register it again.",
    ErrorCode.READING_BUSY: "The daemon reads as many documents as it can already; try again in a moment.",
    ErrorCode.READING_FAILED: "Nothing was changed. Describe equal things by their number (`size`), or try later.",
    ErrorCode.NO_OUTPUT: "Wait until the job has started: `rainbow status JOB` tells.",
    ErrorCode.KEY_REUSED: "Use a new --key for a different job.",
    ErrorCode.OVERLOADED: "Wait a moment and try again.",
    ErrorCode.TOO_MANY: "Finish or drop some of what is open first.",
    ErrorCode.SHUTTING_DOWN: "The daemon is stopping; reconnect when it is back.",
    ErrorCode.INTERNAL: "This is a bug in Rainbow; the daemon's log has the details.",
}


class ProtocolError(Exception):
    """A frame that cannot be taken. `ref` is the request id it came with, when that could be read."""

    def __init__(self, code: ErrorCode, message: str, ref: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.ref = ref
