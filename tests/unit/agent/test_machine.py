"""The machine, one conversation at a time."""

from typing import TypeVar

import pytest

from rainbow_agent.core import commands as c
from rainbow_agent.core import effects as e
from rainbow_agent.core.bidder import PAUSE_S, No, Yes
from rainbow_agent.core.machine import AgentMachine, MachineSettings
from rainbow_agent.core.model import Key, Shape, Totals
from rainbow_agent.core.state_push import STATE_INTERVAL_S

E = TypeVar("E")
WHOLE = Shape(tasks=4)


def key(number: int) -> Key:
    return Key(f"job{number}", 1)


class Driver:
    """Steps a machine, keeps what a journal would hold, and checks the invariants after every step."""

    def __init__(self, totals: Totals | None = None, queue_max: int = 100) -> None:
        self.settings = MachineSettings(totals or Totals(1, 4), default_time_limit_s=100.0, queue_max=queue_max)
        self.machine = AgentMachine(self.settings)
        self.rows: dict[Key, e.AttemptRow] = {}
        self.reports: dict[tuple[Key, int], e.Report] = {}
        self.now = 0.0

    def connect(self) -> None:
        self.step(c.SessionOpened())
        self.step(c.SessionWelcomed())

    def step(self, command: c.Command) -> list[e.Effect]:
        effects = self.machine.step(command, self.now)
        self.store(effects)
        self.machine.check()
        return effects

    def store(self, effects: list[e.Effect]) -> None:
        stored = [isinstance(effect, e.Stored) for effect in effects]
        assert stored == sorted(stored, reverse=True), "what is stored comes first"
        for effect in effects:
            match effect:
                case e.SaveAttempt(row):
                    self.rows[row.key] = row
                case e.SaveReport(report):
                    self.reports[report.key, report.seq] = report
                case e.DropReports(key, seq):
                    self.reports = {at: it for at, it in self.reports.items() if at[0] != key or at[1] > seq}
                case e.ForgetAttempt(key):
                    del self.rows[key]
                    self.reports = {at: it for at, it in self.reports.items() if at[0] != key}

    def crash(self) -> list[e.Effect]:
        self.machine = AgentMachine(self.settings)
        effects = self.machine.restore(self.rows.values(), self.reports.values(), self.now)
        self.store(effects)
        self.machine.check()
        assert {row.key: row for row in self.machine.rows()} == self.rows
        return effects

    def bid(self, number: int, shape: Shape = WHOLE, hold_s: float = 30.0) -> Yes | No:
        [bids] = only(self.step(c.Offers((c.Offer(key(number), shape, hold_s),))), e.SendBids)
        return bids.items[0][1]

    def accept(self, number: int, shape: Shape = WHOLE) -> None:
        assert isinstance(self.bid(number, shape), Yes)
        [answers] = only(self.step(c.Awards((c.Award(key(number), shape, "work"),))), e.SendAwardAnswers)
        assert answers.items == (e.AwardAnswer(key(number)),)

    def start(self, number: int, shape: Shape = WHOLE) -> list[e.Effect]:
        self.accept(number, shape)
        return self.step(c.Starts((key(number),)))

    def run(self, number: int, shape: Shape = WHOLE) -> None:
        [launch] = only(self.start(number, shape), e.Launch)
        self.step(c.RunBegan(launch.key, launch.run, "4711"))


@pytest.fixture
def driver() -> Driver:
    driver = Driver()
    driver.connect()
    return driver


def only(effects: list[e.Effect], kind: type[E]) -> list[E]:
    return [effect for effect in effects if isinstance(effect, kind)]


def events(effects: list[e.Effect]) -> list[tuple[int, str]]:
    """Reports in what was stored; those sent must be the same."""
    saved = [effect.report for effect in only(effects, e.SaveReport)]
    sent = [report for effect in only(effects, e.SendReports) for report in effect.items]
    assert saved == sent
    return [(report.seq, report.event) for report in saved]


