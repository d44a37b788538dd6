"""Endpoint /v1/client: what a user's program and the daemon say to each other.

Each request carries an `id` chosen by the client; what answers it carries the
same number in `ref`. Requests may overlap; answers come in any order.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from rainbow_protocol import limits
from rainbow_protocol.job import Free, JobRequest, JobState, SubsystemName, Totals
from rainbow_protocol.messages.agent import OutputChunk
from rainbow_protocol.messages.common import Error, Goodbye, JobId, Offset, RequestId
from rainbow_protocol.wire import Line, WireModel
from rainbow_protocol.wishes import ClusterName, StateKey, StateValue

# The first bad item is enough: explaining each of a thousand would hold up everybody else.
_BATCH = Field(min_length=1, max_length=limits.BATCH_ITEMS_MAX, fail_fast=True)
Token = Annotated[str, StringConstraints(min_length=1, max_length=limits.TOKEN_CHARS_MAX)]


class Request(WireModel):
    id: RequestId


class Answer(WireModel):
    ref: RequestId


# --- client → daemon ------------------------------------------------------


class ClientHello(Request):
    """First message: the further tokens of this session, beside the one of the handshake."""

    type: Literal["hello"] = "hello"
    tokens: list[Token] = Field(default_factory=list, max_length=limits.TOKENS_MAX)
    user: Annotated[str, Line] | None = Field(
        default=None, max_length=limits.USER_CHARS_MAX, description="who is asking, by their own account"
    )


class Array(WireModel):
    """The same job once for every index. `at_once`: no more of them at clusters at a time."""

    indices: Annotated[str, Line] = Field(max_length=limits.ARRAY_TEXT_CHARS_MAX, description="as in 1-9:2,17")
    at_once: int | None = Field(default=None, ge=1, le=limits.ARRAY_JOBS_MAX)


class Submission(WireModel):
    key: Annotated[str, StringConstraints(min_length=1, max_length=limits.KEY_CHARS_MAX)] | None = None
    request: JobRequest
    array: Array | None = None


class Submit(Request):
    type: Literal["submit"] = "submit"
    items: list[Submission] = _BATCH
    check: bool = Field(default=False, description="submit nothing, only say what would be refused for what it asks")


class Status(Request):
    """Of jobs. The members of an array come with `list`."""

    type: Literal["status"] = "status"
    jobs: list[JobId] = _BATCH


class ListJobs(Request):
    """Newest first; `before` pages on."""

    type: Literal["list"] = "list"
    states: list[JobState] | None = Field(default=None, max_length=limits.STATES_WANTED_MAX)
    cluster: ClusterName | None = None
    array: JobId | None = Field(default=None, description="only members of this array")
    before: JobId | None = None
    limit: int = Field(default=100, ge=1, le=limits.JOBS_PAGE_MAX)


class Cancel(Request):
    """Jobs, not arrays: what members an array has is told by `list`."""

    type: Literal["cancel"] = "cancel"
    jobs: list[JobId] = _BATCH


class Explain(Request):
    type: Literal["explain"] = "explain"
    job: JobId


class ListClusters(Request):
    type: Literal["clusters"] = "clusters"


class Watch(Request):
    """From now on send `events` of these jobs, first those that already happened (after `since`, by seq)."""

    type: Literal["watch"] = "watch"
    jobs: list[JobId] = _BATCH
    since: int = Field(default=0, ge=0, le=limits.EVENT_SEQ_MAX)


class Unwatch(Request):
    """Ends every watch that this session has of these jobs."""

    type: Literal["unwatch"] = "unwatch"
    jobs: list[JobId] = _BATCH


class Logs(Request):
    """One piece of output from these offsets; with `wait_s` the answer waits until there is some."""

    type: Literal["logs"] = "logs"
    job: JobId
    stdout_offset: Offset = 0
    stderr_offset: Offset = 0
    wait_s: float = Field(default=0, ge=0, le=limits.OUTPUT_WAIT_S_MAX)


class DocumentPart(Request):
    """One piece of a document, in order: zlib-compressed as a whole, then cut. `register_…` then refers to it.

    A session has one document at a time; another number begins anew. Needs the registration secret.
    """

    type: Literal["document_part"] = "document_part"
    document: RequestId
    data: str = Field(max_length=limits.GRAPH_PART_CHARS_MAX, description="base64")


class DocumentRef(WireModel):
    """A document whose parts were sent before; `bytes` is its length before it was compressed."""

    document: RequestId
    bytes: int = Field(ge=1, le=limits.GRAPH_BYTES_MAX)


class RegisterCluster(Request):
    """Needs the registration secret as the handshake's credential.

    A name that is registered already keeps its credentials, and only its description is replaced. Refused, and
    nothing changed, if there is no description to replace it with.
    """

    type: Literal["register_cluster"] = "register_cluster"
    name: ClusterName
    resources: Totals | None = None
    document: DocumentRef | None = None

    @model_validator(mode="after")
    def _described_once(self) -> Self:
        if self.resources is not None and self.document is not None:
            raise ValueError("give totals or a document, not both")
        return self


class RegisterSubsystem(Request):
    """Attaches a subsystem's graph to a cluster's, or replaces it. Needs the registration secret."""

    type: Literal["register_subsystem"] = "register_subsystem"
    cluster: ClusterName
    name: SubsystemName
    document: DocumentRef


class DeleteSubsystem(Request):
    type: Literal["delete_subsystem"] = "delete_subsystem"
    cluster: ClusterName
    name: SubsystemName


class DeleteCluster(Request):
    """Refused while jobs are there, unless forced: they then count as lost. Needs the registration secret."""

    type: Literal["delete_cluster"] = "delete_cluster"
    name: ClusterName
    force: bool = False


class SetState(Request):
    """Site keys of a cluster that policies see, beside those that its agent tells. Needs the registration secret."""

    type: Literal["set_state"] = "set_state"
    cluster: ClusterName
    keys: dict[StateKey, StateValue] = Field(default_factory=dict, max_length=limits.STATE_KEYS_MAX)
    unset: list[StateKey] = Field(default_factory=list, max_length=limits.STATE_KEYS_MAX)


class ShowCluster(Request):
    """`part` asks for the graph itself too, piece by piece from 0 on."""

    type: Literal["show_cluster"] = "show_cluster"
    name: ClusterName
    part: int | None = Field(default=None, ge=0, le=limits.REQUEST_ID_MAX)


class Satisfy(Request):
    """Asks which clusters could hold this, submitting nothing."""

    type: Literal["satisfy"] = "satisfy"
    request: JobRequest


# --- daemon → client ------------------------------------------------------


class ClientWelcome(Answer):
    """`clusters` are those the session may use; `unknown_tokens` the positions of tokens that open nothing."""

    type: Literal["welcome"] = "welcome"
    version: str
    clusters: list[str]
    unknown_tokens: list[int] = Field(default_factory=list)


class SubmitResult(WireModel):
    """A job with its state, or an error; `duplicate` when the key had been used for the same job before.

    For an array `job` is the id of the whole, and `jobs` says how many it has.
    """

    job: str | None = None
    array: str | None = None
    jobs: int | None = None
    state: JobState | None = None
    duplicate: bool = False
    error: Error | None = None


class Submitted(Answer):
    type: Literal["submitted"] = "submitted"
    items: list[SubmitResult]


class JobStatus(WireModel):
    """`command` is for reading: one line, quoted as for a shell, and shortened."""

    job: str
    name: str
    command: str = ""
    state: JobState
    cluster: str | None
    attempt: int
    exit_code: int | None
    reason: str
    cancel_requested: bool = False
    native_id: str | None = None
    user: str = ""
    array: str | None = None
    array_index: int | None = None
    submitted_at: float
    assigned_at: float | None
    started_at: float | None
    finished_at: float | None


class Jobs(Answer):
    """Answers `status` (in the order asked) and `list`. `unknown` are ids that do not exist for this session."""

    type: Literal["jobs"] = "jobs"
    items: list[JobStatus]
    unknown: list[str] = Field(default_factory=list)


class CancelResult(WireModel):
    job: str
    state: JobState
    outcome: Literal["cancelled", "cancelling", "already_over"]
    reason: str = ""


class CancelAnswer(Answer):
    type: Literal["cancel_answer"] = "cancel_answer"
    items: list[CancelResult]
    unknown: list[str] = Field(default_factory=list)


class ClusterVerdict(WireModel):
    cluster: str
    verdict: Literal["asked", "filtered"]
    reason: str


class BidRecord(WireModel):
    cluster: str
    attempt: int
    round: int
    answer: Literal["yes", "no"]
    eta_s: float | None
    eta_low_s: float | None = None
    eta_high_s: float | None = None
    cost: float | None
    reason: str
    score: list[float | str] | None


class Event(WireModel):
    """One line of a job's history. `data` depends on `event`; docs/protocol.md lists them."""

    job: str
    seq: int
    at: float
    event: str
    state: JobState
    data: dict[str, Any] = Field(default_factory=dict)


