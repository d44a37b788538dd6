"""Endpoint /v1/agent: what a cluster's agent and the daemon say to each other.

Everything about a job carries (job, attempt). A message about an attempt that
is not the current one changes nothing: the daemon releases a stale Yes or
acceptance, and acknowledges a stale report so that it is not sent again.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from rainbow_protocol import limits
from rainbow_protocol.job import Free, JobRequest, Shape, Totals
from rainbow_protocol.messages.common import Attempt, Error, Goodbye, JobId, Offset, RequestId
from rainbow_protocol.resources import Constraint, Needs, Requirement
from rainbow_protocol.wire import Line, Reason, WireModel
from rainbow_protocol.wishes import StateKey, StateValue

# The first bad item is enough: explaining each of a thousand would hold up everybody else.
_BATCH = Field(min_length=1, max_length=limits.BATCH_ITEMS_MAX, fail_fast=True)


# SHA-256 of a document as it stands in its file.
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class AttemptRef(WireModel):
    job: JobId
    attempt: Attempt


# --- agent → daemon -------------------------------------------------------


class AgentHello(WireModel):
    """The first message of an agent. `agent_id` tells a reconnect from a second agent of the same cluster."""

    type: Literal["hello"] = "hello"
    agent_id: Annotated[
        str,
        StringConstraints(
            min_length=limits.AGENT_ID_CHARS_MIN, max_length=limits.AGENT_ID_CHARS_MAX, pattern=r"^[A-Za-z0-9_-]+$"
        ),
    ]
    version: Annotated[str, Line] = Field(max_length=limits.VERSION_CHARS_MAX)
    backend: Annotated[str, Line] = Field(max_length=limits.BACKEND_CHARS_MAX)
    resources: Totals
    free: Free | None = None
    keys: dict[StateKey, StateValue] = Field(default_factory=dict, max_length=limits.STATE_KEYS_MAX)
    draining: Reason | None = None
    graph: Digest | None = Field(default=None, description="of the document that describes it, if it has one")


class GraphPart(WireModel):
    """One piece of the document whose digest was told, zlib-compressed as a whole, then cut; the last says so.

    Sent when the welcome asks for it, and again, after a new digest, whenever the cluster changes.
    """

    type: Literal["graph_part"] = "graph_part"
    digest: Digest
    bytes: int = Field(ge=1, le=limits.GRAPH_BYTES_MAX, description="of the document, before it was compressed")
    data: str = Field(max_length=limits.GRAPH_PART_CHARS_MAX, description="base64")
    last: bool


class InventoryItem(AttemptRef):
    """An attempt in the agent's journal: accepted (no start seen), started (start seen), or finished."""

    phase: Literal["accepted", "started", "finished"]


class Inventory(WireModel):
    """Everything in the agent's journal, after `hello`, in as many frames as it takes; the last says so."""

    type: Literal["inventory"] = "inventory"
    items: list[InventoryItem] = Field(max_length=limits.BATCH_ITEMS_MAX, fail_fast=True)
    last: bool


class Bid(AttemptRef):
    """Yes with when and how much, or No with a reason."""

    answer: Literal["yes", "no"]
    eta_s: float | None = Field(default=None, ge=0, le=limits.ETA_S_MAX)
    eta_low_s: float | None = Field(default=None, ge=0, le=limits.ETA_S_MAX, description="if all goes well")
    eta_high_s: float | None = Field(default=None, ge=0, le=limits.ETA_S_MAX, description="if all take their limits")
    cost: float | None = Field(default=None, ge=0, le=limits.COST_MAX)
    reason: Reason = ""

    @model_validator(mode="after")
    def _yes_says_when_and_how_much(self) -> Self:
        # Taken for zero, what is missing would win every auction.
        if self.answer == "yes" and (self.eta_s is None or self.cost is None):
            raise ValueError("a Yes needs eta_s and cost")
        return self


class Bids(WireModel):
    type: Literal["bids"] = "bids"
    items: list[Bid] = _BATCH


class AwardAnswer(AttemptRef):
    """`accept` means: it is in the journal, and runs when `start` comes. `refuse` means: it is not."""

    answer: Literal["accept", "refuse"]
    reason: Reason = ""


class AwardAnswers(WireModel):
    type: Literal["award_answers"] = "award_answers"
    items: list[AwardAnswer] = _BATCH


class Report(AttemptRef):
    """What happened to a started attempt. Sent again until acknowledged; `seq` grows by one per attempt.

    `returned` hands the job back: it was never run and never will be under this attempt.
    """

    seq: int = Field(ge=1, le=limits.REPORT_SEQ_MAX)
    event: Literal["queued", "running", "completed", "failed", "cancelled", "lost", "returned"]
    at: float = Field(ge=0, le=limits.TIMESTAMP_S_MAX, description="seconds since 1970, by the agent's clock")
    exit_code: int | None = Field(default=None, ge=limits.EXIT_CODE_MIN, le=limits.EXIT_CODE_MAX)
    reason: Reason = ""
    native_id: Annotated[str, Line] | None = Field(default=None, max_length=limits.NATIVE_ID_CHARS_MAX)