def test_the_life_of_an_attempt(driver: Driver) -> None:
    assert driver.bid(1) == Yes(0.0, 0.0)
    effects = driver.step(c.Awards((c.Award(key(1), WHOLE, "work"),)))
    assert [effect.row.phase for effect in only(effects, e.SaveAttempt)] == ["accepted"]
    effects = driver.step(c.Starts((key(1),)))
    assert [effect.row.phase for effect in only(effects, e.SaveAttempt)] == ["launching"]
    [launch] = only(effects, e.Launch)
    assert (launch.run, launch.work) == (1, "work")
    assert events(effects) == []
    assert events(driver.step(c.RunBegan(key(1), 1, "4711"))) == [(1, "running")]
    assert events(driver.step(c.RunEnded(key(1), 1, "completed", 0))) == [(2, "completed")]
    assert driver.rows[key(1)].phase == "finished"
    assert driver.rows[key(1)].work == ""
    effects = driver.step(c.Acks((c.Ack(key(1), 2),)))
    assert only(effects, e.ForgetAttempt) == [e.ForgetAttempt(key(1))]
    assert only(effects, e.Discard) == [e.Discard(key(1))]
    assert driver.rows == {}
    assert driver.reports == {}


def test_one_that_must_wait_says_so(driver: Driver) -> None:
    driver.run(1)
    assert events(driver.start(2)) == [(1, "queued")]
    effects = driver.step(c.RunEnded(key(1), 1, "completed", 0))
    assert events(effects) == [(2, "completed")]
    assert [launch.key for launch in only(effects, e.Launch)] == [key(2)]
    assert events(driver.step(c.RunBegan(key(2), 1))) == [(2, "running")]


def test_outstanding_bids_hold_their_place(driver: Driver) -> None:
    assert [driver.bid(number) for number in range(3)] == [Yes(0.0, 0.0), Yes(100.0, 0.0), Yes(200.0, 0.0)]
    driver.step(c.Releases((key(0), key(1))))
    assert driver.bid(3) == Yes(0.0, 0.0)


def test_what_the_cluster_cannot_do_is_refused_and_holds_nothing(driver: Driver) -> None:
    [bids] = only(driver.step(c.Offers((c.Offer(key(1), WHOLE, 30.0, "no queues here"),))), e.SendBids)
    assert bids.items == ((key(1), No("no queues here")),)
    assert driver.bid(2) == Yes(0.0, 0.0)
    # The whole request tells more than the offer did.
    effects = driver.step(c.Awards((c.Award(key(2), WHOLE, "work", "no sockets here"),)))
    assert [answer.items for answer in only(effects, e.SendAwardAnswers)] == [
        (e.AwardAnswer(key(2), "no sockets here"),)
    ]
    assert driver.rows == {}
    assert driver.bid(3) == Yes(0.0, 0.0)


def test_holds_lapse_and_die_with_the_session(driver: Driver) -> None:
    driver.bid(1, hold_s=5.0)
    assert driver.machine.next_deadline() == 5.0
    driver.now = 5.0
    driver.step(c.Tick())
    assert driver.bid(2) == Yes(0.0, 0.0)
    driver.step(c.SessionClosed())
    driver.connect()
    assert driver.bid(3) == Yes(0.0, 0.0)


def test_a_repeated_offer_replaces_the_first(driver: Driver) -> None:
    assert driver.bid(1) == driver.bid(1) == Yes(0.0, 0.0)
    driver.accept(1)
    assert driver.bid(1) == No("this attempt is already here")


def test_a_full_queue_says_no() -> None:
    driver = Driver(queue_max=2)
    driver.connect()
    driver.bid(1)
    driver.accept(2)
    assert driver.bid(3) == No("queue is full: 2 jobs wait here, the limit is 2")


def test_an_award_that_comes_twice_is_accepted_twice(driver: Driver) -> None:
    driver.accept(1)
    effects = driver.step(c.Awards((c.Award(key(1), WHOLE, "work"),)))
    assert only(effects, e.SendAwardAnswers)[0].items == (e.AwardAnswer(key(1)),)
    assert only(effects, e.SaveAttempt) == []


