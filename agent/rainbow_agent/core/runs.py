"""Attempts that the daemon has started: queue, launch, run, end, and the reports of each until its ack. Pure.

Whose turn it is, the schedule decides; what became of a run, the backend says. Bids and sessions are not known here.
"""

from rainbow_agent.core import commands as c
from rainbow_agent.core import effects as e
from rainbow_agent.core.attempts import Attempt
from rainbow_agent.core.bidder import Bidder
from rainbow_agent.core.ledger import Ledger
from rainbow_agent.core.model import Key
from rainbow_agent.core.placement import why_never
from rainbow_agent.core.schedule import Schedule

STOPPING = "the agent is stopping"
WITHDRAWN = "withdrawn: it goes elsewhere"


class Runs:
    def __init__(self, ledger: Ledger, schedule: Schedule, bidder: Bidder, launches: bool = True) -> None:
        self._ledger = ledger
        self._schedule = schedule
        self._bidder = bidder
        self._newly_queued: list[Attempt] = []
        self._launches = launches
        self.stopping = False

    @property
    def launches(self) -> bool:
        return self._launches and not self.stopping

    def start(self, key: Key, now: float) -> None:
        attempt = self._ledger.attempts.get(key)
        if attempt is None:
            self._ledger.do(e.SendError(f"start of {key}, which this agent never accepted or was released from"))
            self._ledger.do(e.Note("start of an unknown attempt, not run", key, warning=True))
            return
        if attempt.phase != "accepted":
            return
        never = why_never(attempt.shape, self._schedule.totals)
        if self.stopping or never is not None:
            self.finish(attempt, "returned", now, reason=STOPPING if never is None else never)
            return
        attempt.move("queued")
        self._schedule.enqueue(key, attempt.shape, attempt.user)
        self._ledger.save(attempt)
        self._newly_queued.append(attempt)

    def launch_due(self, now: float) -> None:
        if self.launches:
            for key, assignment in self._schedule.due(now):
                attempt = self._ledger.attempts[key]
                attempt.move("launching")
                attempt.run += 1
                attempt.assignment = assignment
                attempt.since = now
                self._ledger.save(attempt)
                self._ledger.do(e.Launch(key, attempt.run, attempt.shape, attempt.work, assignment))
        for attempt in self._newly_queued:
            if attempt.phase == "queued":
                self._ledger.tell(attempt.report("queued", now))
        self._newly_queued.clear()

    def cancel(self, key: Key, now: float) -> None:
        attempt = self._ledger.attempts.get(key)
        if attempt is None:
            self._ledger.do(e.Note("cancel of an unknown attempt, ignored", key, warning=True))
        elif attempt.phase in ("accepted", "queued"):
            self.finish(attempt, "cancelled", now, reason="cancelled before it ran")
        elif attempt.phase != "finished":
            if not attempt.cancel:
                attempt.cancel = True
                self._ledger.save(attempt)
            if attempt.phase == "running":
                self._ledger.do(e.Kill(key, attempt.run))

    def withdraw(self, key: Key, now: float) -> None:
        """Out of the queue, or not at all: from `launching` on only the backend knows whether it has begun."""
        attempt = self._ledger.attempts.get(key)
        if attempt is None:
            self._ledger.do(e.Note("withdrawal of an unknown attempt, ignored", key, warning=True))
        elif attempt.phase in ("accepted", "queued"):
            self.finish(attempt, "returned", now, reason=WITHDRAWN)
        else:
            self._ledger.do(e.Note("withdrawal came too late, ignored", key, {"phase": attempt.phase}))

    def acknowledge(self, ack: c.Ack) -> None:
        attempt = self._ledger.attempts.get(ack.key)
        if attempt is None:
            return
        self._ledger.acknowledge(attempt, ack.seq)
        if attempt.phase == "finished" and not attempt.unacked:
            self._ledger.forget(attempt)

    def run_began(self, command: c.RunBegan, now: float) -> None:
        attempt = self._in_flight(command.key, command.run)
        if attempt is None:
            return
        if attempt.phase == "launching":
            attempt.move("running")
            at = now if command.at is None else command.at
            self._ledger.tell(attempt.report("running", at, native_id=command.native_id))
            self._ledger.save(attempt)
        if attempt.cancel:
            self._ledger.do(e.Kill(command.key, command.run))

    def run_ended(self, command: c.RunEnded, now: float) -> None:
        attempt = self._in_flight(command.key, command.run)
        if attempt is None:
            return
        at = now if command.at is None else command.at
        if command.fate == "returned":
            self._could_not_begin(attempt, command, at, now)
        else:
            self.finish(attempt, command.fate, at, command.exit_code, command.reason)

    def _could_not_begin(self, attempt: Attempt, command: c.RunEnded, at: float, now: float) -> None:
        self._bidder.pause(command.reason, now)
        if attempt.cancel:
            self.finish(attempt, "cancelled", at, reason="cancelled before it ran")
        elif attempt.phase == "running":  # the daemon was told so, and would not believe that it never ran
            self.finish(attempt, "failed", at, command.exit_code, command.reason)
        else:
            self.finish(attempt, "returned", at, reason=command.reason)

    def run_fenced(self, command: c.RunFenced, now: float) -> None:
        attempt = self._in_flight(command.key, command.run)
        if attempt is None:
            return
        if attempt.phase != "launching":
            # It was reported as running, so it had a claim, and somebody has removed it.
            self.finish(attempt, "lost", now, reason="its run directory is gone; how it ended is unknown")
            return
        if attempt.cancel:
            self.finish(attempt, "cancelled", now, reason="cancelled before it ran")
            return
        if self.stopping:
            self.finish(attempt, "returned", now, reason=STOPPING)
            return
        self._schedule.end(command.key)
        attempt.move("queued")
        attempt.assignment = ()
        self._schedule.enqueue_first(command.key, attempt.shape, attempt.user)
        self._ledger.save(attempt)
        self._newly_queued.append(attempt)

    def _in_flight(self, key: Key, run: int) -> Attempt | None:
        """The attempt if this is its current run; news of an older one changes nothing."""
        attempt = self._ledger.attempts.get(key)
        if attempt is None or attempt.run != run or attempt.phase not in ("launching", "running"):
            self._ledger.do(e.Note("news of a run that is not current, ignored", key, {"run": run}))
            return None
        return attempt

    def stop(self, now: float) -> None:
        self.stopping = True
        for attempt in [attempt for attempt in self._ledger.attempts.values() if attempt.phase == "queued"]:
            self.finish(attempt, "returned", now, reason=STOPPING)

    def finish(
        self, attempt: Attempt, event: e.ReportEvent, at: float, exit_code: int | None = None, reason: str = ""
    ) -> None:
        if attempt.phase == "accepted":
            self._schedule.drop_hold(attempt.key)
        elif attempt.phase == "queued":
            self._schedule.dequeue(attempt.key)
        else:
            self._schedule.end(attempt.key, _ran_s(attempt, event, at))
        attempt.move("finished")
        attempt.assignment = ()
        attempt.work = ""  # commands and environments are not kept longer than they are needed
        self._ledger.save(attempt)
        self._ledger.tell(attempt.report(event, at, exit_code, reason))
        details: dict[str, str | int | float] = {"outcome": event}
        if exit_code is not None:
            details["exit_code"] = exit_code
        if reason:
            details["reason"] = reason
        self._ledger.do(e.Note("job finished", attempt.key, details))


def _ran_s(attempt: Attempt, event: e.ReportEvent, at: float) -> float | None:
    """How long it ran, if it came to an end of its own: only that says anything about the next one."""
    if attempt.phase == "running" and event in ("completed", "failed"):
        return max(0.0, at - attempt.since)
    return None
