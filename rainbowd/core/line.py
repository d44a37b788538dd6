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
NOTHING = -math.inf
_SLACK = 64
_Entry = tuple[int, float, str]  # less urgency, when it was submitted, the job
_Head = tuple[int, float, float, str, str]  # less urgency, the user's rank, when it was submitted, the job, the user


class Shares:
    """All shares fade alike, so that time changes nothing about who has had more: ranks are logarithms, made once."""

    def __init__(self) -> None:
        self._ranks: dict[str, float] = {}

    def rank(self, user: str) -> float:
        """The smaller, the less."""
        return self._ranks.get(user, NOTHING)

    def charge(self, user: str, core_s: float, now: float) -> None:
        if core_s > 0:
            self._ranks[user] = math.log2(self.had(user, now) + core_s) + now / HALF_LIFE_S
        if len(self._ranks) > USERS_MAX:
            for one in sorted(self._ranks, key=self._ranks.__getitem__)[: USERS_MAX // 2]:
                del self._ranks[one]

    def had(self, user: str, now: float) -> float:
        return math.exp2(self.rank(user) - now / HALF_LIFE_S)


class Line:
    def __init__(self, shares: Shares) -> None:
        self._shares = shares
        self._of_user: dict[str, list[_Entry]] = {}  # each list in order
        self._where: dict[str, tuple[str, _Entry]] = {}
        self._heads: list[_Head] = []  # a heap; heads that are none any more, or of an old rank, are found at the pop

    def __len__(self) -> int:
        return len(self._where)

    def __contains__(self, job: str) -> bool:
        return job in self._where

    def __iter__(self) -> Iterator[str]:
        """In the order of arrival here."""
        return iter(self._where)

    def add(self, user: str, urgency: int, submitted_at: float, job: str) -> None:
        if job in self._where:
            return
        entry = (-urgency, submitted_at, job)
        entries = self._of_user.setdefault(user, [])
        insort(entries, entry)
        self._where[job] = (user, entry)
        if entries[0] is entry:
            self._push(user)

    def discard(self, job: str) -> None:
        if job not in self._where:
            return
        user, entry = self._where.pop(job)
        entries = self._of_user[user]
        place = bisect_left(entries, entry)
        del entries[place]
        if not entries:
            del self._of_user[user]
        elif place == 0:
            self._push(user)

    def pop(self) -> str:
        """The next job. There must be one."""
        while True:
            less_urgency, rank, submitted_at, job, user = heappop(self._heads)
            entries = self._of_user.get(user)
            if entries is None or entries[0] != (less_urgency, submitted_at, job):
                continue
            if rank != self._shares.rank(user):  # charged since
                self._push(user)
                continue
            self.discard(job)
            return job

    def in_order(self) -> Iterator[str]:
        """All of them. The line must not change meanwhile."""
        heads = [(self._head(user, 0), 0) for user in self._of_user]
        heapify(heads)
        while heads:
            (_, _, _, job, user), place = heappop(heads)
            yield job
            if place + 1 < len(self._of_user[user]):
                heappush(heads, (self._head(user, place + 1), place + 1))

    def _head(self, user: str, place: int) -> _Head:
        less_urgency, submitted_at, job = self._of_user[user][place]
        return (less_urgency, self._shares.rank(user), submitted_at, job, user)

    def _push(self, user: str) -> None:
        heappush(self._heads, self._head(user, 0))
        if len(self._heads) > 2 * len(self._of_user) + _SLACK:
            self._heads = [self._head(one, 0) for one in self._of_user]
            heapify(self._heads)