class Reports(WireModel):
    type: Literal["reports"] = "reports"
    items: list[Report] = _BATCH


class ClusterState(WireModel):
    """Pushed when it changes; throttled by the agent. `keys` are all of the site's own, and what is known of bids."""

    type: Literal["state"] = "state"
    free: Free
    keys: dict[StateKey, StateValue] = Field(default_factory=dict, max_length=limits.STATE_KEYS_MAX)
    draining: Reason | None = Field(default=None, description="why it takes no new jobs, if it does not")


class OutputChunk(WireModel):
    stream: Literal["stdout", "stderr"]
    offset: Offset
    data: str = Field(max_length=limits.OUTPUT_CHUNK_CHARS_MAX, description="base64")


class Output(WireModel):
    """Answers one `read_output`. `done` means: the job has ended and this reaches the end of both streams."""

    type: Literal["output"] = "output"
    request: RequestId
    chunks: list[OutputChunk] = Field(max_length=2)
    done: bool
    truncated: bool = False
    error: Reason | None = None


# --- daemon → agent -------------------------------------------------------


class AgentWelcome(WireModel):
    """Answers the last `inventory`: the session may bid from here on."""

    type: Literal["welcome"] = "welcome"
    cluster: str
    version: str
    send_graph: bool = Field(default=False, description="the daemon does not have the document of the hello's digest")


class GraphTaken(WireModel):
    """The description is on the daemon's disk and in use; or, with `error`, it was refused and the old one stays."""

    type: Literal["graph_taken"] = "graph_taken"
    digest: str
    error: str | None = None
    busy: bool = Field(default=False, description="it was not looked at: to be sent again in a while")


class Offer(AttemptRef):
    """What is needed to bid, and no more: not the command, not the environment.

    `needs`, `requires` and `constraint` are there if the request says more than its shape can.
    """

    shape: Shape
    needs: Needs | None = None
    requires: list[Requirement] = Field(default_factory=list)
    constraint: Constraint | None = None
    queue: str | None = None
    image: bool = Field(default=False, description="the job runs in a container image")
    dependencies: bool = Field(default=False, description="the job waits for others of the cluster, or they for it")
    user: str = Field(default="", description="who submitted it, as far as the daemon knows")
    waits_here: Attempt | None = Field(
        default=None, description="an attempt of this job in the cluster's own queue: answer for that one, hold nothing"
    )
    deadline_ms: int = Field(ge=0, description="answer within so many milliseconds")
    hold_s: float = Field(ge=0, description="a Yes holds its place this long, if nothing else comes")


class Offers(WireModel):
    type: Literal["offers"] = "offers"
    items: list[Offer] = _BATCH


class Award(AttemptRef):
    request: JobRequest
    user: str = Field(default="", description="as in the offer, if there was one")
    array: JobId | None = Field(default=None, description="the array that it is a member of")
    array_index: int | None = Field(default=None, ge=0, le=limits.ARRAY_INDEX_MAX)


class Awards(WireModel):
    type: Literal["awards"] = "awards"
    items: list[Award] = _BATCH


class Starts(WireModel):
    """The acceptance is on the daemon's disk: run it. May come again; the agent's journal makes that harmless."""

    type: Literal["starts"] = "starts"
    items: list[AttemptRef] = _BATCH


class Releases(WireModel):
    """This attempt is not yours, or not any more, and was never started: drop the hold or the acceptance."""

    type: Literal["releases"] = "releases"
    items: list[AttemptRef] = _BATCH


class Withdrawals(WireModel):
    """Give this started attempt back if it only waits in the queue: reported as `returned`. If it runs, it stays."""

    type: Literal["withdrawals"] = "withdrawals"
    items: list[AttemptRef] = _BATCH


class Cancels(WireModel):
    """End this started attempt. Its outcome comes as a report."""

    type: Literal["cancels"] = "cancels"
    items: list[AttemptRef] = _BATCH


class Ack(AttemptRef):
    """The report with this `seq` is on the daemon's disk, or no longer matters; so it is with those before it."""

    seq: int = Field(ge=1, le=limits.REPORT_SEQ_MAX)


class Acks(WireModel):
    type: Literal["acks"] = "acks"
    items: list[Ack] = _BATCH


class ReadOutput(WireModel):
    """Asks for output from these offsets; with `wait_s`, for at most so long, until there is some."""

    type: Literal["read_output"] = "read_output"
    request: RequestId
    job: JobId
    attempt: Attempt
    stdout_offset: Offset = 0
    stderr_offset: Offset = 0
    wait_s: float = Field(default=0, ge=0, le=limits.OUTPUT_WAIT_S_MAX)


FromAgent = Annotated[
    AgentHello | GraphPart | Inventory | Bids | AwardAnswers | Reports | ClusterState | Output | Goodbye | Error,
    Field(discriminator="type"),
]
ToAgent = Annotated[
    AgentWelcome
    | GraphTaken
    | Offers
    | Awards
    | Starts
    | Releases
    | Withdrawals
    | Cancels
    | Acks
    | ReadOutput
    | Goodbye
    | Error,
    Field(discriminator="type"),
]
