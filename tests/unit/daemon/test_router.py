"""What the core wants told becomes frames: many items in one, none too large, each one the peer can read."""

import asyncio
from typing import Any, cast

import pytest

from rainbow_protocol import limits
from rainbow_protocol.errors import ErrorCode
from rainbow_protocol.job import JobRequest
from rainbow_protocol.messages import agent as wire
from rainbow_protocol.messages.client import CancelAnswer, SubmitResult, Submitted
from rainbow_protocol.messages.common import error
from rainbow_protocol.resources import Condition, Requirement
from rainbowd.core import effects as fx
from rainbowd.core.commands import DeleteCluster, Origin
from rainbowd.core.state import Shape
from rainbowd.core.transitions import JobState
from rainbowd.net.auth import AgentOf, Credentials, UserOf, UserOfDeleted, fingerprint
from rainbowd.net.pending import PendingAnswers
from rainbowd.net.router import Router
from rainbowd.net.watchers import Watchers
from rainbowd.resources.terms import terms_of
from tests.unit.daemon import made
from tests.unit.daemon.fake_session import FakeSession


class Stage:
    def __init__(self) -> None:
        self.credentials = Credentials(None, [])
        self.watchers = Watchers()
        self.pending = PendingAnswers()
        self.router = Router(self.credentials, self.watchers, self.pending)

    def session(self) -> FakeSession:
        session = FakeSession()
        self.router.sessions[session.id] = session
        return session


@pytest.fixture
def stage() -> Stage:
    return Stage()


SMALL = Shape()


def offer(session: FakeSession, job: str, shape: Shape = SMALL, terms: bytes = b"") -> fx.SendOffer:
    return fx.SendOffer(session.id, job, 1, shape, terms, 1_000, 11.0)


def sizes(session: FakeSession) -> list[int]:
    return [len(message.items) for message in session.to_agent()]


# --- to agents ------------------------------------------------------------


def test_every_message_to_an_agent_can_be_read_by_it(stage: Stage) -> None:
    session, job = stage.session(), made.job_id()
    shape = Shape(2, 4, 3, 1, 60.5, True)
    stage.router.deliver(
        [
            fx.SendWelcome(session.id, "red"),
            offer(session, job, shape),
            fx.SendAward(session.id, job, 2, made.payload("echo", "hi")),
            fx.SendStart(session.id, job, 3),
            fx.SendRelease(session.id, job, 4),
            fx.SendCancel(session.id, job, 5),
            fx.SendAck(session.id, job, 6, 7),
        ]
    )
    told = {message.type: message for message in session.to_agent()}
    assert told["welcome"].cluster == "red"
    (offered,) = told["offers"].items
    assert (offered.job, offered.attempt, offered.deadline_ms, offered.hold_s) == (job, 1, 1_000, 11.0)
    assert offered.shape.model_dump() == {
        "nodes": 2, "tasks": 4, "cores_per_task": 3, "gpus_per_task": 1, "time_limit_s": 60.5, "exclusive": True,
    }  # fmt: skip
    assert told["awards"].items == [wire.Award(job=job, attempt=2, request=JobRequest(command=["echo", "hi"]))]
    assert told["starts"].items == [wire.AttemptRef(job=job, attempt=3)]
    assert told["releases"].items == [wire.AttemptRef(job=job, attempt=4)]
    assert told["cancels"].items == [wire.AttemptRef(job=job, attempt=5)]
    assert told["acks"].items == [wire.Ack(job=job, attempt=6, seq=7)]


def test_one_batch_leaves_in_the_promised_order(stage: Stage) -> None:
    session, job = stage.session(), made.job_id()
    effects: list[fx.Effect] = [
        fx.SendAck(session.id, job, 1, 1),
        fx.SendCancel(session.id, job, 1),
        fx.SendStart(session.id, job, 1),
        fx.SendAward(session.id, job, 1, made.payload()),
        offer(session, job),
        fx.SendRelease(session.id, job, 1),
        fx.SendWelcome(session.id, "red"),
    ]
    stage.router.deliver(effects)
    assert session.types() == ["welcome", "starts", "awards", "cancels", "releases", "offers", "acks"]