def test_an_award_for_a_lapsed_bid(driver: Driver) -> None:
    """It is accepted only if it could start at once."""
    for number in (1, 2):
        driver.bid(number, hold_s=5.0)
    driver.now = 5.0
    driver.step(c.Tick())
    effects = driver.step(c.Awards((c.Award(key(1), WHOLE, "w"), c.Award(key(2), WHOLE, "w"))))
    first, second = only(effects, e.SendAwardAnswers)[0].items
    assert first.refusal is None
    assert second.refusal == "the bid has lapsed, and its place is taken"


def test_an_award_that_nobody_asked_about_may_wait(driver: Driver) -> None:
    """Some policies ask no questions: then nothing was promised."""
    effects = driver.step(c.Awards((c.Award(key(1), WHOLE, "w"), c.Award(key(2), WHOLE, "w"))))
    assert [answer.refusal for answer in only(effects, e.SendAwardAnswers)[0].items] == [None, None]
    assert events(driver.step(c.Starts((key(1), key(2))))) == [(1, "queued")]


def test_a_start_that_comes_twice_does_nothing(driver: Driver) -> None:
    driver.run(1)
    assert driver.step(c.Starts((key(1),))) == []
    driver.step(c.RunEnded(key(1), 1, "completed", 0))
    assert driver.step(c.Starts((key(1),))) == []


def test_a_start_of_an_unknown_attempt_is_refused(driver: Driver) -> None:
    effects = driver.step(c.Starts((key(1),)))
    assert only(effects, e.Launch) == []
    assert len(only(effects, e.SendError)) == 1


def test_release_drops_an_acceptance_but_never_a_run(driver: Driver) -> None:
    driver.accept(1)
    assert only(driver.step(c.Releases((key(1),))), e.ForgetAttempt) == [e.ForgetAttempt(key(1))]
    driver.run(2)
    effects = driver.step(c.Releases((key(2),)))
    assert only(effects, e.Kill) == []
    assert driver.rows[key(2)].phase == "running"


def test_a_late_release_does_not_take_back_the_news_of_a_run(driver: Driver) -> None:
    driver.run(1)
    driver.step(c.RunEnded(key(1), 1, "completed", 0))
    driver.step(c.Releases((key(1),)))
    assert driver.rows[key(1)].phase == "finished"


def test_cancel_in_every_phase(driver: Driver) -> None:
    [launch] = only(driver.start(1), e.Launch)
    driver.start(2)
    driver.accept(3)
    effects = driver.step(c.Cancels((key(1), key(2), key(3), key(9))))
    assert [(effect.report.key, effect.report.event) for effect in only(effects, e.SaveReport)] == [
        (key(2), "cancelled"),
        (key(3), "cancelled"),
    ]
    # It is being launched: the kill follows as soon as there is something to kill, even by the next process.
    assert only(effects, e.Kill) == []
    driver.crash()
    effects = driver.step(c.RunBegan(key(1), launch.run))
    assert only(effects, e.Kill) == [e.Kill(key(1), 1)]
    assert only(driver.step(c.Cancels((key(1),))), e.Kill) == [e.Kill(key(1), 1)]
    driver.step(c.RunEnded(key(1), 1, "cancelled"))
    assert driver.step(c.Cancels((key(1),))) == []


def test_acks_one_by_one(driver: Driver) -> None:
    driver.run(1)
    driver.step(c.Acks((c.Ack(key(1), 1),)))
    assert driver.reports == {}
    driver.step(c.RunEnded(key(1), 1, "failed", 3, "exit code 3"))
    driver.step(c.Acks((c.Ack(key(1), 1),)))
    assert key(1) in driver.rows
    driver.step(c.Acks((c.Ack(key(1), 2),)))
    assert driver.rows == {}


