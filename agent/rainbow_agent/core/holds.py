"""The bids that were answered Yes and not yet awarded, and when each of them lapses."""

import heapq
from collections import OrderedDict

from rainbow_agent.core.model import Asked, Key

_COMPACT_AT = 64
LAPSED_MAX = 10_000


class Holds:
    def __init__(self) -> None:
        self._held: dict[Key, tuple[Asked, float]] = {}
        # Entries of holds that are gone stay in the heap until they come up or outnumber the living.
        self._lapses: list[tuple[float, Key]] = []
        self._lapsed: OrderedDict[Key, None] = OrderedDict()  # of this session, the latest ones

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: Key) -> bool:
        return key in self._held

    def has_lapsed(self, key: Key) -> bool:
        """There was a bid in this session, and its time is over."""
        return key in self._lapsed

    def add(self, key: Key, asked: Asked, until: float) -> None:
        self._lapsed.pop(key, None)
        self._held[key] = (asked, until)
        heapq.heappush(self._lapses, (until, key))
        if len(self._lapses) > 2 * len(self._held) + _COMPACT_AT:
            self._lapses = [(until, key) for key, (_, until) in self._held.items()]
            heapq.heapify(self._lapses)

    def take(self, key: Key) -> Asked | None:
        held = self._held.pop(key, None)
        return None if held is None else held[0]

    def take_all(self) -> list[Key]:
        keys = list(self._held)
        self._held.clear()
        self._lapses.clear()
        self._lapsed.clear()
        return keys

    def take_lapsed(self, now: float) -> list[Key]:
        gone = []
        while self._lapses and self._lapses[0][0] <= now:
            until, key = heapq.heappop(self._lapses)
            if self._is(key, until):
                del self._held[key]
                gone.append(key)
                self._lapsed[key] = None
                if len(self._lapsed) > LAPSED_MAX:
                    self._lapsed.popitem(last=False)
        return gone

    def next_lapse(self) -> float | None:
        while self._lapses and not self._is(self._lapses[0][1], self._lapses[0][0]):
            heapq.heappop(self._lapses)
        return self._lapses[0][0] if self._lapses else None

    def _is(self, key: Key, until: float) -> bool:
        held = self._held.get(key)
        return held is not None and held[1] == until