def test_many_items_are_one_frame_for_each_session_in_the_order_of_the_core(stage: Stage) -> None:
    first, second = stage.session(), stage.session()
    jobs = [made.job_id() for _ in range(5)]
    stage.router.deliver([offer(session, job) for job in jobs for session in (first, second)])
    for session in (first, second):
        (message,) = session.to_agent()
        assert [item.job for item in message.items] == jobs


@pytest.mark.parametrize("kind", [fx.SendStart, fx.SendRelease, fx.SendCancel])
def test_a_batch_is_split_at_its_limit(stage: Stage, kind: Any) -> None:
    session = stage.session()
    jobs = [made.job_id() for _ in range(limits.BATCH_ITEMS_MAX * 2 + 1)]
    stage.router.deliver([kind(session.id, job, 1) for job in jobs])
    assert sizes(session) == [limits.BATCH_ITEMS_MAX, limits.BATCH_ITEMS_MAX, 1]
    assert [item.job for message in session.to_agent() for item in message.items] == jobs


def test_a_batch_of_exactly_the_limit_is_one_frame(stage: Stage) -> None:
    session = stage.session()
    stage.router.deliver([offer(session, made.job_id()) for _ in range(limits.BATCH_ITEMS_MAX)])
    assert sizes(session) == [limits.BATCH_ITEMS_MAX]


def test_small_awards_are_split_by_number(stage: Stage) -> None:
    session = stage.session()
    count = limits.BATCH_ITEMS_MAX + 1
    stage.router.deliver([fx.SendAward(session.id, made.job_id(), 1, made.payload()) for _ in range(count)])
    assert sizes(session) == [limits.BATCH_ITEMS_MAX, 1]


def test_large_awards_are_split_by_bytes(stage: Stage) -> None:
    """The largest request there can be, and the worst: every character takes six bytes in JSON."""
    command = ["x", "\x01" * (limits.COMMAND_CHARS_MAX - 1)]
    env = {"A": "\x01" * (limits.ENV_CHARS_MAX - 1)}
    payload = made.payload(*command, env=env)
    JobRequest.model_validate_json(payload)
    session = stage.session()
    jobs = [made.job_id() for _ in range(3)]
    stage.router.deliver([fx.SendAward(session.id, job, 1, payload) for job in jobs])
    assert sizes(session) == [1, 1, 1]
    assert max(map(len, session.frames)) <= limits.FRAME_BYTES_MAX
    assert [message.items[0].job for message in session.to_agent()] == jobs
    assert session.to_agent()[0].items[0].request.env == env


def test_what_is_for_a_session_that_is_gone_is_dropped_and_the_rest_is_sent(stage: Stage) -> None:
    gone, here = FakeSession(), stage.session()
    origin = Origin(gone.id, 1, 1)
    stage.router.deliver(
        [
            offer(gone, made.job_id()),
            fx.SendWelcome(gone.id, "red"),
            fx.EndSession(gone.id, "cluster_busy", "words"),
            fx.AnswerSubmit(origin, []),
            fx.AnswerCancel(origin, []),
            fx.Settled(origin, "red"),
            fx.Complain(gone.id, "words"),
            offer(here, made.job_id()),
        ]
    )
    assert here.types() == ["offers"]
    assert gone.frames == []


def test_a_session_that_must_end_is_told_why_and_closed(stage: Stage) -> None:
    session = stage.session()
    stage.router.deliver([fx.EndSession(session.id, "cluster_busy", "another agent is there")])
    (message,) = session.to_agent()
    assert (message.code, message.message) == ("cluster_busy", "another agent is there")
    assert message.hint
    assert session.closed == (1008, "another agent is there")


