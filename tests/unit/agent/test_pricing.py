"""Price lists by queue and time of day, and a site's own function: whatever it does, it is a price or a No."""

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from rainbow_agent.config import AgentSettings
from rainbow_agent.core import commands as c
from rainbow_agent.core import effects as e
from rainbow_agent.core.bidder import No, Yes
from rainbow_agent.core.hours import Window
from rainbow_agent.core.machine import AgentMachine, MachineSettings
from rainbow_agent.core.model import Asked, Shape, Totals
from rainbow_agent.core.pricing import COST_MAX, NoPrice, Period, PriceList, Prices, Tariff
from rainbow_agent.price_function import FAILED, PricedJob, SitePrice, load_function
from rainbow_agent.wiring import machine_settings
from rainbow_protocol.service.settings import ConfigError
from tests.unit.agent.test_machine import Driver, key, only

TOTALS = Totals(nodes=4, cores_per_node=4, gpus_per_node=1)
HOUR = 3600
MONDAY = 4 * 24 * HOUR  # the first one of 1970, at midnight
NODE = Asked(Shape(nodes=1, tasks=1))


def nodes_cost(price: float) -> Prices:
    return Prices(per_node_hour=price)


def test_the_time_of_the_start_decides() -> None:
    day = Period(Window(frozenset(range(5)), 8 * HOUR, 20 * HOUR), nodes_cost(3.0))
    weekend = Period(Window(frozenset({5, 6})), nodes_cost(0.5))
    tariff = Tariff(TOTALS, PriceList(nodes_cost(1.0), (day, weekend)))
    costs = [tariff.cost(NODE, HOUR, MONDAY + hours * HOUR) for hours in (7.9, 8, 19.9, 20, 5 * 24)]
    assert costs == [1.0, 3.0, 3.0, 1.0, 0.5]


def test_the_first_period_that_holds_counts() -> None:
    tariff = Tariff(TOTALS, PriceList(periods=(Period(Window(), nodes_cost(2.0)), Period(Window(), nodes_cost(9.0)))))
    assert tariff.cost(NODE, HOUR, 0.0) == 2.0


def test_a_queue_has_its_own_list() -> None:
    tariff = Tariff(TOTALS, PriceList(nodes_cost(1.0), minimum=0.25), {"debug": PriceList(nodes_cost(7.0))})
    assert tariff.cost(Asked(NODE.shape, queue="debug"), HOUR, 0.0) == 7.0
    assert tariff.cost(Asked(NODE.shape, queue="batch"), HOUR, 0.0) == 1.0
    assert tariff.cost(Asked(NODE.shape, queue="debug"), 1.0, 0.0) < 0.01


def test_no_job_costs_less_than_the_minimum() -> None:
    tariff = Tariff(TOTALS, PriceList(nodes_cost(1.0), minimum=0.25))
    assert tariff.cost(NODE, 1.0, 0.0) == 0.25
    assert tariff.cost(NODE, HOUR, 0.0) == 1.0
    assert Tariff(TOTALS, PriceList(minimum=0.25)).cost(NODE, HOUR, 0.0) == 0.25


# --- in YAML


def settings(tmp_path: Path, text: str) -> AgentSettings:
    path = tmp_path / "agent.yaml"
    path.write_text(text)
    return AgentSettings.load(path, {})


def test_prices_in_yaml(tmp_path: Path) -> None:
    given = settings(
        tmp_path,
        """
time_zone: UTC
currency: EUR
price:
  per_node_hour: 2
  per_core_hour: 0.5
  minimum: 0.1
  times:
    - {days: mon-fri, from: "08:00", to: 20:00, factor: 2}
    - {days: "sat,sun", per_node_hour: 1}
  queues:
    debug: {per_node_hour: 9}
""",
    )
    made = machine_settings(given, TOTALS, lambda: 0.0)
    assert made.pricing is not None
    costs = [made.pricing.cost(NODE, HOUR, MONDAY + hours * HOUR) for hours in (0, 9, 5 * 24)]
    assert costs == [2.5, 5.0, 1.5]
    assert made.pricing.cost(NODE, 1.0, MONDAY) == 0.1
    assert made.pricing.cost(Asked(NODE.shape, queue="debug"), HOUR, MONDAY + 9 * HOUR) == 9.0
    assert made.keys == {"currency": "EUR", "cost_per_node_hour": 2.0, "cost_per_core_hour": 0.5}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("price: {times: [{from: '08:00'}]}", "give a factor, or prices of its own"),
        ("price: {times: [{factor: 2, per_node_hour: 1}]}", "give a factor, or prices of its own"),
        ("price: {times: [{factor: -1}]}", "price.times.0.factor: "),
        ("price: {queues: {debug: {queues: {}}}}", "price.queues.debug.queues: "),
        ("currency: Taler-und-Groschen", "currency: "),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as mistake:
        settings(tmp_path, text)
    assert words in str(mistake.value)


# --- a site's function


def site_price(function: Callable[[PricedJob], Any]) -> SitePrice:
    return SitePrice(
        function, TOTALS, Tariff(TOTALS, PriceList(nodes_cost(1.0))), lambda at: datetime.fromtimestamp(at, UTC)
    )


