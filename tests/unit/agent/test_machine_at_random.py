"""The machine driven at random, with crashes: whatever comes, it keeps its books and its promises."""

import random

import pytest

from rainbow_agent.core import commands as c
from rainbow_agent.core import effects as e
from rainbow_agent.core.attempts import TERMINAL_EVENTS
from rainbow_agent.core.model import Key, Shape, Totals
from tests.unit.agent.test_machine import Driver

STEPS = 400


class World:
    """A daemon without manners and a backend that does what it is told, some time later."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.driver = Driver(Totals(2, 3, 2), queue_max=8)
        self.jobs = 0
        self.live: set[tuple[Key, int]] = set()  # runs that the backend has going
        self.begun: set[tuple[Key, int]] = set()
        self.ran: dict[Key, int] = {}
        self.over: set[Key] = set()
        self.ends: dict[Key, list[str]] = {}

    def play(self) -> None:
        self.driver.connect()
        for _ in range(STEPS):
            self.driver.now += self.random.choice([0.0, 0.01, 0.3, 5.0])
            if self.random.random() < 0.02:
                self.crash()
            else:
                self.take(self.driver.step(self.something()))
        self.settle()

    def something(self) -> c.Command:
        keys = list(self.driver.rows) or [Key("nobody", 1)]
        some = tuple(self.random.sample(keys, min(len(keys), 2)))
        moves: list[c.Command] = [
            c.Offers(tuple(self.offer() for _ in range(self.random.randint(1, 3)))),
            self.award(),
            c.Starts(some),
            c.Starts(some),
            c.Releases((self.random.choice(keys),)),
            c.Cancels((self.random.choice(keys),)),
            c.Withdrawals((self.random.choice(keys),)),
            c.Acks(tuple(c.Ack(key, self.random.randint(1, 4)) for key in some)),
            c.Tick(),
            self.random.choice([c.SessionClosed(), c.SessionOpened(), c.SessionWelcomed()]),
        ]
        if self.live:
            key, run = self.random.choice(sorted(self.live))
            moves += [c.RunBegan(key, run), c.RunEnded(key, run, "failed", 3)]
            if (key, run) not in self.begun:
                moves.append(c.RunEnded(key, run, "returned", None, "no space left"))
        command = self.random.choice(moves)
        if isinstance(command, c.RunBegan):
            self.begin(command.key, command.run)
        if isinstance(command, c.RunEnded):
            if command.fate != "returned":
                self.begin(command.key, command.run)
            self.live.discard((command.key, command.run))
        return command

    def begin(self, key: Key, run: int) -> None:
        if (key, run) not in self.begun:
            self.begun.add((key, run))
            self.ran[key] = self.ran.get(key, 0) + 1

    def offer(self) -> c.Offer:
        self.jobs += 1
        return c.Offer(Key(f"job{self.jobs}", 1), self.shape(), self.random.choice([0.0, 1.0, 30.0]))

    def award(self) -> c.Command:
        """Of any attempt, offered or not, but for those that are over: a daemon never reuses their numbers."""
        key = Key(f"job{self.random.randint(0, self.jobs)}", 1)
        return c.Tick() if key in self.over else c.Awards((c.Award(key, self.shape(), "work"),))

    def shape(self) -> Shape:
        return self.random.choice(
            [
                Shape(),
                Shape(tasks=3),
                Shape(nodes=2, tasks=3),
                Shape(gpus_per_task=2),
                Shape(tasks=6, time_limit_s=9.0),
                Shape(exclusive=True),
                Shape(nodes=2, tasks=2, gpus_per_task=1, exclusive=True),
            ]
        )

    def take(self, effects: list[e.Effect]) -> None:
        for effect in effects:
            match effect:
                case e.Launch(key, run):
                    self.keep_apart()
                    assert self.driver.rows[key].phase == "launching"
                    assert self.driver.rows[key].run == run
                    self.live.add((key, run))
                case e.Kill(key, run):
                    assert (key, run) in self.live
                case e.ForgetAttempt(key):
                    self.over.add(key)
                case e.SaveReport(report) if report.event in TERMINAL_EVENTS:
                    self.ends.setdefault(report.key, []).append(report.event)

    def keep_apart(self) -> None:
        """Nobody else on the nodes of an exclusive job, going by the journal alone."""
        busy = [row for row in self.driver.rows.values() if row.phase in ("launching", "running")]
        for row in busy:
            mine = {share.node for share in row.assignment}
            others = {share.node for other in busy if other is not row for share in other.assignment}
            assert not (row.shape.exclusive and mine & others)

    def crash(self) -> None:
        """A new process over the same journal; the backend says what became of every run in it."""
        self.take(self.driver.crash())
        for row in self.driver.machine.in_flight():
            if (row.key, row.run) in self.begun:
                self.take(self.driver.step(c.RunBegan(row.key, row.run)))
            elif self.random.random() < 0.5 or row.phase == "running":
                self.begin(row.key, row.run)
                self.take(self.driver.step(c.RunBegan(row.key, row.run)))
            else:
                self.live.discard((row.key, row.run))
                self.take(self.driver.step(c.RunFenced(row.key, row.run)))
        self.driver.connect()

    def settle(self) -> None:
        """Let everything come to its end: then the journal is empty, and nothing ran or ended twice."""
        self.driver.connect()
        for _ in range(10 * STEPS):
            if not self.driver.rows:
                break
            self.driver.now += 1.0
            for key, run in sorted(self.live):
                self.begin(key, run)
                self.take(self.driver.step(c.RunBegan(key, run)))
                self.live.discard((key, run))  # its end may launch the next one
                self.take(self.driver.step(c.RunEnded(key, run, "completed", 0)))
            self.take(self.driver.step(c.Starts(tuple(self.driver.rows))))
            self.take(self.driver.step(c.Acks(tuple(c.Ack(key, 99) for key in self.driver.rows))))
        assert not self.driver.rows
        assert not self.driver.reports
        assert all(count == 1 for count in self.ran.values())
        assert all(len(ends) == 1 for ends in self.ends.values())
        assert not [key for key, [end] in self.ends.items() if end == "returned" and key in self.ran]
        free = self.driver.machine.free()
        assert (free.nodes, free.cores, free.gpus) == (2, 6, 4)


@pytest.mark.parametrize("seed", range(60))
def test_at_random(seed: int) -> None:
    World(seed).play()
