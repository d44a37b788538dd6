"""What a policy sees and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Bid:
    """A cluster's answer. A Yes has `eta_s` and `cost`."""

    cluster: str
    round: int
    yes: bool
    eta_s: float = 0.0
    cost: float = 0.0
    reason: str = ""


Score = tuple[float | str, ...]


class Policy(Protocol):
    name: str

    def score(self, bid: Bid) -> Score:
        """Smaller is better. Scores of different clusters must differ: the last part is the name."""
        ...

    def why(self, ranking: Sequence[Bid]) -> str:
        """Why the first of these won, in words for the user."""
        ...
