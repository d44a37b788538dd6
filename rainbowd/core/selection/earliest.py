"""`earliest`: the cluster that would start the job first.

Ties go to the cheaper one, then to the one that has got the fewest jobs that are not over, then by name.
It has no options.
"""

from collections.abc import Sequence
from typing import ClassVar

from rainbowd.core.selection.base import Bid, Facts, JobFacts, Ranking
from rainbowd.core.selection.bids import by_start, ranked
from rainbowd.core.selection.options import unknown
from rainbowd.core.selection.words import only_yes, start_words, wait_words


class Earliest:
    name: ClassVar[str] = "earliest"
    asks: ClassVar[bool] = True
    measures: ClassVar[bool] = False

    def mistake(self, options: Facts) -> str | None:
        return unknown(options, ())

    def rank(self, bids: Sequence[Bid], job: JobFacts) -> Ranking:
        return ranked(bids, by_start, _why)


def _why(order: Sequence[Bid]) -> str:
    best, *others = order
    if not others:
        return only_yes(best)
    start, other = start_words(best), others[0]
    if best.eta_s < other.eta_s:
        return f"{best.cluster} {start}, sooner than {other.cluster} ({wait_words(other.eta_s)})"
    if best.cost < other.cost:
        return f"{best.cluster} {start} as {other.cluster} does, and is cheaper ({best.cost:g} against {other.cost:g})"
    if best.load < other.load:
        jobs = f"{best.load} against {other.load}"
        return f"{best.cluster} {start} for the same cost as {other.cluster}, and has fewer jobs from here ({jobs})"
    return f"{best.cluster} {start} for the same cost as {other.cluster}; the name decided"
