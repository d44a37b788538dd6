"""Whole stories as `explain` prints them. `REWRITE=1` writes the golden texts anew: then read the diff."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rainbow_client.cli import screen
from rainbow_client.repetition import told_auctions, told_events
from rainbow_client.story import auctions
from tests.unit.client.conftest import Rainbow
from tests.unit.client.fake_daemon import FakeDaemon, Message
from tests.unit.client.histories import JOB, History, begun

GOLDEN = Path(__file__).with_name("golden")
FULL = {"large": "its queue is full", "small": "closed on Sundays"}


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def nobody_for_long() -> History:
    history = begun()
    for _ in range(8):
        history.nobody(FULL)
    return history.nobody(FULL | {"small": "its queue is full, too"}).won("large")


def nobody_for_days() -> History:
    history = begun()
    for _ in range(3):
        history.nobody(FULL, rounds=2, after_s=40_000.0)
    return history


REQUEST: Message = {
    "command": ["python", "train.py", "--rate", "0.1 0.2"],
    "shape": {"tasks": 2, "time_limit_s": 3600.0},
    "clusters": ["large", "small"],
    "needs": [
        {
            "alternatives": [
                [
                    {
                        "type": "slot",
                        "label": "default",
                        "with": [
                            {
                                "type": "core",
                                "requires": [
                                    {"subsystem": "io", "conditions": [{"field": "kind", "any_of": ["nvme", "ssd"]}]}
                                ],
                            }
                        ],
                    }
                ]
            ]
        }
    ],
    "requires": [
        {"subsystem": "spack", "conditions": [{"field": "name", "any_of": ["gcc"]}, {"field": "version", "min": "12"}]},
        {"subsystem": "os", "conditions": [{"field": "name", "any_of": ["beta"]}], "absent": True},
    ],
    "constraint": {
        "op": "and",
        "args": [{"op": "properties", "values": ["fast", "^old"]}, {"op": "hostlist", "values": ["node[1-16]"]}],
    },
    "program": {
        "tasks": [{"name": "prepare", "command": ["sh", "prepare.sh"]}, {"group": "work"}],
        "groups": [{"name": "work", "tasks": [{"name": "train", "command": ["python", "train.py"]}]}],
    },
}

STORIES = {
    "nobody_for_long": (nobody_for_long, None, None),
    "nobody_for_long_narrow": (nobody_for_long, REQUEST, 60),
    "nobody_for_days": (nobody_for_days, None, None),
    "requirements": (lambda: begun().won("large"), REQUEST, None),
}


@pytest.mark.parametrize("story", STORIES)
async def test_a_story(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, story: str
) -> None:
    happened, request, columns = STORIES[story]
    history = happened()
    last = history.events[-1]
    explanation = {
        "type": "explanation",
        "job": JOB,
        "state": last["state"],
        "reason": last["data"].get("reason", ""),
        "request": request,
        "policy": "earliest",
        "clusters": [],
        "bids": [],
        "winner": last["data"].get("winner"),
        "history": history.events,
    }
    daemon.handlers["explain"] = lambda _: [explanation]
    monkeypatch.setattr(screen, "_columns", lambda: columns)
    told = (await rainbow("explain", JOB)).out
    golden = GOLDEN / f"explain_{story}.txt"
    if os.environ.get("REWRITE"):
        golden.write_text(told)
    assert told == golden.read_text()
    if columns is not None:
        command = [line for line in told.splitlines() if line.startswith("Command ")]
        assert all(len(line) <= columns for line in told.splitlines() if line not in command)


def test_what_is_not_the_same_is_told_again() -> None:
    history = begun().nobody(FULL).nobody(FULL | {"small": "full"}).nobody(FULL)
    assert [told.again for told in told_auctions(auctions(history.read))] == [[], [], []]
    assert all(again == [] for _, again in told_events(history.read))


def test_what_somebody_won_or_what_is_still_open_is_told_each_time() -> None:
    history = begun().won("large").won("large")
    clusters = [{"cluster": "large", "verdict": "asked", "reason": ""}]
    for attempt in (3, 4):
        history.add("offered", "offered", attempt=attempt, round=1, clusters=clusters)
    assert [told.number for told in told_auctions(auctions(history.read))] == [1, 2, 3, 4]
    assert sum(len(events) for events, _ in told_events(history.read)) == len(history.events)


def test_something_else_in_between_is_told_where_it_happened() -> None:
    history = begun().nobody(FULL).nobody(FULL).add("cancel_requested").nobody(FULL)
    stretches = [(events[0].event, len(again)) for events, again in told_events(history.read)]
    assert stretches == [("submitted", 0), ("offered", 1), ("cancel_requested", 0), ("offered", 0)]
    [told] = told_auctions(auctions(history.read))
    assert len(told.again) == 2


def test_what_is_told_without_particulars_is_not_said_to_be_the_same() -> None:
    history = begun()
    for attempt in (1, 2):
        history.add("offered", "offered", attempt=attempt, round=1).add("declined", attempt=attempt, round=1)
    assert [told.number for told in told_auctions(auctions(history.read))] == [1, 2]
    assert all(again == [] for _, again in told_events(history.read))
