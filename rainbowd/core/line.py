"""Pending jobs in a fair order: the more urgent first, then whose user has had the least lately, then by age.

A user's share is what their jobs were given, in core seconds, and fades with time. It is an order, not a quota:
nobody waits for it unless somebody else does.
"""

import math
from bisect import bisect_left, insort
from collections.abc import Iterator
from heapq import heapify, heappop, heappush

HALF_LIFE_S = 24 * 3600.0
USERS_MAX = 10_000  # whose share is remembered; beyond that, those who had the least are forgotten
_Entry = tuple[int, float, str]  # less urgency, when it was submitted, the job
_Rank = tuple[int, float, float, str]


class Shares:
    def __init__(self) -> None:
        self._had: dict[str, tuple[float, float]] = {}  # how much, as of when

    def charge(self, user: str, core_s: float, now: float) -> None:
        self._had[user] = (self.had(user, now) + core_s, now)
        if len(self._had) > USERS_MAX:
            for one in sorted(self._had, key=lambda other: self.had(other, now))[: USERS_MAX // 2]:
                del self._had[one]

    def had(self, user: str, now: float) -> float:
        amount, at = self._had.get(user, (0.0, now))
        return amount * math.exp2(max(0.0, now - at) / -HALF_LIFE_S)


class Line:
    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._of_user: dict[str, list[_Entry]] = {}  # each list in order
        self._where: dict[str, tuple[str, _Entry]] = {}

    def __len__(self) -> int:
        return len(self._where)

    def __contains__(self, job: str) -> bool:
        return job in self._where

    def __iter__(self) -> Iterator[str]:
        """In the order of arrival here."""
        return iter(self._where)

    def add(self, user: str, urgency: int, submitted_at: float, job: str) -> None:
        if job not in self._where:
            entry = (-urgency, submitted_at, job)
            insort(self._of_user.setdefault(user, []), entry)
            self._where[job] = (user, entry)

    def discard(self, job: str) -> None:
        if job in self._where:
            user, entry = self._where.pop(job)
            entries = self._of_user[user]
            del entries[bisect_left(entries, entry)]
            if not entries:
                del self._of_user[user]

    def pop(self, now: float) -> str:
        """The next job. There must be one."""
        job = next(self.in_order(now))
        self.discard(job)
        return job

    def in_order(self, now: float) -> Iterator[str]:
        """All of them. The line must not change meanwhile."""
        if len(self._of_user) == 1:
            (entries,) = self._of_user.values()
            yield from (job for _, _, job in entries)
            return
        heads = [self._head(user, 0, now) for user in self._of_user]
        heapify(heads)
        while heads:
            (_, _, _, job), user, place = heappop(heads)
            yield job
            if place + 1 < len(self._of_user[user]):
                heappush(heads, self._head(user, place + 1, now))

    def _head(self, user: str, place: int, now: float) -> tuple[_Rank, str, int]:
        less_urgency, submitted_at, job = self._of_user[user][place]
        return (less_urgency, self._shares.had(user, now), submitted_at, job), user, place
