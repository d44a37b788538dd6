"""Demands that could want the same vertices: do they fit together?

Two common cases are flows: units of pools, and whole vertices of one type. Everything else (a socket and loose
cores of the same node, two kinds of slot on the same nodes) is decided by the frontier: all combinations of counts
that a subtree can hold, of which only those are kept that no other exceeds.
"""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations, product
from math import gcd, lcm, prod

import igraph  # type: ignore[import-untyped]

from rainbowd.resources.asking import Demand, Want, merged
from rainbowd.resources.capacity import Capacity, TooIntricateError, times
from rainbowd.resources.classes import HOST
from rainbowd.resources.model import SubtreeClass
from rainbowd.resources.packing_slots import packs
from rainbowd.resources.requirements import Chain
from rainbowd.resources.units import Number, available

HALL_MAX = 4  # of more, a flow is found sooner than all of their subsets are looked at
EXACT_FLOAT_MAX = 2**53  # igraph counts flows in floats

Vector = tuple[Number, ...]
Items = tuple[Demand, ...]


def fits_together(capacity: Capacity, place: SubtreeClass, chain: Chain, group: Items) -> bool:
    """Exactly, or TooIntricateError."""
    flow = _as_flow(capacity, place, chain, group)
    if flow is None:
        flow = packs(capacity, place, chain, group)
    if flow is not None:
        return flow
    return _Frontiers(capacity).reach(place, chain, group)


# --- flows ----------------------------------------------------------------


def _as_flow(capacity: Capacity, place: SubtreeClass, chain: Chain, group: Items) -> bool | None:
    """None if it is not that simple."""
    kind, unit = group[0].want.type, group[0].want.unit
    wants = tuple(want for want, _ in group)
    if kind in place.nesting or any(want.packed or want.type != kind or want.unit != unit for want in wants):
        return None
    if all(want.is_leaf for want in wants):
        if kind in place.holders and any(want.exclusive for want in wants):
            return None
    elif kind in place.sized:
        return None
    if len(group) <= HALL_MAX:
        return _enough_for_every_subset(capacity, place, chain, group)
    return _flows(capacity, place, chain, group)


def _enough_for_every_subset(capacity: Capacity, place: SubtreeClass, chain: Chain, group: Items) -> bool:
    """Hall's theorem: everybody can be served if and only if no subset wants more than there is for it.

    That each alone can be served is known already.
    """
    for size in range(2, len(group) + 1):
        for subset in combinations(group, size):
            wants = tuple(want for want, _ in subset)
            if capacity.total_for_any(wants, place, chain) < sum(number for _, number in subset):
                return False
    return True


