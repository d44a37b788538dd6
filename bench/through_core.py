"""Jobs placed by the daemon's real core: its effects go to simulated agents, whose answers are its next commands.

Messages take no time: whatever follows from one event has followed before the next. So an answer is never late here.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any

from bench.easy import EasyCluster, Ride
from bench.easy_agent import EasyAgent
from bench.federation import Placer
from rainbow_agent.core.model import Key
from rainbowd.core import commands as cmd
from rainbowd.core import effects as fx
from rainbowd.core.machine import Core
from rainbowd.core.ports import Verdict
from rainbowd.core.selection.base import Policy
from rainbowd.core.state import Settings, Shape

_TOO_SMALL = Verdict(False, "has fewer processors")
_NEWS = frozenset({fx.SaveJob, fx.Happened, fx.SendAck, fx.AnswerSubmit})  # nobody here listens


class ProcessorMatcher:
    """Clusters and jobs are numbers of processors."""

    def match(self, ask: int, resources: int) -> Verdict:
        return Verdict(True, instances=resources // ask) if ask <= resources else _TOO_SMALL

    def match_all(self, ask: int, clusters: Iterable[int]) -> list[Verdict]:
        return [self.match(ask, resources) for resources in clusters]

    def measure(self, ask: int, resources: int) -> Verdict:
        return self.match(ask, resources)


class ThroughCore(Placer):
    def __init__(
        self,
        clusters: Mapping[str, EasyCluster],
        prices: Mapping[str, float],
        policy: Policy,
        settings: Settings,
        *,
        clairvoyant: bool = False,
    ) -> None:
        super().__init__(clusters)
        self._prices = prices
        self._core = Core(settings, ProcessorMatcher(), policy)
        self._grants = tuple(clusters)
        self._agents = {name: EasyAgent(one, clairvoyant=clairvoyant) for name, one in clusters.items()}
        self._sessions = dict(enumerate(clusters, start=1))
        self._session_of = {name: session for session, name in self._sessions.items()}
        self._told = dict.fromkeys(clusters, -1)  # the version of each cluster that the daemon has heard of
        self._rides: dict[str, Ride] = {}
        self._attempts: dict[str, int] = {}
        self._reported: dict[str, int] = {}
        for name in clusters:
            self._introduce(name)

    def submitted(self, ride: Ride, now: float) -> None:
        self._rides[ride.id] = ride
        shape = Shape(tasks=ride.processors, time_limit_s=ride.job.requested_s)
        facts = {"tasks": shape.tasks, "cores_per_task": 1, "time_limit_s": ride.job.requested_s}
        item = cmd.NewJob(
            ride.id, ride.user, self._grants, None, ride.id, shape, b"", ride.processors, user=ride.user, facts=facts
        )
        self._say(cmd.Submit(cmd.Origin(0, ride.order), [item], {}), now)

    def ended(self, ride: Ride, now: float) -> None:
        agent = self._agents[ride.cluster]
        begun = agent.cluster.end(ride, now)
        agent.ended(ride)
        reports = [self._report(ride, "completed", now), *self._begin(agent, begun, now)]
        self._say(cmd.ReportsReceived(self._session_of[ride.cluster], reports), now)
        del self._rides[ride.id], self._attempts[ride.id], self._reported[ride.id]
        self._core.forget_over()

    def next_deadline(self) -> float:
        deadline = self._core.next_deadline()
        return float("inf") if deadline is None else deadline

    def tick(self, now: float) -> None:
        self._say(cmd.Tick(), now)

    # --- both directions of the wire

    def _say(self, command: cmd.Command, now: float) -> None:
        """Tell the core, and everybody what it says, until nobody has anything to say any more."""
        inbox: deque[cmd.Command] = deque([command])
        while inbox:
            while inbox:
                inbox += self._hear(self._core.step(inbox.popleft(), now), now)
            inbox += self._states()

    def _hear(self, effects: Iterable[fx.Effect], now: float) -> list[cmd.Command]:
        bids: defaultdict[int, list[cmd.BidItem]] = defaultdict(list)
        answers: defaultdict[int, list[cmd.AnswerItem]] = defaultdict(list)
        reports: defaultdict[int, list[cmd.ReportItem]] = defaultdict(list)
        for effect in effects:
            if type(effect) in _NEWS:
                continue
            match effect:
                case fx.SendOffer():
                    bids[effect.session].append(self._bid(effect, now))
                case fx.SendAward(session=session, job=job, attempt=attempt):
                    answers[session].append(cmd.AnswerItem(job, attempt, accept=True, reason=""))
                case fx.SendRelease(session=session, job=job, attempt=attempt):
                    self._agents[self._sessions[session]].release(Key(job, attempt))
                case fx.SendStart(session=session, job=job, attempt=attempt):
                    reports[session] += self._start(self._agents[self._sessions[session]], job, attempt, now)
                case fx.SendWithdraw(session=session, job=job, attempt=attempt):
                    reports[session] += self._withdraw(self._agents[self._sessions[session]], job, attempt, now)
                case _:
                    raise ValueError(f"the core said what it should not have to: {effect}")
        said: list[cmd.Command] = [cmd.BidsReceived(session, items) for session, items in bids.items()]
        said += [cmd.AwardsAnswered(session, items) for session, items in answers.items()]
        said += [cmd.ReportsReceived(session, items) for session, items in reports.items()]
        return said

    def _bid(self, offer: fx.SendOffer, now: float) -> cmd.BidItem:
        name = self._sessions[offer.session]
        agent, ride = self._agents[name], self._rides[offer.job]
        cost = self._prices[name] * ride.processors * ride.job.requested_s / 3600.0
        if offer.waits_here is None:
            eta_s = agent.eta_s(Key(offer.job, offer.attempt), ride, now)
        elif ride.started is None and ride.cluster == name and self._attempts.get(ride.id) == offer.waits_here:
            eta_s = agent.waiting_eta_s(ride, now)
        else:
            return cmd.BidItem(offer.job, offer.attempt, yes=False, eta_s=0.0, cost=0.0, reason="it does not wait here")
        return cmd.BidItem(offer.job, offer.attempt, yes=True, eta_s=eta_s, cost=cost, reason="")

    def _start(self, agent: EasyAgent, job: str, attempt: int, now: float) -> list[cmd.ReportItem]:
        ride = self._rides[job]
        agent.release(Key(job, attempt))
        self._attempts[job], self._reported[job] = attempt, 0
        begun = agent.cluster.submit(ride, now)
        queued = [] if ride in begun else [self._report(ride, "queued", now)]
        return queued + self._begin(agent, begun, now)

    def _withdraw(self, agent: EasyAgent, job: str, attempt: int, now: float) -> list[cmd.ReportItem]:
        ride = self._rides[job]
        if ride.started is not None or self._attempts.get(job) != attempt:
            return []
        begun = agent.cluster.withdraw(ride, now)
        ride.moves += 1
        return [self._report(ride, "returned", now), *self._begin(agent, begun, now)]

    def _begin(self, agent: EasyAgent, begun: Iterable[Ride], now: float) -> list[cmd.ReportItem]:
        begun = list(begun)
        for ride in begun:
            agent.began(ride)
        self.begins(begun)
        return [self._report(ride, "running", now) for ride in begun]

    def _report(self, ride: Ride, event: cmd.ReportEvent, now: float) -> cmd.ReportItem:
        self._reported[ride.id] += 1
        return cmd.ReportItem(ride.id, self._attempts[ride.id], self._reported[ride.id], event, now)

    def _states(self) -> list[cmd.Command]:
        """Agents push what has changed; many changes of one moment are told at once."""
        changed = [name for name, told in self._told.items() if told != self._agents[name].cluster.version]
        for name in changed:
            self._told[name] = self._agents[name].cluster.version
        return [cmd.AgentState(self._session_of[name], None, self._facts(name)) for name in changed]

    def _facts(self, name: str) -> dict[str, int]:
        cluster = self.clusters[name]
        return {"cores_free": cluster.free, "jobs_queued": len(cluster.queue), "jobs_running": len(cluster.runs)}

    def _introduce(self, name: str) -> None:
        session, processors = self._session_of[name], self.clusters[name].processors
        described: Any = cmd.Description(processors, "totals", "agent", None, digest=name)
        self._core.step(cmd.RegisterCluster(cmd.Origin(0, 0), name, None, name.encode(), name.encode()), 0.0)
        self._core.step(cmd.AgentReady(session, name, name, described, None, (), facts=self._facts(name)), 0.0)
