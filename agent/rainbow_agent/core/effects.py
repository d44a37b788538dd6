"""Everything the machine wants done. The driver owes it one order: first all Stored effects of a step (or of a
batch of steps) in one durable transaction, then the others as they come. That order is what makes a restart safe.

Stored:   SaveAttempt, ForgetAttempt, SaveReport, DropReports
Sent:     SendHello, SendInventory, SendBids, SendAwardAnswers, SendReports, SendState, SendError
Backend:  Launch, Kill, Discard
Log:      Note
"""

from dataclasses import dataclass, field
from typing import Literal

from rainbow_agent.core.bidder import No, Yes
from rainbow_agent.core.model import Assignment, Free, Key, Shape
from rainbow_agent.core.site_state import Keys

# accepted → queued → launching → running → finished; `held` attempts are in memory only and have no phase here.
Phase = Literal["accepted", "queued", "launching", "running", "finished"]
ReportEvent = Literal["queued", "running", "completed", "failed", "cancelled", "lost", "returned"]
InventoryPhase = Literal["accepted", "started", "finished"]


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """An attempt as the journal keeps it. `seq` is that of its latest report, 0 before the first."""

    key: Key
    phase: Phase
    shape: Shape
    work: str = ""
    run: int = 0  # counts the launches; only one of them can ever have run
    seq: int = 0
    place: int = 0  # queued attempts are restored in this order
    assignment: Assignment = ()
    since: float = 0.0  # when the run was launched
    cancel: bool = False  # asked for, and to be asked of the backend again after a restart
    user: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    key: Key
    seq: int
    event: ReportEvent
    at: float
    exit_code: int | None = None
    reason: str = ""
    native_id: str | None = None


# --- stored


@dataclass(frozen=True, slots=True)
class SaveAttempt:
    """Insert or replace."""

    row: AttemptRow


@dataclass(frozen=True, slots=True)
class ForgetAttempt:
    """Delete the attempt and its reports."""

    key: Key


@dataclass(frozen=True, slots=True)
class SaveReport:
    report: Report


@dataclass(frozen=True, slots=True)
class DropReports:
    """Delete the reports up to and including this one."""

    key: Key
    seq: int


# --- sent


@dataclass(frozen=True, slots=True)
class State:
    """The cluster as the daemon is told it."""

    free: Free
    keys: Keys
    draining: str | None


@dataclass(frozen=True, slots=True)
class SendHello:
    state: State


@dataclass(frozen=True, slots=True)
class SendInventory:
    """Always follows SendHello; may be empty."""

    items: tuple[tuple[Key, InventoryPhase], ...]


@dataclass(frozen=True, slots=True)
class SendBids:
    items: tuple[tuple[Key, Yes | No], ...]


@dataclass(frozen=True, slots=True)
class AwardAnswer:
    """Accepted if there is no `refusal`."""

    key: Key
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class SendAwardAnswers:
    items: tuple[AwardAnswer, ...]


@dataclass(frozen=True, slots=True)
class SendReports:
    items: tuple[Report, ...]


@dataclass(frozen=True, slots=True)
class SendState:
    state: State


@dataclass(frozen=True, slots=True)
class SendError:
    message: str


# --- backend


@dataclass(frozen=True, slots=True)
class Launch:
    """Run it; answer with RunBegan, then RunEnded. The intent is in the journal already."""

    key: Key
    run: int
    shape: Shape
    work: str
    assignment: Assignment


@dataclass(frozen=True, slots=True)
class Kill:
    """End it: politely, then by force. The answer is its RunEnded. May come twice."""

    key: Key
    run: int


@dataclass(frozen=True, slots=True)
class Discard:
    """The daemon knows how it ended; its output may be removed when space is wanted."""

    key: Key


@dataclass(frozen=True, slots=True)
class Note:
    """For the log."""

    event: str
    key: Key | None = None
    details: dict[str, str | int | float] = field(default_factory=dict)
    warning: bool = False


Stored = SaveAttempt | ForgetAttempt | SaveReport | DropReports
Sent = SendHello | SendInventory | SendBids | SendAwardAnswers | SendReports | SendState | SendError
ForBackend = Launch | Kill | Discard
Effect = Stored | Sent | ForBackend | Note
