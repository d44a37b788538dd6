"""Puts a job's history together into the answer to `explain`, within the size of a frame."""

import orjson

from rainbow_protocol import limits
from rainbow_protocol.codec import encode
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.job import JobRequest
from rainbow_protocol.messages.client import BidRecord, Event, Explain, Explanation
from rainbowd.net import translate
from rainbowd.store.repo import Repo

_HISTORY_BYTES_MAX = limits.FRAME_BYTES_MAX // 2
_BIDS_BYTES_MAX = limits.FRAME_BYTES_MAX // 4
_ALWAYS_TOLD = ("attempt", "round", "cluster", "policy", "winner", "exit_code")


async def explain(
    repo: Repo, asked: Explain, grants: frozenset[str], online: frozenset[str], policy: str = "earliest"
) -> Explanation:
    """`policy` is the site's, for a job that names none."""
    row = (await repo.find_jobs([asked.job], grants)).get(asked.job)
    if row is None:
        raise ProtocolError(ErrorCode.UNKNOWN_JOB, f"there is no job {asked.job} that you can see", asked.id)
    lines = await repo.load_history(asked.job, 0, limits.HISTORY_EVENTS_MAX * 2 + 2)
    history = [translate.event(line) for line in lines]
    awards = [event for event in history if event.event == "awarded"]
    request = JobRequest.model_validate_json(row["request"])
    return Explanation(
        ref=asked.id,
        job=asked.job,
        state=row["state"],
        reason=translate.job_status(row, online).reason,
        policy=awards[-1].data["policy"] if awards else request.wishes.policy or policy,
        clusters=translate.verdicts(history),
        bids=_newest(translate.bid_records(history)),
        winner=row["cluster"],
        history=_shortened(history),
        request=request,
    )


def _shortened(history: list[Event]) -> list[Event]:
    """Drop the particulars of what is long ago first; that something happened is always told."""
    kept: list[Event] = []
    room = _HISTORY_BYTES_MAX
    for event in reversed(history):
        size = len(orjson.dumps(event.data))
        if size > room:
            short = {key: value for key, value in event.data.items() if key in _ALWAYS_TOLD}
            event, size = event.model_copy(update={"data": short}), 0
        room -= size
        kept.append(event)
    return kept[::-1]


def _newest(bids: list[BidRecord]) -> list[BidRecord]:
    kept: list[BidRecord] = []
    room = _BIDS_BYTES_MAX
    for bid in reversed(bids[-limits.BATCH_ITEMS_MAX :]):
        room -= len(encode(bid))
        if room < 0:
            break
        kept.append(bid)
    return kept[::-1]
