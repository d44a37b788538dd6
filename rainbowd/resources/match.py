"""The `Matcher` of the daemon: could the empty cluster hold what a job asks for, how often, and if not, why not?"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from rainbowd.core.ports import Verdict
from rainbowd.resources.asking import Ask, Demand
from rainbowd.resources.capacity import Capacity
from rainbowd.resources.classes import HOST
from rainbowd.resources.competing import TooIntricateError, fits_together
from rainbowd.resources.copies import copies
from rainbowd.resources.hosts import marks_of
from rainbowd.resources.ladder import FITS, Ladder
from rainbowd.resources.measuring import measured
from rainbowd.resources.model import ClusterModel, SubtreeClass, marked_root
from rainbowd.resources.pruning import ruled_out
from rainbowd.resources.reasons import why_not
from rainbowd.resources.requirements import admits, satisfied

VERDICTS_MAX = 4_096  # remembered for one cluster


class GraphMatcher:
    def match(self, ask: Ask, resources: Any) -> Verdict:
        if not isinstance(resources, ClusterModel):
            raise TypeError(f"expected a ClusterModel, got {type(resources).__name__}")
        return self.match_all(ask, (resources,))[0]

    def match_all(self, ask: Ask, clusters: Iterable[ClusterModel]) -> list[Verdict]:
        """The same for many clusters: what is asked is looked at once, and each cluster gets what is left to do."""
        climb = Ladder(capacity_of(ask), ask.ladder) if ask.ladder else None
        verdicts: list[Verdict] = []
        for model in clusters:
            verdict: Verdict | None = model.verdicts.get(ask)
            if verdict is None:
                if len(model.verdicts) >= VERDICTS_MAX:
                    model.verdicts.clear()
                verdict = climb.verdict(model.root) if climb is not None else None
                if verdict is None:
                    verdict = _match(ask, model)
                model.verdicts[ask] = verdict
            verdicts.append(verdict)
        return verdicts

    def measure(self, ask: Ask, resources: Any) -> Verdict:
        """The same verdict, with what costs more to find out: how often it fits, on how many nodes, of what sizes."""
        verdict = self.match(ask, resources)
        if not verdict.fits:
            return verdict
        place, capacity = universe(ask, resources), capacity_of(ask)
        fewest = min(max(copies(capacity, place, (), forest) for forest in alternatives) for alternatives in ask.needs)
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
    capacity = ask.memory.get("capacity") or capacity_of(ask)
    place = model.universe if ask.constraint is None else universe(ask, model)
    root = place.children[0][0]
    if root.type not in ask.top_types:
        place = root  # one level less to go through, again and again
    if capacity.filters and HOST not in root.types and not _admitted_as_a_whole(ask, root):
        return why_not(capacity, ask, place, ())
    for alternatives in ask.needs:
        if len(alternatives) == 1 and (verdict := ruled_out(root, alternatives[0])) is not None:
            return verdict
        for forest in alternatives:
            if _fits(capacity, place, forest):
                break
        else:
            return why_not(capacity, ask, place, alternatives[0])
    return FITS


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
