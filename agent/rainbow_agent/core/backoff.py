"""How long to wait before connecting again: quick at first, then doubling, never in step with other agents.

The random number is an argument, so that a test or a simulation decides it.
"""

from dataclasses import dataclass

FIRST_S = 0.1
CAP_S = 15.0


@dataclass(slots=True)
class Backoff:
    first_s: float = FIRST_S
    cap_s: float = CAP_S
    failures: int = 0

    def next_delay_s(self, random: float) -> float:
        """`random` in [0, 1) spreads the delay over the upper half, so a delay is never close to nothing."""
        whole = min(self.cap_s, self.first_s * 2.0 ** min(self.failures, 32))
        self.failures += 1
        return whole * (0.5 + random / 2)

    def slow_delay_s(self, random: float) -> float:
        """For refusals that will not pass by themselves."""
        self.failures += 1
        return self.cap_s * (0.5 + random / 2)

    def welcomed(self) -> None:
        """The daemon is there and knows us. If it goes away now, that is a new outage: quick again at first."""
        self.failures = 0
