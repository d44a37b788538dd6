"""What a client's session keeps count of, with a real store and without a socket."""

from collections.abc import Callable
from typing import Any, cast

import pytest

from rainbow_protocol import limits
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.messages import client as wire
from rainbowd.core import effects as fx
from rainbowd.core.state import Job
from rainbowd.core.transitions import JobState
from rainbowd.net.auth import Credentials, UserOf
from rainbowd.net.client_session import ClientSession
from rainbowd.net.pending import PendingAnswers
from rainbowd.net.relay import OutputRelay
from rainbowd.net.services import Services
from rainbowd.net.watchers import Watchers
from rainbowd.store.repo import Repo
from tests.unit.daemon import made
from tests.unit.daemon.fake_session import FakeSession

Take = Callable[[Any], Any]


class Session(FakeSession, ClientSession):
    """The real one, with a queue that the test reads instead of a socket."""

    def __init__(self, services: Services) -> None:
        ClientSession.__init__(self, cast(Any, None), UserOf("red"), services)
        self.frames = []


@pytest.fixture
async def session(repo: Repo) -> Session:
    unused = cast(Any, None)
    services = Services(
        unused, repo, Credentials(None, []), Watchers(), PendingAnswers(), OutputRelay(), {}, unused, unused, unused
    )
    opened = Session(services)
    await opened._take(wire.ClientHello(id=1))
    opened.frames.clear()
    return opened


async def stored(repo: Repo, *jobs: Job) -> list[str]:
    await repo.commit(made.saved(*jobs))
    return [job.id for job in jobs]


async def test_there_is_a_limit_to_what_one_session_watches(
    session: Session, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WATCHES_PER_SESSION_MAX", 3)
    jobs = await stored(repo, *(made.job() for _ in range(4)))
    await session._take(wire.Watch(id=2, jobs=jobs[:2]))
    with pytest.raises(ProtocolError) as refused:
        await session._take(wire.Watch(id=3, jobs=jobs[2:]))
    assert (refused.value.code, refused.value.ref) == (ErrorCode.TOO_MANY, 3)
    await session._take(wire.Unwatch(id=4, jobs=jobs[:1]))
    await session._take(wire.Watch(id=5, jobs=jobs[2:]))


async def test_a_watch_that_begins_behind_the_end_does_not_count_as_open(
    session: Session, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a client that asks again for what it has seen would run into the limit."""
    monkeypatch.setattr(limits, "WATCHES_PER_SESSION_MAX", 1)
    for _ in range(3):
        (job,) = await stored(repo, made.job(state=JobState.COMPLETED))
        await session._take(wire.Watch(id=2, jobs=[job], since=1))
    assert [message.live for message in session.to_client()] == [True] * 3


async def test_a_history_of_any_length_is_replayed_without_a_gap(session: Session, repo: Repo) -> None:
    job = made.job()
    await stored(repo, job)
    count = limits.HISTORY_EVENTS_MAX * 3 + 1
    await repo.commit([fx.Happened(job.id, seq, 1.0, "awarded", JobState.AWARDED, {}) for seq in range(2, count + 1)])
    await session._take(wire.Watch(id=2, jobs=[job.id], since=1))
    seqs = [event.seq for message in session.to_client() for event in message.items]
    assert seqs == list(range(2, count + 1))
