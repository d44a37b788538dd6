"""Carries out what the core wants sent, after the commit: groups it by session, one frame for many items."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, cast

import orjson
import structlog

from rainbow_protocol import limits
from rainbow_protocol.errors import ErrorCode
from rainbow_protocol.job import JobState as WireState
from rainbow_protocol.messages.client import (
    CancelAnswer,
    CancelResult,
    SubmitResult,
    Submitted,
)
from rainbow_protocol.messages.common import error
from rainbowd import __version__
from rainbowd.core import effects as fx
from rainbowd.net.auth import Credentials
from rainbowd.net.pending import PendingAnswers
from rainbowd.net.session import CLOSE_POLICY, Session
from rainbowd.net.translate import shape_data
from rainbowd.net.watchers import Watchers

_log = structlog.get_logger()
_CHUNK_BYTES_MAX = limits.FRAME_BYTES_MAX // 4
_WEIGHTY = ("awards", "offers")  # with commands and environments, or with all that a request asks of the resources
# Also the order in which one batch leaves: first what a job is waiting for, a start before its cancel, and what frees a
# place before what asks for one.
_KINDS = {
    fx.SendStart: "starts",
    fx.SendAward: "awards",
    fx.SendCancel: "cancels",
    fx.SendRelease: "releases",
    fx.SendWithdraw: "withdrawals",
    fx.SendOffer: "offers",
    fx.SendAck: "acks",
}
_ORDER = {kind: place for place, kind in enumerate(_KINDS.values())}
_OFFER_BYTES = 300  # of one that is its shape and no more
Item = dict[str, Any]


class Router:
    """The engine's outbox. Knows every session by its number."""

    def __init__(self, credentials: Credentials, watchers: Watchers, pending: PendingAnswers) -> None:
        self.sessions: dict[int, Session] = {}
        self._credentials = credentials
        self._watchers = watchers
        self._pending = pending

    def deliver(self, effects: Sequence[fx.Effect]) -> None:
        batches: dict[tuple[int, str], list[Item | bytes]] = defaultdict(list)
        shapes: dict[int, Item] = {}
        happenings: list[fx.Happened] = []
        for effect in effects:
            kind = _KINDS.get(type(effect))
            if kind is not None:
                send = cast(fx.AgentEffect, effect)
                batches[send.session, kind].append(_item(send, shapes))
            elif isinstance(effect, fx.Happened):
                happenings.append(effect)
            elif not isinstance(effect, fx.SaveJob | fx.SaveDescription):
                self._single(effect)
        for session, kind in sorted(batches, key=lambda batch: _ORDER[batch[1]]):
            self._send_batch(session, kind, batches[session, kind])
        self._watchers.publish(happenings)

    def _send_batch(self, number: int, kind: str, items: list[Item | bytes]) -> None:
        session = self.sessions.get(number)
        if session is not None:
            for chunk in _chunks(kind, items):
                ready = [orjson.Fragment(item) if isinstance(item, bytes) else item for item in chunk]
                session.send_frame(orjson.dumps({"type": kind, "items": ready}))

    def _single(self, effect: fx.Effect) -> None:
        match effect:
            case fx.AnswerSubmit():
                self._answer_submit(effect)
            case fx.AnswerCancel():
                self._answer_cancel(effect)
            case fx.Settled():
                self._pending.settle(effect)
            case fx.SaveCluster():
                self._credentials.add(effect.cluster)
            case fx.RetireCluster():
                self._retire(effect)
            case fx.SendWelcome():
                self._welcome(effect)
            case fx.EndSession():
                self._end(effect)
            case fx.Complain():
                _log.warning("an agent contradicts itself", session=effect.session, complaint=effect.message)

    def _welcome(self, effect: fx.SendWelcome) -> None:
        session = self.sessions.get(effect.session)
        if session is not None:
            frame: Item = {"type": "welcome", "cluster": effect.cluster, "version": __version__}
            if effect.send_graph:
                frame |= {"send_graph": True}
            session.send_frame(orjson.dumps(frame))
            _log.info("agent connected", session=effect.session, cluster=effect.cluster)

    def _end(self, effect: fx.EndSession) -> None:
        session = self.sessions.get(effect.session)
        if session is None:
            return
        session.refuse(ErrorCode(effect.code), effect.message)
        if effect.final:
            session.farewell(effect.message, reconnect=False)
        else:
            session.close(CLOSE_POLICY, effect.message)

    def _retire(self, effect: fx.RetireCluster) -> None:
        name, generation, retired = effect.name, effect.generation, effect.retired
        self._credentials.delete(name, generation, effect.secret_hash, effect.token_hash, retired)
        for session in self.sessions.values():
            session.cluster_deleted(name, generation, retired)
        _log.info("cluster deleted", cluster=name)

    # --- answers to clients -----------------------------------------------

    def _answer_submit(self, effect: fx.AnswerSubmit) -> None:
        session = self.sessions.get(effect.origin.session)
        if session is None:
            return
        ready = [_submit_result(outcome) for outcome in effect.items]
        results = self._pending.merge_submit(effect.origin, ready)
        session.send(Submitted(ref=effect.origin.request, items=results))

    def _answer_cancel(self, effect: fx.AnswerCancel) -> None:
        session = self.sessions.get(effect.origin.session)
        known = self._pending.cancel_states(effect.origin)
        if session is None or known is None:
            return
        states, unknown = known
        items = [
            CancelResult(
                job=item.job,
                state=cast(WireState, item.state or states[item.job]),
                outcome=item.outcome,
                reason=item.reason,
            )
            for item in effect.items
        ]
        session.send(CancelAnswer(ref=effect.origin.request, items=items, unknown=unknown))


