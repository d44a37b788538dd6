"""The `Matcher` of the daemon: could the empty cluster hold what a job asks for, how often, and if not, why not?"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import structlog

from rainbowd.core.ports import Verdict
from rainbowd.resources.asking import Ask, Demand
from rainbowd.resources.capacity import FACTS_MAX, Capacity, TooIntricateError
from rainbowd.resources.classes import HOST
from rainbowd.resources.competing import fits_together
from rainbowd.resources.copies import copies
from rainbowd.resources.hosts import marks_of
from rainbowd.resources.ladder import FITS, Ladder
from rainbowd.resources.measuring import measured
from rainbowd.resources.model import ClassTable, ClusterModel, SubtreeClass, marked_root
from rainbowd.resources.pruning import ruled_out
from rainbowd.resources.reasons import why_not
from rainbowd.resources.requirements import admits

_log = structlog.get_logger()
VERDICTS_MAX = 4_096  # remembered for one cluster
CAPACITIES_MAX = 512  # requests about which more is remembered than the verdicts


class GraphMatcher:
    """What it has found out about a request is kept, for all clusters, until one of them is described anew."""

    def __init__(self) -> None:
        self._capacities: dict[Ask, Capacity] = {}
        self._generation = -1

    def match(self, ask: Ask, resources: Any) -> Verdict:
        if not isinstance(resources, ClusterModel):
            raise TypeError(f"expected a ClusterModel, got {type(resources).__name__}")
        return self.match_all(ask, (resources,))[0]

    def match_all(self, ask: Ask, clusters: Iterable[ClusterModel]) -> list[Verdict]:
        """The same for many clusters: what is asked is looked at once, and each cluster gets what is left to do."""
        capacity: Capacity | None = None
        climb: Ladder | None = None
        verdicts: list[Verdict] = []
        for model in clusters:
            verdict: Verdict | None = model.verdicts.get(ask)
            if verdict is None:
                if capacity is None:
                    capacity = self._capacity(ask, model.table)
                    climb = Ladder(capacity, ask.ladder) if ask.ladder else None
                if len(model.verdicts) >= VERDICTS_MAX:
                    model.verdicts.clear()
                verdict = model.verdicts[ask] = _verdict(ask, model, capacity, climb)
            verdicts.append(verdict)
        return verdicts

    def measure(self, ask: Ask, resources: Any) -> Verdict:
        """The same verdict, with what costs more to find out: how often it fits, on how many nodes, of what sizes."""
        verdict = self.match(ask, resources)
        if not verdict.fits:
            return verdict
        place, capacity = _nearest(ask, universe(ask, resources)), self._capacity(ask, resources.table)
        capacity.begin()
        try:
            fewest = min(
                max(copies(capacity, place, (), forest) for forest in alternatives) for alternatives in ask.needs
            )
            return measured(replace(verdict, instances=fewest), capacity, ask, place)
        except TooIntricateError:
            return replace(verdict, instances=1)  # at least

    def _capacity(self, ask: Ask, table: ClassTable) -> Capacity:
        if self._generation != table.generation:
            # The classes of what was described before may go, and with them what is known about them.
            self._generation = table.generation
            self._capacities.clear()
        known = self._capacities.get(ask)
        if known is None:
            if len(self._capacities) >= CAPACITIES_MAX or self._facts() > FACTS_MAX:
                self._capacities.clear()
            known = self._capacities[ask] = Capacity(ask, fits_together)
        return known

    def _facts(self) -> int:
        return sum(capacity.facts for capacity in self._capacities.values())


def _verdict(ask: Ask, model: ClusterModel, capacity: Capacity, climb: Ladder | None) -> Verdict:
    capacity.begin()
    try:
        return (climb.verdict(model.root) if climb is not None else None) or _match(ask, model, capacity)
    except TooIntricateError:
        return FITS  # as far as can be told: then the cluster's own answer decides
    except Exception:
        # A request that finds a bug here must not be able to stop the daemon, and then stop it again at each start.
        _log.exception("matching failed", needs=len(ask.needs), types=sorted(ask.types)[:20])
        return Verdict(False, "could not be matched, which is a bug of rainbowd; its log tells more")


def universe(ask: Ask, model: ClusterModel) -> SubtreeClass:
    """A place that holds the cluster and nothing else, so that the cluster itself can be asked for."""
    if ask.constraint is None or not (marks := marks_of(ask.constraint, model)):
        return model.universe
    root = marked_root(model, marks)
    return SubtreeClass("", 0, "", frozenset(), (), (), ((root, 1),))


def _match(ask: Ask, model: ClusterModel, capacity: Capacity) -> Verdict:
    place = model.universe if ask.constraint is None else universe(ask, model)
    root = place.children[0][0]
    if capacity.filters and HOST not in root.types and not _admitted_as_a_whole(ask, capacity, root):
        return why_not(capacity, ask, place, ())
    place = _nearest(ask, place)
    for alternatives in ask.needs:
        if len(alternatives) == 1 and (verdict := ruled_out(place, alternatives[0])) is not None:
            return verdict
        if not any(_fits(capacity, place, forest) for forest in alternatives):
            return why_not(capacity, ask, place, alternatives[0])
    return FITS


def _nearest(ask: Ask, universe: SubtreeClass) -> SubtreeClass:
    """The cluster itself where nobody asks for it: one level less to go through, again and again."""
    root = universe.children[0][0]
    return universe if root.type == HOST or root.type in ask.types else root


def _fits(capacity: Capacity, place: SubtreeClass, forest: Sequence[Demand]) -> bool:
    """What is too intricate to tell counts as fitting: the other needs may still be told."""
    try:
        return capacity.holds(place, (), forest)
    except TooIntricateError:
        return True


def _admitted_as_a_whole(ask: Ask, capacity: Capacity, root: SubtreeClass) -> bool:
    """A cluster that tells of no nodes must itself have what is required of them."""
    return (ask.constraint is None or admits(ask.constraint, root)) and capacity.satisfies(ask.requires, (root,))
