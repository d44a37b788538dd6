"""Between the wire's messages and the core's commands and effects. Nothing is decided here."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import orjson

from rainbow_agent.backends.launching import ARRAY, ARRAY_INDEX
from rainbow_agent.core import commands as c
from rainbow_agent.core import effects as e
from rainbow_agent.core.bidder import No, Yes
from rainbow_agent.core.model import Free, Key, Shape, Totals
from rainbow_protocol import job as wire_job
from rainbow_protocol.errors import ErrorCode
from rainbow_protocol.limits import BATCH_ITEMS_MAX, USER_CHARS_MAX
from rainbow_protocol.messages import agent as wire
from rainbow_protocol.messages.common import error
from rainbow_protocol.wire import WireModel, one_line

T = TypeVar("T")
Told = wire.Offers | wire.Awards | wire.Starts | wire.Releases | wire.Withdrawals | wire.Cancels | wire.Acks


# The backend's word on what a job asks beyond its shape.
Objection = Callable[[wire.Offer | wire.Award], str | None]


def command(message: Told, objection: Objection) -> c.Command:
    match message:
        case wire.Offers():
            return c.Offers(tuple(_offer(item, objection(item)) for item in message.items))
        case wire.Awards():
            return c.Awards(
                tuple(
                    c.Award(
                        _key(item),
                        shape_of(item.request.shape),
                        _work(item),
                        objection(item),
                        item.request.queue,
                        _user(item.user),
                    )
                    for item in message.items
                )
            )
        case wire.Starts():
            return c.Starts(tuple(_key(item) for item in message.items))
        case wire.Releases():
            return c.Releases(tuple(_key(item) for item in message.items))
        case wire.Withdrawals():
            return c.Withdrawals(tuple(_key(item) for item in message.items))
        case wire.Cancels():
            return c.Cancels(tuple(_key(item) for item in message.items))
        case wire.Acks():
            return c.Acks(tuple(c.Ack(_key(item), item.seq) for item in message.items))


def messages(effect: e.Sent) -> Iterator[WireModel]:
    """All that is told but the hello and the reports, which need to know more."""
    match effect:
        case e.SendInventory():
            yield from inventory(effect)
        case e.SendBids():
            yield bids(effect)
        case e.SendAwardAnswers():
            yield award_answers(effect)
        case e.SendState(state):
            yield wire.ClusterState(free=free(state.free), keys=dict(state.keys), draining=state.draining)
        case e.SendError(message):
            yield error(ErrorCode.UNKNOWN_JOB, message)


def free(state: Free) -> wire_job.Free:
    return wire_job.Free(
        nodes=state.nodes, cores=state.cores, gpus=state.gpus, queued=state.queued, running=state.running
    )


def totals(resources: Totals) -> wire_job.Totals:
    return wire_job.Totals(
        nodes=resources.nodes, cores_per_node=resources.cores_per_node, gpus_per_node=resources.gpus_per_node
    )


def inventory(effect: e.SendInventory) -> Iterator[wire.Inventory]:
    """At least one frame, the last one marked."""
    frames = list(_batches(effect.items)) or [()]
    for index, items in enumerate(frames):
        yield wire.Inventory(
            items=[wire.InventoryItem(job=key.job, attempt=key.attempt, phase=phase) for key, phase in items],
            last=index == len(frames) - 1,
        )


def bids(effect: e.SendBids) -> wire.Bids:
    return wire.Bids(items=[_bid(key, answer) for key, answer in effect.items])


def award_answers(effect: e.SendAwardAnswers) -> wire.AwardAnswers:
    return wire.AwardAnswers(
        items=[
            wire.AwardAnswer(
                job=item.key.job,
                attempt=item.key.attempt,
                answer="accept" if item.refusal is None else "refuse",
                reason=item.refusal or "",
            )
            for item in effect.items
        ]
    )


def reports(items: Sequence[e.Report], to_wall_s: float) -> Iterator[wire.Reports]:
    for batch in _batches(items):
        yield wire.Reports(
            items=[
                wire.Report(
                    job=report.key.job,
                    attempt=report.key.attempt,
                    seq=report.seq,
                    event=report.event,
                    at=max(0.0, report.at + to_wall_s),
                    exit_code=report.exit_code,
                    reason=report.reason,
                    native_id=report.native_id,
                )
                for report in batch
            ]
        )


def _bid(key: Key, answer: Yes | No) -> wire.Bid:
    if isinstance(answer, Yes):
        return wire.Bid(
            job=key.job,
            attempt=key.attempt,
            answer="yes",
            eta_s=answer.eta_s,
            eta_low_s=answer.eta_low_s,
            eta_high_s=answer.eta_high_s,
            cost=answer.cost,
        )
    return wire.Bid(job=key.job, attempt=key.attempt, answer="no", reason=answer.reason)


def _offer(item: wire.Offer, objection: str | None) -> c.Offer:
    return c.Offer(
        _key(item),
        shape_of(item.shape),
        item.hold_s,
        objection,
        waits_here=item.waits_here,
        user=_user(item.user),
        queue=item.queue,
    )


def _user(name: str) -> str:
    return one_line(name)[:USER_CHARS_MAX]


def _work(award: wire.Award) -> str:
    """The request, and beside its fields which member of an array it is."""
    work = award.request.model_dump_json()
    if award.array is None or award.array_index is None:
        return work
    member = orjson.dumps({ARRAY: award.array, ARRAY_INDEX: award.array_index}).decode()
    return f"{work[:-1]},{member[1:]}"


def _key(ref: wire.AttemptRef) -> Key:
    return Key(ref.job, ref.attempt)


def shape_of(shape: wire_job.Shape) -> Shape:
    return Shape(
        tasks=shape.tasks,
        cores_per_task=shape.cores_per_task,
        gpus_per_task=shape.gpus_per_task,
        nodes=shape.nodes,
        time_limit_s=shape.time_limit_s,
        exclusive=shape.exclusive,
    )


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for begin in range(0, len(items), BATCH_ITEMS_MAX):
        yield items[begin : begin + BATCH_ITEMS_MAX]
