"""Everything that can happen to the core, as frozen data. The edges make these; `machine` takes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rainbowd.core.selection.base import NO_FACTS, Facts
from rainbowd.core.state import Shape
from rainbowd.core.transitions import JobState
from rainbowd.core.wishes import NO_WISHES, Wishes


@dataclass(frozen=True, slots=True)
class Origin:
    """Whom to answer: a client's session and its request. Clients may repeat a number; `serial` never does."""

    session: int
    request: int
    serial: int = 0


@dataclass(frozen=True, slots=True)
class Known:
    """A job found on disk under the same owner and key; `same` if it asks for the same."""

    job: str
    state: str
    same: bool
    array: str | None = None


@dataclass(frozen=True, slots=True)
class NewJob:
    """`grants` are the clusters that it may go to, of those whose tokens the sender has."""

    id: str
    owner: str
    grants: tuple[str, ...]
    key: str | None
    name: str
    shape: Shape
    payload: bytes
    ask: Any = None  # for the matcher
    terms: bytes = b""  # for offers: what the request says beyond its shape
    deletions_seen: int = 0  # of clusters, when the grants were looked at
    user: str = ""
    wishes: Wishes = NO_WISHES
    facts: Facts = field(default_factory=lambda: NO_FACTS)
    array: str | None = None
    array_index: int | None = None
    array_at_once: int | None = None
    array_begins: bool = False  # the first of its members
    ends: Mapping[str, JobState] = field(default_factory=dict)  # of jobs that it comes after, as the disk has them


@dataclass(frozen=True, slots=True)
class Submit:
    """`known` is filled in by the engine, by position, for items whose key is already on disk."""

    origin: Origin
    items: Sequence[NewJob]
    known: dict[int, Known]


@dataclass(frozen=True, slots=True)
class Cancel:
    """The edge has checked that the sender may see these jobs."""

    origin: Origin
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Description:
    """What a cluster has, as somebody told it: `resources` for the matcher, `stored` for the disk, both opaque here.

    `digest` is that of the document, where its sender told it. Without `by` something was added to what others had
    told: they stay the ones who told it.
    """

    resources: Any
    form: str  # "graph", "limits" or "totals"
    by: Literal["registration", "agent"] | None
    stored: Any
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class RegisterCluster:
    """Only hashes of the credentials come this far; the edge made them and answers with the originals.

    For a name that is known only the description counts. `basis` is the revision that it was made from, 0
    if there was none; left out, it replaces whatever there is.
    """

    origin: Origin
    name: str
    description: Description | None
    secret_hash: bytes
    token_hash: bytes
    basis: int | None = None


@dataclass(frozen=True, slots=True)
class DescribeCluster:
    """A new description of a known cluster, made from its revision `basis`; `session` is that of its agent, if any."""

    origin: Origin
    name: str
    description: Description
    basis: int
    session: int | None = None


@dataclass(frozen=True, slots=True)
class DeleteCluster:
    """With `force`, jobs that it has count as lost; without, they keep it from being deleted."""

    origin: Origin
    name: str
    force: bool


@dataclass(frozen=True, slots=True)
class Held:
    """One attempt in an agent's journal."""

    job: str
    attempt: int
    phase: Literal["accepted", "started", "finished"]


@dataclass(frozen=True, slots=True)
class AgentReady:
    """An agent has said hello and told its whole inventory.

    `totals` is what it says of itself in any case, `digest` that of the document that says more, if it has one.
    """

    session: int
    cluster: str
    agent_id: str
    totals: Description
    free: Any
    inventory: Sequence[Held]
    digest: str | None = None
    generation: int = 0
    facts: Facts = field(default_factory=lambda: NO_FACTS)
    draining: str | None = None


@dataclass(frozen=True, slots=True)
class AgentGone:
    session: int


@dataclass(frozen=True, slots=True)
class AgentState:
    """`free` as the wire has it, for those who ask; `facts` the same and more by name, for policies."""

    session: int
    free: Any
    facts: Facts = field(default_factory=lambda: NO_FACTS)
    draining: str | None = None


@dataclass(frozen=True, slots=True)
class SetState:
    """Keys of the site's own; `unset` ones are forgotten."""

    origin: Origin
    cluster: str
    keys: Facts
    unset: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BidItem:
    job: str
    attempt: int
    yes: bool
    eta_s: float
    cost: float
    reason: str
    eta_low_s: float | None = None
    eta_high_s: float | None = None


@dataclass(frozen=True, slots=True)
class BidsReceived:
    session: int
    items: Sequence[BidItem]


@dataclass(frozen=True, slots=True)
class AnswerItem:
    job: str
    attempt: int
    accept: bool
    reason: str


@dataclass(frozen=True, slots=True)
class AwardsAnswered:
    session: int
    items: Sequence[AnswerItem]


ReportEvent = Literal["queued", "running", "completed", "failed", "cancelled", "lost", "returned"]


@dataclass(frozen=True, slots=True)
class ReportItem:
    job: str
    attempt: int
    seq: int
    event: ReportEvent
    at: float
    exit_code: int | None = None
    reason: str = ""
    native_id: str | None = None


@dataclass(frozen=True, slots=True)
class ReportsReceived:
    session: int
    items: Sequence[ReportItem]


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: fire what is due."""


Command = (
    Submit
    | Cancel
    | RegisterCluster
    | DescribeCluster
    | DeleteCluster
    | AgentReady
    | AgentGone
    | AgentState
    | SetState
    | BidsReceived
    | AwardsAnswered
    | ReportsReceived
    | Tick
)
