"""`balanced`: a short wait and a low cost, weighed against each other.

The score is  e·ln(1 + eta_s/eta_floor_s) + c·ln(1 + cost/cost_floor),  with e and c the two weights made to add up
to 1; the smallest wins. Logarithms make it a matter of ratios: with equal weights, half the wait is worth twice the
cost, whatever the currency. The floors say what hardly counts any more, and let nothing be divided by a wait or a
price of zero. A score depends on no other bid, so that a bid which loses anyway can never change who wins, as it
could if values were scaled to the largest or the smallest of the auction.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rainbowd.core.selection.base import Bid, Facts, JobFacts, Ranking, Score
from rainbowd.core.selection.bids import by_start, nobody, ranked
from rainbowd.core.selection.options import MistakenOptionError, mistake_in, number, unknown
from rainbowd.core.selection.words import only_yes, tie_words, wait_words

WEIGHT_MAX = 1e6
FLOOR_MIN, FLOOR_MAX = 1e-6, 1e9
ETA_FLOOR_S, COST_FLOOR = 60.0, 0.1  # near zero a minute weighs as much as a cost of 0.1
_OPTIONS = ("eta_weight", "cost_weight", "eta_floor_s", "cost_floor")


@dataclass(frozen=True, slots=True)
class _Balance:
    eta_share: float
    cost_share: float
    eta_floor_s: float
    cost_floor: float

    def of(self, bid: Bid) -> float:
        wait = self.eta_share * math.log1p(bid.eta_s / self.eta_floor_s)
        return wait + self.cost_share * math.log1p(bid.cost / self.cost_floor)


class Balanced:
    name: ClassVar[str] = "balanced"
    asks: ClassVar[bool] = True
    measures: ClassVar[bool] = False

    def mistake(self, options: Facts) -> str | None:
        return unknown(options, _OPTIONS) or mistake_in(_read, options)

    def rank(self, bids: Sequence[Bid], job: JobFacts) -> Ranking:
        try:
            balance = _read(job.options)
        except MistakenOptionError as mistake:
            return nobody(bids, f"the policy's options are mistaken: {mistake}")

        def score(bid: Bid) -> Score:
            return balance.of(bid), *by_start(bid)

        return ranked(bids, score, lambda order: _why(order, balance))


def _why(order: Sequence[Bid], balance: _Balance) -> str:
    best, *others = order
    if not others:
        return only_yes(best)
    other = others[0]
    mine, theirs = _words(best, balance), f"{other.cluster} {_words(other, balance)}"
    if balance.of(best) < balance.of(other):
        return f"{best.cluster} balances wait and cost better {mine} than {theirs}"
    return f"{best.cluster} balances wait and cost as well {mine} as {theirs}, {tie_words(best, other)}"


def _words(bid: Bid, balance: _Balance) -> str:
    return f"({wait_words(bid.eta_s)}, cost {bid.cost:g}: {balance.of(bid):.3g})"


def _read(options: Facts) -> _Balance:
    eta = number(options, "eta_weight", 1.0, most=WEIGHT_MAX)
    cost = number(options, "cost_weight", 1.0, most=WEIGHT_MAX)
    if eta + cost == 0:
        raise MistakenOptionError("eta_weight and cost_weight are both 0: give one of them more, or use another policy")
    return _Balance(
        eta / (eta + cost),
        cost / (eta + cost),
        number(options, "eta_floor_s", ETA_FLOOR_S, above=FLOOR_MIN, most=FLOOR_MAX),
        number(options, "cost_floor", COST_FLOOR, above=FLOOR_MIN, most=FLOOR_MAX),
    )
