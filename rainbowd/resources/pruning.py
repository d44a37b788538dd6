"""The quick look: totals, and what the largest node has, rule most clusters out before any class is looked at."""

from collections.abc import Sequence

from rainbowd.core.ports import Verdict
from rainbowd.resources.asking import Demand
from rainbowd.resources.classes import HOST
from rainbowd.resources.model import SubtreeClass
from rainbowd.resources.reasons import shortage
from rainbowd.resources.units import available


def ruled_out(place: SubtreeClass, forest: Sequence[Demand]) -> Verdict | None:
    """Why it can never be, if that can be told from the summaries; None says nothing yet."""
    peaks = place.host_peaks
    for want, count in forest:
        if not want.packed:
            if want.type != HOST:
                continue
            if (hosts := place.supply(HOST, "")) < count:
                return shortage(count, want, "", hosts)
        where = f" on one node for a {want.noun}" if want.packed else " on one node"
        for part, number in want.demands:
            if part.type not in place.types_below:
                return shortage(number, part, where, 0)
            peak = peaks.get(part.type)
            if peak is None or not part.is_leaf:
                continue
            most = peak[0] if peak[1] == part.unit else available(*peak, part.unit)
            if most < number:
                return shortage(number, part, where, most)
    return None