class Explanation(Answer):
    type: Literal["explanation"] = "explanation"
    job: str
    state: JobState
    reason: str
    policy: str
    clusters: list[ClusterVerdict]
    bids: list[BidRecord]
    winner: str | None
    history: list[Event]
    request: JobRequest | None = None


class ClusterInfo(WireModel):
    """`counts` are of all that it has; `resources` is there only if its nodes are known to be equal."""

    name: str
    state: Literal["online", "offline"]
    resources: Totals | None
    free: Free | None
    counts: dict[str, int | float] = Field(default_factory=dict, description="how many of each type it has")
    draining: str | None = None
    keys: dict[str, bool | int | float | str] = Field(default_factory=dict)


class Clusters(Answer):
    type: Literal["cluster_list"] = "cluster_list"
    items: list[ClusterInfo]


class Events(Answer):
    """`ref` is the `watch` that asked. `live` is set on the frame that ends the replay of the past."""

    type: Literal["events"] = "events"
    items: list[Event] = Field(max_length=limits.EVENTS_PAGE_MAX)
    live: bool = False
    unknown: list[str] = Field(default_factory=list)


class Done(Answer):
    type: Literal["done"] = "done"


class LogsAnswer(Answer):
    """`done`: the job has ended and these chunks reach the end of its output."""

    type: Literal["logs_answer"] = "logs_answer"
    chunks: list[OutputChunk]
    done: bool
    truncated: bool = False


