"""Jobs that go elsewhere: one that only waits is handed back, one that is on its way to run never is."""

from rainbow_agent.core import commands as c
from rainbow_agent.core import effects as e
from rainbow_agent.core.bidder import No, Yes
from rainbow_agent.core.model import Key
from rainbow_agent.core.runs import WITHDRAWN
from rainbow_agent.core.site_state import SiteState
from tests.unit.agent.test_machine import WHOLE, Driver, driver, events, key, only

__all__ = ["driver"]  # the fixture


def withdraw(driver: Driver, number: int) -> list[e.Effect]:
    return driver.step(c.Withdrawals((key(number),)))


def test_one_that_waits_is_handed_back(driver: Driver) -> None:
    driver.run(1)
    driver.start(2)
    effects = withdraw(driver, 2)
    assert events(effects) == [(2, "returned")]
    assert only(effects, e.SaveReport)[0].report.reason == WITHDRAWN
    assert driver.rows[key(2)].phase == "finished"
    # Its place is free: whoever comes next is first in the queue.
    assert driver.machine.free().queued == 0
    effects = driver.step(c.RunEnded(key(1), 1, "completed", 0))
    assert only(effects, e.Launch) == []


def test_it_is_in_the_journal_before_it_is_told(driver: Driver) -> None:
    driver.run(1)
    driver.start(2)
    effects = withdraw(driver, 2)
    kinds = [type(effect) for effect in effects]
    assert max(kinds.index(e.SaveAttempt), kinds.index(e.SaveReport)) < kinds.index(e.SendReports)
    driver.crash()
    driver.step(c.SessionOpened())
    [again] = only(driver.step(c.SessionWelcomed()), e.SendReports)
    assert [report.event for report in again.items if report.key == key(2)] == ["queued", "returned"]


def test_a_start_that_was_not_seen_yet_comes_too_late(driver: Driver) -> None:
    driver.accept(1)
    assert events(withdraw(driver, 1)) == [(1, "returned")]
    effects = driver.step(c.Starts((key(1),)))
    assert only(effects, e.Launch) == []
    driver.step(c.Acks((c.Ack(key(1), 1),)))
    assert driver.rows == {}
    assert only(driver.step(c.Starts((key(1),))), e.Launch) == []


def test_one_that_is_being_launched_or_runs_stays(driver: Driver) -> None:
    driver.start(1)
    assert driver.rows[key(1)].phase == "launching"
    assert [type(effect) for effect in withdraw(driver, 1)] == [e.Note]
    driver.step(c.RunBegan(key(1), 1))
    assert [type(effect) for effect in withdraw(driver, 1)] == [e.Note]
    driver.step(c.RunEnded(key(1), 1, "completed", 0))
    assert [type(effect) for effect in withdraw(driver, 1)] == [e.Note]
    assert driver.rows[key(1)].phase == "finished"


def test_one_whose_run_provably_never_began_waits_again(driver: Driver) -> None:
    driver.run(1)
    driver.start(2)
    driver.step(c.RunEnded(key(1), 1, "completed", 0))  # launches 2
    driver.step(c.Stop())
    assert driver.rows[key(2)].phase == "launching"
    assert only(withdraw(driver, 2), e.SaveReport) == []
    assert events(driver.step(c.RunFenced(key(2), 1))) == [(2, "returned")]


def test_an_unknown_one_changes_nothing(driver: Driver) -> None:
    [note] = withdraw(driver, 7)
    assert isinstance(note, e.Note)
    assert note.warning


def test_one_that_comes_twice_is_handed_back_once(driver: Driver) -> None:
    driver.run(1)
    driver.start(2)
    withdraw(driver, 2)
    assert only(withdraw(driver, 2), e.SaveReport) == []


# --- when would it start where it waits?


def asked(driver: Driver, number: int, attempt: int = 1) -> Yes | No:
    offer = c.Offer(Key(key(number).job, 7), WHOLE, 30.0, waits_here=attempt)
    [bids] = only(driver.step(c.Offers((offer,))), e.SendBids)
    [(about, answer)] = bids.items
    assert about == offer.key
    assert offer.key not in driver.machine._holds
    return answer


def test_one_that_waits_says_when_it_would_start(driver: Driver) -> None:
    driver.run(1)
    driver.start(2)
    driver.start(3)
    driver.now = 30.0
    assert asked(driver, 2) == Yes(70.0, 0.0)
    assert asked(driver, 3) == Yes(170.0, 0.0)
    assert driver.bid(4) == Yes(270.0, 0.0)  # nothing was held for the answers
    driver.step(c.SiteChanged(SiteState(draining="new cooling")))
    assert asked(driver, 2) == Yes(70.0, 0.0)


def test_one_that_does_not_wait_says_so(driver: Driver) -> None:
    driver.start(1)
    assert asked(driver, 1) == No("it runs already")
    driver.step(c.RunBegan(key(1), 1))
    assert asked(driver, 1) == No("it runs already")
    driver.accept(2)
    assert asked(driver, 2) == No("it has not been started here")
    driver.step(c.RunEnded(key(1), 1, "completed", 0))
    assert asked(driver, 1) == No("it is not here")
    assert asked(driver, 9) == No("it is not here")
    assert asked(driver, 2, attempt=3) == No("it is not here")
    driver.step(c.Stop())
    assert asked(driver, 2) == No("the agent is stopping")


def test_what_ran_teaches_the_next_forecasts(driver: Driver) -> None:
    """The user goes along from the offer to the end of the run, and what was learned shows in bids."""
    for number in range(1, 6):
        offer = c.Offer(key(number), WHOLE, 30.0, user="anna")
        driver.step(c.Offers((offer,)))
        driver.step(c.Awards((c.Award(key(number), WHOLE, "work"),)))
        driver.step(c.Starts((key(number),)))
        driver.step(c.RunBegan(key(number), 1))
        driver.now += 10.0
        if number < 5:
            driver.step(c.RunEnded(key(number), 1, "completed", 0))
    bid = driver.bid(6)
    assert isinstance(bid, Yes)
    assert bid.eta_high_s == 90.0
    assert bid.eta_s < 90.0
    state = driver.machine.keys_beneath()
    assert state["forecast_n"] == 5
