"""The `Matcher` of the daemon: could the empty cluster hold what a job asks for, how often, and if not, why not?"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rainbowd.core.ports import Verdict
from rainbowd.resources.asking import Ask, Demand
from rainbowd.resources.capacity import Capacity, times, whole_times
from rainbowd.resources.classes import HOST
from rainbowd.resources.competing import TooIntricateError, fits_together
from rainbowd.resources.hosts import marks_of
from rainbowd.resources.measuring import measured
from rainbowd.resources.model import ClusterModel, SubtreeClass, marked_root
from rainbowd.resources.pruning import ruled_out
from rainbowd.resources.reasons import why_not
from rainbowd.resources.requirements import admits, satisfied
from rainbowd.resources.units import Number

VERDICTS_MAX = 4_096  # remembered for one cluster
INSTANCES_MAX = 10**12
_FITS = Verdict(True)


class GraphMatcher:
    def match(self, ask: Ask, resources: Any) -> Verdict:
        if not isinstance(resources, ClusterModel):
            raise TypeError(f"expected a ClusterModel, got {type(resources).__name__}")
        verdict: Verdict | None = resources.verdicts.get(ask)
        if verdict is None:
            if len(resources.verdicts) >= VERDICTS_MAX:
                resources.verdicts.clear()
            verdict = resources.verdicts[ask] = _match(ask, resources)
        return verdict

    def measure(self, ask: Ask, resources: Any) -> Verdict:
        """The same verdict, with what costs more to find out: how often it fits, on how many nodes, of what sizes."""
        verdict = self.match(ask, resources)
        if not verdict.fits:
            return verdict
        place, capacity = universe(ask, resources), capacity_of(ask)
        fewest = min(max(instances(capacity, place, forest) for forest in alternatives) for alternatives in ask.needs)
        return measured(replace(verdict, instances=fewest), capacity, ask, place)


def capacity_of(ask: Ask) -> Capacity:
    known = ask.memory.get("capacity")
    if known is None:
        known = ask.memory["capacity"] = Capacity(ask, fits_together)
    capacity: Capacity = known
    return capacity


def universe(ask: Ask, model: ClusterModel) -> SubtreeClass:
    """A place that holds the cluster and nothing else, so that the cluster itself can be asked for."""
    if ask.constraint is None or not (marks := marks_of(ask.constraint, model)):
        return model.universe
    root = marked_root(model, marks)
    return SubtreeClass("", 0, "", frozenset(), (), (), ((root, 1),))


def _match(ask: Ask, model: ClusterModel) -> Verdict:
    place, capacity = universe(ask, model), capacity_of(ask)
    root = place.children[0][0]
    if HOST not in root.types and not _admitted_as_a_whole(ask, root):
        return why_not(capacity, ask, place, ())
    for alternatives in ask.needs:
        if len(alternatives) == 1 and (verdict := ruled_out(root, alternatives[0])) is not None:
            return verdict
        if not any(_fits(capacity, place, forest) for forest in alternatives):
            return why_not(capacity, ask, place, alternatives[0])
    return _FITS


def _fits(capacity: Capacity, place: SubtreeClass, forest: Sequence[Demand]) -> bool:
    """What is too intricate to tell counts as fitting: then the cluster's own answer decides."""
    try:
        return capacity.holds(place, (), forest)
    except TooIntricateError:
        return True


def _admitted_as_a_whole(ask: Ask, root: SubtreeClass) -> bool:
    """A cluster that tells of no nodes must itself have what is required of them."""
    return (ask.constraint is None or admits(ask.constraint, root)) and all(
        satisfied(one, (root,)) for one in ask.requires
    )


def instances(capacity: Capacity, place: SubtreeClass, forest: Sequence[Demand]) -> int:
    """How many times all of this fits at once. What is too intricate to tell counts as fitting: the cluster decides."""
    fewest = INSTANCES_MAX
    for group in capacity.groups(place, forest):
        alone: Number = INSTANCES_MAX
        for want, count in group:
            alone = min(alone, whole_times(capacity.total(want, place, ()), count))
        most = int(alone)
        if most and (len(group) > 1 or capacity.self_competing(group[0].want, place)):
            most = _search(capacity, place, group, most)
        fewest = min(fewest, most)
        if fewest == 0:
            break
    return fewest


def _search(capacity: Capacity, place: SubtreeClass, group: Sequence[Demand], most: int) -> int:
    """The largest number up to `most` of these that fit together: more never fits where fewer did not."""
    try:
        if not capacity.group_fits(place, (), group):
            return 0
    except TooIntricateError:
        return 1
    low, high = 1, most
    try:
        while low < high:
            middle = min((low + high + 1) // 2, low * 2)
            if capacity.group_fits(place, (), times(group, middle)):
                low = middle
            else:
                high = middle - 1
    except TooIntricateError:
        return low
    return low