def test_nothing_is_sent_before_the_welcome_and_everything_after(driver: Driver) -> None:
    driver.run(1)
    driver.step(c.SessionClosed())
    effects = driver.step(c.RunEnded(key(1), 1, "completed", 0))
    assert only(effects, e.SendReports) == []
    effects = driver.step(c.SessionOpened())
    assert only(effects, e.SendInventory) == [e.SendInventory(((key(1), "finished"),))]
    [again] = only(driver.step(c.SessionWelcomed()), e.SendReports)
    assert [(report.seq, report.event) for report in again.items] == [(1, "running"), (2, "completed")]


def test_the_inventory_after_a_crash(driver: Driver) -> None:
    driver.run(1)
    driver.start(2)
    driver.accept(3)
    driver.crash()
    effects = driver.step(c.SessionOpened())
    assert dict(only(effects, e.SendInventory)[0].items) == {
        key(1): "started",
        key(2): "started",
        key(3): "accepted",
    }
    assert only(effects, e.SendHello)[0].state.free.running == 1


def test_a_fenced_run_is_launched_again_under_the_next_number(driver: Driver) -> None:
    driver.start(1)
    driver.start(2)
    driver.crash()
    effects = driver.step(c.RunFenced(key(1), 1))
    assert [(launch.key, launch.run) for launch in only(effects, e.Launch)] == [(key(1), 2)]
    # News of the first run changes nothing any more.
    assert only(driver.step(c.RunEnded(key(1), 1, "failed", 1)), e.SaveAttempt) == []
    driver.step(c.RunBegan(key(1), 2))


def test_a_running_job_whose_directory_is_gone_is_lost(driver: Driver) -> None:
    driver.run(1)
    driver.crash()
    driver.connect()
    effects = driver.step(c.RunFenced(key(1), 1))
    assert only(effects, e.Launch) == []
    assert events(effects) == [(2, "lost")]


def test_a_fenced_run_that_was_cancelled_is_not_launched(driver: Driver) -> None:
    driver.start(1)
    driver.step(c.Cancels((key(1),)))
    driver.crash()
    effects = driver.step(c.RunFenced(key(1), 1))
    assert only(effects, e.Launch) == []
    assert [effect.report.event for effect in only(effects, e.SaveReport)] == ["cancelled"]


def test_an_end_is_never_told_as_earlier_than_the_beginning(driver: Driver) -> None:
    driver.now = 10.0
    driver.run(1)
    driver.crash()
    driver.connect()
    [report] = [
        effect.report for effect in only(driver.step(c.RunEnded(key(1), 1, "completed", 0, at=9.9)), e.SaveReport)
    ]
    assert report.at == 10.0


def test_a_queue_of_one_is_told_in_the_singular() -> None:
    driver = Driver(queue_max=1)
    driver.connect()
    driver.run(1)
    driver.start(2)
    assert driver.bid(3) == No("queue is full: 1 job waits here, the limit is 1")


def test_a_run_that_the_cluster_could_not_begin_is_handed_back(driver: Driver) -> None:
    """And nothing is taken for a while: else this cluster would win every job and run none."""
    driver.start(1)
    held = driver.bid(2, Shape())
    assert isinstance(held, Yes)
    assert events(driver.step(c.RunEnded(key(1), 1, "returned", None, "no space left"))) == [(1, "returned")]
    no = "jobs cannot be started here: no space left"
    assert driver.bid(3) == No(no)
    [answers] = only(driver.step(c.Awards((c.Award(key(2), Shape(), "work"),))), e.SendAwardAnswers)
    assert answers.items == (e.AwardAnswer(key(2), no),)
    driver.now += PAUSE_S
    assert driver.bid(3) == Yes(0.0, 0.0)


def test_a_run_that_was_told_as_running_cannot_be_handed_back(driver: Driver) -> None:
    driver.run(1)
    assert events(driver.step(c.RunEnded(key(1), 1, "returned", 126, "no more processes"))) == [(2, "failed")]


def test_a_run_that_could_not_begin_and_was_cancelled(driver: Driver) -> None:
    driver.start(1)
    driver.step(c.Cancels((key(1),)))
    assert events(driver.step(c.RunEnded(key(1), 1, "returned", None, "no space left"))) == [(1, "cancelled")]


