"""Puts a job's history together into the answer to `explain`, within the size of a frame."""

import orjson

from rainbow_protocol import limits
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.messages.client import Event, Explain, Explanation
from rainbowd.net import translate
from rainbowd.store.repo import Repo

_HISTORY_BYTES_MAX = limits.FRAME_BYTES_MAX // 2


async def explain(repo: Repo, asked: Explain, grants: frozenset[str]) -> Explanation:
    row = (await repo.find_jobs([asked.job], grants)).get(asked.job)
    if row is None:
        raise ProtocolError(ErrorCode.UNKNOWN_JOB, f"there is no job {asked.job} that you can see", asked.id)
    lines = await repo.load_history(asked.job, 0, limits.HISTORY_EVENTS_MAX * 2)
    history = [translate.event(line) for line in lines]
    awards = [event for event in history if event.event == "awarded"]
    return Explanation(
        ref=asked.id,
        job=asked.job,
        state=row["state"],
        reason=row["reason"],
        policy=awards[-1].data["policy"] if awards else "earliest",
        clusters=translate.verdicts(history),
        bids=translate.bid_records(history)[-limits.BATCH_ITEMS_MAX :],
        winner=row["cluster"],
        history=_shortened(history),
    )


def _shortened(history: list[Event]) -> list[Event]:
    """Drop the particulars of old auctions first; that something happened is always told."""
    kept: list[Event] = []
    room = _HISTORY_BYTES_MAX
    for event in reversed(history):
        size = len(orjson.dumps(event.data))
        if size > room and ("clusters" in event.data or "bids" in event.data):
            short = {key: value for key, value in event.data.items() if key not in ("clusters", "bids")}
            event = event.model_copy(update={"data": short})
        room -= size
        kept.append(event)
    return kept[::-1]