def _item(effect: fx.AgentEffect, shapes: dict[int, Item]) -> Item | bytes:
    """What is bytes is JSON already."""
    if isinstance(effect, fx.SendOffer):
        # The same shape goes to every cluster that is asked: describe it once.
        shape = shapes.get(id(effect.shape))
        if shape is None:
            shape = shapes[id(effect.shape)] = shape_data(effect.shape)
        item = {
            "job": effect.job,
            "attempt": effect.attempt,
            "shape": shape,
            "deadline_ms": effect.deadline_ms,
            "hold_s": effect.hold_s,
            "user": effect.user,
        }
        if effect.waits_here is not None:
            item["waits_here"] = effect.waits_here
        if effect.terms:  # a JSON object of its own: its content goes into this one
            return orjson.dumps(item)[:-1] + b"," + effect.terms[1:]
        return item
    if isinstance(effect, fx.SendAward):
        request = orjson.Fragment(effect.payload)
        award: Item = {"job": effect.job, "attempt": effect.attempt, "user": effect.user, "request": request}
        if effect.array is not None:
            award |= {"array": effect.array, "array_index": effect.array_index}
        return award
    if isinstance(effect, fx.SendAck):
        return {"job": effect.job, "attempt": effect.attempt, "seq": effect.seq}
    if isinstance(effect, fx.SendWelcome):
        raise TypeError("a welcome is not a batch")
    return {"job": effect.job, "attempt": effect.attempt}


def _chunks(kind: str, items: list[Item | bytes]) -> Iterator[list[Item | bytes]]:
    if kind not in _WEIGHTY:
        for start in range(0, len(items), limits.BATCH_ITEMS_MAX):
            yield items[start : start + limits.BATCH_ITEMS_MAX]
        return
    chunk: list[Item | bytes] = []
    size = 0
    for item in items:
        weight = _weight(kind, item)
        if chunk and (size + weight > _CHUNK_BYTES_MAX or len(chunk) >= limits.BATCH_ITEMS_MAX):
            yield chunk
            chunk, size = [], 0
        chunk.append(item)
        size += weight
    yield chunk


def _weight(kind: str, item: Item | bytes) -> int:
    if isinstance(item, bytes):
        return len(item)
    return _OFFER_BYTES if kind == "offers" else len(orjson.dumps(item))


def _submit_result(outcome: fx.SubmitOutcome) -> SubmitResult:
    if outcome.code is not None:
        return SubmitResult(error=error(ErrorCode(outcome.code), outcome.message))
    return SubmitResult(
        job=outcome.job, state=cast(WireState, outcome.state), duplicate=outcome.duplicate, array=outcome.array
    )
