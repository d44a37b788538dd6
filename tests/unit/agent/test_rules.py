"""The site's rules, each with its words; and that jobs refused because of the hour are heard of again."""

import pytest

from rainbow_agent.core import commands as c
from rainbow_agent.core import effects as e
from rainbow_agent.core.bidder import No, Yes
from rainbow_agent.core.hours import Window
from rainbow_agent.core.machine import AgentMachine, MachineSettings
from rainbow_agent.core.model import Asked, Shape, Totals
from rainbow_agent.core.rules import LOOK_AGAIN_S, Range, RuleBook, Rules
from tests.unit.agent.test_machine import Driver, key, only

TOTALS = Totals(nodes=8, cores_per_node=4, gpus_per_node=2)
HOUR = 3600.0
WORKDAYS = Window(frozenset(range(5)), 8 * 3600, 20 * 3600)
MONDAY = 4 * 24 * HOUR  # the first one of 1970, at midnight


def objection(rules: Rules, shape: Shape | None = None, user: str = "anna", now: float = 0.0) -> str | None:
    return RuleBook(rules, TOTALS).objection(Asked(shape or Shape(), user), now)


def test_without_rules_everything_goes() -> None:
    assert objection(Rules(), Shape(tasks=32), user="") is None


@pytest.mark.parametrize(
    ("rules", "user", "allowed"),
    [
        (Rules(allow_users=("anna", "ph-*")), "anna", True),
        (Rules(allow_users=("anna", "ph-*")), "ph-7", True),
        (Rules(allow_users=("anna",)), "Anna", False),
        (Rules(allow_users=("anna",)), "bob", False),
        (Rules(deny_users=("guest*",)), "guest7", False),
        (Rules(deny_users=("guest*",)), "bob", True),
        (Rules(allow_users=("g*",), deny_users=("guest*",)), "guest7", False),
        (Rules(allow_users=("*",)), "", True),
    ],
)
def test_users(rules: Rules, user: str, allowed: bool) -> None:
    words = objection(rules, user=user)
    assert words == (None if allowed else f"the site does not take jobs of user '{user}'")


def test_somebody_unknown() -> None:
    assert objection(Rules(allow_users=("anna",)), user="") == "the site takes only jobs of known users"
    assert objection(Rules(deny_users=("anna",)), user="") is None


@pytest.mark.parametrize(
    ("rules", "shape", "words"),
    [
        (Rules(nodes=Range(most=4)), Shape(nodes=5, tasks=5), "asks for 5 nodes, the site allows at most 4 a job"),
        (Rules(nodes=Range(most=4)), Shape(tasks=17), "asks for 5 nodes, the site allows at most 4 a job"),
        (Rules(nodes=Range(most=4)), Shape(tasks=16), None),
        (Rules(nodes=Range(least=2)), Shape(), "asks for 1 node, the site takes jobs of at least 2"),
        (Rules(cores=Range(most=8)), Shape(tasks=9), "asks for 9 cores, the site allows at most 8 a job"),
        (Rules(cores=Range(most=3)), Shape(exclusive=True), "asks for 4 cores, the site allows at most 3 a job"),
        (Rules(gpus=Range(most=0)), Shape(gpus_per_task=1), "asks for 1 gpu, the site allows at most 0 a job"),
        (
            Rules(time_limit_s=Range(most=HOUR)),
            Shape(time_limit_s=2 * HOUR),
            "asks for 2 h, the site allows at most 1 h",
        ),
        (
            Rules(time_limit_s=Range(most=48 * HOUR)),
            Shape(),
            "the site takes only jobs with a time limit, of at most 2 d",
        ),
        (
            Rules(time_limit_s=Range(least=120)),
            Shape(time_limit_s=1.5),
            "asks for 1.5 s, the site takes jobs of at least 2 min",
        ),
        (Rules(time_limit_s=Range(least=120)), Shape(), None),
        (Rules(require_time_limit=True), Shape(), "the site takes only jobs with a time limit"),
        (Rules(require_time_limit=True), Shape(time_limit_s=1.0), None),
    ],
)
def test_size_and_duration(rules: Rules, shape: Shape, words: str | None) -> None:
    assert objection(rules, shape) == words


def test_hours() -> None:
    rules = Rules(hours=(WORKDAYS, Window(frozenset({6}))))
    words = "the site takes new jobs only mon–fri 08:00–20:00; sun"
    assert objection(rules, now=MONDAY + 7 * HOUR) == words
    assert objection(rules, now=MONDAY + 8 * HOUR) is None
    assert objection(rules, now=MONDAY + 20 * HOUR) == words
    assert objection(rules, now=MONDAY - 1.0) is None  # Sunday
    assert objection(rules, now=MONDAY - 25 * HOUR) == words


# --- in the machine


def ruled(rules: Rules, now: float = 0.0) -> Driver:
    driver = Driver()
    driver.settings = MachineSettings(Totals(1, 4), default_time_limit_s=100.0, rules=rules)
    driver.machine = AgentMachine(driver.settings)
    driver.now = now
    driver.connect()
    return driver


def bid_of(driver: Driver, number: int, user: str) -> Yes | No:
    [bids] = only(driver.step(c.Offers((c.Offer(key(number), Shape(), 30.0, user=user),))), e.SendBids)
    return bids.items[0][1]


def answer(driver: Driver, number: int, user: str = "") -> str | None:
    award = c.Award(key(number), Shape(), "work", user=user)
    [answers] = only(driver.step(c.Awards((award,))), e.SendAwardAnswers)
    return answers.items[0].refusal


def test_a_rule_is_a_no_and_holds_nothing() -> None:
    driver = ruled(Rules(allow_users=("anna",)))
    assert bid_of(driver, 1, "bob") == No("the site does not take jobs of user 'bob'")
    assert isinstance(bid_of(driver, 2, "anna"), Yes)
    assert answer(driver, 2) is None
    assert driver.rows[key(2)].user == "anna"


def test_an_award_that_no_bid_went_before_names_who_asks() -> None:
    driver = ruled(Rules(allow_users=("anna",)))
    assert answer(driver, 1) == "the site takes only jobs of known users"
    assert answer(driver, 2, user="anna") is None
    assert driver.rows[key(2)].user == "anna"


def test_when_the_hour_has_come_the_daemon_hears_of_it() -> None:
    driver = ruled(Rules(hours=(WORKDAYS,)), now=MONDAY + 6.5 * HOUR)
    assert isinstance(bid_of(driver, 1, "anna"), No)
    for _ in range(2):
        deadline = driver.machine.next_deadline()
        assert deadline is not None
        assert deadline - driver.now <= LOOK_AGAIN_S
        driver.now = deadline
        effects = driver.step(c.Tick())
        if driver.now < MONDAY + 8 * HOUR:
            assert only(effects, e.SendState) == []
            assert isinstance(bid_of(driver, 1, "anna"), No)
    assert driver.now == MONDAY + 8 * HOUR
    assert len(only(effects, e.SendState)) == 1
    assert isinstance(bid_of(driver, 1, "anna"), Yes)


def test_nobody_was_refused_so_nobody_waits() -> None:
    driver = ruled(Rules(hours=(WORKDAYS,)), now=MONDAY + 6.5 * HOUR)
    assert driver.machine.next_deadline() is None
