"""Whole stories of jobs on the market, at 80 columns. `REWRITE=1` writes the golden texts anew: then read the diff."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rainbow_client.cli import screen
from rainbow_client.in_short import SENTENCES_MAX, in_short
from rainbow_client.repetition import told_auctions
from rainbow_client.story import auctions
from rainbow_client.wish_words import POLICIES
from rainbow_client.wording import start_words
from tests.unit.client.conftest import Rainbow
from tests.unit.client.fake_daemon import FakeDaemon, Message
from tests.unit.client.histories import JOB, History

COLUMNS = 80
GOLDEN = Path(__file__).with_name("golden")
OTHER_JOB = "00000000000a"


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def yes(cluster: str, eta_s: float, cost: float, reason: str = "", **more: float) -> Message:
    return {"cluster": cluster, "round": 1, "answer": "yes", "eta_s": eta_s, "cost": cost, "reason": reason, **more}


def no(cluster: str, reason: str) -> Message:
    return {"cluster": cluster, "round": 1, "answer": "no", "eta_s": None, "cost": None, "reason": reason}


def asked(*names: str, **left_out: str) -> list[Message]:
    return [{"cluster": name, "verdict": "asked", "reason": ""} for name in names] + [
        {"cluster": name, "verdict": "filtered", "reason": reason} for name, reason in left_out.items()
    ]


def submitted(**more: Any) -> History:
    return History().add("submitted", name="train", tasks=8, cores_per_task=2, time_limit_s=3600.0, **more)


def in_the_queue_of_blue() -> History:
    """blue starts it in five minutes, it says; red would take half an hour."""
    bids = [
        yes("blue", 300.0, 4.0, eta_low_s=180.0, eta_high_s=1200.0),
        yes("red", 1800.0, 6.0, eta_low_s=1500.0, eta_high_s=3600.0),
    ]
    place = {"attempt": 1, "round": 1}
    why = "blue starts it in 300 s, sooner than red (1800 s)"
    return (
        submitted()
        .add("offered", "offered", 0.1, **place, clusters=asked("blue", "red", green="needs 16 cores, it has 8"))
        .add("awarded", "awarded", 0.2, **place, policy="earliest", winner="blue", why=why, bids=bids)
        .add("assigned", "assigned", 0.1, attempt=1, cluster="blue")
        .add("queued", "queued", 0.2, attempt=1, cluster="blue", native_id="4711")
    )


def looked(history: History, decision: str, why: str, *bids: Message, after_s: float = 900.0) -> History:
    look = {"attempt": 2, "from": "blue", "current_eta_s": 2400.0, "bids": list(bids)}
    return history.add("reconsidered", "queued", after_s, **look, decision=decision, why=why)


def moved() -> History:
    """blue takes longer than it said, and red becomes free: the job moves, and runs there."""
    history = looked(in_the_queue_of_blue(), "move", "red would start it 2400 s sooner than blue", yes("red", 0.0, 6.0))
    why = "red starts it at once; it was the only Yes"
    return (
        history.add("returned", "pending", 0.3, attempt=1, cluster="blue", reason="withdrawn: it goes elsewhere")
        .add(
            *("awarded", "awarded", 0.0),
            attempt=2,
            round=1,
            policy="earliest",
            winner="red",
            why=why,
            bids=[yes("red", 0.0, 6.0)],
        )
        .add("moved", "awarded", 0.0, **{"from": "blue", "to": "red", "gain_s": 2400.0})
        .add("assigned", "assigned", 0.1, attempt=2, cluster="red")
        .add("running", "running", 0.4, attempt=2, cluster="red", native_id="j-99")
        .add("completed", "completed", 1500.0, attempt=2, cluster="red", exit_code=0, reason="exit code 0")
    )


def stayed() -> History:
    """red would be sooner, but not by enough; later it would be, and blue starts it before it is asked for it."""
    words = "red would start it 120 s sooner; to move, it must be 300 s"
    history = looked(in_the_queue_of_blue(), "stay", words, yes("red", 2280.0, 6.0))
    history = looked(history, "move", "red would start it 2400 s sooner than blue", yes("red", 0.0, 6.0), after_s=300.0)
    return history.add(
        "stayed", "queued", 5.0, attempt=1, cluster="blue", reason="blue did not give it back in time"
    ).add("running", "running", 1.0, attempt=1, cluster="blue", native_id="4711")


def rejected() -> History:
    """No cluster could ever hold it."""
    verdicts = asked(blue="needs 16 cores on one node, it has 8", green="has no gpus", red="not in the group 'gpu'")
    return submitted().add(
        "rejected", "rejected", 0.1, reason="no cluster that you may use could ever run it", clusters=verdicts
    )


def rejected_after() -> History:
    """The job that it was to follow failed."""
    waits = f"waits for job {OTHER_JOB} to end well"
    reason = f"it was to run only if job {OTHER_JOB} ended well, and that one failed"
    return (
        submitted()
        .add("waiting", "pending", 0.0, reason=waits, clusters=[])
        .add("rejected", "rejected", 3600.0, reason=reason, clusters=[])
    )


TOO_DEAR = (
    "every cluster that was asked said No (red: would cost 6, and the job may cost 5 at most; "
    "blue: would start in 1800 s, and the job is to start within 600 s; green: its queue is full)"
)


def too_dear() -> History:
    """Everybody who said Yes is beyond what the user wishes."""
    bids = [
        yes("red", 0.0, 6.0, "would cost 6, and the job may cost 5 at most"),
        yes("blue", 1800.0, 4.0, "would start in 1800 s, and the job is to start within 600 s"),
        no("green", "its queue is full"),
    ]
    place = {"attempt": 1, "round": 1}
    return (
        submitted()
        .add("offered", "offered", 0.1, **place, clusters=asked("blue", "green", "red"))
        .add("declined", "offered", 0.2, **place, bids=bids, reason="no Yes is as the job wishes")
        .add("waiting", "pending", 0.0, reason=TOO_DEAR, clusters=[])
    )


def after_others() -> History:
    return submitted().add(
        "waiting", "pending", 0.0, reason=f"waits for job {OTHER_JOB} to end well, job {JOB} to start", clusters=[]
    )


def array_limit() -> History:
    """A member of an array that waited for others of it, and then had its turn."""
    place = {"attempt": 1, "round": 1}
    return (
        submitted()
        .add("waiting", "pending", 0.0, reason="waits for others of its array: 50 may be out at once", clusters=[])
        .add("offered", "offered", 5400.0, **place, clusters=asked("blue"))
        .add(
            *("awarded", "awarded", 0.2),
            **place,
            policy="earliest",
            winner="blue",
            why="blue starts it at once; it was the only Yes",
            bids=[yes("blue", 0.0, 4.0)],
        )
        .add("assigned", "assigned", 0.1, attempt=1, cluster="blue")
    )


def spilled_over() -> History:
    """The preferred cluster would take too long, so the job goes to the next in the order; a third is late."""
    bids = [
        yes("cloud1", 90.0, 12.5),
        yes("red", 30.0, 6.0),
        yes("blue", 1800.0, 4.0),
        no("slow", "did not answer in time"),
    ]
    why = "cloud1 (@cloud) starts it in 90 s; those preferred to it would take longer than 300 s (blue 1800 s)"
    place = {"attempt": 1, "round": 1}
    late = {"cluster": "slow", "attempt": 1, "answer": "yes", "eta_s": 5.0, "cost": 2.0, "reason": ""}
    return (
        submitted()
        .add("offered", "offered", 0.1, **place, clusters=asked("blue", "cloud1", "red", "slow"))
        .add("awarded", "awarded", 2.0, **place, policy="spillover", winner="cloud1", why=why, bids=bids)
        .add("late", "awarded", 0.3, **late)
        .add("assigned", "assigned", 0.1, attempt=1, cluster="cloud1")
        .add("queued", "queued", 0.1, attempt=1, cluster="cloud1", native_id="")
    )


def unasked() -> History:
    """`first` asks nobody."""
    place = {"attempt": 1, "round": 1}
    bids = [{**yes(name, 0, 0), "eta_s": None, "cost": None} for name in ("red", "blue")]
    return (
        submitted()
        .add("offered", "offered", 0.0, **place, clusters=asked(green="needs 16 cores, it has 8"))
        .add(
            *("awarded", "awarded", 0.0),
            **place,
            policy="first",
            winner="red",
            why="red has room for it now, blue has not; nobody was asked",
            bids=bids,
        )
    )


def given_back() -> History:
    """A cluster that took it gives it back, and it is auctioned again."""
    history = in_the_queue_of_blue().add(
        "returned", "pending", 60.0, attempt=1, cluster="blue", reason="the partition was closed"
    )
    place = {"attempt": 2, "round": 1}
    return (
        history.add("offered", "offered", 0.1, **place, clusters=asked("red", blue="draining: closed"))
        .add(
            *("awarded", "awarded", 0.2),
            **place,
            policy="earliest",
            winner="red",
            why="red starts it in 1200 s; it was the only Yes",
            bids=[yes("red", 1200.0, 6.0, eta_low_s=1200.0, eta_high_s=1210.0)],
        )
        .add("refused", "awarded", 0.1, attempt=2, cluster="red", reason="somebody was faster")
    )


@dataclass(frozen=True)
class Story:
    happened: Callable[[], History]
    wishes: dict[str, Any] = field(default_factory=dict)
    reason: str = ""
    policy: str = "earliest"
    winner: str | None = None


STORIES = {
    "moved": Story(moved, winner="red"),
    "stayed": Story(stayed, winner="blue"),
    "rejected": Story(rejected, {"group": "gpu"}, "no cluster that you may use could ever run it"),
    "rejected_after": Story(
        rejected_after,
        {"after": [{"job": OTHER_JOB, "until": "ok"}]},
        f"it was to run only if job {OTHER_JOB} ended well, and that one failed",
    ),
    "too_dear": Story(too_dear, {"max_cost": 5.0, "start_within_s": 600.0, "policy": "cheapest"}, TOO_DEAR),
    "after_others": Story(
        after_others,
        {"after": [{"job": OTHER_JOB, "until": "ok"}, {"job": JOB, "until": "start"}], "urgency": 20, "move": False},
        f"waits for job {OTHER_JOB} to end well, job {JOB} to start",
    ),
    "array_limit": Story(array_limit, winner="blue"),
    "spilled_over": Story(
        spilled_over,
        {"policy": "spillover", "options": {"order": "blue,@cloud,red", "threshold_s": 300}, "not_clusters": ["old"]},
        policy="spillover",
        winner="cloud1",
    ),
    "unasked": Story(unasked, {"policy": "first"}, policy="first", winner="red"),
    "given_back": Story(given_back, winner="red"),
}


@pytest.mark.parametrize("name", STORIES)
async def test_a_story(
    rainbow: Rainbow, configured: Path, daemon: FakeDaemon, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    story = STORIES[name]
    history = story.happened()
    explanation = {
        "type": "explanation",
        "job": JOB,
        "state": history.events[-1]["state"],
        "reason": story.reason,
        "request": {
            "command": ["python", "train.py"],
            "shape": {"tasks": 8, "cores_per_task": 2, "time_limit_s": 3600.0},
            "wishes": story.wishes,
        },
        "policy": story.policy,
        "clusters": next(
            (one["data"]["clusters"] for one in reversed(history.events) if "clusters" in one["data"]), []
        ),
        "bids": [],
        "winner": story.winner,
        "history": history.events,
    }
    daemon.handlers["explain"] = lambda _: [explanation]
    monkeypatch.setattr(screen, "_columns", lambda: COLUMNS)
    told = (await rainbow("explain", JOB)).out
    golden = GOLDEN / f"explain_{name}.txt"
    if os.environ.get("REWRITE"):
        golden.write_text(told)
    assert told == golden.read_text()
    assert all(len(line) <= COLUMNS for line in told.splitlines())


def test_every_policy_has_words() -> None:
    assert set(POLICIES) == {"earliest", "cheapest", "balanced", "spillover", "random", "first", "constraint"}


def test_looks_are_no_auctions_to_count() -> None:
    told = told_auctions(auctions(stayed().read))
    assert [(one.number, one.one.moves_from) for one in told if one.one.moves_from is None] == [(1, None)]
    assert [one.one.moves_from for one in told] == [None, "blue", "blue"]


def test_the_same_look_again_is_told_once() -> None:
    history = in_the_queue_of_blue()
    for _ in range(3):
        looked(history, "stay", "red is no better", yes("red", 2300.0, 6.0))
        history.events[-1]["data"]["attempt"] = len(history.events)
    assert [len(one.again) for one in told_auctions(auctions(history.read))] == [0, 2]


def test_a_restless_life_is_told_briefly() -> None:
    history = in_the_queue_of_blue()
    for _ in range(20):
        history.add("returned", "pending", 60.0, attempt=1, cluster="blue", reason="closed")
        history.won("blue")
    assert len(list(in_short(history.read))) <= SENTENCES_MAX + 1


@pytest.mark.parametrize(
    ("eta_s", "low_s", "high_s", "words"),
    [
        (300.0, 180.0, 1200.0, "in 5m (3m–20m)"),
        (300.0, None, None, "in 5m"),
        (300.0, 300.0, 300.0, "in 5m"),
        (0.0, 0.0, 90.0, "now (now–1m 30s)"),
        (4000.0, 3001.0, 9001.0, "in 1h 6m (50m–2h 30m)"),
        (300.0, None, 200_000.0, "in 5m (5m–2d 8h)"),
        (None, 1.0, 2.0, "-"),
    ],
)
def test_starts_that_are_not_sure(eta_s: float | None, low_s: float | None, high_s: float | None, words: str) -> None:
    assert start_words(eta_s, low_s, high_s) == words
