"""The quick look: totals, and what the largest node has, rule most clusters out before any class is looked at."""

from collections.abc import Sequence

from rainbowd.core.ports import Verdict
from rainbowd.resources.asking import Demand
from rainbowd.resources.classes import HOST
from rainbowd.resources.model import SubtreeClass
from rainbowd.resources.reasons import shortage
from rainbowd.resources.units import available


def ruled_out(root: SubtreeClass, forest: Sequence[Demand]) -> Verdict | None:
    """Why it can never be, if that can be told from the summaries; None says nothing yet."""
    for want, count in forest:
        if want.packed:
            where = f" on one node for a {want.noun}"
        elif want.type == HOST:
            hosts = root.supply(HOST, "")
            if hosts < count:
                return shortage(count, want, "", hosts)
            where = " on one node"
        else:
            continue
        for part, number in want.demands:
            peak = root.host_peaks.get(part.type)
            if peak is not None and part.is_leaf and available(*peak, part.unit) < number:
                return shortage(number, part, where, available(*peak, part.unit))
    return None
