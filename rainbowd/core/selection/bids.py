"""What all policies do with bids, whatever they prefer."""

from collections.abc import Callable, Sequence

from rainbowd.core.selection.base import Bid, Ranking, Score


def yeses(bids: Sequence[Bid]) -> list[Bid]:
    """The bids that may win, in an order that does not depend on how they came."""
    return sorted((bid for bid in bids if bid.yes), key=lambda bid: (bid.cluster, bid.round))


def ranked(bids: Sequence[Bid], score: Callable[[Bid], Score], why: Callable[[Sequence[Bid]], str]) -> Ranking:
    """The smallest score first. `why` gets the order, which is not empty."""
    candidates = yeses(bids)
    scores = {bid.cluster: score(bid) for bid in candidates}
    order = tuple(sorted(candidates, key=lambda bid: scores[bid.cluster]))
    return Ranking(order, why(order) if order else "nobody said Yes", scores)


def nobody(bids: Sequence[Bid], why: str) -> Ranking:
    """No Yes is wanted, all for the same reason."""
    return Ranking((), why, {}, {bid.cluster: why for bid in yeses(bids)})


def by_start(bid: Bid) -> tuple[float, float, int, str]:
    """The order of `earliest`, which others use among bids that are alike to them."""
    return bid.eta_s, bid.cost, bid.load, bid.cluster
