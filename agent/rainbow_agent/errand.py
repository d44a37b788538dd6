"""What makes an agent's life another one than to bid for ever: how many jobs it takes, which, and who looks on."""

from collections.abc import Sequence
from typing import Protocol

from rainbow_agent.core import commands as c
from rainbow_agent.core import effects as e
from rainbow_protocol.messages import agent as wire


class Errand(Protocol):
    @property
    def take_max(self) -> int | None:
        """How many jobs; no limit if None."""
        ...

    @property
    def runs_jobs(self) -> bool:
        """Else what is taken stays in the journal, and is not handed back at the end either."""
        ...

    def objection(self, asked: wire.Offer | wire.Award) -> str | None:
        """Why it is not wanted, or None."""
        ...

    def saw(self, command: c.Command, effects: Sequence[e.Effect]) -> None:
        """One step, after it is on disk and done."""
        ...
