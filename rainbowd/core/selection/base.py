"""What a policy sees, and what it answers. A policy is one file, pure, and told to the daemon by an entry point."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Protocol

Value = bool | int | float | str
Facts = Mapping[str, Value]
NO_FACTS: Facts = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Bid:
    """A cluster's answer. A Yes has `eta_s` and `cost`; the rest is what the daemon knows of that cluster.

    `load` counts the jobs that this daemon has given to the cluster and that are not over: answers to a thousand
    jobs that came at once are all alike, and only this tells equal clusters apart.
    """

    cluster: str
    round: int
    yes: bool
    eta_s: float = 0.0
    cost: float = 0.0
    reason: str = ""
    eta_low_s: float | None = None
    eta_high_s: float | None = None
    asked: bool = True  # False: made by the daemon for a policy that asks nobody
    load: int = 0
    groups: frozenset[str] = frozenset()
    state: Facts = field(default_factory=lambda: NO_FACTS, repr=False)
    match: Facts = field(default_factory=lambda: NO_FACTS, repr=False)


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What a policy may know of the job. `options` are the user's over the site's; `facts` its numbers by name."""

    id: str
    attempt: int
    options: Facts = field(default_factory=lambda: NO_FACTS)
    facts: Facts = field(default_factory=lambda: NO_FACTS)


Score = tuple[float | str, ...]


@dataclass(frozen=True, slots=True)
class Ranking:
    """`order` has the best first. Who is `passed_over` said Yes and is not wanted, for the reason given.

    `scores` are for people to compare by; `why` says in words why the first of the order is the first, or, if the
    order is empty, why nobody is wanted.
    """

    order: tuple[Bid, ...]
    why: str
    scores: Mapping[str, Score] = field(default_factory=dict)
    passed_over: Mapping[str, str] = field(default_factory=dict)


class Policy(Protocol):
    """`asks` is False for a policy that decides without a question: its bids are then what the daemon knows itself.

    `measures` is True for one that reads `Bid.match`: those numbers cost more to find out than whether it fits.
    """

    name: ClassVar[str]
    asks: ClassVar[bool]
    measures: ClassVar[bool]

    def mistake(self, options: Facts) -> str | None:
        """What is wrong with these options, in words; None if they will do. Asked when a job is submitted."""
        ...

    def rank(self, bids: Sequence[Bid], job: JobFacts) -> Ranking:
        """Order the Yeses. The same bids in any order, and the same job, give the same ranking."""
        ...
