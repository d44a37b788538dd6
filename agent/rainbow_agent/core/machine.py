"""The agent's state machine: it takes every command, and deals itself with the session and the bidding. Pure.

    held → accepted → queued → launching → running → finished → forgotten
                 ↘________↘___________________________↗

A hold lives in memory and dies with its session. From `accepted` on an attempt is in the journal, and the daemon's
word (start, release, cancel, ack) moves it. `finished` stays until its last report is acknowledged. What
is started, `runs` moves on; what a step has changed, `ledger` collects.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from rainbow_agent.core import commands as c
from rainbow_agent.core import effects as e
from rainbow_agent.core.attempts import INVENTORY, InvariantError
from rainbow_agent.core.bidder import Bidder, No, Yes
from rainbow_agent.core.holds import Holds
from rainbow_agent.core.hours import Calendar, utc
from rainbow_agent.core.ledger import Ledger
from rainbow_agent.core.model import Asked, Free, Key, Totals
from rainbow_agent.core.placement import why_never
from rainbow_agent.core.pricing import PriceList, Prices, Pricing, Tariff
from rainbow_agent.core.rules import RuleBook, Rules
from rainbow_agent.core.runs import STOPPING, Runs
from rainbow_agent.core.schedule import Schedule
from rainbow_agent.core.site_state import NO_KEYS, Keys, SiteState
from rainbow_agent.core.state_push import StatePush

ENOUGH = "no more jobs are taken here for now"


@dataclass(frozen=True, slots=True)
class MachineSettings:
    totals: Totals
    prices: Prices = field(default_factory=Prices)
    default_time_limit_s: float = 3600.0
    queue_max: int = 10_000
    pricing: Pricing | None = None  # in place of the prices
    rules: Rules = field(default_factory=Rules)
    calendar: Calendar = utc
    take_max: int | None = None  # jobs in this life; no limit if absent
    launches: bool = True  # else what is started waits in the journal for another life
    keys: Keys = field(default_factory=lambda: NO_KEYS)  # told with the state, beneath the site's own


class AgentMachine:
    """`step` once per command; `next_deadline` says when a Tick is due. Time is any clock that does not jump."""

    def __init__(self, settings: MachineSettings, site: SiteState | None = None) -> None:
        self._schedule = Schedule(settings.totals, settings.default_time_limit_s)
        pricing = settings.pricing or Tariff(settings.totals, PriceList(settings.prices))
        self._bidder = Bidder(self._schedule, pricing, settings.queue_max)
        self._rules = RuleBook(settings.rules, settings.totals, settings.calendar)
        self._ledger = Ledger()
        self._runs = Runs(self._ledger, self._schedule, self._bidder, settings.launches)
        self._left_to_take = settings.take_max
        self._holds = Holds()
        self._push = StatePush(self._schedule, site or SiteState(), settings.keys)
        self._welcomed = False

    # --- driving it

    def restore(self, rows: Iterable[e.AttemptRow], reports: Iterable[e.Report], now: float) -> list[e.Effect]:
        """What the journal holds, before the first step. For every attempt that was launching or running the
        driver then finds out what became of its run, and says so with RunBegan, RunEnded or RunFenced."""
        for attempt in self._ledger.restore(rows, reports):
            never = why_never(attempt.shape, self._schedule.totals)
            if attempt.phase in ("launching", "running"):
                self._schedule.adopt(attempt.key, attempt.shape, attempt.assignment, attempt.since, attempt.user)
            elif attempt.phase == "queued" and never is not None:
                self._runs.finish(attempt, "returned", now, reason=f"the cluster has changed: {never}")
            elif attempt.phase == "queued":
                self._schedule.enqueue(attempt.key, attempt.shape, attempt.user)
            elif attempt.phase == "accepted" and never is None:
                self._schedule.hold(attempt.key, attempt.shape, now, attempt.user)
        return self._ledger.settle(send_reports=self._welcomed)

    def step(self, command: c.Command, now: float) -> list[e.Effect]:
        match command:
            case c.SessionOpened():
                self._session_opened(now)
            case c.SessionWelcomed():
                self._session_welcomed()
            case c.SessionClosed():
                self._session_closed()
            case c.Offers(items):
                bids = tuple((offer.key, self._bid(offer, now)) for offer in items)
                if any(isinstance(bid, No) for _, bid in bids):
                    self._push.refused()
                self._ledger.do(e.SendBids(bids))
            case c.Awards(items):
                answers = tuple(self._award(award, now) for award in items)
                if any(answer.refusal is not None for answer in answers):
                    self._push.refused()
                self._ledger.do(e.SendAwardAnswers(answers))
            case c.Starts(keys):
                for key in keys:
                    self._runs.start(key, now)
            case c.Releases(keys):
                for key in keys:
                    self._release(key)
            case c.Withdrawals(keys):
                for key in keys:
                    self._runs.withdraw(key, now)
            case c.Cancels(keys):
                for key in keys:
                    self._runs.cancel(key, now)
            case c.Acks(items):
                for ack in items:
                    self._runs.acknowledge(ack)
            case c.RunBegan():
                self._runs.run_began(command, now)
            case c.RunEnded():
                self._runs.run_ended(command, now)
            case c.RunFenced():
                self._runs.run_fenced(command, now)
            case c.Tick():
                pass
            case c.Enough():
                self._left_to_take = 0
                self._drop_holds()
            case c.Stop():
                self._drop_holds()
                self._runs.stop(now)
            case c.SiteChanged(site):
                self._push.site_changed(site)
            case _:
                assert_never(command)
        for key in self._holds.take_lapsed(now):
            self._schedule.drop_hold(key)
        self._runs.launch_due(now)
        if self._bidder.resume(now) or self._rules.reopened(now):
            self._push.anyway()
        self._push.look(fit=self._unfit(now) is None)
        if self._welcomed and (state := self._push.take(now)) is not None:
            self._ledger.do(e.SendState(state))
        return self._ledger.settle(send_reports=self._welcomed)

    def next_deadline(self) -> float | None:
        deadlines = [self._holds.next_lapse(), self._bidder.paused_until, self._rules.look_again_at]
        if self._runs.launches:
            deadlines.append(self._schedule.retry_at())
        if self._welcomed:
            deadlines.append(self._push.next_due())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    # --- asking it

    @property
    def handed_over(self) -> bool:
        """While stopping: the daemon has everything that it should know before we go."""
        return not any(attempt.unacked for attempt in self._ledger.attempts.values())

    def in_flight(self) -> list[e.AttemptRow]:
        """The attempts whose runs the backend knows about, or should."""
        return [
            attempt.row() for attempt in self._ledger.attempts.values() if attempt.phase in ("launching", "running")
        ]

    def rows(self) -> list[e.AttemptRow]:
        return [attempt.row() for attempt in self._ledger.attempts.values()]

    def phase_of(self, key: Key) -> e.Phase | None:
        attempt = self._ledger.attempts.get(key)
        return None if attempt is None else attempt.phase

    def free(self) -> Free:
        return self._schedule.free()

    def keys_beneath(self) -> Keys:
        """What is told of this cluster beside the site's own keys."""
        return self._push.keys_beneath()

    def check(self) -> None:
        """For tests and simulations: raise InvariantError if the state contradicts itself."""
        problems = self._schedule.problems() + self._ledger.problems()
        phases = [attempt.phase for attempt in self._ledger.attempts.values()]
        if phases.count("queued") != self._schedule.queued:
            problems.append("the queue does not hold exactly the queued attempts")
        if phases.count("launching") + phases.count("running") != self._schedule.running:
            problems.append("the nodes are not occupied by exactly the running attempts")
        if len(self._holds) + phases.count("accepted") < self._schedule.waiting:
            problems.append("the plan keeps a place for nobody")
        problems += [f"{key}: both held and in the journal" for key in self._ledger.attempts if key in self._holds]
        if problems:
            raise InvariantError("; ".join(problems))

    # --- the session

    def _session_opened(self, now: float) -> None:
        self._drop_holds()
        self._welcomed = False
        inventory = tuple((key, INVENTORY[attempt.phase]) for key, attempt in self._ledger.attempts.items())
        self._ledger.do(e.SendHello(self._push.remember(now)), e.SendInventory(inventory))

    def _session_welcomed(self) -> None:
        self._welcomed = True
        again = self._ledger.unacked()
        if again:
            self._ledger.do(e.SendReports(again))

    def _session_closed(self) -> None:
        self._welcomed = False
        self._drop_holds()

    def _drop_holds(self) -> None:
        for key in self._holds.take_all():
            self._schedule.drop_hold(key)

    # --- bidding and accepting

    def _bid(self, offer: c.Offer, now: float) -> Yes | No:
        if offer.waits_here is not None:
            return self._bid_for_waiting(Key(offer.key.job, offer.waits_here), offer, now)
        unfit = self._unfit(now)
        if unfit is not None:
            return No(unfit)
        if offer.key in self._ledger.attempts:
            return No("this attempt is already here")
        if self._holds.take(offer.key) is not None:
            self._schedule.drop_hold(offer.key)
        objection = offer.objection or self._rules.objection(offer.asked, now) or self._bidder.objection(offer.shape)
        if objection is not None:
            return No(objection)
        answer = self._bidder.price(offer.asked, self._schedule.hold(offer.key, offer.shape, now, offer.user), now)
        if isinstance(answer, Yes):
            self._holds.add(offer.key, offer.asked, now + offer.hold_s)
        else:
            self._schedule.drop_hold(offer.key)
        return answer

    def _bid_for_waiting(self, key: Key, offer: c.Offer, now: float) -> Yes | No:
        """When one of ours would start that only waits. It has its place, so nothing is held; and drained or not, it
        would run."""
        if self._runs.stopping:
            return No(STOPPING)
        phase = self.phase_of(key)
        if phase in ("launching", "running"):
            return No("it runs already")
        estimate = self._schedule.waiting_start(key, now)
        if estimate is None:
            return No("it has not been started here" if phase == "accepted" else "it is not here")
        return self._bidder.price(offer.asked, estimate, now)

    def _award(self, award: c.Award, now: float) -> e.AwardAnswer:
        if award.key in self._ledger.attempts:
            return e.AwardAnswer(award.key)  # it came twice, and is in the journal
        held = self._holds.take(award.key)
        if held is not None and held.shape != award.shape:
            self._schedule.drop_hold(award.key)
            held = None
        refusal = self._objection_without_hold(award, now) if held is None else None
        unfit = self._unfit(now) or award.objection
        if unfit is not None:
            refusal = unfit
            self._schedule.drop_hold(award.key)
        if refusal is not None:
            return e.AwardAnswer(award.key, refusal)
        if held is None:
            self._schedule.hold(award.key, award.shape, now, award.user)
        if self._left_to_take is not None:
            self._left_to_take -= 1
        self._ledger.accept(award, award.user or ("" if held is None else held.user))
        return e.AwardAnswer(award.key)

    def _unfit(self, now: float) -> str | None:
        """Why nothing at all is taken now, or None."""
        if self._runs.stopping:
            return STOPPING
        if self._left_to_take == 0:
            return ENOUGH
        return self._push.site.hindrance or self._bidder.hindrance(now)

    def _objection_without_hold(self, award: c.Award, now: float) -> str | None:
        """A bid that lapsed is still good if its promise costs nobody anything: it could start at once. An award that
        no offer went before promised nothing, and may wait like any other."""
        asked = Asked(award.shape, award.user, award.queue)
        objection = self._rules.objection(asked, now) or self._bidder.objection(award.shape)
        lapsed = self._holds.has_lapsed(award.key)
        if objection is None and lapsed and self._schedule.earliest(award.shape, now).start > now:
            return "the bid has lapsed, and its place is taken"
        return objection

    def _release(self, key: Key) -> None:
        if self._holds.take(key) is not None:
            self._schedule.drop_hold(key)
            return
        attempt = self._ledger.attempts.get(key)
        if attempt is None:
            return
        if attempt.phase == "accepted":
            self._schedule.drop_hold(key)
            self._ledger.forget(attempt)
        else:
            self._ledger.do(e.Note("release of a started attempt, ignored", key, {"phase": attempt.phase}, True))
