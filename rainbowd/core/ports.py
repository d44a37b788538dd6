"""What the core asks of the resource model, and nothing about how it answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

_NO_NUMBERS: Mapping[str, int | float] = MappingProxyType({})  # one for all: a thousand verdicts a job are common


@dataclass(frozen=True, slots=True)
class Verdict:
    """Could the empty cluster hold the job? `reason` says why not, in words for the user.

    A Yes tells how many `instances` fit at once, on how many nodes, and `numbers` for bids and policies; a No what
    was `needed` where the cluster could only `have` less.
    """

    fits: bool
    reason: str = ""
    needed: int | float | str | None = None
    have: int | float | str | None = None
    instances: int = 0
    nodes_matched: int = 0
    numbers: Mapping[str, int | float] = field(default_factory=lambda: _NO_NUMBERS)


class Matcher(Protocol):
    def match(self, ask: Any, resources: Any) -> Verdict:
        """Decide for one cluster, whose `resources` are what it registered. Pure and deterministic.

        `ask` is what a job asks for, prepared once; like `resources` it is opaque to the core.
        """
        ...

    def match_all(self, ask: Any, clusters: Iterable[Any]) -> Sequence[Verdict]:
        """The same for many clusters, in their order."""
        ...

    def measure(self, ask: Any, resources: Any) -> Verdict:
        """The same verdict with all of its numbers, which cost more to find out."""
        ...
