"""The site's rules and hours, as a person writes them in YAML."""

from pathlib import Path

import pytest

from rainbow_agent.clock import SiteClock
from rainbow_agent.config import AgentSettings
from rainbow_agent.core.hours import LocalTime, Window
from rainbow_agent.core.rules import Range, Rules
from rainbow_protocol.service.settings import ConfigError

HOUR = 3600


def load(tmp_path: Path, text: str) -> AgentSettings:
    path = tmp_path / "agent.yaml"
    path.write_text(text)
    return AgentSettings.load(path, {})


def test_rules(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        """
rules:
  allow_users: [anna, "@physics"]
  deny_users: ["guest*"]
  user_groups: {physics: [bob, "ph-*"]}
  nodes_max: 8
  cores_min: 4
  gpus_max: 0
  time_limit_max_s: 86400
  require_time_limit: true
  hours:
    - {days: mon-fri, from: 18:00, to: 08:00}
    - {days: [sat, sunday]}
""",
    )
    assert settings.rules.rules() == Rules(
        allow_users=("anna", "bob", "ph-*"),
        deny_users=("guest*",),
        nodes=Range(most=8),
        cores=Range(least=4),
        gpus=Range(most=0),
        time_limit_s=Range(most=86400.0),
        require_time_limit=True,
        hours=(Window(frozenset(range(5)), 18 * HOUR, 8 * HOUR), Window(frozenset({5, 6}))),
    )


def test_without_them_there_are_none() -> None:
    assert AgentSettings.load(None, {}).rules.rules() == Rules()


@pytest.mark.parametrize(
    ("hours", "window"),
    [
        ("{}", Window()),
        ("{from: '08:30', to: '24:00'}", Window(begin_s=8 * HOUR + 1800)),
        ("{from: 8:30, to: 24:00}", Window(begin_s=8 * HOUR + 1800)),
        ("{days: fri-mon}", Window(frozenset({4, 5, 6, 0}))),
        ("{days: 'Mon, wed-Thu'}", Window(frozenset({0, 2, 3}))),
    ],
)
def test_hours(tmp_path: Path, hours: str, window: Window) -> None:
    assert load(tmp_path, f"rules: {{hours: [{hours}]}}").rules.rules().hours == (window,)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rules: {hours: [{from: '25:00'}]}", "rules.hours.0.from: '25:00' is not a time of day"),
        ("rules: {hours: [{from: '24:30'}]}", "'24:30' is not a time of day"),
        ("rules: {hours: [{from: 10:30:00}]}", "37800 is not a time of day"),
        ("rules: {hours: [{from: 9:00, to: 9:00}]}", "it ends when it begins"),
        ("rules: {hours: [{days: mon-foo}]}", "'mon-foo': the days are mon, tue"),
        ("rules: {hours: [{days: []}]}", "expected days such as mon-fri"),
        ("rules: {nodes_min: 3, nodes_max: 2}", "nodes_min is more than nodes_max"),
        ("rules: {time_limit_min_s: 3, time_limit_max_s: 2}", "time_limit_min_s is more than time_limit_max_s"),
        ("rules: {allow_users: ['@nobody']}", "@nobody: there is no such group in user_groups"),
        ("rules: {nodes: 3}", "rules.nodes: "),
        ("time_zone: Middle/Earth", "time_zone: 'Middle/Earth' is not a time zone that this machine knows"),
        ("time_zone: ../../etc/passwd", "is not a time zone that this machine knows"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError) as mistake:
        load(tmp_path, text)
    assert words in str(mistake.value)


def test_the_calendar_is_the_sites_over_every_leap_of_its_clock() -> None:
    berlin = SiteClock("Europe/Berlin", lambda: 1000.0).calendar
    before = 1_774_745_999.0  # 2026-03-29 00:59:59 UTC, a Sunday; then Berlin's clocks go forward
    assert berlin(before - 1000.0) == LocalTime(6, 1 * HOUR + 59 * 60 + 59)
    assert berlin(before - 1000.0 + 1) == LocalTime(6, 3 * HOUR)
    assert SiteClock(None, lambda: 0.0).calendar(0.0).second % 60 == 0
