"""`explain` within one frame, however much has happened."""

from typing import Any

import pytest

from rainbow_protocol import limits
from rainbow_protocol.codec import encode
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.messages.client import Explain
from rainbowd.core import effects as fx
from rainbowd.core.transitions import JobState
from rainbowd.net.explaining import explain
from rainbowd.store.repo import Repo
from tests.unit.daemon import made

GRANTS = frozenset({"red"})


def bid(cluster: str, attempt_round: int = 1, reason: str = "", answer: str = "no") -> dict[str, Any]:
    return {
        "cluster": cluster, "round": attempt_round, "answer": answer, "eta_s": None, "cost": None, "reason": reason,
        "score": None,
    }  # fmt: skip


async def happened(repo: Repo, job: str, *events: tuple[str, dict[str, Any]]) -> None:
    lines = [fx.Happened(job, seq, 1.0, event, JobState.PENDING, data) for seq, (event, data) in enumerate(events, 2)]
    await repo.commit(lines)


@pytest.mark.parametrize("auctions_last", [False, True])
async def test_the_longest_history_of_the_largest_federation_fits_into_a_frame(repo: Repo, auctions_last: bool) -> None:
    """Every cluster of 256 says No in 500 characters of four bytes, in every auction there is room for."""
    job = made.job()
    await repo.commit(made.saved(job))
    names = [f"{number:063}" for number in range(limits.CLUSTERS_WANTED_MAX)]
    words = "\U0001f308" * limits.REASON_CHARS_MAX
    verdicts = [{"cluster": name, "verdict": "filtered", "reason": words} for name in names]
    bids = [bid(name, reason=words) for name in names]
    events: list[tuple[str, dict[str, Any]]] = []
    for attempt in range(1, 21):
        events.append(("offered", {"attempt": attempt, "round": 1, "clusters": verdicts}))
        events.append(("awarded", {"attempt": attempt, "round": 1, "policy": "earliest", "bids": bids}))
    refusals = [("refused", {"attempt": 1, "cluster": "red", "reason": words})] * 750
    events = refusals + events if auctions_last else events + refusals
    await happened(repo, job.id, *events)
    told = await explain(repo, Explain(id=1, job=job.id), GRANTS, frozenset())
    assert len(encode(told)) <= limits.FRAME_BYTES_MAX
    assert [line.seq for line in told.history] == list(range(1, len(told.history) + 1))
    assert len(told.history) == len(events) + 1
    assert told.history[-1].data == events[-1][1]
    assert told.bids[-1].attempt == 20
    assert {row.cluster for row in told.clusters} == set(names)


async def test_a_round_asks_whom_the_one_before_left_and_each_bid_is_told_once(repo: Repo) -> None:
    job = made.job()
    await repo.commit(made.saved(job))

    def offered(attempt_round: int, asked: str, later: str) -> tuple[str, dict[str, Any]]:
        rows = [
            {"cluster": asked, "verdict": "asked", "reason": ""},
            {"cluster": later, "verdict": "filtered", "reason": "not in this round"},
        ]
        return "offered", {"attempt": 1, "round": attempt_round, "clusters": rows}

    await happened(
        repo,
        job.id,
        offered(1, "red", "blue"),
        ("declined", {"attempt": 1, "round": 1, "bids": [bid("red", reason="full")], "reason": "nobody said Yes"}),
        offered(2, "blue", "red"),
        ("awarded", {
            "attempt": 1, "round": 2, "policy": "earliest", "winner": "blue",
            "bids": [bid("blue", 2, answer="yes"), bid("red", reason="full")],
        }),
    )  # fmt: skip
    told = await explain(repo, Explain(id=1, job=job.id), GRANTS, frozenset())
    assert [(row.cluster, row.verdict) for row in told.clusters] == [("blue", "asked"), ("red", "asked")]
    assert sorted((record.cluster, record.round, record.answer) for record in told.bids) == [
        ("blue", 2, "yes"),
        ("red", 1, "no"),
    ]


async def test_a_job_that_one_may_not_see_is_unknown(repo: Repo) -> None:
    job = made.job(("blue", "red"))
    await repo.commit(made.saved(job))
    with pytest.raises(ProtocolError) as refused:
        await explain(repo, Explain(id=4, job=job.id), GRANTS, frozenset())
    assert (refused.value.code, refused.value.ref) == (ErrorCode.UNKNOWN_JOB, 4)
