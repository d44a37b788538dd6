"""Words that policies share when they say why."""

from rainbowd.core.selection.base import Bid


def start_words(bid: Bid) -> str:
    return "starts it at once" if bid.eta_s == 0 else f"starts it in {wait_words(bid.eta_s)}"


def wait_words(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.3g} s"


def only_yes(bid: Bid) -> str:
    return f"{bid.cluster} {start_words(bid)}; it was the only Yes"


def load_words(best: Bid, other: Bid) -> str:
    """What told two apart that are alike in everything else."""
    if best.load < other.load:
        return f"and has fewer jobs from here ({best.load} against {other.load})"
    return "and the name decided"


def tie_words(best: Bid, other: Bid) -> str:
    """What told two apart that a policy likes equally: the order of `earliest`."""
    if best.eta_s < other.eta_s:
        return f"and {start_words(best)}, sooner"
    if best.cost < other.cost:
        return f"and is cheaper ({best.cost:g} against {other.cost:g})"
    return load_words(best, other)
