"""`earliest`: the cluster that would start the job first. Ties go to the cheaper one, then by name."""

from collections.abc import Sequence

from rainbowd.core.selection.base import Bid, Score


class Earliest:
    name = "earliest"

    def score(self, bid: Bid) -> Score:
        return (bid.eta_s, bid.cost, bid.cluster)

    def why(self, ranking: Sequence[Bid]) -> str:
        best, *others = ranking
        start = "starts it at once" if best.eta_s == 0 else f"starts it in {_seconds(best.eta_s)}"
        if not others:
            return f"{best.cluster} {start}; it was the only Yes"
        next_best = others[0]
        if best.eta_s < next_best.eta_s:
            return f"{best.cluster} {start}, sooner than {next_best.cluster} ({_seconds(next_best.eta_s)})"
        if best.cost < next_best.cost:
            costs = f"{best.cost:g} against {next_best.cost:g}"
            return f"{best.cluster} {start} as {next_best.cluster} does, and is cheaper ({costs})"
        return f"{best.cluster} {start} for the same cost as {next_best.cluster}; the name decided"


def _seconds(eta_s: float) -> str:
    return f"{eta_s:.0f} s" if eta_s >= 10 else f"{eta_s:.3g} s"
