"""The events of one `watch`, on their way from the session's reader to whoever iterates over them.

The daemon keeps one watch for a job and a session: a second one takes the place
of the first, and from then on its number is on the frames of both. So a feed
also gets frames that were sent for others; what it has seen already is dropped
by the consumer, and the order of a job's events is kept here.
"""

import asyncio
from collections import deque

from rainbow_client.errors import InvalidRequest, RainbowError
from rainbow_protocol.messages.client import Events

FEED_FRAMES_MAX = 256  # a slower consumer is made to ask again from where it is


class Feed:
    """Ends when the session does, on a refusal, or when its consumer is too slow."""

    def __init__(self) -> None:
        self._frames: deque[Events] = deque()
        self._news = asyncio.Event()
        self._ended = False
        self._cause: RainbowError | None = None
        self._replaying: set[int] = set()
        self._held: list[Events] = []

    def hold_until_live(self, number: int) -> None:
        """For a watch of jobs that are watched already: an event sent for the other watch may overtake the replay."""
        self._replaying.add(number)

    def push(self, frame: Events) -> None:
        if not self._replaying:
            self._queue(frame)
            return
        self._held.append(frame)
        if frame.live:
            self._replaying.discard(frame.ref)
        if not self._replaying:
            self._queue(_in_order(self._held))
            self._held = []
        elif len(self._held) > FEED_FRAMES_MAX:
            self.end(InvalidRequest("too many jobs are watched more than once", "Watch them in clients of their own."))

    def end(self, cause: RainbowError | None = None) -> None:
        self._ended, self._cause = True, cause
        self._news.set()

    async def next(self) -> Events | None:
        """The next frame; None when there will be none. What arrived before the end still comes."""
        while not self._frames:
            if self._cause is not None:
                raise self._cause
            if self._ended:
                return None
            self._news.clear()
            await self._news.wait()
        return self._frames.popleft()

    def _queue(self, frame: Events) -> None:
        if len(self._frames) < FEED_FRAMES_MAX and not self._ended:
            self._frames.append(frame)
        else:
            self._ended = True
        self._news.set()


def _in_order(frames: list[Events]) -> Events:
    events = {(event.job, event.seq): event for frame in frames for event in frame.items}
    return Events.model_construct(  # not from the wire: more than a page may be in it
        ref=frames[-1].ref,
        items=sorted(events.values(), key=lambda event: event.seq),
        live=True,
        unknown=[job for frame in frames for job in frame.unknown],
    )
