"""The commonest requests, over a thousand clusters: one sum over each cluster's kinds of node."""

from rainbowd.core.ports import Verdict
from rainbowd.resources.asking import Demand, Want
from rainbowd.resources.capacity import Capacity
from rainbowd.resources.model import SubtreeClass
from rainbowd.resources.pruning import ruled_out
from rainbowd.resources.reasons import short_of_room
from rainbowd.resources.units import Number

FITS = Verdict(True)


class Ladder:
    """`rungs` as in `Ask.ladder`. Knows nothing that `Capacity` does not; it only asks in one go."""

    def __init__(self, capacity: Capacity, rungs: tuple[Demand, ...]) -> None:
        self._rungs = [(want, number, capacity.known(want, ())) for want, number in rungs]
        self._capacity = capacity
        self._filters = capacity.filters
        self._held_types = rungs[0].want.held_types if rungs[0].want.packed else frozenset[str]()

    def verdict(self, root: SubtreeClass) -> Verdict | None:
        """None where the cluster is not of the usual kind: then the general way is gone."""
        in_hosts = root.in_plain_hosts
        if in_hosts is None or not self._held_types <= in_hosts or (self._filters and not root.is_bare):
            return None
        for want, number, known in self._rungs:
            missing: Number = number
            try:
                for child, count in root.children:
                    missing -= count * known[child]
                    if missing <= 0:
                        break
            except KeyError:
                missing = number - self._room(root, want, number)
            if missing <= 0:
                continue
            if self._filters:
                return None  # what the nodes lack may not be room
            if missing == number and (verdict := ruled_out(root, (Demand(want, number),))) is not None:
                return verdict  # none is large enough: the largest tells what is missing there
            return short_of_room(want, number, number - missing)
        return FITS

    def _room(self, root: SubtreeClass, want: Want, number: int) -> Number:
        """Where some of the kinds are new. Stops counting when there is enough."""
        room: Number = 0
        for child, count in root.children:
            room += count * self._capacity.cap(want, child, ())
            if room >= number:
                break
        return room
