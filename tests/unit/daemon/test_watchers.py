"""A watch: the past and what happens meanwhile, in order, without a gap and without a repeat."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rainbow_protocol import limits
from rainbow_protocol.messages.client import Event, Events
from rainbowd.core.effects import Happened
from rainbowd.core.transitions import JobState
from rainbowd.net.watchers import Watchers, pages
from tests.unit.daemon.fake_session import FakeSession

JOB, OTHER = "0000000000aa", "0000000000bb"


def happened(seq: int, state: JobState = JobState.PENDING, job: str = JOB, **data: Any) -> Happened:
    return Happened(job, seq, float(seq), "something", state, data)


def past(*seqs: int, state: str = "pending", job: str = JOB) -> list[Event]:
    return [Event(job=job, seq=seq, at=0.0, event="something", state=state) for seq in seqs]  # type: ignore[arg-type]


def told(session: FakeSession) -> list[int]:
    frames = session.to_client()
    assert all(isinstance(frame, Events) for frame in frames)
    return [event.seq for frame in frames for event in frame.items]


@given(total=st.integers(0, 12), data=st.data())
def test_replay_and_live_meet_without_gap_or_repeat(total: int, data: st.DataObject) -> None:
    """Events are committed, then published; a watch begins, reads the disk, and is caught up, at any points of it."""
    since = data.draw(st.integers(0, total), "since")
    begin = data.draw(st.integers(0, total), "published when the watch begins")
    caught_up = data.draw(st.integers(begin, total), "published when it has caught up")
    on_disk = data.draw(st.integers(begin, min(total, caught_up + 1)), "committed when the disk is read")
    session, watchers = FakeSession(), Watchers()
    watchers.publish(happened(seq) for seq in range(1, begin + 1))
    watchers.begin(session, 7, JOB, since)
    watchers.publish(happened(seq) for seq in range(begin + 1, caught_up + 1))
    replay = watchers.caught_up(session, 7, JOB, past(*range(since + 1, on_disk + 1)))
    watchers.publish(happened(seq) for seq in range(caught_up + 1, total + 1))
    assert [event.seq for event in replay] + told(session) == list(range(since + 1, total + 1))


def watching(session: FakeSession, watchers: Watchers, *jobs: str, ref: int = 7) -> None:
    for job in jobs:
        watchers.begin(session, ref, job, 0)
        watchers.caught_up(session, ref, job, [])


def test_nothing_is_told_of_other_jobs_or_to_other_sessions() -> None:
    session, bystander, watchers = FakeSession(), FakeSession(), Watchers()
    watching(session, watchers, JOB)
    watching(bystander, watchers, OTHER)
    watchers.publish([happened(1), happened(1, job=OTHER), happened(2)])
    assert told(session) == [1, 2]
    assert told(bystander) == [1]


def test_a_batch_is_one_frame_for_each_watch_with_its_number() -> None:
    session, watchers = FakeSession(), Watchers()
    watching(session, watchers, JOB, ref=1)
    watching(session, watchers, OTHER, ref=2)
    watchers.publish([happened(1), happened(1, job=OTHER), happened(2)])
    assert [(frame.ref, len(frame.items), frame.live) for frame in session.to_client()] == [
        (1, 2, False),
        (2, 1, False),
    ]


def test_a_watch_ends_with_the_terminal_event() -> None:
    session, watchers = FakeSession(), Watchers()
    watching(session, watchers, JOB)
    watchers.publish([happened(1, JobState.FAILED)])
    assert told(session) == [1]
    assert watchers.count(session) == 0


def test_a_watch_ends_when_the_terminal_event_is_in_the_past() -> None:
    session, watchers = FakeSession(), Watchers()
    watchers.begin(session, 7, JOB, 0)
    assert len(watchers.caught_up(session, 7, JOB, past(1, 2, state="lost"))) == 2
    assert watchers.count(session) == 0


def test_a_watch_ends_when_the_terminal_event_comes_during_the_replay() -> None:
    session, watchers = FakeSession(), Watchers()
    watchers.begin(session, 7, JOB, 0)
    watchers.publish([happened(2, JobState.COMPLETED)])
    assert [event.seq for event in watchers.caught_up(session, 7, JOB, past(1))] == [1, 2]
    assert watchers.count(session) == 0


def test_after_unwatch_nothing_more_is_told_even_in_the_middle_of_a_replay() -> None:
    session, watchers = FakeSession(), Watchers()
    watching(session, watchers, JOB)
    watchers.begin(session, 7, OTHER, 0)
    watchers.end_all(session, [JOB])
    watchers.end_all(session, [OTHER])
    watchers.publish([happened(1), happened(1, job=OTHER)])
    assert watchers.caught_up(session, 7, OTHER, past(1, job=OTHER)) == []
    assert session.frames == []
    assert watchers.count(session) == 0


def test_a_session_that_is_gone_is_forgotten_and_the_others_go_on() -> None:
    gone, here, watchers = FakeSession(), FakeSession(), Watchers()
    watching(gone, watchers, JOB, OTHER)
    watching(here, watchers, JOB)
    watchers.forget(gone)
    watchers.publish([happened(1), happened(1, job=OTHER)])
    assert gone.frames == []
    assert told(here) == [1]
    assert watchers.count(gone) == 0


def test_a_job_watched_twice_is_told_to_each_watch_until_both_are_ended() -> None:
    session, watchers = FakeSession(), Watchers()
    watching(session, watchers, JOB, ref=1)
    watching(session, watchers, JOB, ref=2)
    watchers.publish([happened(1)])
    assert [frame.ref for frame in session.to_client()] == [1, 2]
    assert watchers.count(session) == 2
    watchers.end(session, 1, JOB)
    watchers.publish([happened(2)])
    assert [frame.ref for frame in session.to_client()] == [1, 2, 2]
    watching(session, watchers, JOB, ref=1)
    watchers.end_all(session, [JOB])
    assert watchers.count(session) == 0


def test_frames_of_events_are_split_by_number() -> None:
    session, watchers = FakeSession(), Watchers()
    watching(session, watchers, JOB)
    watchers.publish(happened(seq) for seq in range(1, limits.EVENTS_PAGE_MAX * 2 + 2))
    assert [len(frame.items) for frame in session.to_client()] == [limits.EVENTS_PAGE_MAX] * 2 + [1]
    assert told(session) == list(range(1, limits.EVENTS_PAGE_MAX * 2 + 2))


def test_frames_of_events_are_split_by_bytes() -> None:
    """A thousand jobs that are offered to two hundred clusters in one batch make more than one frame can hold."""
    clusters = [{"cluster": f"c{number}", "verdict": "filtered", "reason": "é" * 60} for number in range(200)]
    session, watchers = FakeSession(), Watchers()
    watching(session, watchers, JOB)
    watchers.publish(happened(seq, clusters=clusters) for seq in range(1, 1_001))
    assert told(session) == list(range(1, 1_001))
    assert max(map(len, session.frames)) <= limits.FRAME_BYTES_MAX


def test_no_events_are_no_frame() -> None:
    assert list(pages([])) == []


def test_a_session_may_watch_a_job_twice_and_each_watch_gets_everything_once() -> None:
    session, watchers = FakeSession(), Watchers()
    watching(session, watchers, JOB, ref=7)
    watchers.publish([happened(1)])
    watchers.begin(session, 8, JOB, 0)
    watchers.publish([happened(2)])
    assert [event.seq for event in watchers.caught_up(session, 8, JOB, past(1))] == [1, 2]
    watchers.publish([happened(3, JobState.LOST)])
    frames = [frame for frame in session.to_client() if isinstance(frame, Events)]
    assert [(frame.ref, event.seq) for frame in frames for event in frame.items] == [(7, 1), (7, 2), (7, 3), (8, 3)]
    assert watchers.count(session) == 0
