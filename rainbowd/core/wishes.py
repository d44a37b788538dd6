"""What a user wants of any cluster that gets the job, whatever the policy: who is not asked, which Yes will not do."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rainbowd.core.selection.base import NO_FACTS, Bid, Facts

URGENCY_DEFAULT = 16


@dataclass(frozen=True, slots=True)
class After:
    """`until` is "start", "any" or "ok"."""

    job: str
    until: str


@dataclass(frozen=True, slots=True)
class Wishes:
    policy: str | None = None
    options: Facts = field(default_factory=lambda: NO_FACTS)
    max_cost: float | None = None
    start_within_s: float | None = None
    not_clusters: frozenset[str] = frozenset()
    group: str | None = None
    urgency: int = URGENCY_DEFAULT
    move: bool = True
    after: tuple[After, ...] = ()

    @property
    def need_answers(self) -> bool:
        """Only the clusters themselves can tell whether these can be met."""
        return self.max_cost is not None or self.start_within_s is not None


NO_WISHES = Wishes()


def left_out(wishes: Wishes, cluster: str, groups: Mapping[str, frozenset[str]]) -> str | None:
    """Why the user does not want this cluster, or None."""
    if cluster in wishes.not_clusters:
        return "not wanted: --not-cluster names it"
    if wishes.group is not None and cluster not in groups.get(wishes.group, frozenset()):
        return f"not in the group {wishes.group!r} that the job is for"
    return None


def objection(wishes: Wishes, bid: Bid) -> str | None:
    """Why this Yes will not do, or None."""
    if wishes.max_cost is not None and bid.cost > wishes.max_cost:
        return f"would cost {bid.cost:g}, and the job may cost {wishes.max_cost:g} at most"
    if wishes.start_within_s is not None and bid.eta_s > wishes.start_within_s:
        return f"would start in {bid.eta_s:.0f} s, and the job is to start within {wishes.start_within_s:g} s"
    return None