# --- to clients -----------------------------------------------------------


def test_refusals_of_the_edge_come_back_at_their_places_among_the_answers(stage: Stage) -> None:
    session = stage.session()
    origin = Origin(session.id, 5, 1)
    refused = SubmitResult(error=error(ErrorCode.UNKNOWN_CLUSTER, "there is none"))
    stage.pending.keep_submit(origin, [refused, None, refused, None, None])
    first, second = made.job_id(), made.job_id()
    outcomes = [
        fx.SubmitOutcome(first, "pending"),
        fx.SubmitOutcome(second, "completed", duplicate=True),
        fx.SubmitOutcome(None, None, code="key_reused", message="words"),
    ]
    stage.router.deliver([fx.AnswerSubmit(origin, outcomes)])
    (answer,) = session.to_client()
    assert isinstance(answer, Submitted)
    assert answer.ref == 5
    told = [(item.job, item.state, item.duplicate, item.error and item.error.code) for item in answer.items]
    assert told == [
        (None, None, False, "unknown_cluster"),
        (first, "pending", False, None),
        (None, None, False, "unknown_cluster"),
        (second, "completed", True, None),
        (None, None, False, "key_reused"),
    ]


def test_a_cancel_of_what_was_over_tells_the_state_that_the_disk_had(stage: Stage) -> None:
    session = stage.session()
    origin = Origin(session.id, 6, 2)
    over, live, unknown = made.job_id(), made.job_id(), made.job_id()
    stage.pending.keep_cancel(origin, {over: "failed", live: "running"}, [unknown])
    outcomes = [
        fx.CancelOutcome(over, "already_over", None),
        fx.CancelOutcome(live, "cancelling", JobState.RUNNING),
    ]
    stage.router.deliver([fx.AnswerCancel(origin, outcomes)])
    (answer,) = session.to_client()
    assert isinstance(answer, CancelAnswer)
    assert [(item.job, item.state, item.outcome) for item in answer.items] == [
        (over, "failed", "already_over"),
        (live, "running", "cancelling"),
    ]
    assert answer.unknown == [unknown]


async def test_two_requests_with_one_number_get_each_its_own_outcome(stage: Stage) -> None:
    engine = cast(Any, Inbox())
    first, second = Origin(1, 9, 1), Origin(1, 9, 2)
    waiting = [
        asyncio.create_task(stage.pending.settled(engine, DeleteCluster(origin, name, force=False)))
        for origin, name in ((first, "a"), (second, "b"))
    ]
    await engine.taken(2)
    stage.router.deliver([fx.Settled(second, "b", "unknown_cluster", "no b"), fx.Settled(first, "a")])
    outcomes = await asyncio.gather(*waiting)
    assert [(outcome.cluster, outcome.code) for outcome in outcomes] == [("a", None), ("b", "unknown_cluster")]


class Inbox:
    """An engine that only takes."""

    def __init__(self) -> None:
        self._commands: asyncio.Queue[object] = asyncio.Queue()

    async def put(self, command: object) -> None:
        self._commands.put_nowait(command)

    async def taken(self, count: int) -> None:
        for _ in range(count):
            await self._commands.get()


def test_the_answers_of_a_session_that_is_gone_are_forgotten(stage: Stage) -> None:
    session, other = stage.session(), stage.session()
    mine, others = Origin(session.id, 1, 1), Origin(other.id, 1, 2)
    for origin in (mine, others):
        stage.pending.keep_cancel(origin, {}, [])
        stage.pending.keep_submit(origin, [SubmitResult()])
    stage.pending.forget(session)
    assert stage.pending.cancel_states(mine) is None
    assert stage.pending.merge_submit(mine, []) == []
    assert stage.pending.cancel_states(others) == ({}, [])


