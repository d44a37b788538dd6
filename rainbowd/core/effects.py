"""Everything the core wants done, as frozen data.

The engine first writes all store effects of a batch in one transaction, and
only then carries out the others: state goes to disk before anybody hears of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rainbowd.core.commands import Origin
from rainbowd.core.state import Cluster, Job, Shape
from rainbowd.core.transitions import JobState

# --- to the store ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SaveJob:
    job: Job


@dataclass(frozen=True, slots=True)
class SaveCluster:
    cluster: Cluster


@dataclass(frozen=True, slots=True)
class SaveDescription:
    """Replaces what the disk knows of a cluster's resources."""

    cluster: str
    stored: Any


@dataclass(frozen=True, slots=True)
class RetireCluster:
    """The cluster is no more. Who could see its jobs still can, under the grant `retired`, which opens nothing else."""

    name: str
    generation: int
    retired: str
    secret_hash: bytes
    token_hash: bytes
    at: float


@dataclass(frozen=True, slots=True)
class Happened:
    """A line of a job's history; also goes to whoever watches the job."""

    job: str
    seq: int
    at: float
    event: str
    state: JobState
    data: dict[str, Any]


# --- to agents ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SendOffer:
    session: int
    job: str
    attempt: int
    shape: Shape
    terms: bytes
    deadline_ms: int
    hold_s: float
    user: str = ""
    waits_here: int | None = None  # the attempt in that cluster's own queue that is asked about


@dataclass(frozen=True, slots=True)
class SendAward:
    session: int
    job: str
    attempt: int
    payload: bytes
    user: str = ""
    array: str | None = None
    array_index: int | None = None


@dataclass(frozen=True, slots=True)
class SendStart:
    session: int
    job: str
    attempt: int


@dataclass(frozen=True, slots=True)
class SendRelease:
    session: int
    job: str
    attempt: int


@dataclass(frozen=True, slots=True)
class SendWithdraw:
    session: int
    job: str
    attempt: int


@dataclass(frozen=True, slots=True)
class SendCancel:
    session: int
    job: str
    attempt: int


@dataclass(frozen=True, slots=True)
class SendAck:
    session: int
    job: str
    attempt: int
    seq: int


@dataclass(frozen=True, slots=True)
class SendWelcome:
    session: int
    cluster: str
    send_graph: bool = False


@dataclass(frozen=True, slots=True)
class EndSession:
    """Close a session that must not go on, telling it why; `code` is one of the protocol's.

    After a `final` end there is nothing to come back for.
    """

    session: int
    code: str
    message: str
    final: bool = False


@dataclass(frozen=True, slots=True)
class Complain:
    """An agent said something that cannot be; nothing was changed. For the log."""

    session: int
    message: str


# --- to clients -----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SubmitOutcome:
    """Either a job, or the code and words of a refusal."""

    job: str | None
    state: str | None
    duplicate: bool = False
    code: str | None = None
    message: str = ""
    array: str | None = None


@dataclass(frozen=True, slots=True)
class AnswerSubmit:
    origin: Origin
    items: Sequence[SubmitOutcome]


@dataclass(frozen=True, slots=True)
class CancelOutcome:
    job: str
    outcome: Literal["cancelled", "cancelling", "already_over"]
    state: JobState | None  # None: it was over long before, the edge knows its state
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AnswerCancel:
    origin: Origin
    items: Sequence[CancelOutcome]


@dataclass(frozen=True, slots=True)
class Settled:
    """What was asked about a cluster is done, if `code` is None; `created` if it is a new one."""

    origin: Origin
    cluster: str
    code: str | None = None
    message: str = ""
    created: bool = False


StoreEffect = SaveJob | SaveCluster | SaveDescription | RetireCluster | Happened
AgentEffect = SendOffer | SendAward | SendStart | SendRelease | SendWithdraw | SendCancel | SendAck | SendWelcome
Effect = StoreEffect | AgentEffect | EndSession | Complain | AnswerSubmit | AnswerCancel | Settled
