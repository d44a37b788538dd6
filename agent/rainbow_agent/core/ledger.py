"""All attempts from their acceptance on, and what the current step has done to them: what the journal is to hold.

It knows no phases and no rules. Whoever changes an attempt says so here, and `settle` makes effects of it.
"""

from collections.abc import Iterable

from rainbow_agent.core import effects as e
from rainbow_agent.core.attempts import Attempt, InvariantError
from rainbow_agent.core.commands import Award
from rainbow_agent.core.model import Key


class Ledger:
    def __init__(self) -> None:
        self.attempts: dict[Key, Attempt] = {}
        self._places = 0
        # What the current step has done so far.
        self._changed: dict[Key, Attempt] = {}
        self._reports: list[e.Report] = []
        self._stored: list[e.Stored] = []
        self._effects: list[e.Effect] = []

    def restore(self, rows: Iterable[e.AttemptRow], reports: Iterable[e.Report]) -> list[Attempt]:
        """What the journal holds, in the order of acceptance."""
        attempts = sorted((Attempt.from_row(row) for row in rows), key=lambda attempt: attempt.place)
        for attempt in attempts:
            self.attempts[attempt.key] = attempt
            self._places = max(self._places, attempt.place)
        for report in sorted(reports, key=lambda report: report.seq):
            owner = self.attempts.get(report.key)
            if owner is None:
                raise InvariantError(f"report {report.seq} of {report.key} belongs to no attempt in the journal")
            owner.unacked.append(report)
            owner.told_at = report.at
        return attempts

    def accept(self, award: Award, user: str) -> None:
        self._places += 1
        attempt = Attempt(award.key, "accepted", award.shape, award.work, place=self._places, user=user)
        self.attempts[award.key] = self._changed[award.key] = attempt

    def save(self, attempt: Attempt) -> None:
        self._changed[attempt.key] = attempt

    def tell(self, report: e.Report) -> None:
        self._reports.append(report)

    def do(self, *effects: e.Effect) -> None:
        """Whatever is neither stored nor reported."""
        self._effects += effects

    def acknowledge(self, attempt: Attempt, seq: int) -> None:
        if attempt.acknowledge(seq):
            self._stored.append(e.DropReports(attempt.key, seq))

    def forget(self, attempt: Attempt) -> None:
        del self.attempts[attempt.key]
        self._changed.pop(attempt.key, None)
        self._stored.append(e.ForgetAttempt(attempt.key))
        if attempt.run:
            self._effects.append(e.Discard(attempt.key))

    def unacked(self) -> tuple[e.Report, ...]:
        return tuple(report for attempt in self.attempts.values() for report in attempt.unacked)

    def settle(self, send_reports: bool) -> list[e.Effect]:
        """What the step did, stored effects first. An attempt that changed several times is saved once."""
        effects: list[e.Effect] = [e.SaveAttempt(attempt.row()) for attempt in self._changed.values()]
        effects += [e.SaveReport(report) for report in self._reports]
        effects += self._stored
        if self._reports and send_reports:
            effects.append(e.SendReports(tuple(self._reports)))
        effects += self._effects
        self._changed, self._reports, self._stored, self._effects = {}, [], [], []
        return effects

    def problems(self) -> list[str]:
        """What is inconsistent here; empty unless there is a bug."""
        found = []
        for attempt in self.attempts.values():
            seqs = [report.seq for report in attempt.unacked]
            if seqs and seqs != list(range(seqs[0], attempt.seq + 1)):
                found.append(f"{attempt.key}: reports {seqs} up to {attempt.seq} have a gap")
        return found
