"""`cheapest`: the cluster that would charge least.

Ties go to the one that starts it sooner, then to the one that has got the fewest jobs that are not over, then by name.
It has no options; `--start-within` bounds how long a low price may take.
"""

from collections.abc import Sequence
from typing import ClassVar

from rainbowd.core.selection.base import Bid, Facts, JobFacts, Ranking, Score
from rainbowd.core.selection.bids import ranked
from rainbowd.core.selection.options import unknown
from rainbowd.core.selection.words import load_words, only_yes, start_words, wait_words


class Cheapest:
    name: ClassVar[str] = "cheapest"
    asks: ClassVar[bool] = True
    measures: ClassVar[bool] = False

    def mistake(self, options: Facts) -> str | None:
        return unknown(options, ())

    def rank(self, bids: Sequence[Bid], job: JobFacts) -> Ranking:
        return ranked(bids, _score, _why)


def _score(bid: Bid) -> Score:
    return bid.cost, bid.eta_s, bid.load, bid.cluster


def _why(order: Sequence[Bid]) -> str:
    best, *others = order
    if not others:
        return only_yes(best)
    costs, other = f"{best.cluster} costs {best.cost:g}", others[0]
    if best.cost < other.cost:
        return f"{costs}, less than {other.cluster} ({other.cost:g})"
    if best.eta_s < other.eta_s:
        sooner = f"{start_words(best)}, sooner than {other.cluster} ({wait_words(other.eta_s)})"
        return f"{costs} as {other.cluster} does, and {sooner}"
    return f"{costs} as {other.cluster} does, starts it as soon, {load_words(best, other)}"
