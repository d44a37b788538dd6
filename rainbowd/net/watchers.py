"""Who watches which job. Events are handed out after their commit, in order, without gaps.

A watch first replays the past from disk. What happens meanwhile is kept aside
and follows when the replay has caught up; the sequence numbers sort out what
was seen in both.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import orjson

from rainbow_protocol import limits
from rainbow_protocol.job import TERMINAL_STATES
from rainbow_protocol.messages.client import Event, Events
from rainbowd.core.effects import Happened
from rainbowd.net.session import Session

_PAGE_BYTES_MAX = limits.FRAME_BYTES_MAX // 4
_EVENT_BYTES = 256  # an event without its data


@dataclass(slots=True)
class _Watch:
    session: Session
    ref: int
    seen: int
    replaying: bool = True
    aside: list[Event] = field(default_factory=list)


class Watchers:
    """A session may watch a job several times; each watch is known by the request that asked for it."""

    def __init__(self) -> None:
        self._by_job: dict[str, dict[tuple[int, int], _Watch]] = {}
        self._by_session: dict[int, set[tuple[str, int]]] = {}

    def count(self, session: Session) -> int:
        return len(self._by_session.get(session.id, ()))

    def begin(self, session: Session, ref: int, job: str, since: int) -> None:
        self._by_job.setdefault(job, {})[session.id, ref] = _Watch(session, ref, since)
        self._by_session.setdefault(session.id, set()).add((job, ref))

    def caught_up(self, session: Session, ref: int, job: str, past: Iterable[Event]) -> list[Event]:
        """The replay has been read: what to send of it, then of what was kept aside. Live from here on."""
        watch = self._by_job.get(job, {}).get((session.id, ref))
        if watch is None:
            return []
        fresh = []
        for event in [*past, *watch.aside]:
            if event.seq > watch.seen:
                watch.seen = event.seq
                fresh.append(event)
        watch.replaying, watch.aside = False, []
        if fresh and fresh[-1].state in TERMINAL_STATES:
            self.end(session, ref, job)
        return fresh

    def end(self, session: Session, ref: int, job: str) -> None:
        watches = self._by_job.get(job, {})
        watches.pop((session.id, ref), None)
        if not watches:
            self._by_job.pop(job, None)
        self._by_session.get(session.id, set()).discard((job, ref))

    def end_all(self, session: Session, jobs: Iterable[str]) -> None:
        """However often the session watches them."""
        given = set(jobs)
        for job, ref in [watch for watch in self._by_session.get(session.id, ()) if watch[0] in given]:
            self.end(session, ref, job)

    def forget(self, session: Session) -> None:
        for job, ref in list(self._by_session.pop(session.id, ())):
            self.end(session, ref, job)

    def publish(self, happenings: Iterable[Happened]) -> None:
        batches: dict[tuple[int, int], tuple[Session, list[Event]]] = {}
        for happened in happenings:
            watches = self._by_job.get(happened.job)
            if not watches:
                continue
            event = Event(
                job=happened.job,
                seq=happened.seq,
                at=happened.at,
                event=happened.event,
                state=happened.state.value,
                data=happened.data,
            )
            for watch in list(watches.values()):
                if watch.replaying:
                    watch.aside.append(event)
                elif event.seq > watch.seen:
                    watch.seen = event.seq
                    batches.setdefault((watch.session.id, watch.ref), (watch.session, []))[1].append(event)
                    if event.state in TERMINAL_STATES:
                        self.end(watch.session, watch.ref, event.job)
        for (_, ref), (session, events) in batches.items():
            for page in pages(events):
                session.send(Events(ref=ref, items=page))


def pages(events: Sequence[Event]) -> Iterator[list[Event]]:
    """As many as fit into a frame each, by number and by bytes: an auction among many clusters is a long event."""
    page: list[Event] = []
    size = 0
    for event in events:
        weight = _EVENT_BYTES + len(orjson.dumps(event.data))
        if page and (len(page) >= limits.EVENTS_PAGE_MAX or size + weight > _PAGE_BYTES_MAX):
            yield page
            page, size = [], 0
        page.append(event)
        size += weight
    if page:
        yield page