def test_stopping(driver: Driver) -> None:
    driver.run(1)
    driver.start(2)
    driver.accept(3)
    driver.step(c.Acks((c.Ack(key(1), 1),)))
    assert events(driver.step(c.Stop())) == [(2, "returned")]
    assert not driver.machine.handed_over
    assert driver.bid(4) == No("the agent is stopping")
    assert events(driver.step(c.Starts((key(3),)))) == [(1, "returned")]
    driver.step(c.Acks((c.Ack(key(2), 2), c.Ack(key(3), 1))))
    assert driver.machine.handed_over
    assert [row.phase for row in driver.rows.values()] == ["running"]


def test_a_cluster_that_shrank_hands_back_what_no_longer_fits(driver: Driver) -> None:
    driver.run(1)
    driver.start(2)
    driver.settings = MachineSettings(Totals(1, 2))
    driver.machine = AgentMachine(driver.settings)
    effects = driver.machine.restore(driver.rows.values(), driver.reports.values(), 0.0)
    [report] = [effect.report for effect in only(effects, e.SaveReport)]
    assert report.event == "returned"
    assert report.reason == "the cluster has changed: needs room for 4 tasks of 1 core, the cluster has room for 2"
    # What runs there still runs there.
    assert driver.machine.free().cores == 0


def test_the_state_is_pushed_but_not_too_often(driver: Driver) -> None:
    driver.now = 10.0
    [state] = only(driver.start(1, Shape()), e.SendState)
    assert state.state.free.cores == 3
    assert only(driver.start(2, Shape()), e.SendState) == []
    deadline = driver.machine.next_deadline()
    assert deadline == 10.0 + STATE_INTERVAL_S
    driver.now = deadline
    [state] = only(driver.step(c.Tick()), e.SendState)
    assert (state.state.free.cores, state.state.free.running) == (2, 2)


def test_the_end_of_a_pause_is_told_once(driver: Driver) -> None:
    """The daemon would not offer again otherwise: what is free is what it was."""
    driver.start(1)
    driver.now += 1.0
    driver.step(c.RunEnded(key(1), 1, "returned", None, "no space left"))
    assert isinstance(driver.bid(2), No)
    assert driver.machine.next_deadline() == driver.now + PAUSE_S
    driver.now += PAUSE_S
    assert len(only(driver.step(c.Tick()), e.SendState)) == 1
    assert driver.machine.next_deadline() is None
    driver.now += 1.0
    assert only(driver.step(c.Tick()), e.SendState) == []


@pytest.mark.parametrize("gone", ["release", "lapse", "cancel"])
def test_a_full_queue_that_has_room_again_says_so(gone: str) -> None:
    driver = Driver(queue_max=1)
    driver.connect()
    driver.now = 10.0
    if gone == "cancel":
        driver.accept(1)
    else:
        assert isinstance(driver.bid(1), Yes)
    assert isinstance(driver.bid(2), No)
    driver.now += 30.0 if gone == "lapse" else 1.0
    command: c.Command = c.Tick()
    if gone != "lapse":
        command = c.Releases((key(1),)) if gone == "release" else c.Cancels((key(1),))
    assert len(only(driver.step(command), e.SendState)) == 1
    assert driver.machine.next_deadline() is None


def test_a_hold_that_goes_is_not_told_if_nobody_was_refused(driver: Driver) -> None:
    driver.now = 10.0
    assert isinstance(driver.bid(1), Yes)
    assert only(driver.step(c.Releases((key(1),))), e.SendState) == []
    assert driver.machine.next_deadline() is None


def test_a_change_after_a_refusal_is_told_even_if_what_is_free_is_the_same() -> None:
    driver = Driver(queue_max=1)
    driver.connect()
    driver.run(1)
    driver.now = 10.0
    driver.start(2)  # this is pushed
    assert isinstance(driver.bid(3), No)
    driver.step(c.Cancels((key(2),)))
    driver.start(4)  # and now it looks as it did
    driver.now += STATE_INTERVAL_S
    assert len(only(driver.step(c.Tick()), e.SendState)) == 1
