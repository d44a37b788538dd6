"""A model of an agent: a journal that survives, a process that does not, and jobs that outlive the process.

It keeps the protocol's promises in the simplest way that could be right. The
real agent's core is simulated against the real daemon's core next door.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rainbowd.core import commands as cmd
from rainbowd.core import effects as fx
from tests.sim.clockwork import Clockwork
from tests.sim.described import told
from tests.totals import Totals

Send = Callable[[cmd.Command], None]


@dataclass
class Entry:
    """One attempt in the journal."""

    phase: str = "accepted"
    reports: list[cmd.ReportItem] = field(default_factory=list)
    acked: int = 0
    running: bool = False
    cancel: bool = False


class AgentModel:
    def __init__(self, name: str, nodes: int, clockwork: Clockwork, on_run: Callable[[str, int, str], None]) -> None:
        self.name = name
        self.resources = Totals(nodes, 4)
        self._clockwork = clockwork
        self._on_run = on_run
        self.journal: dict[tuple[str, int], Entry] = {}
        self.crash_chance = 0.0
        self.up = True
        self.session: int | None = None
        self._send: Send | None = None

    # --- the process ------------------------------------------------------

    def start(self) -> None:
        self.up = True

    def stop(self) -> None:
        """It hands jobs back at random anyway; see `_start`."""
        self.crash()

    def crash(self) -> None:
        """The link breaks; the journal and the jobs live on."""
        self.up = False
        self.session = self._send = None

    # --- the session ------------------------------------------------------

    def connected(self, session: int, send: Send) -> None:
        self.session, self._send = session, send
        inventory = [cmd.Held(job, attempt, self._phase(entry)) for (job, attempt), entry in self.journal.items()]
        send(cmd.AgentReady(session, self.name, f"agent-{self.name}", told(self.resources, "agent"), None, inventory))

    def disconnected(self) -> None:
        self.session = self._send = None

    def _phase(self, entry: Entry) -> Any:
        over = entry.reports and entry.reports[-1].event not in ("queued", "running")
        return "finished" if over else entry.phase

    def _say(self, command: cmd.Command) -> None:
        if self._send is not None:
            self._send(command)

    # --- what the daemon says ---------------------------------------------

    def take(self, effect: fx.Effect) -> None:
        if self.session is None:
            return
        match effect:
            case fx.SendWelcome():
                self._resend()
            case fx.SendOffer():
                self._bid(effect)
            case fx.SendAward():
                self._awarded(effect)
            case fx.SendStart():
                self._start(effect)
            case fx.SendRelease():
                entry = self.journal.get((effect.job, effect.attempt))
                if entry is not None and entry.phase == "accepted":
                    del self.journal[effect.job, effect.attempt]
            case fx.SendCancel():
                self._cancel(effect)
            case fx.SendWithdraw():
                self._withdraw(effect)
            case fx.SendAck():
                self._acked(effect)

    def _bid(self, offer: fx.SendOffer) -> None:
        if self._clockwork.chance(0.05):
            return  # too busy to answer
        yes = self._clockwork.chance(0.8)
        if offer.waits_here is not None:
            entry = self.journal.get((offer.job, offer.waits_here))
            yes = entry is not None and entry.phase == "started" and not entry.running
        # The hundreds of the ETA tell which attempt the bid is for: the judge checks that it counted for no other.
        eta = offer.attempt * 100 + self._clockwork.random.choice([0.0, 1.0, 5.0])
        cost = self._clockwork.random.choice([1.0, 2.0])
        item = cmd.BidItem(offer.job, offer.attempt, yes, eta, cost, "" if yes else "not today")
        self._say(cmd.BidsReceived(self.session or 0, [item]))
        if not yes:  # what made it say No passes, and it says so
            self._clockwork.after(self._clockwork.random.uniform(0.1, 5.0), self._push_state)

    def _push_state(self) -> None:
        if self.session is not None:
            self._say(cmd.AgentState(self.session, None, {"cores_free": 100, "nodes_free": 3}))

    def _awarded(self, award: fx.SendAward) -> None:
        key = (award.job, award.attempt)
        accept = key in self.journal or self._clockwork.chance(0.9)
        if accept:
            self.journal.setdefault(key, Entry())
        if not self._clockwork.chance(0.05):
            self._say(cmd.AwardsAnswered(self.session or 0, [cmd.AnswerItem(*key, accept, "changed my mind")]))

    def _start(self, start: fx.SendStart) -> None:
        entry = self.journal.get((start.job, start.attempt))
        if entry is None or entry.phase == "started":
            return
        entry.phase = "started"
        if self._clockwork.chance(0.1):
            self._report(start.job, start.attempt, entry, "returned")
            return
        if self._clockwork.chance(0.5):
            self._report(start.job, start.attempt, entry, "queued")
        delay = self._clockwork.random.uniform(0.0, 3.0) * self._clockwork.random.choice([1, 1, 5])
        self._clockwork.after(delay, lambda: self._run(start.job, start.attempt))

    def _run(self, job: str, attempt: int) -> None:
        entry = self.journal.get((job, attempt))
        if entry is None or self._phase(entry) == "finished":
            return
        self._on_run(job, attempt, self.name)
        entry.running = True
        self._report(job, attempt, entry, "running")
        self._clockwork.after(self._clockwork.random.uniform(0.1, 4.0), lambda: self._finish(job, attempt))

    def _finish(self, job: str, attempt: int) -> None:
        entry = self.journal.get((job, attempt))
        if entry is None or self._phase(entry) == "finished":
            return
        outcome = "cancelled" if entry.cancel else self._clockwork.random.choice(["completed", "failed"])
        self._report(job, attempt, entry, outcome)
        self._push_state()

    def _cancel(self, cancel: fx.SendCancel) -> None:
        entry = self.journal.get((cancel.job, cancel.attempt))
        if entry is None or self._phase(entry) == "finished":
            return
        entry.phase, entry.cancel = "started", True
        if not entry.running:
            self._report(cancel.job, cancel.attempt, entry, "cancelled")

    def _withdraw(self, withdraw: fx.SendWithdraw) -> None:
        entry = self.journal.get((withdraw.job, withdraw.attempt))
        waits = entry is not None and entry.phase == "started" and not entry.running
        if entry is not None and waits and self._phase(entry) != "finished":
            self._report(withdraw.job, withdraw.attempt, entry, "returned")

    def _report(self, job: str, attempt: int, entry: Entry, event: Any) -> None:
        code = {"completed": 0, "failed": 3}.get(event)
        item = cmd.ReportItem(job, attempt, len(entry.reports) + 1, event, self._clockwork.now, code)
        entry.reports.append(item)
        self._say(cmd.ReportsReceived(self.session or 0, [item]))

    def _acked(self, ack: fx.SendAck) -> None:
        entry = self.journal.get((ack.job, ack.attempt))
        if entry is None:
            return
        entry.acked = max(entry.acked, ack.seq)
        if self._phase(entry) == "finished" and entry.acked >= len(entry.reports):
            del self.journal[ack.job, ack.attempt]

    def _resend(self) -> None:
        items = [item for entry in self.journal.values() for item in entry.reports if item.seq > entry.acked]
        if items:
            self._say(cmd.ReportsReceived(self.session or 0, items))