def test_a_saved_cluster_may_log_in_from_then_on(stage: Stage) -> None:
    assert stage.credentials.identify("secret of red") is None
    stage.router.deliver([fx.SaveCluster(made.cluster("red"))])
    assert stage.credentials.identify("secret of red") == AgentOf("red")
    assert stage.credentials.identify("token of red") == UserOf("red")


def test_a_deleted_cluster_may_not_log_in_and_its_users_see_the_past_only(stage: Stage) -> None:
    stage.router.deliver([fx.SaveCluster(made.cluster("red")), fx.SaveCluster(made.cluster("blue"))])
    session = stage.session()
    told: list[tuple[str, int, str]] = []
    session.cluster_deleted = lambda *what: told.append(what)  # type: ignore[method-assign]
    hashes = fingerprint("secret of red"), fingerprint("token of red")
    stage.router.deliver([fx.RetireCluster("red", 0, "red~0", *hashes, 5.0)])
    assert stage.credentials.identify("secret of red") is None
    assert stage.credentials.identify("token of red") == UserOfDeleted("red~0")
    assert stage.credentials.identify("token of blue") == UserOf("blue")
    assert stage.credentials.as_of_now(UserOf("red")) == UserOfDeleted("red~0")
    assert stage.credentials.as_of_now(UserOf("red", 1)) == UserOf("red", 1)
    assert told == [("red", 0, "red~0")]


def test_a_session_that_ends_for_good_is_told_not_to_come_back(stage: Stage) -> None:
    session = stage.session()
    stage.router.deliver([fx.EndSession(session.id, "unknown_cluster", "it was deleted", final=True)])
    refused, goodbye = session.to_agent()
    assert refused.code == "unknown_cluster"
    assert (goodbye.reason, goodbye.reconnect) == ("it was deleted", False)


def test_a_welcome_asks_for_the_graph_if_it_is_wanted(stage: Stage) -> None:
    session = stage.session()
    stage.router.deliver([fx.SendWelcome(session.id, "red"), fx.SendWelcome(session.id, "red", send_graph=True)])
    assert [message.send_graph for message in session.to_agent()] == [False, True]


def test_an_offer_tells_the_terms_that_go_beyond_the_shape(stage: Stage) -> None:
    session = stage.session()
    request = JobRequest(command=["x"], queue="batch", image="img", requires=[Requirement(subsystem="io")])
    jobs = [made.job_id(), made.job_id()]
    stage.router.deliver([offer(session, jobs[0], terms=terms_of(request)), offer(session, jobs[1])])
    (message,) = session.to_agent()
    assert [item.job for item in message.items] == jobs
    full, plain = message.items
    assert (full.queue, full.image, full.dependencies, full.requires) == ("batch", True, False, request.requires)
    assert (plain.queue, plain.image, plain.requires) == (None, False, [])


def test_offers_with_long_terms_are_split_by_bytes(stage: Stage) -> None:
    values: list[bool | int | float | str] = ["ü" * 500 for _ in range(256)]
    conditions = [Condition(field="f", any_of=values) for _ in range(3)]
    request = JobRequest(command=["x"], requires=[Requirement(subsystem="io", conditions=conditions)])
    session = stage.session()
    stage.router.deliver([offer(session, made.job_id(), terms=terms_of(request)) for _ in range(3)])
    assert sizes(session) == [1, 1, 1]
    assert max(map(len, session.frames)) <= limits.FRAME_BYTES_MAX


def test_what_happened_goes_to_the_watchers_after_the_answers(stage: Stage) -> None:
    session, job = stage.session(), made.job_id()
    stage.watchers.begin(session, 3, job, 0)
    stage.watchers.caught_up(session, 3, job, [])
    origin = Origin(session.id, 1, 1)
    stage.router.deliver(
        [
            fx.Happened(job, 1, 1.0, "submitted", JobState.PENDING, {}),
            fx.AnswerSubmit(origin, [fx.SubmitOutcome(job, "pending")]),
        ]
    )
    assert session.types() == ["submitted", "events"]