def _flows(capacity: Capacity, place: SubtreeClass, chain: Chain, group: Items) -> bool:
    supplies = capacity.vertices(group[0].want.type, place, chain)
    leaves = all(want.is_leaf for want, _ in group)
    unit = group[0].want.unit
    amounts: list[Number] = [
        available(one.size, one.unit, unit) * count if leaves else count for (one, _), count in supplies.items()
    ]
    scale = lcm(*(Fraction(amount).denominator for amount in amounts)) if amounts else 1
    wanted = [number * scale for _, number in group]
    offered = [min(int(amount * scale), sum(wanted)) for amount in amounts]
    common = gcd(*wanted, *offered) or 1
    wanted, offered = [count // common for count in wanted], [amount // common for amount in offered]
    if sum(wanted) >= EXACT_FLOAT_MAX:
        raise TooIntricateError
    source, sink = len(wanted) + len(offered), len(wanted) + len(offered) + 1
    edges = [(source, row) for row in range(len(wanted))]
    edges += [(len(wanted) + column, sink) for column in range(len(offered))]
    limits = [*wanted, *offered]
    for row, (want, _) in enumerate(group):
        for column, (one, above) in enumerate(supplies):
            if capacity.takes(want, one, above):
                edges.append((row, len(wanted) + column))
                limits.append(min(wanted[row], offered[column]))
    graph = igraph.Graph(sink + 1, edges, directed=True)
    return bool(graph.maxflow_value(source, sink, limits) >= sum(wanted) - 0.5)


# --- frontiers ------------------------------------------------------------


class _Frontiers:
    """For one question. A vector says how many of each item are held; the items' counts cap it."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._known: dict[tuple[SubtreeClass, Chain, Items], frozenset[Vector]] = {}

    def reach(self, place: SubtreeClass, chain: Chain, items: Items) -> bool:
        return tuple(count for _, count in items) in self.contents(place, chain, items)

    def contents(self, place: SubtreeClass, chain: Chain, items: Items) -> frozenset[Vector]:
        """What the place holds, without itself."""
        caps = tuple(count for _, count in items)
        within = self._capacity.inside(place, chain)
        result: frozenset[Vector] = frozenset([(0,) * len(items)])
        for child, count in place.children:
            self._capacity.spend(4 + len(items))
            one = self.subtree(child, within, items)
            if one != frozenset([(0,) * len(items)]):
                result = self._sum(result, self._multiple(one, count, caps), caps)
        return result

    def subtree(self, place: SubtreeClass, chain: Chain, items: Items) -> frozenset[Vector]:
        """The place and what it holds."""
        zero = (0,) * len(items)
        if not self._capacity.admitted(place, chain) or not any(self._touches(want, place) for want, _ in items):
            return frozenset([zero])
        key = (place, chain, items)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._pareto(self._options(place, chain, items))
        return known

    def _touches(self, want: Want, place: SubtreeClass) -> bool:
        return HOST in place.types if want.packed else want.type in place.types

    def _options(self, place: SubtreeClass, chain: Chain, items: Items) -> Iterator[Vector]:
        """Every way to use the place: as one of the things wanted, for its units, as a node for slots, or not."""
        suiting = [
            index
            for index, (want, _) in enumerate(items)
            if not want.packed and self._capacity.suits(want, place, chain)
        ]
        leaves = [index for index in suiting if items[index].want.is_leaf]
        things = [index for index in suiting if not items[index].want.is_leaf]
        closing = [index for index in leaves if place.children and items[index].want.exclusive]
        for units in self._units(place, items, [index for index in leaves if index not in closing]):
            yield from self._around(place, chain, items, units, ())
        if closing:
            yield from self._units(place, items, leaves)
        for index in things:
            want = items[index].want
            one = tuple(int(position == index) for position in range(len(items)))
            if not want.exclusive:
                inside = tuple(self._capacity.settled(place, want.demands))
                yield from self._around(place, chain, items, one, inside)
            elif self._capacity.holds(place, chain, want.demands):
                yield one

    def _units(self, place: SubtreeClass, items: Items, leaves: list[int]) -> Iterator[Vector]:
        """The ways to share out the units of the place itself."""
        zero: Vector = (0,) * len(items)
        if not leaves:
            yield zero
            return
        *first, last = leaves
        most = [int(min(items[index].number, self._amount(place, items[index].want))) for index in first]
        self._capacity.spend(4 * prod(number + 1 for number in most))
        for taken in product(*(range(number + 1) for number in most)):
            used = sum(
                Fraction(share) / Fraction(self._amount(place, items[index].want) or 1)
                for index, share in zip(first, taken, strict=True)
            )
            if used <= 1:
                rest = min(items[last].number, self._amount(place, items[last].want) * (1 - used))
                vector = list(zero)
                for index, share in zip(first, taken, strict=True):
                    vector[index] = share
                vector[last] = rest
                yield tuple(vector)

    def _amount(self, place: SubtreeClass, want: Want) -> Number:
        return available(place.size, place.unit, want.unit)

    def _around(self, place: SubtreeClass, chain: Chain, items: Items, taken: Vector, fixed: Items) -> Iterator[Vector]:
        """The place is used for `taken`, its contents for `fixed`: what else fits in there?"""
        packed = [index for index, (want, _) in enumerate(items) if want.packed]
        if place.type != HOST or not packed:
            yield from self._beside(place, chain, items, taken, fixed)
            return
        for slots, contents in self._slots(place, chain, items, packed, fixed):
            yield from self._beside(place, chain, items, _add(taken, slots), contents)

    def _beside(self, place: SubtreeClass, chain: Chain, items: Items, taken: Vector, fixed: Items) -> Iterator[Vector]:
        # A slot never reaches beyond its node, so inside a node only the slots counted above are there.
        wanted = {want: count for want, count in items if not (want.packed and place.type == HOST)}
        needed = dict(merged(fixed))
        inner = merged([*(Demand(want, count) for want, count in wanted.items()), *fixed])
        for vector in self.contents(place, chain, inner):
            found = dict(zip((want for want, _ in inner), vector, strict=True))
            if all(found[want] >= count for want, count in needed.items()):
                left = (
                    min(wanted[want], found[want] - needed.get(want, 0)) if want in wanted else 0 for want, _ in items
                )
                total = _add(taken, tuple(left))
                yield tuple(min(have, count) for have, (_, count) in zip(total, items, strict=True))

    def _slots(
        self, place: SubtreeClass, chain: Chain, items: Items, packed: list[int], fixed: Items
    ) -> Iterator[tuple[Vector, Items]]:
        """Every number of slots of each kind that the node holds, with the demands that they bring."""
        most = [min(items[index].number, self._capacity.slots(items[index].want, place, chain)) for index in packed]
        self._capacity.spend(2 * prod(number + 1 for number in most))  # before any of it is made
        for numbers in product(*(range(number + 1) for number in most)):
            demands = list(fixed)
            vector: list[Number] = [0] * len(items)
            for index, number in zip(packed, numbers, strict=True):
                vector[index] = number
                if number:
                    demands += times(self._capacity.settled(place, items[index].want.demands), number)
            yield tuple(vector), tuple(demands)

    # --- arithmetic of frontiers

    def _multiple(self, one: frozenset[Vector], number: int, caps: Vector) -> frozenset[Vector]:
        """The sum of so many, by doubling. Once everything wanted is held, more of it changes nothing."""
        result: frozenset[Vector] | None = None
        power = one
        while number:
            if number & 1:
                result = power if result is None else self._sum(result, power, caps)
                if result == {caps}:
                    break
            number >>= 1
            if number:
                power = self._sum(power, power, caps)
        return result if result is not None else frozenset([(0,) * len(caps)])

    def _sum(self, some: frozenset[Vector], more: frozenset[Vector], caps: Vector) -> frozenset[Vector]:
        self._capacity.spend(len(some) * len(more) * (1 + len(caps) // 2))
        sums = {tuple(map(min, _add(a, b), caps)) for a in some for b in more}
        return frozenset([caps]) if caps in sums else self._pareto(sums)

    def _pareto(self, vectors: Iterable[Vector]) -> frozenset[Vector]:
        kept: list[Vector] = []
        for vector in sorted(set(vectors), reverse=True):
            self._capacity.spend(1 + len(kept) // 2)
            if not any(all(map(_at_least, other, vector)) for other in kept):
                kept.append(vector)
        return frozenset(kept)


def _add(a: Vector, b: Vector) -> Vector:
    return tuple(x + y for x, y in zip(a, b, strict=True))


def _at_least(a: Number, b: Number) -> bool:
    return a >= b
