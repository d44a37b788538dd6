"""The words that a person reads: safe to print, and true to the history."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbow_client.in_short import in_short
from rainbow_client.printable import printable
from rainbow_client.sentences import sentence
from rainbow_client.story import auctions
from rainbow_client.wording import cost_words, eta_words, shape_words, start_words
from rainbow_protocol.job import JobState
from rainbow_protocol.messages.client import Event

JOB = "000000000001"


def happened(seq: int, name: str, state: JobState = "pending", /, **data: object) -> Event:
    return Event(job=JOB, seq=seq, at=float(seq), event=name, state=state, data=data)


def bid(cluster: str, answer: str, eta_s: float | None, cost: float | None, reason: str = "") -> dict[str, object]:
    return {"cluster": cluster, "answer": answer, "eta_s": eta_s, "cost": cost, "reason": reason, "round": 1}


ASKED = [
    {"cluster": "large", "verdict": "asked", "reason": ""},
    {"cluster": "medium", "verdict": "asked", "reason": ""},
    {"cluster": "quiet", "verdict": "asked", "reason": ""},
    {"cluster": "small", "verdict": "filtered", "reason": "has no gpus"},
]
HISTORY = [
    happened(1, "submitted", name="train", tasks=2, cores_per_task=1, gpus_per_task=1, time_limit_s=300),
    happened(2, "offered", "offered", attempt=1, round=1, clusters=ASKED),
    happened(3, "declined", attempt=1, round=1, bids=[bid("large", "no", None, None, "closed")], reason="no Yes"),
    happened(4, "offered", "offered", attempt=2, round=1, clusters=ASKED),
    happened(
        5,
        "awarded",
        "awarded",
        attempt=2,
        round=1,
        winner="medium",
        why="medium starts it first",
        bids=[bid("large", "yes", 60.0, 2.0), bid("medium", "yes", 0.0, 1.0)],
    ),
]


def test_auctions_are_told_apart_and_complete() -> None:
    first, second = auctions(HISTORY)
    assert first.winner is None
    assert first.outcome == "no Yes"
    assert {row.cluster: row.answer for row in first.rows} == {
        "large": "no",
        "medium": "no answer",
        "quiet": "no answer",
        "small": "not asked",
    }
    assert second.winner == "medium"
    assert second.outcome == "starts it first"
    assert [(row.cluster, row.won) for row in second.rows] == [
        ("medium", True),
        ("large", False),
        ("quiet", False),
        ("small", False),
    ]
    assert next(row for row in second.rows if row.cluster == "small").reason == "has no gpus"


def test_an_open_auction_and_one_whose_offer_is_missing() -> None:
    [still_open] = auctions(HISTORY[:2])
    assert still_open.open
    assert {row.answer for row in still_open.rows} == {"no answer yet", "not asked"}
    [without_offer] = auctions(HISTORY[4:])
    assert without_offer.winner == "medium"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (HISTORY[0], "submitted train: 2 tasks, 1 core and 1 gpu each, at most 5m"),
        (HISTORY[1], "asked large, medium, quiet; left out 1 other"),
        (HISTORY[4], "medium won: starts it first"),
        (happened(1, "waiting", reason="all offline"), "waits: all offline"),
        (happened(1, "refused", cluster="a", reason="full"), "a refused the award: full"),
        (happened(1, "running", cluster="a", native_id="42"), "running on a, known there as 42"),
        (happened(1, "disconnected", cluster="a"), "lost the connection to a; the job stays there"),
        (happened(1, "failed", cluster="a", exit_code=3, reason="exit code 3"), "failed on a with exit code 3"),
        (
            happened(1, "failed", cluster="a", exit_code=124, reason="too long"),
            "failed on a with exit code 124: too long",
        ),
        (
            happened(1, "rejected", reason="too big", clusters=[{"cluster": "a", "reason": "8 cores"}]),
            "rejected: too big; a: 8 cores",
        ),
        (happened(1, "waiting", reason="waits for job 1 to end"), "waits for job 1 to end"),
        (
            happened(1, "late", cluster="a", answer="yes", eta_s=300.0, cost=2.0),
            "a answered too late to count: Yes, in 5m for 2",
        ),
        (happened(1, "late", cluster="a", answer="no", reason="full"), "a answered too late to count: No: full"),
        (
            happened(1, "reconsidered", **{"from": "a"}, decision="stay", why="b would start it 90 s sooner"),
            "looked for a better place, and stayed on a: b would start it 1m 30s sooner",
        ),
        (happened(1, "withdrawing", cluster="a", to="b"), "a is asked to give it back, so that it can go to b"),
        (
            happened(1, "moved", **{"from": "a", "to": "b", "gain_s": 3600.0}),
            "moved from a to b, to start 1h sooner",
        ),
        (happened(1, "stayed", cluster="a", reason="too late"), "stayed on a: too late"),
        (happened(1, "from_the_future", reason="new"), "from_the_future: new"),
    ],
)
def test_sentences(event: Event, words: str) -> None:
    assert sentence(event) == words


_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)  # as in JSON
_ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    _NUMBERS,
    st.text(max_size=8),
    st.lists(
        st.dictionaries(
            st.sampled_from(["cluster", "answer", "eta_s", "eta_low_s", "eta_high_s", "cost", "reason"]),
            st.one_of(st.text(max_size=4), _NUMBERS, st.sampled_from(["yes", "no"])),
        ),
        max_size=3,
    ),
)
_EVENTS = st.builds(
    happened,
    st.integers(1, 9),
    st.sampled_from(
        [
            *("submitted", "waiting", "offered", "awarded", "declined", "late", "rejected", "failed", "queued"),
            *("running", "refused", "returned", "reconsidered", "withdrawing", "moved", "stayed", "assigned", "odd"),
        ]
    ),
    st.sampled_from(["pending", "queued", "failed"]),
).flatmap(
    lambda event: st.dictionaries(
        st.sampled_from(
            [
                *("cluster", "clusters", "bids", "reason", "why", "winner", "attempt", "exit_code", "native_id"),
                *("tasks", "from", "to", "gain_s", "current_eta_s", "decision", "answer", "eta_s", "cost"),
            ]
        ),
        _ANYTHING,
    ).map(lambda data: event.model_copy(update={"data": data}))
)


@given(st.lists(_EVENTS, max_size=8))
def test_no_history_makes_the_story_fail_or_unsafe(history: list[Event]) -> None:
    """A newer daemon may say more, and a cluster may say anything."""
    assert all(sentence(event).isprintable() for event in history)
    assert all(words.isprintable() for words in in_short(history))
    for auction in auctions(history):
        for row in auction.rows:
            start = start_words(row.eta_s, row.eta_low_s, row.eta_high_s)
            assert (row.cluster + row.reason + row.answer + start + cost_words(row.cost)).isprintable()


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain, 日本語", "plain, 日本語"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("two\nlines\r", "two\\nlines\\r"),
        ("\x9b2J", "\\x9b2J"),
        ("abc\u202edef", "abc\\u202edef"),
        ("\udcff", "\\udcff"),
    ],
)
def test_printable(text: str, safe: str) -> None:
    assert printable(text) == safe


@given(st.text())
def test_what_is_printable_stays_and_the_rest_is_escaped(text: str) -> None:
    assert printable(text).isprintable()
    assert printable(printable(text)) == printable(text)


def test_numbers() -> None:
    assert [eta_words(eta_s) for eta_s in (None, 0.0, 0.2, 75.0)] == ["-", "now", "in 0.2s", "in 1m 15s"]
    assert [cost_words(cost) for cost in (None, 0.0, 0.00041666, 12.5, 123_456.7)] == [
        "-",
        "0",
        "0.0004167",
        "12.5",
        "123457",
    ]
    assert shape_words({"tasks": 4, "nodes": 2}) == "4 tasks on 2 nodes, 1 core each, no time limit"