def test_a_function_is_told_all_there_is_to_know() -> None:
    seen: list[PricedJob] = []

    def price(job: PricedJob) -> float:
        seen.append(job)
        return job.list_price * 2

    asked = Asked(Shape(tasks=5, gpus_per_task=0, time_limit_s=1800.0), "anna", "debug")
    assert site_price(price).cost(asked, 1800.0, MONDAY) == 2.0
    assert seen == [
        PricedJob(
            user="anna",
            queue="debug",
            nodes=2,
            tasks=5,
            cores=5,
            gpus=0,
            exclusive=False,
            time_limit_s=1800.0,
            duration_s=1800.0,
            starts_at=datetime(1970, 1, 5, tzinfo=UTC),
            list_price=1.0,
        )
    ]


@pytest.mark.parametrize(("given", "price"), [(3, 3.0), (Decimal("0.5"), 0.5), (0, 0.0), (1e300, COST_MAX)])
def test_numbers_of_every_kind(given: Any, price: float) -> None:
    assert site_price(lambda _: given).cost(NODE, HOUR, 0.0) == price


@pytest.mark.parametrize("nonsense", [None, "3", True, -1, float("nan"), float("inf"), [1.0], 1j, Decimal("NaN")])
def test_nonsense_is_a_no(nonsense: Any) -> None:
    with capture_logs() as logs:
        assert site_price(lambda _: nonsense).cost(NODE, HOUR, 0.0) == NoPrice(FAILED)
    assert "is not a number from 0 on" in logs[0]["words"]


@pytest.mark.parametrize("raised", [ZeroDivisionError("division by zero"), SystemExit(3), RecursionError()])
def test_an_exception_is_a_no_and_is_logged_once_in_a_while(raised: BaseException) -> None:
    def price(_: PricedJob) -> float:
        raise raised

    pricing = site_price(price)
    with capture_logs() as logs:
        for _ in range(3):
            assert pricing.cost(NODE, HOUR, 0.0) == NoPrice(FAILED)
    assert [entry["words"].split(":")[0] for entry in logs] == [type(raised).__name__]


def test_functions_in_files_and_modules(tmp_path: Path) -> None:
    path = tmp_path / "ours.py"
    path.write_text("def price(job):\n    return 1\ndef other(job):\n    return 2\n")
    assert load_function(str(path))(None) == 1  # type: ignore[arg-type]
    assert load_function(f"{path}:other")(None) == 2  # type: ignore[arg-type]
    assert load_function("math:sqrt") is not None


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("no_such_module:price", "no_such_module cannot be loaded: ModuleNotFoundError"),
        ("math:no_such", "math has no function no_such"),
        ("math:pi", "math has no function pi"),
        ("/no/such/file.py", "/no/such/file.py cannot be loaded: FileNotFoundError"),
        ("{tmp}/broken.py", "broken.py cannot be loaded: SyntaxError"),
        ("{tmp}/leaves.py", "leaves.py cannot be loaded: SystemExit"),
        ("{tmp}/text", "text cannot be loaded: ValueError: not a Python file"),
        ("math:a b", "'math:a b' is not module:function"),
        (":price", "':price' is not module:function"),
    ],
)
def test_a_function_that_is_not_there(tmp_path: Path, where: str, words: str) -> None:
    (tmp_path / "broken.py").write_text("def price(")
    (tmp_path / "leaves.py").write_text("raise SystemExit")
    (tmp_path / "text").write_text("")
    given = settings(tmp_path, f"price_function: '{where.format(tmp=tmp_path)}'")
    with pytest.raises(ConfigError) as mistake:
        given.load_price_function()
    assert words in str(mistake.value)


def test_with_a_function_only_the_currency_is_told(tmp_path: Path) -> None:
    (tmp_path / "ours.py").write_text("def price(job):\n    return 7\n")
    text = f"price_function: {tmp_path}/ours.py\ncurrency: EUR\nprice: {{per_node_hour: 1}}"
    made = machine_settings(settings(tmp_path, text), TOTALS, lambda: 0.0)
    assert made.keys == {"currency": "EUR"}
    assert made.pricing is not None
    assert made.pricing.cost(NODE, HOUR, 0.0) == 7.0


# --- in bids


def bid(settings: MachineSettings, user: str = "anna") -> Yes | No:
    driver = Driver()
    driver.machine = AgentMachine(settings)
    driver.connect()
    [bids] = only(driver.step(c.Offers((c.Offer(key(1), Shape(), 30.0, user=user, queue="debug"),))), e.SendBids)
    assert len(driver.machine._holds) == isinstance(bids.items[0][1], Yes)
    return bids.items[0][1]


def test_bids_ask_the_price_of_the_queue() -> None:
    queues = {"debug": PriceList(nodes_cost(3.0))}
    assert bid(MachineSettings(TOTALS, pricing=Tariff(TOTALS, queues=queues))) == Yes(0.0, 3.0)


def test_a_job_without_a_price_is_refused_and_holds_nothing() -> None:
    assert bid(MachineSettings(TOTALS, pricing=site_price(lambda job: None))) == No(FAILED)
    assert bid(MachineSettings(TOTALS, pricing=site_price(lambda job: len(job.user)))) == Yes(0.0, 4.0)


def test_the_expected_start_decides_and_not_the_offer() -> None:
    night = Period(Window(begin_s=20 * HOUR, end_s=8 * HOUR), nodes_cost(1.0))
    pricing = Tariff(Totals(1, 4), PriceList(nodes_cost(5.0), (night,)))
    driver = Driver()
    driver.machine = AgentMachine(MachineSettings(Totals(1, 4), pricing=pricing, default_time_limit_s=float(HOUR)))
    driver.now = MONDAY + 19.5 * HOUR
    driver.connect()
    assert driver.bid(1) == Yes(0.0, 5.0)
    assert driver.bid(2) == Yes(float(HOUR), 1.0)
