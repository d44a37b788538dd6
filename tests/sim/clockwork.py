"""Virtual time and the network. Everything random comes from one seeded generator, so a seed is a whole run."""

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass


class Clockwork:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 1_000.0
        self._count = 0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []

    def at(self, when: float, action: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._queue, (max(when, self.now), self._count, action))

    def after(self, delay: float, action: Callable[[], None]) -> None:
        self.at(self.now + delay, action)

    def step(self) -> bool:
        if not self._queue:
            return False
        self.now, _, action = heapq.heappop(self._queue)
        action()
        return True

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability


@dataclass
class Network:
    """Delays every message; while `unkind`, also loses, repeats and so reorders them.

    TCP does none of this within a connection. The core must bear it all the same: what a half-open
    connection, a proxy or a bug does to a session is worse than what TCP promises.
    """

    clockwork: Clockwork
    unkind: bool = True

    def carry(self, deliver: Callable[[], None]) -> None:
        copies = 1
        if self.unkind and self.clockwork.chance(0.03):
            copies = 0
        elif self.unkind and self.clockwork.chance(0.05):
            copies = 2
        for _ in range(copies):
            slow = 2.0 if self.unkind and self.clockwork.chance(0.1) else 0.02
            self.clockwork.after(self.clockwork.random.uniform(0.001, slow), deliver)
