"""`spillover`: clusters in an order of preference; the next one only when the wait at those before it is too long.

The option `order` lists clusters and groups (`blue,@cloud,red`); who is not listed comes last. The first of these in
which somebody starts the job within `threshold_s` gets it. If nobody does, the earliest of all gets it: when every
place is full, preference only costs time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rainbowd.core.selection.base import Bid, Facts, JobFacts, Ranking, Score
from rainbowd.core.selection.bids import by_start, nobody, ranked
from rainbowd.core.selection.options import MistakenOptionError, mistake_in, number, shown, text, unknown
from rainbowd.core.selection.words import start_words, tie_words, wait_words

ORDER_CHARS_MAX = 8 * 1024
THRESHOLD_S, THRESHOLD_S_MAX = 600.0, 1e9
_OPTIONS = ("order", "threshold_s")
_NAMED_MAX = 3  # in words; the bids show all
_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


@dataclass(frozen=True, slots=True)
class _Preference:
    order: tuple[str, ...]
    threshold_s: float

    def place(self, bid: Bid) -> int:
        """Where the cluster stands: by the first of the list that names it or a group of it."""
        for place, name in enumerate(self.order):
            if name == bid.cluster or (name.startswith("@") and name[1:] in bid.groups):
                return place
        return len(self.order)

    def in_time(self, bid: Bid) -> bool:
        return bid.eta_s <= self.threshold_s

    def start_words(self, bid: Bid) -> str:
        """With how it came into the order, if that is not plain."""
        place, start = self.place(bid), f"{bid.cluster} {start_words(bid)}"
        if place == len(self.order):
            return f"{start} (it is not in the order, and so the last)"
        return f"{start} (it is in {self.order[place]})" if self.order[place].startswith("@") else start


class Spillover:
    name: ClassVar[str] = "spillover"
    asks: ClassVar[bool] = True
    measures: ClassVar[bool] = False

    def mistake(self, options: Facts) -> str | None:
        return unknown(options, _OPTIONS) or mistake_in(_read, options)

    def rank(self, bids: Sequence[Bid], job: JobFacts) -> Ranking:
        try:
            preference = _read(job.options)
        except MistakenOptionError as mistake:
            return nobody(bids, f"the policy's options are mistaken: {mistake}")

        def score(bid: Bid) -> Score:
            eta, cost, load, name = by_start(bid)
            if preference.in_time(bid):
                return 0, preference.place(bid), eta, cost, load, name
            return 1, eta, preference.place(bid), cost, load, name

        return ranked(bids, score, lambda order: _why(order, preference))


def _why(order: Sequence[Bid], preference: _Preference) -> str:
    best, *others = order
    threshold = wait_words(preference.threshold_s)
    if not preference.in_time(best):
        return (
            f"nobody starts it within {threshold}, so the earliest gets it: "
            f"{best.cluster} {start_words(best)}{_next_wait(best, others)}"
        )
    start = preference.start_words(best)
    before = [bid for bid in others if preference.place(bid) < preference.place(best)]
    if before:
        before.sort(key=lambda bid: (preference.place(bid), *by_start(bid)))
        full = [f"{bid.cluster} {wait_words(bid.eta_s)}" for bid in before[:_NAMED_MAX]]
        full += [f"and {len(before) - _NAMED_MAX} more"] if len(before) > _NAMED_MAX else []
        return f"{start}; those preferred to it would take longer than {threshold} ({', '.join(full)})"
    if others and preference.place(others[0]) == preference.place(best) and preference.in_time(others[0]):
        told = f"among those preferred alike it comes before {others[0].cluster}, {tie_words(best, others[0])}"
        return f"{start}; {told}"
    return f"{start}, within {threshold}, and nobody who said Yes is preferred to it"


def _next_wait(best: Bid, others: Sequence[Bid]) -> str:
    if not others:
        return " (the only Yes)"
    if others[0].eta_s == best.eta_s:
        return f", as {others[0].cluster} does, which is not preferred to it"
    return f", {others[0].cluster} in {wait_words(others[0].eta_s)}"


def _read(options: Facts) -> _Preference:
    words = text(options, "order", chars_max=ORDER_CHARS_MAX)
    order = tuple(part.strip() for part in words.split(",")) if words.strip() else ()
    if not order:
        raise MistakenOptionError("order: list the clusters and @groups to prefer, as in order=blue,@cloud,red")
    for name in order:
        plain = name.removeprefix("@")
        if not plain or not _NAME_CHARS.issuperset(plain):
            raise MistakenOptionError(f"order: {shown(name)} is not the name of a cluster or @group, as in blue,@cloud")
    twice = next((name for name in order if order.count(name) > 1), None) if len(set(order)) < len(order) else None
    if twice is not None:
        raise MistakenOptionError(f"order: {twice} is there twice; keep one of them")
    return _Preference(order, number(options, "threshold_s", THRESHOLD_S, most=THRESHOLD_S_MAX))
