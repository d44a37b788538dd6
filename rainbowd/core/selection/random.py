"""`random`: any of those who said Yes, each as likely as any other.

Each cluster draws a number from the job's id, the attempt and the option `seed`; the smallest wins. So the same
auction always ends the same way, and `explain` can say with which seed.
"""

from collections.abc import Sequence
from typing import ClassVar

from rainbowd.core.selection.base import Bid, Facts, JobFacts, Ranking, Score
from rainbowd.core.selection.bids import nobody, ranked
from rainbowd.core.selection.chance import draw, seed_of, seed_option
from rainbowd.core.selection.options import MistakenOptionError, mistake_in, unknown

_OPTIONS = ("seed",)


class Random:
    name: ClassVar[str] = "random"
    asks: ClassVar[bool] = True
    measures: ClassVar[bool] = False

    def mistake(self, options: Facts) -> str | None:
        return unknown(options, _OPTIONS) or mistake_in(seed_option, options)

    def rank(self, bids: Sequence[Bid], job: JobFacts) -> Ranking:
        try:
            seed = seed_of(job)
        except MistakenOptionError as mistake:
            return nobody(bids, f"the policy's options are mistaken: {mistake}")

        def score(bid: Bid) -> Score:
            return draw(seed, bid.cluster), bid.cluster

        def why(order: Sequence[Bid]) -> str:
            return f"{order[0].cluster} was drawn at random from {len(order)} (seed {seed})"

        return ranked(bids, score, why)
