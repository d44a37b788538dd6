"""A life that takes so many jobs and no more, or takes them for another life to run."""

import pytest

from rainbow_agent.core import commands as c
from rainbow_agent.core import effects as e
from rainbow_agent.core.bidder import No, Yes
from rainbow_agent.core.machine import ENOUGH, AgentMachine, MachineSettings
from rainbow_agent.core.model import Shape, Totals
from tests.unit.agent.test_machine import Driver, events, key, only


def limited(take_max: int | None = None, launches: bool = True) -> Driver:
    driver = Driver()
    driver.settings = MachineSettings(Totals(1, 4), default_time_limit_s=100.0, take_max=take_max, launches=launches)
    driver.machine = AgentMachine(driver.settings)
    driver.connect()
    return driver


def test_so_many_and_no_more() -> None:
    driver = limited(take_max=2)
    assert isinstance(driver.bid(9), Yes)
    driver.accept(1, Shape())
    driver.start(2, Shape())
    assert driver.bid(3) == No(ENOUGH)
    awards = c.Awards((c.Award(key(9), Shape(tasks=4), "work"), c.Award(key(1), Shape(), "work")))
    [answers] = only(driver.step(awards), e.SendAwardAnswers)
    assert [answer.refusal for answer in answers.items] == [ENOUGH, None]


def test_when_it_is_enough_bids_are_dropped_and_jobs_go_on() -> None:
    driver = limited()
    driver.accept(1)
    assert driver.bid(2) == Yes(100.0, 0.0)
    driver.step(c.Enough())
    assert driver.machine.free().queued == 0
    assert driver.bid(3) == No(ENOUGH)
    assert len(only(driver.step(c.Starts((key(1),))), e.Launch)) == 1


def test_what_is_not_launched_waits_for_another_life() -> None:
    driver = limited(launches=False)
    assert events(driver.start(1)) == [(1, "queued")]
    assert driver.rows[key(1)].phase == "queued"
    assert driver.machine.next_deadline() is None or driver.machine.next_deadline() == pytest.approx(0.2)
    driver.settings = MachineSettings(Totals(1, 4))
    driver.crash()
    [launch] = only(driver.step(c.Tick()), e.Launch)
    assert launch.key == key(1)
