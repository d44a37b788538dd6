"""How much of what a job wants fits into a class of equal subtrees: the heart of matching.

Exact, and in time that follows the number of classes. Wants that cannot touch the same vertices are looked at one
by one; those that can are decided by `competing`. Everything found out is remembered with the request, and holds for
every cluster that has the same class.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction

from rainbow_protocol.resources import Requirement
from rainbowd.resources.asking import Ask, Demand, Want, merged
from rainbowd.resources.classes import HOST
from rainbowd.resources.model import SubtreeClass
from rainbowd.resources.requirements import Chain, admits, satisfied_at
from rainbowd.resources.units import Number, available

FACTS_MAX = 500_000  # remembered for one request; then it starts anew
GROUPS_MAX = 1_000
STEPS_MAX = 20_000  # combinations looked at for one verdict: some hundredths of a second
STEPS_IN_ALL_MAX = 100_000

# Decides for demands that could want the same vertices.
Together = Callable[["Capacity", SubtreeClass, Chain, tuple[Demand, ...]], bool]


class TooIntricateError(Exception):
    """More combinations than may be looked at while others wait."""


class Capacity:
    """Answers for one request. `chain` is always that of the place's container."""

    def __init__(self, ask: Ask, together: "Together") -> None:
        self._ask = ask
        self._together = together
        self._caps: dict[tuple[Want, Chain], dict[SubtreeClass, Number]] = {}
        self._facts = 0
        self.steps_left = STEPS_MAX  # of this verdict
        self.steps_left_in_all = STEPS_IN_ALL_MAX  # of this request, whatever the number of clusters
        self._groups: dict[tuple[Demand, ...], list[list[Demand]]] = {}
        self._admitted: dict[tuple[SubtreeClass, Chain], bool] = {}
        self._slots_without: dict[tuple[Want, tuple[Demand, ...]], Want] = {}
        self._true_at: dict[tuple[int, SubtreeClass], bool] = {}
        self._unions: dict[tuple[tuple[Want, ...], Chain], dict[SubtreeClass, Number]] = {}
        self.filters = bool(ask.requires) or ask.constraint is not None

    def begin(self) -> None:
        """A new verdict, with steps of its own."""
        self.steps_left = STEPS_MAX

    def spend(self, steps: int) -> None:
        self.steps_left -= steps
        self.steps_left_in_all -= steps
        if self.steps_left < 0 or self.steps_left_in_all < 0:
            raise TooIntricateError

    @property
    def facts(self) -> int:
        return self._facts + len(self._admitted) + len(self._true_at) + sum(map(len, self._unions.values()))

    def inside(self, place: SubtreeClass, chain: Chain) -> Chain:
        """The chain for what the place holds."""
        return (*chain, place) if self._ask.has_requirements and not place.is_bare else chain

    def admitted(self, place: SubtreeClass, chain: Chain) -> bool:
        """May the job use this node at all?"""
        if place.type != HOST or not self.filters:
            return True
        known = self._admitted.get((place, chain))
        if known is None:
            ask, within = self._ask, self.inside(place, chain)
            suits = ask.constraint is None or admits(ask.constraint, place)
            known = suits and self.satisfies(ask.requires, within)
            self._admitted[place, chain] = known
        return known

    def satisfies(self, requires: Sequence[Requirement], chain: Chain) -> bool:
        """As `satisfied`, but what was found out about a place is never looked for again."""
        known = self._true_at
        for requirement in requires:
            found = False
            for place in chain:
                key = (id(requirement), place)
                true = known.get(key)
                if true is None:
                    true = known[key] = satisfied_at(requirement, place)
                if true:
                    found = True
                    break
            if found == requirement.absent:
                return False
        return True

    def suits(self, want: Want, place: SubtreeClass, chain: Chain) -> bool:
        """Is the place of the wanted type, and does it have what is required there? Its contents are not looked at."""
        if want.type != place.type:
            return False
        within = self.inside(place, chain)
        return self.satisfies(want.requires, within)

    def takes(self, want: Want, place: SubtreeClass, chain: Chain) -> bool:
        """Can the place itself be one of these?"""
        if not self.suits(want, place, chain):
            return False
        return want.is_leaf or self._holds_inside(want, place, chain)

    def cap(self, want: Want, place: SubtreeClass, chain: Chain) -> Number:
        """How many of it fit into the place, itself included, if nothing else is there.

        Of a leaf: how many units. Of a type that nests in itself it is an upper bound; `competing` knows exactly.
        """
        if (HOST if want.packed else want.type) not in place.types:
            return 0
        return self._look_up(want, place, chain, self.known(want, chain))

    def known(self, want: Want, chain: Chain) -> dict[SubtreeClass, Number]:
        """What `cap` has found so far."""
        if self._facts > FACTS_MAX:
            self._facts = 0
            self._caps.clear()
        known = self._caps.get((want, chain))
        if known is None:
            known = self._caps[want, chain] = {}
        return known

    def _look_up(self, want: Want, place: SubtreeClass, chain: Chain, known: dict[SubtreeClass, Number]) -> Number:
        found = known.get(place)
        if found is None:
            absent = (HOST if want.packed else want.type) not in place.types
            found = known[place] = 0 if absent else self._cap(want, place, chain)
            self._facts += 1
        return found

    def _cap(self, want: Want, place: SubtreeClass, chain: Chain) -> Number:
        if not self.admitted(place, chain):
            return 0
        if want.packed and place.type == HOST:
            return self.slots(want, place, chain)
        below = self.total(want, place, chain) if place.children else 0
        if want.packed or not self.suits(want, place, chain):
            return below
        if want.is_leaf:
            own = available(place.size, place.unit, want.unit)
            return max(own, below) if want.exclusive else own + below
        return below + self._holds_inside(want, place, chain)

    def total(self, want: Want, place: SubtreeClass, chain: Chain) -> Number:
        """How many of it fit into what the place holds."""
        within = self.inside(place, chain)
        known = self.known(want, within)
        amount: Number = 0
        for child, count in place.children:
            found = known.get(child)
            amount += count * (self._look_up(want, child, within, known) if found is None else found)
        return amount

    def total_for_any(self, wants: tuple[Want, ...], place: SubtreeClass, chain: Chain) -> Number:
        """How many vertices (of leaves: units) in what the place holds could serve one or another of the wants.

        All are of the same type, of which none stands inside another.
        """
        within = self.inside(place, chain)
        known = self._unions.setdefault((wants, within), {})
        amount: Number = 0
        for child, count in place.children:
            found = known.get(child)
            if found is None:
                found = known[child] = self._cap_for_any(wants, child, within)
            amount += count * found
        return amount

    def _cap_for_any(self, wants: tuple[Want, ...], place: SubtreeClass, chain: Chain) -> Number:
        kind = wants[0].type
        if kind not in place.types or not self.admitted(place, chain):
            return 0
        if place.type != kind:
            return self.total_for_any(wants, place, chain)
        if not any(self.takes(want, place, chain) for want in wants):
            return 0
        return available(place.size, place.unit, wants[0].unit) if wants[0].is_leaf else 1

    def reaches(self, want: Want, place: SubtreeClass, chain: Chain, number: Number) -> bool:
        """Do so many of it fit into what the place holds? Stops counting as soon as they do."""
        within = self.inside(place, chain) if self._ask.has_requirements else chain
        known = self.known(want, within)
        amount: Number = 0
        for child, count in place.children:
            found = known.get(child)
            amount += count * (self._look_up(want, child, within, known) if found is None else found)
            if amount >= number:
                return True
        return False

    def vertices(
        self, kind: str, place: SubtreeClass, chain: Chain, usable: bool = True
    ) -> dict[tuple[SubtreeClass, Chain], int]:
        """All vertices of a type in what the place holds, by class and by what contains them.

        Only what the job may use, unless it is asked why it may not.
        """
        found: dict[tuple[SubtreeClass, Chain], int] = {}
        stack = [(place, chain, 1)]
        while stack:
            one, above, number = stack.pop()
            within = self.inside(one, above)
            for child, count in one.children:
                if kind not in child.types or (usable and not self.admitted(child, within)):
                    continue
                if child.type == kind:
                    found[child, within] = found.get((child, within), 0) + number * count
                if kind in child.types_below:
                    stack.append((child, within, number * count))
        return found

    def slots(self, want: Want, host: SubtreeClass, chain: Chain) -> int:
        """How many of these slots the node holds."""
        within = self.inside(host, chain)
        if not self.satisfies(want.requires, within):
            return 0
        most = min(int(self.total(part, host, chain) // count) for part, count in want.demands)
        if most == 0 or (len(want.demands) == 1 and want.demands[0].want.is_leaf):
            return most
        low, high = 0, most  # low fits, more than high does not; usually high itself fits
        middle = high
        while low < high:
            if self.holds(host, chain, times(want.demands, middle)):
                low = middle
            else:
                high = middle - 1
            middle = (low + high + 1) // 2
        return low

    def _holds_inside(self, want: Want, place: SubtreeClass, chain: Chain) -> bool:
        """Does the place hold all that one of these must hold?"""
        if want.holds_loose and not self.filters:
            holders = place.holders
            if not any(part.exclusive and part.type in holders for part, _ in want.demands):
                return all(place.supply(part.type, part.unit) >= number for part, number in want.demands)
        return self.holds(place, chain, want.demands)

    def holds(self, place: SubtreeClass, chain: Chain, demands: Sequence[Demand]) -> bool:
        """Can what the place holds satisfy all of these at the same time?"""
        if len(demands) == 1 and not demands[0].want.packed:
            return self.group_fits(place, chain, demands)
        return all(self.group_fits(place, chain, group) for group in self.groups(place, demands))

    def group_fits(self, place: SubtreeClass, chain: Chain, group: Sequence[Demand]) -> bool:
        for want, count in group:
            if not self.reaches(want, place, chain, count):
                return False
        if len(group) == 1 and not self.self_competing(group[0].want, place):
            return True
        return self._together(self, place, chain, tuple(group))

    def self_competing(self, want: Want, place: SubtreeClass) -> bool:
        """One of the type may stand inside another of it: then taking one may rule out the other."""
        return (bool(want.demands) or want.exclusive) and not want.packed and want.type in place.nesting

    def groups(self, place: SubtreeClass, demands: Sequence[Demand]) -> list[list[Demand]]:
        """Those that could want the same vertices stand together; different groups cannot hinder each other."""
        demands = self.settled(place, demands)
        if len(demands) == 1:
            return [[demands[0]]]
        if any(want.closes and not want.closes.isdisjoint(place.holders) for want, _ in demands):
            return _grouped([(self.footprint(demand.want, place), demand) for demand in demands])
        key = tuple(demands)
        known = self._groups.get(key)
        if known is None:
            known = _grouped([(demand.want.touches, demand) for demand in demands])
            if len(self._groups) < GROUPS_MAX:
                self._groups[key] = known
        return known

    def settled(self, place: SubtreeClass, demands: Sequence[Demand]) -> Sequence[Demand]:
        """Slots where this place has nodes to pack them into; elsewhere, and for what no node holds, their contents."""
        packed = [want for want, _ in demands if want.packed]
        if not packed:
            return demands
        in_hosts = place.below_type(HOST) if HOST in place.types_below else frozenset[str]()
        if all(want.held_types <= in_hosts for want in packed):
            return demands
        plain: list[Demand] = []
        for demand in demands:
            want, count = demand
            inside = [part for part in want.demands if part.want.type in in_hosts]
            if not want.packed or len(inside) == len(want.demands):
                plain.append(demand)
                continue
            plain += times([part for part in want.demands if part.want.type not in in_hosts], count)
            if inside:
                plain.append(Demand(self._smaller(want, tuple(inside)), count))
        return merged(plain)

    def _smaller(self, want: Want, demands: tuple[Demand, ...]) -> Want:
        """The same slot with fewer demands; always the same object, so that what is known of it is found again."""
        key = (want, demands)
        smaller = self._slots_without.get(key)
        if smaller is None:
            smaller = Want(want.type, want.unit, want.exclusive, want.requires, demands, True, want.noun)
            self._slots_without[key] = smaller
        return smaller

    def footprint(self, want: Want, place: SubtreeClass) -> frozenset[str]:
        """The types of vertex that it could use up in what the place holds."""
        closing = want.closes & place.holders
        return want.touches.union(*(place.below_type(kind) for kind in closing)) if closing else want.touches


def _grouped(demands: Sequence[tuple[frozenset[str], Demand]]) -> list[list[Demand]]:
    groups: list[tuple[frozenset[str], list[Demand]]] = []
    for types, demand in demands:
        together = [demand]
        apart = []
        for known, members in groups:
            if known & types:
                types |= known
                together = members + together
            else:
                apart.append((known, members))
        groups = [*apart, (types, together)]
    return [members for _, members in groups]


def times(demands: Sequence[Demand], number: int) -> tuple[Demand, ...]:
    return tuple(Demand(want, count * number) for want, count in demands)


def whole_times(capacity: Number, count: int) -> int:
    """How many times the count goes into the capacity."""
    return int(Fraction(capacity) // count) if isinstance(capacity, Fraction) else capacity // count
