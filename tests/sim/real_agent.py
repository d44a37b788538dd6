"""The real agent's core in the simulation: its journal survives, its process does not, its jobs do not care.

The operating system below it is modelled: a launched run claims its place some time later, whether or not the
agent that launched it is still there, unless somebody has fenced that run off before.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rainbow_agent.core import commands as ac
from rainbow_agent.core import effects as ae
from rainbow_agent.core.bidder import Yes
from rainbow_agent.core.machine import AgentMachine, MachineSettings
from rainbow_agent.core.model import Key, Shape, Totals
from rainbow_agent.core.pricing import Prices
from rainbowd.core import commands as cmd
from rainbowd.core import effects as fx
from rainbowd.core.state import Shape as DaemonShape
from tests.sim.clockwork import Clockwork
from tests.sim.described import told
from tests.totals import Totals as DaemonTotals

Send = Callable[[cmd.Command], None]


@dataclass
class Run:
    """One run as the operating system knows it."""

    state: str = "launched"  # launched → running → over, or fenced
    fate: Any = "completed"
    killed: bool = False


class RealAgent:
    def __init__(
        self,
        name: str,
        nodes: int,
        clockwork: Clockwork,
        on_run: Callable[[str, int, str], None],
        queue_max: int = 5,
    ) -> None:
        self.name = name
        self.resources = DaemonTotals(nodes, 4)
        self._settings = MachineSettings(Totals(nodes, 4), Prices(per_core_hour=1.0), 10.0, queue_max)
        self._clockwork = clockwork
        self._on_run = on_run
        self._rows: dict[Key, ae.AttemptRow] = {}
        self._reports: dict[tuple[Key, int], ae.Report] = {}
        self._runs: dict[tuple[Key, int], Run] = {}
        self.crash_chance = 0.0
        self.checks = True
        self.up = False
        self._life = 0
        self.session: int | None = None
        self._send: Send | None = None
        self._armed: float | None = None
        self.start()

    # --- the process ------------------------------------------------------

    def start(self) -> None:
        self.up = True
        self._life += 1
        self._armed = None
        self._machine = AgentMachine(self._settings)
        now = self._clockwork.now
        effects = self._machine.restore(self._rows.values(), self._reports.values(), now)
        for row in self._machine.in_flight():
            effects += self._machine.step(self._recover(row), now)
        self._perform([*effects, *self._machine.step(ac.Tick(), now)])

    def stop(self) -> None:
        """Asked to end: what has not begun is handed back, then the process leaves."""
        self._step(ac.Stop())
        life = self._life
        self._clockwork.after(1.0, lambda: self.crash() if life == self._life else None)

    def crash(self) -> None:
        """The process is gone; its link breaks with it."""
        self.up = False
        self.session = self._send = None

    def _recover(self, row: ae.AttemptRow) -> ac.Command:
        run = self._runs.get((row.key, row.run))
        if run is None or run.state in ("launched", "fenced"):
            self._runs[row.key, row.run] = Run("fenced")
            return ac.RunFenced(row.key, row.run)
        if run.state == "over":
            return ac.RunEnded(row.key, row.run, run.fate, 0 if run.fate == "completed" else None)
        return ac.RunBegan(row.key, row.run)

    def _step(self, command: ac.Command) -> None:
        if self.up:
            effects = self._machine.step(command, self._clockwork.now)
            if self.checks:
                self._machine.check()
            self._perform(effects)

    def _perform(self, effects: list[ae.Effect]) -> None:
        if self._clockwork.chance(self.crash_chance):
            self.crash()
            return
        for effect in effects:
            self._store(effect)
        for effect in effects:
            if self._clockwork.chance(self.crash_chance):
                self.crash()
                return
            self._do(effect)
        deadline = self._machine.next_deadline()
        if deadline is not None and deadline != self._armed:
            self._armed, life = deadline, self._life
            self._clockwork.at(deadline, lambda: self._step(ac.Tick()) if life == self._life else None)

    def _store(self, effect: ae.Effect) -> None:
        match effect:
            case ae.SaveAttempt(row):
                self._rows[row.key] = row
            case ae.ForgetAttempt(key):
                del self._rows[key]
                self._reports = {at: report for at, report in self._reports.items() if at[0] != key}
            case ae.SaveReport(report):
                self._reports[report.key, report.seq] = report
            case ae.DropReports(key, seq):
                self._reports = {at: r for at, r in self._reports.items() if at[0] != key or at[1] > seq}

    # --- the operating system ---------------------------------------------

    def _do(self, effect: ae.Effect) -> None:
        match effect:
            case ae.Launch(key, number):
                self._runs.setdefault((key, number), Run())
                self._clockwork.after(self._clockwork.random.uniform(0.0, 1.0), lambda: self._claim(key, number))
            case ae.Kill(key, number):
                run = self._runs[key, number]
                run.killed = True
                self._clockwork.after(0.1, lambda: self._over(key, number))
            case _:
                self._say(effect)

    def _claim(self, key: Key, number: int) -> None:
        run = self._runs[key, number]
        if run.state == "launched":
            run.state = "running"
            self._on_run(key.job, key.attempt, self.name)
            self._step(ac.RunBegan(key, number))
            self._clockwork.after(self._clockwork.random.uniform(0.1, 4.0), lambda: self._over(key, number))

    def _over(self, key: Key, number: int) -> None:
        run = self._runs[key, number]
        if run.state == "running":
            run.state = "over"
            run.fate = "cancelled" if run.killed else self._clockwork.random.choice(["completed", "failed"])
            self._step(ac.RunEnded(key, number, run.fate, {"completed": 0, "failed": 3}.get(run.fate)))

    # --- the session ------------------------------------------------------

    def connected(self, session: int, send: Send) -> None:
        self.session, self._send = session, send
        self._step(ac.SessionOpened())

    def disconnected(self) -> None:
        self.session = self._send = None
        self._step(ac.SessionClosed())

    def _say(self, effect: ae.Effect) -> None:
        if self._send is None or self.session is None:
            return
        match effect:
            case ae.SendInventory(items):
                held = [cmd.Held(key.job, key.attempt, phase) for key, phase in items]
                ready = cmd.AgentReady(
                    self.session, self.name, f"agent-{self.name}", told(self.resources, "agent"), None, held
                )
                self._send(ready)
            case ae.SendBids(items):
                self._send(cmd.BidsReceived(self.session, [_bid(key, answer) for key, answer in items]))
            case ae.SendAwardAnswers(items):
                answers = [cmd.AnswerItem(*a.key, a.refusal is None, a.refusal or "") for a in items]
                self._send(cmd.AwardsAnswered(self.session, answers))
            case ae.SendReports(items):
                reports = [cmd.ReportItem(*r.key, r.seq, r.event, r.at, r.exit_code, r.reason) for r in items]
                self._send(cmd.ReportsReceived(self.session, reports))
            case ae.SendState():
                free = self._machine.free()
                facts = {"cores_free": free.cores, "nodes_free": free.nodes, "jobs_queued": free.queued}
                self._send(cmd.AgentState(self.session, free, facts))

    def take(self, effect: fx.Effect) -> None:
        if self.session is None:
            return
        match effect:
            case fx.SendWelcome():
                self._step(ac.SessionWelcomed())
            case fx.SendOffer():
                self.take_offers([effect])
            case fx.SendAward():
                # The real award carries the request; here the payload names the job, and its shape is looked up.
                shape = SHAPES[effect.payload]
                self._step(ac.Awards((ac.Award(Key(effect.job, effect.attempt), _shape(shape), "work"),)))
            case fx.SendStart():
                self._step(ac.Starts((Key(effect.job, effect.attempt),)))
            case fx.SendRelease():
                self._step(ac.Releases((Key(effect.job, effect.attempt),)))
            case fx.SendWithdraw():
                self._step(ac.Withdrawals((Key(effect.job, effect.attempt),)))
            case fx.SendCancel():
                self._step(ac.Cancels((Key(effect.job, effect.attempt),)))
            case fx.SendAck():
                self._step(ac.Acks((ac.Ack(Key(effect.job, effect.attempt), effect.seq),)))

    def take_offers(self, offers: list[fx.SendOffer]) -> None:
        """As they come over the wire: many in one frame."""
        self._step(ac.Offers(tuple(map(_offer, offers))))


SHAPES: dict[bytes, DaemonShape] = {}


def _offer(offer: fx.SendOffer) -> ac.Offer:
    key = Key(offer.job, offer.attempt)
    return ac.Offer(key, _shape(offer.shape), offer.hold_s, waits_here=offer.waits_here, user=offer.user)


def _shape(shape: DaemonShape) -> Shape:
    return Shape(
        shape.tasks, shape.cores_per_task, shape.gpus_per_task, shape.nodes, shape.time_limit_s, shape.exclusive
    )


def _bid(key: Key, answer: Any) -> cmd.BidItem:
    if isinstance(answer, Yes):
        # As in the model, the hundreds of the ETA name the attempt.
        return cmd.BidItem(*key, True, key.attempt * 100 + min(answer.eta_s, 99.0), answer.cost, "")
    return cmd.BidItem(*key, False, 0.0, 0.0, answer.reason)
