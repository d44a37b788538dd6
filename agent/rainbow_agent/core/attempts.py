"""One attempt from its acceptance to the ack of its last report, and the few transitions that it can make."""

from dataclasses import dataclass, field
from typing import Final

from rainbow_agent.core.effects import AttemptRow, InventoryPhase, Phase, Report, ReportEvent
from rainbow_agent.core.model import Assignment, Key, Shape

REASON_CHARS_MAX = 500  # as on the wire

# Every legal step. `launching` goes back to `queued` only when its run is proved never to have begun.
TRANSITIONS: Final[dict[Phase, frozenset[Phase]]] = {
    "accepted": frozenset({"queued", "finished"}),
    "queued": frozenset({"launching", "finished"}),
    "launching": frozenset({"queued", "running", "finished"}),
    "running": frozenset({"finished"}),
    "finished": frozenset(),
}
INVENTORY: Final[dict[Phase, InventoryPhase]] = {
    "accepted": "accepted",
    "queued": "started",
    "launching": "started",
    "running": "started",
    "finished": "finished",
}
TERMINAL_EVENTS: Final[frozenset[ReportEvent]] = frozenset({"completed", "failed", "cancelled", "lost", "returned"})


class InvariantError(Exception):
    """A bug in the agent's core, never the world's fault."""


@dataclass(slots=True)
class Attempt:
    key: Key
    phase: Phase
    shape: Shape
    work: str
    run: int = 0
    seq: int = 0
    place: int = 0
    assignment: Assignment = ()
    since: float = 0.0
    cancel: bool = False
    user: str = ""
    unacked: list[Report] = field(default_factory=list)
    told_at: float = float("-inf")  # the time in its latest report

    @classmethod
    def from_row(cls, row: AttemptRow) -> "Attempt":
        return cls(
            row.key,
            row.phase,
            row.shape,
            row.work,
            row.run,
            row.seq,
            row.place,
            row.assignment,
            row.since,
            row.cancel,
            row.user,
        )

    def row(self) -> AttemptRow:
        return AttemptRow(
            key=self.key,
            phase=self.phase,
            shape=self.shape,
            work=self.work,
            run=self.run,
            seq=self.seq,
            place=self.place,
            assignment=self.assignment,
            since=self.since,
            cancel=self.cancel,
            user=self.user,
        )

    def move(self, phase: Phase) -> None:
        if phase not in TRANSITIONS[self.phase]:
            raise InvariantError(f"{self.key}: {self.phase} → {phase} is not a step that an attempt can make")
        self.phase = phase

    def report(
        self,
        event: ReportEvent,
        at: float,
        exit_code: int | None = None,
        reason: str = "",
        native_id: str | None = None,
    ) -> Report:
        """A runner knows when its job ended, the agent only when it heard of the beginning; the order is kept."""
        at = self.told_at = max(at, self.told_at)
        self.seq += 1
        report = Report(self.key, self.seq, event, at, exit_code, reason[:REASON_CHARS_MAX], native_id)
        self.unacked.append(report)
        return report

    def acknowledge(self, seq: int) -> bool:
        """Forget the reports up to this one; True if any was waiting for it."""
        before = len(self.unacked)
        self.unacked = [report for report in self.unacked if report.seq > seq]
        return len(self.unacked) < before
