"""Draining, and the site's own keys: what is refused meanwhile, what goes on, and what the daemon hears of it."""

from rainbow_agent.core import commands as c
from rainbow_agent.core import effects as e
from rainbow_agent.core.bidder import No, Yes
from rainbow_agent.core.machine import AgentMachine, MachineSettings
from rainbow_agent.core.model import Shape, Totals
from rainbow_agent.core.site_state import SiteState
from rainbow_agent.core.state_push import STATE_INTERVAL_S
from tests.unit.agent.test_machine import Driver, driver, events, key, only

__all__ = ["driver"]  # the fixture

DRAINING = c.SiteChanged(SiteState(draining="new cooling"))
RESUMED = c.SiteChanged(SiteState())


def pushed(effects: list[e.Effect]) -> list[e.State]:
    return [effect.state for effect in only(effects, e.SendState)]


def test_while_it_drains_nothing_is_taken_and_everything_goes_on(driver: Driver) -> None:
    driver.run(1)
    driver.start(2)
    driver.accept(3)
    assert isinstance(driver.bid(4), Yes)
    driver.step(DRAINING)
    assert driver.bid(5) == No("draining: new cooling")
    [answers] = only(driver.step(c.Awards((c.Award(key(4), Shape(tasks=4), "work"),))), e.SendAwardAnswers)
    assert answers.items == (e.AwardAnswer(key(4), "draining: new cooling"),)
    assert events(driver.step(c.Starts((key(3),)))) == [(1, "queued")]
    [launch] = only(driver.step(c.RunEnded(key(1), 1, "completed", 0)), e.Launch)
    assert launch.key == key(2)


def test_it_is_told_at_once_and_so_is_its_end(driver: Driver) -> None:
    driver.now = 10.0
    assert len(pushed(driver.start(1, Shape()))) == 1  # so that the next one would have to wait
    assert [state.draining for state in pushed(driver.step(DRAINING))] == ["new cooling"]
    assert pushed(driver.step(DRAINING)) == []
    driver.bid(2)
    assert [state.draining for state in pushed(driver.step(RESUMED))] == [None]
    assert isinstance(driver.bid(2), Yes)


def test_keys_are_told_soon(driver: Driver) -> None:
    driver.now = 10.0
    driver.start(1, Shape())
    assert pushed(driver.step(c.SiteChanged(SiteState(keys={"rack": "b"})))) == []
    assert driver.machine.next_deadline() == 10.0 + STATE_INTERVAL_S
    driver.now += STATE_INTERVAL_S
    [state] = pushed(driver.step(c.Tick()))
    assert state.keys["rack"] == "b"
    assert driver.machine.next_deadline() is None


def test_a_new_session_begins_with_all_of_it() -> None:
    settings = MachineSettings(Totals(1, 4), keys={"currency": "EUR", "rack": "a"})
    machine = AgentMachine(settings, SiteState("moving house", {"rack": "b"}))
    [hello] = only(machine.step(c.SessionOpened(), 0.0), e.SendHello)
    assert hello.state.keys == {"currency": "EUR", "rack": "b"}
    assert hello.state.draining == "moving house"


def test_what_changed_between_sessions_is_told_once_by_the_hello(driver: Driver) -> None:
    driver.now = 10.0
    driver.step(c.SessionClosed())
    assert pushed(driver.step(DRAINING)) == []
    [hello] = only(driver.step(c.SessionOpened()), e.SendHello)
    assert hello.state.draining == "new cooling"
    assert pushed(driver.step(c.SessionWelcomed())) == []