class Registered(Answer):
    """The only time that secret and token are shown; both are absent when a known cluster was updated."""

    type: Literal["registered"] = "registered"
    cluster: str
    secret: str | None = None
    token: str | None = None
    counts: dict[str, int | float] = Field(default_factory=dict, description="how many of each type it has")
    warnings: list[str] = Field(default_factory=list)


class NodeKind(WireModel):
    """Equal nodes: what each of them has."""

    nodes: int
    contents: dict[str, int | float]
    properties: list[str] = Field(default_factory=list)
    attributes: dict[str, bool | int | float | str] = Field(default_factory=dict)
    subsystems: list[str] = Field(default_factory=list)
    hosts: str = Field(default="", description="some of their names, as a hostlist")


class SubsystemInfo(WireModel):
    name: str
    vertices: int
    attached_to: int = Field(description="how many vertices of the cluster have something of it")
    types: dict[str, int] = Field(default_factory=dict)


class ClusterShown(Answer):
    """A cluster's description in brief. `tree` is for reading; `part` a piece of the whole graph, as asked for."""

    type: Literal["cluster"] = "cluster"
    name: str
    state: Literal["online", "offline"]
    described: Literal["graph", "limits", "totals"] | None
    described_by: Literal["registration", "agent"] | None = None
    described_at: float | None = None
    counts: dict[str, int | float] = Field(default_factory=dict)
    kinds: list[NodeKind] = Field(default_factory=list)
    kinds_more: int = Field(default=0, description="kinds of node beyond those listed")
    subsystems: list[SubsystemInfo] = Field(default_factory=list)
    tree: list[str] = Field(default_factory=list)
    free: Free | None = None
    draining: str | None = None
    keys: dict[str, bool | int | float | str] = Field(default_factory=dict)
    groups: list[str] = Field(default_factory=list)
    part: str | None = Field(default=None, description="base64 of a piece of the zlib-compressed JSON document")
    parts: int | None = None


class Match(WireModel):
    """`instances` of the whole request fit at once; `numbers` tell more (docs/resources.md)."""

    cluster: str
    instances: int
    nodes_matched: int
    numbers: dict[str, int | float] = Field(default_factory=dict)


class Mismatch(WireModel):
    cluster: str
    reason: str
    needed: int | float | str | None = None
    have: int | float | str | None = None


class SatisfyAnswer(Answer):
    type: Literal["satisfy_answer"] = "satisfy_answer"
    matches: list[Match]
    mismatches: list[Mismatch]


FromClient = Annotated[
    ClientHello
    | Submit
    | Status
    | ListJobs
    | Cancel
    | Explain
    | ListClusters
    | Watch
    | Unwatch
    | Logs
    | DocumentPart
    | RegisterCluster
    | RegisterSubsystem
    | DeleteSubsystem
    | DeleteCluster
    | SetState
    | ShowCluster
    | Satisfy
    | Goodbye
    | Error,
    Field(discriminator="type"),
]
ToClient = Annotated[
    ClientWelcome
    | Submitted
    | Jobs
    | CancelAnswer
    | Explanation
    | Clusters
    | Events
    | Done
    | LogsAnswer
    | Registered
    | ClusterShown
    | SatisfyAnswer
    | Goodbye
    | Error,
    Field(discriminator="type"),
]
