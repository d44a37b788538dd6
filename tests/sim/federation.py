"""One simulated run: a daemon, some clusters, users, and trouble; then calm, in which everything must end."""

from dataclasses import replace
from typing import Literal

from rainbow_protocol.job import JOB_STATES
from rainbowd.core import commands as cmd
from rainbowd.core import effects as fx
from rainbowd.core.state import Settings, Shape
from rainbowd.core.transitions import TERMINAL
from rainbowd.core.wishes import After, Wishes
from tests.sim.agent import AgentModel
from tests.sim.clockwork import Clockwork, Network
from tests.sim.daemon import Daemon
from tests.sim.described import told
from tests.sim.real_agent import SHAPES, RealAgent
from tests.totals import Totals

TROUBLE_S = 40.0
CALM_STEPS_MAX = 200_000


class Federation:
    """`kind` says who plays the agents: a simple model of the protocol, or the real agent's core."""

    def __init__(self, seed: int, kind: Literal["model", "real"] = "model") -> None:
        self.clockwork = Clockwork(seed)
        self.network = Network(self.clockwork)
        random = self.clockwork.random
        settings = Settings(
            bid_window_s=1.0,
            fanout=random.choice([1, 2, 16]),
            award_window_s=3.0,
            restart_grace_s=random.choice([0.0, 1.0]),
            lost_after_s=random.choice([5.0, 1e9]),
            auctions_open_max=random.choice([2, 1_000]),
            history_events_max=random.choice([10, 400]),
            queue_ahead_max=random.choice([0, 1, 4]),
            bind_within_s=random.choice([0.0, 300.0]),
            move_gain_s=random.choice([0.0, 2.0]),
            move_gain_share=0.0,
            moves_max=random.choice([0, 2, 10]),
            move_pause_s=random.choice([0.1, 2.0]),
        )
        self.daemon = Daemon(self.clockwork, settings, self._deliver)
        self.daemon.crash_chance = random.choice([0.0, 0.01, 0.05])
        self.names = [f"c{number}" for number in range(random.randint(1, 4))]
        player = AgentModel if kind == "model" else RealAgent
        self.agents = {name: player(name, random.randint(1, 3), self.clockwork, self._ran) for name in self.names}
        for agent in self.agents.values():
            agent.crash_chance = random.choice([0.0, 0.002, 0.02])
        self.runs: dict[str, list[tuple[str, int]]] = {}
        self.answered: set[str] = set()
        self.sessions: dict[int, str] = {}
        self._next_session = 0
        self._next_job = 0
        self._next_credential = 0
        self._calm = False

    # --- one run ----------------------------------------------------------

    def run(self) -> None:
        self._start_daemon()
        for name in self.names:
            self._register(name)
        for _ in range(self.clockwork.random.randint(5, 25)):
            self.clockwork.after(self.clockwork.random.uniform(0, TROUBLE_S * 0.8), self._submit)
        for _ in range(self.clockwork.random.randint(0, 10)):
            self.clockwork.after(self.clockwork.random.uniform(0, TROUBLE_S), self._trouble)
        for name in self.names:
            self.clockwork.after(self.clockwork.random.uniform(0, 3), lambda name=name: self._connect(name))
            self.clockwork.after(0.5, lambda name=name: self._check_agent(name))
        end = self.clockwork.now + TROUBLE_S
        self.clockwork.at(end, self._calm_down)
        while self.clockwork.now <= end and self.clockwork.step():
            pass
        for _ in range(CALM_STEPS_MAX):
            if self._all_over() or not self.clockwork.step():
                break
        self._judge()

    def _calm_down(self) -> None:
        """From here on nothing fails, and every connection is made anew: all that was answered must end."""
        self._calm = True
        self.network.unkind = False
        self.daemon.crash_chance = 0.0
        if not self.daemon.up:
            self._start_daemon()
        for name in self.names:
            self._register(name)  # those that were deleted last
            self.agents[name].crash_chance = 0.0
            self._disconnect(name)
            self.clockwork.after(3.0, lambda name=name: self._connect(name))

    def _all_over(self) -> bool:
        return self._calm and all(self.daemon.disk_jobs[job].state in TERMINAL for job in self.answered)

    def _judge(self) -> None:
        for job in sorted(self.answered):
            assert job in self.daemon.disk_jobs, f"{job} was answered and is gone"
            final = self.daemon.disk_jobs[job]
            assert final.state in TERMINAL, f"{job} is still {final.state}: {final.reason}"
            assert final.state in JOB_STATES
            if final.state in ("completed", "failed"):
                assert len(self.runs.get(job, [])) == 1, f"{job} {final.state} without having run"
            if final.state == "lost":  # no journal is ever damaged here, so there are two reasons only to give up
                given_up = "offline for too long" in final.reason or "was deleted" in final.reason
                assert given_up, f"{job}: {final.reason}"
            lines = self.daemon.history[job]
            assert lines[0].event == "submitted"
            assert lines[-1].state in TERMINAL
            for line in lines:
                for bid in line.data.get("bids", []):
                    stale = bid["eta_s"] is not None and bid["eta_s"] // 100 != line.data["attempt"]
                    assert not stale, f"{job}: a bid for another attempt counted in attempt {line.data['attempt']}"

    # --- what happens -----------------------------------------------------

    def _start_daemon(self) -> None:
        self.daemon.start()
        if not self._calm:
            self._check_daemon()

    def _check_daemon(self) -> None:
        """A supervisor that starts a crashed daemon again; its sessions died with it."""
        if not self.daemon.up:
            for name in self.names:
                self._disconnect(name, reconnect=True)
            self._start_daemon()
        elif not self._calm:
            self.clockwork.after(0.5, self._check_daemon)

    def _check_agent(self, name: str) -> None:
        """Start a crashed agent again. The daemon has noticed that its link broke."""
        agent = self.agents[name]
        if not agent.up:
            for session in [session for session, owner in self.sessions.items() if owner == name]:
                del self.sessions[session]
                self.daemon.take(cmd.AgentGone(session))
            agent.start()
            self._connect(name)
        self.clockwork.after(self.clockwork.random.uniform(0.2, 3.0), lambda: self._check_agent(name))

    def _connect(self, name: str) -> None:
        agent = self.agents[name]
        if not agent.up:
            return
        if agent.session is not None or name not in self.daemon.disk_clusters or not self.daemon.up:
            if agent.session is None:
                self.clockwork.after(1.0, lambda: self._connect(name))
            return
        self._next_session += 1
        session, life = self._next_session, self.daemon.life
        generation = self.daemon.disk_clusters[name].generation  # its secret is that of the cluster there is now
        self.sessions[session] = name

        def send(command: cmd.Command) -> None:
            def arrive() -> None:
                if self.sessions.get(session) == name and self.daemon.life == life:
                    self.daemon.take(command)

            if isinstance(command, cmd.AgentReady):
                command = replace(command, generation=generation)
                arrive()  # a session begins with its introduction
            else:
                self.network.carry(arrive)

        agent.connected(session, send)

    def _disconnect(self, name: str, *, reconnect: bool = False) -> None:
        agent = self.agents[name]
        if agent.session is not None:
            session = agent.session
            agent.disconnected()
            self.sessions.pop(session, None)
            self.daemon.take(cmd.AgentGone(session))
        if reconnect:
            self.clockwork.after(self.clockwork.random.uniform(0.05, 6.0), lambda: self._connect(name))

    def _trouble(self) -> None:
        kind = self.clockwork.random.choice(["link", "agent", "daemon"] * 2 + ["deletion", "description"])
        if kind == "daemon" and self.daemon.up:
            self.daemon.crash()
        elif kind == "agent":
            agent = self.agents[self.clockwork.random.choice(self.names)]
            self.clockwork.random.choice([agent.crash, agent.stop])()
        elif kind == "link":
            self._disconnect(self.clockwork.random.choice(self.names), reconnect=True)
        elif kind == "deletion":
            name = self.clockwork.random.choice(self.names)
            force = self.clockwork.random.random() < 0.5
            self.daemon.take(cmd.DeleteCluster(self._origin(), name, force))
            self.clockwork.after(self.clockwork.random.uniform(0.0, 5.0), lambda: self._register(name))
        elif kind == "description":
            name = self.clockwork.random.choice(self.names)
            known = self.daemon.core.world.clusters.get(name)
            described = told(Totals(self.clockwork.random.randint(1, 3), 4))
            basis = known.revision if known is not None else 0
            self.daemon.take(cmd.DescribeCluster(self._origin(), name, described, basis))

    def _register(self, name: str) -> None:
        self._next_credential += 1
        hashes = (f"{kind} {self._next_credential}".encode() for kind in ("secret", "token"))
        self.daemon.take(cmd.RegisterCluster(self._origin(), name, None, *hashes))

    def _origin(self) -> cmd.Origin:
        return cmd.Origin(0, self._next_credential)

    def _submit(self) -> None:
        random = self.clockwork.random
        self._next_job += 1
        key = f"key-{self._next_job}"
        shape = Shape(
            tasks=random.choice([1, 2, 100]),
            cores_per_task=random.choice([1, 4, 4, 5]),
            exclusive=random.random() < 0.3,
        )
        grants = (random.choice(self.names),) if random.random() < 0.2 else tuple(self.names)
        payload = key.encode()
        SHAPES[payload] = shape
        wishes = self._wishes()
        members = random.choice([1, 1, 1, 4])

        def send(number: int) -> None:
            first = cmd.NewJob(f"{key}.{number}", "me", grants, key, "job", shape, payload, shape, wishes=wishes)
            items = [first] if members == 1 else [_member(first, place) for place in range(members)]

            def arrive() -> None:
                known, ends = self.daemon.deletions_told, self.daemon.ends()
                seen = [replace(item, deletions_seen=known, ends=ends) for item in items]
                self.daemon.take(cmd.Submit(cmd.Origin(1, number), seen, {}))

            self.network.carry(arrive)

        for number in range(random.choice([1, 1, 2, 3])):  # a client that got no answer tries again
            self.clockwork.after(number * random.uniform(0.0, 4.0), lambda number=number: send(number))
        if random.random() < 0.25:
            self.clockwork.after(random.uniform(0.0, 8.0), lambda: self._cancel(key))

    def _wishes(self) -> Wishes:
        """Some come after others, which must be there when that is said."""
        random = self.clockwork.random
        if not self.daemon.disk_jobs or random.random() < 0.7:
            return Wishes(urgency=random.choice([16, 16, 31]), move=random.random() < 0.9)
        before = random.sample(sorted(self.daemon.disk_jobs), min(len(self.daemon.disk_jobs), random.choice([1, 2])))
        return Wishes(after=tuple(After(job, random.choice(["start", "any", "ok"])) for job in before))

    def _cancel(self, key: str) -> None:
        jobs = tuple(job.id for job in self.daemon.disk_jobs.values() if (job.key or "").partition("/")[0] == key)
        self.daemon.take(cmd.Cancel(cmd.Origin(1, 0), jobs))

    # --- what is seen -----------------------------------------------------

    def _deliver(self, effect: fx.Effect) -> None:
        if isinstance(effect, fx.AnswerSubmit):
            answered = {outcome.job for outcome in effect.items if outcome.job is not None}
            keys = [self.daemon.disk_jobs[job].key for job in self.answered | answered]
            assert len(keys) == len(set(keys)), "one key, two jobs"
            self.answered |= answered
        if isinstance(effect, fx.EndSession) and effect.final and effect.session in self.sessions:
            self._disconnect(self.sessions[effect.session], reconnect=True)
        session = getattr(effect, "session", None)
        if session is None or isinstance(effect, fx.EndSession | fx.Complain):
            return
        name, life = self.sessions.get(session), self.daemon.life
        if name is not None:
            agent = self.agents[name]

            def arrive() -> None:
                if agent.session == session and self.daemon.life == life:
                    agent.take(effect)

            if isinstance(effect, fx.SendWelcome):
                self.clockwork.after(0.001, arrive)
            else:
                self.network.carry(arrive)

    def _ran(self, job: str, attempt: int, cluster: str) -> None:
        runs = self.runs.setdefault(job, [])
        runs.append((cluster, attempt))
        assert len(runs) == 1, f"{job} ran twice: {runs}"


def _member(first: cmd.NewJob, place: int) -> cmd.NewJob:
    return replace(
        first,
        id=f"{first.id}.{place}",
        key=f"{first.key}/{place}",
        array=first.id,
        array_index=place,
        array_at_once=2,
        array_begins=place == 0,
    )
