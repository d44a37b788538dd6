"""The order in which pending jobs get their auctions: the more urgent first, then who has had the least, then age.

A user's share is what their jobs were given lately, in core seconds, and fades with time. It is an order, not a
quota: nobody waits for it unless somebody else does.
"""

import math
from heapq import heappop, heappush

HALF_LIFE_S = 24 * 3600.0
USERS_MAX = 10_000  # whose share is remembered; beyond that, those who had the least are forgotten
_Entry = tuple[int, float, str]  # less urgency, when it was submitted, the job


class Line:
    def __init__(self) -> None:
        self._of_user: dict[str, list[_Entry]] = {}
        self._had: dict[str, tuple[float, float]] = {}  # how much, as of when
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, user: str, urgency: int, submitted_at: float, job: str) -> None:
        heappush(self._of_user.setdefault(user, []), (-urgency, submitted_at, job))
        self._length += 1

    def pop(self, now: float) -> str:
        """The next job. There must be one."""
        if len(self._of_user) == 1:
            user = next(iter(self._of_user))
        else:
            user = min(self._of_user, key=lambda one: self._rank(one, now))
        entries = self._of_user[user]
        _, _, job = heappop(entries)
        if not entries:
            del self._of_user[user]
        self._length -= 1
        return job

    def charge(self, user: str, core_s: float, now: float) -> None:
        self._had[user] = (self.had(user, now) + core_s, now)
        if len(self._had) > USERS_MAX:
            for one in sorted(self._had, key=lambda other: self.had(other, now))[: USERS_MAX // 2]:
                del self._had[one]

    def had(self, user: str, now: float) -> float:
        amount, at = self._had.get(user, (0.0, now))
        return amount * math.exp2(max(0.0, now - at) / -HALF_LIFE_S)

    def _rank(self, user: str, now: float) -> tuple[int, float, float, str]:
        less_urgency, submitted_at, job = self._of_user[user][0]
        return less_urgency, self.had(user, now), submitted_at, job
