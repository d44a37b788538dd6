"""The agent's state machine: bids, acceptances, starts, runs and reports of all attempts. Pure.

    held → accepted → queued → launching → running → finished → forgotten
                 ↘________↘___________________________↗

A hold lives in memory and dies with its session. From `accepted` on an attempt is in the journal, and the daemon's
word (start, release, cancel, ack) moves it. `finished` stays until its last report is acknowledged.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from rainbow_agent.core import commands as c
from rainbow_agent.core import effects as e
from rainbow_agent.core.attempts import INVENTORY, Attempt, InvariantError
from rainbow_agent.core.bidder import Bidder, No, Yes
from rainbow_agent.core.holds import Holds
from rainbow_agent.core.model import Free, Key, Totals
from rainbow_agent.core.placement import why_never
from rainbow_agent.core.pricing import Prices
from rainbow_agent.core.schedule import Schedule

STATE_INTERVAL_S = 0.2
_STOPPING = "the agent is stopping"


@dataclass(frozen=True, slots=True)
class MachineSettings:
    totals: Totals
    prices: Prices = field(default_factory=Prices)
    default_time_limit_s: float = 3600.0
    queue_max: int = 10_000


class AgentMachine:
    """`step` once per command; `next_deadline` says when a Tick is due. Time is any clock that does not jump."""

    def __init__(self, settings: MachineSettings) -> None:
        self._schedule = Schedule(settings.totals, settings.default_time_limit_s)
        self._bidder = Bidder(self._schedule, settings.prices, settings.queue_max)
        self._attempts: dict[Key, Attempt] = {}
        self._holds = Holds()
        self._places = 0
        self._welcomed = False
        self._stopping = False
        self._state_sent: Free | None = None
        self._state_sent_at = float("-inf")
        self._state_version = -1
        # What the current step has done so far.
        self._changed: dict[Key, Attempt] = {}
        self._reports: list[e.Report] = []
        self._stored: list[e.Stored] = []
        self._effects: list[e.Effect] = []
        self._newly_queued: list[Attempt] = []

    # --- driving it

    def restore(self, rows: Iterable[e.AttemptRow], reports: Iterable[e.Report], now: float) -> list[e.Effect]:
        """What the journal holds, before the first step. For every attempt that was launching or running the
        driver then finds out what became of its run, and says so with RunBegan, RunEnded or RunFenced."""
        attempts = sorted((Attempt.from_row(row) for row in rows), key=lambda attempt: attempt.place)
        for attempt in attempts:
            self._attempts[attempt.key] = attempt
            self._places = max(self._places, attempt.place)
        for report in sorted(reports, key=lambda report: report.seq):
            owner = self._attempts.get(report.key)
            if owner is None:
                raise InvariantError(f"report {report.seq} of {report.key} belongs to no attempt in the journal")
            owner.unacked.append(report)
            owner.told_at = report.at
        for attempt in attempts:
            never = why_never(attempt.shape, self._schedule.totals)
            if attempt.phase in ("launching", "running"):
                self._schedule.adopt(attempt.key, attempt.shape, attempt.assignment, attempt.since)
            elif attempt.phase == "queued" and never is not None:
                self._finish(attempt, "returned", now, reason=f"the cluster has changed: {never}")
            elif attempt.phase == "queued":
                self._schedule.enqueue(attempt.key, attempt.shape)
            elif attempt.phase == "accepted" and never is None:
                self._schedule.hold(attempt.key, attempt.shape, now)
        return self._settle()

    def step(self, command: c.Command, now: float) -> list[e.Effect]:
        match command:
            case c.SessionOpened():
                self._session_opened(now)
            case c.SessionWelcomed():
                self._session_welcomed()
            case c.SessionClosed():
                self._session_closed()
            case c.Offers(items):
                self._effects.append(e.SendBids(tuple((offer.key, self._bid(offer, now)) for offer in items)))
            case c.Awards(items):
                self._effects.append(e.SendAwardAnswers(tuple(self._award(award, now) for award in items)))
            case c.Starts(keys):
                for key in keys:
                    self._start(key, now)
            case c.Releases(keys):
                for key in keys:
                    self._release(key)
            case c.Cancels(keys):
                for key in keys:
                    self._cancel(key, now)
            case c.Acks(items):
                for ack in items:
                    self._acknowledge(ack)
            case c.RunBegan():
                self._run_began(command, now)
            case c.RunEnded():
                self._run_ended(command, now)
            case c.RunFenced():
                self._run_fenced(command, now)
            case c.Tick():
                pass
            case c.Stop():
                self._stop(now)
            case _:
                assert_never(command)
        for key in self._holds.take_lapsed(now):
            self._schedule.drop_hold(key)
        self._launch_due(now)
        self._push_state(now)
        return self._settle()

    def next_deadline(self) -> float | None:
        deadlines = [self._holds.next_lapse()]
        if not self._stopping:
            deadlines.append(self._schedule.retry_at())
        if self._welcomed and self._state_version != self._schedule.version:
            deadlines.append(self._state_sent_at + STATE_INTERVAL_S)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    # --- asking it

    @property
    def handed_over(self) -> bool:
        """While stopping: the daemon has everything that it should know before we go."""
        return not any(attempt.unacked for attempt in self._attempts.values())

    def in_flight(self) -> list[e.AttemptRow]:
        """The attempts whose runs the backend knows about, or should."""
        return [attempt.row() for attempt in self._attempts.values() if attempt.phase in ("launching", "running")]

    def rows(self) -> list[e.AttemptRow]:
        return [attempt.row() for attempt in self._attempts.values()]

    def phase_of(self, key: Key) -> e.Phase | None:
        attempt = self._attempts.get(key)
        return None if attempt is None else attempt.phase

    def free(self) -> Free:
        return self._schedule.free()

    def check(self) -> None:
        """For tests and simulations: raise InvariantError if the state contradicts itself."""
        problems = self._schedule.problems()
        phases = [attempt.phase for attempt in self._attempts.values()]
        if phases.count("queued") != self._schedule.queued:
            problems.append("the queue does not hold exactly the queued attempts")
        if phases.count("launching") + phases.count("running") != self._schedule.running:
            problems.append("the nodes are not occupied by exactly the running attempts")
        if len(self._holds) + phases.count("accepted") < self._schedule.waiting:
            problems.append("the plan keeps a place for nobody")
        for attempt in self._attempts.values():
            seqs = [report.seq for report in attempt.unacked]
            if seqs and seqs != list(range(seqs[0], attempt.seq + 1)):
                problems.append(f"{attempt.key}: reports {seqs} up to {attempt.seq} have a gap")
            if attempt.key in self._holds:
                problems.append(f"{attempt.key}: both held and {attempt.phase}")
        if problems:
            raise InvariantError("; ".join(problems))

    # --- the session

    def _session_opened(self, now: float) -> None:
        self._drop_holds()
        self._welcomed = False
        self._remember_state(now)
        inventory = tuple((key, INVENTORY[attempt.phase]) for key, attempt in self._attempts.items())
        self._effects += [e.SendHello(self._schedule.free()), e.SendInventory(inventory)]

    def _session_welcomed(self) -> None:
        self._welcomed = True
        again = tuple(report for attempt in self._attempts.values() for report in attempt.unacked)
        if again:
            self._effects.append(e.SendReports(again))

    def _session_closed(self) -> None:
        self._welcomed = False
        self._drop_holds()

    def _drop_holds(self) -> None:
        for key in self._holds.take_all():
            self._schedule.drop_hold(key)

    # --- bidding and accepting

    def _bid(self, offer: c.Offer, now: float) -> Yes | No:
        unfit = self._unfit(now)
        if unfit is not None:
            return No(unfit)
        if offer.key in self._attempts:
            return No("this attempt is already here")
        if self._holds.take(offer.key) is not None:
            self._schedule.drop_hold(offer.key)
        objection = self._bidder.objection(offer.shape)
        if objection is not None:
            return No(objection)
        answer = self._bidder.price(offer.shape, self._schedule.hold(offer.key, offer.shape, now), now)
        if isinstance(answer, Yes):
            self._holds.add(offer.key, offer.shape, now + offer.hold_s)
        else:
            self._schedule.drop_hold(offer.key)
        return answer

    def _award(self, award: c.Award, now: float) -> e.AwardAnswer:
        if award.key in self._attempts:
            return e.AwardAnswer(award.key)  # it came twice, and is in the journal
        held = self._holds.take(award.key)
        if held is not None and held != award.shape:
            self._schedule.drop_hold(award.key)
            held = None
        refusal = self._objection_without_hold(award, now) if held is None else None
        unfit = self._unfit(now)
        if unfit is not None:
            refusal = unfit
            self._schedule.drop_hold(award.key)
        if refusal is not None:
            return e.AwardAnswer(award.key, refusal)
        if held is None:
            self._schedule.hold(award.key, award.shape, now)
        self._places += 1
        attempt = Attempt(award.key, "accepted", award.shape, award.work, place=self._places)
        self._attempts[award.key] = self._changed[award.key] = attempt
        return e.AwardAnswer(award.key)

    def _unfit(self, now: float) -> str | None:
        """Why nothing at all is taken now, or None."""
        return _STOPPING if self._stopping else self._bidder.hindrance(now)

    def _objection_without_hold(self, award: c.Award, now: float) -> str | None:
        """A bid that lapsed is still good if its promise costs nobody anything: it could start at once."""
        objection = self._bidder.objection(award.shape)
        if objection is None and self._schedule.earliest(award.shape, now).start > now:
            return "the bid has lapsed, and its place is taken"
        return objection

    # --- started attempts

    def _start(self, key: Key, now: float) -> None:
        attempt = self._attempts.get(key)
        if attempt is None:
            self._effects.append(e.SendError(f"start of {key}, which this agent never accepted or was released from"))
            self._effects.append(e.Note("start of an unknown attempt, not run", key, warning=True))
            return
        if attempt.phase != "accepted":
            return
        never = why_never(attempt.shape, self._schedule.totals)
        if self._stopping or never is not None:
            self._finish(attempt, "returned", now, reason=_STOPPING if never is None else never)
            return
        attempt.move("queued")
        self._schedule.enqueue(key, attempt.shape)
        self._changed[key] = attempt
        self._newly_queued.append(attempt)

    def _launch_due(self, now: float) -> None:
        if not self._stopping:
            for key, assignment in self._schedule.due(now):
                attempt = self._attempts[key]
                attempt.move("launching")
                attempt.run += 1
                attempt.assignment = assignment
                attempt.since = now
                self._changed[key] = attempt
                self._effects.append(e.Launch(key, attempt.run, attempt.shape, attempt.work, assignment))
        for attempt in self._newly_queued:
            if attempt.phase == "queued":
                self._reports.append(attempt.report("queued", now))
        self._newly_queued.clear()

    def _release(self, key: Key) -> None:
        if self._holds.take(key) is not None:
            self._schedule.drop_hold(key)
            return
        attempt = self._attempts.get(key)
        if attempt is None:
            return
        if attempt.phase == "accepted":
            self._schedule.drop_hold(key)
            self._forget(attempt)
        else:
            self._effects.append(e.Note("release of a started attempt, ignored", key, {"phase": attempt.phase}, True))

    def _cancel(self, key: Key, now: float) -> None:
        attempt = self._attempts.get(key)
        if attempt is None:
            self._effects.append(e.Note("cancel of an unknown attempt, ignored", key, warning=True))
        elif attempt.phase in ("accepted", "queued"):
            self._finish(attempt, "cancelled", now, reason="cancelled before it ran")
        elif attempt.phase != "finished":
            if not attempt.cancel:
                attempt.cancel = True
                self._changed[key] = attempt
            if attempt.phase == "running":
                self._effects.append(e.Kill(key, attempt.run))

    def _acknowledge(self, ack: c.Ack) -> None:
        attempt = self._attempts.get(ack.key)
        if attempt is None:
            return
        if attempt.acknowledge(ack.seq):
            self._stored.append(e.DropReports(ack.key, ack.seq))
        if attempt.phase == "finished" and not attempt.unacked:
            self._forget(attempt)

    def _run_began(self, command: c.RunBegan, now: float) -> None:
        attempt = self._in_flight(command.key, command.run)
        if attempt is None:
            return
        if attempt.phase == "launching":
            attempt.move("running")
            at = now if command.at is None else command.at
            self._reports.append(attempt.report("running", at, native_id=command.native_id))
            self._changed[command.key] = attempt
        if attempt.cancel:
            self._effects.append(e.Kill(command.key, command.run))

    def _run_ended(self, command: c.RunEnded, now: float) -> None:
        attempt = self._in_flight(command.key, command.run)
        if attempt is None:
            return
        at = now if command.at is None else command.at
        if command.fate == "returned":
            self._could_not_begin(attempt, command, at, now)
        else:
            self._finish(attempt, command.fate, at, command.exit_code, command.reason)

    def _could_not_begin(self, attempt: Attempt, command: c.RunEnded, at: float, now: float) -> None:
        self._bidder.pause(command.reason, now)
        if attempt.cancel:
            self._finish(attempt, "cancelled", at, reason="cancelled before it ran")
        elif attempt.phase == "running":  # the daemon was told so, and would not believe that it never ran
            self._finish(attempt, "failed", at, command.exit_code, command.reason)
        else:
            self._finish(attempt, "returned", at, reason=command.reason)

    def _run_fenced(self, command: c.RunFenced, now: float) -> None:
        attempt = self._in_flight(command.key, command.run)
        if attempt is None:
            return
        if attempt.phase != "launching":
            raise InvariantError(f"{command.key}: a run that was reported as running cannot be fenced off")
        if attempt.cancel:
            self._finish(attempt, "cancelled", now, reason="cancelled before it ran")
            return
        if self._stopping:
            self._finish(attempt, "returned", now, reason=_STOPPING)
            return
        self._schedule.end(command.key)
        attempt.move("queued")
        attempt.assignment = ()
        self._schedule.enqueue_first(command.key, attempt.shape)
        self._changed[command.key] = attempt
        self._newly_queued.append(attempt)

    def _in_flight(self, key: Key, run: int) -> Attempt | None:
        """The attempt if this is its current run; news of an older one changes nothing."""
        attempt = self._attempts.get(key)
        if attempt is None or attempt.run != run or attempt.phase not in ("launching", "running"):
            self._effects.append(e.Note("news of a run that is not current, ignored", key, {"run": run}))
            return None
        return attempt

    def _stop(self, now: float) -> None:
        self._stopping = True
        self._drop_holds()
        for attempt in [attempt for attempt in self._attempts.values() if attempt.phase == "queued"]:
            self._finish(attempt, "returned", now, reason=_STOPPING)

    # --- leaving a phase, ending a step

    def _finish(
        self, attempt: Attempt, event: e.ReportEvent, at: float, exit_code: int | None = None, reason: str = ""
    ) -> None:
        if attempt.phase == "accepted":
            self._schedule.drop_hold(attempt.key)
        elif attempt.phase == "queued":
            self._schedule.dequeue(attempt.key)
        else:
            self._schedule.end(attempt.key)
        attempt.move("finished")
        attempt.assignment = ()
        attempt.work = ""  # commands and environments are not kept longer than they are needed
        self._changed[attempt.key] = attempt
        self._reports.append(attempt.report(event, at, exit_code, reason))
        details: dict[str, str | int | float] = {"outcome": event}
        if exit_code is not None:
            details["exit_code"] = exit_code
        if reason:
            details["reason"] = reason
        self._effects.append(e.Note("job finished", attempt.key, details))

    def _forget(self, attempt: Attempt) -> None:
        del self._attempts[attempt.key]
        self._changed.pop(attempt.key, None)
        self._stored.append(e.ForgetAttempt(attempt.key))
        if attempt.run:
            self._effects.append(e.Discard(attempt.key))

    def _remember_state(self, now: float) -> None:
        self._state_sent = self._schedule.free()
        self._state_sent_at = now
        self._state_version = self._schedule.version

    def _push_state(self, now: float) -> None:
        version = self._schedule.version
        if self._welcomed and version != self._state_version and now >= self._state_sent_at + STATE_INTERVAL_S:
            before = self._state_sent
            self._remember_state(now)
            if self._state_sent is not None and self._state_sent != before:
                self._effects.append(e.SendState(self._state_sent))

    def _settle(self) -> list[e.Effect]:
        """What the step did, stored effects first. An attempt that changed several times is saved once."""
        effects: list[e.Effect] = [e.SaveAttempt(attempt.row()) for attempt in self._changed.values()]
        effects += [e.SaveReport(report) for report in self._reports]
        effects += self._stored
        if self._reports and self._welcomed:
            effects.append(e.SendReports(tuple(self._reports)))
        effects += self._effects
        self._changed, self._reports, self._stored, self._effects = {}, [], [], []
        return effects
