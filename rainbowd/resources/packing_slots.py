"""Several kinds of slot on the same nodes: a way to pack them, or the proof that there is none, where that is easy.

Filling nodes greedily finds a way whenever there is some slack; adding up what all slots need tells when there is
too little in all. Only what lies between is left to the search of all combinations.
"""

from collections.abc import Sequence
from itertools import permutations

from rainbowd.resources.asking import Demand, Want, merged
from rainbowd.resources.capacity import Capacity, times
from rainbowd.resources.classes import HOST
from rainbowd.resources.model import SubtreeClass
from rainbowd.resources.requirements import Chain

ORDERS_MAX = 6
_ROOM_STEPS = 16  # what one look at a node's room costs, counted as combinations

_Held = tuple[tuple[Want, int], ...]


def packs(capacity: Capacity, place: SubtreeClass, chain: Chain, group: Sequence[Demand]) -> bool | None:
    """None: neither the one nor the other is easy to see."""
    if HOST in place.nesting or not all(want.packed for want, _ in group):
        return None
    for part, number in merged(part for want, count in group for part in times(want.demands, count)):
        if part.is_leaf and capacity.total(part, place, chain) < number:
            return False
    hosts = capacity.vertices(HOST, place, chain)
    for order, _ in zip(permutations(group), range(ORDERS_MAX), strict=False):
        if all_placed(capacity, hosts, order):
            return True
    return None


def all_placed(capacity: Capacity, hosts: dict[tuple[SubtreeClass, Chain], int], order: Sequence[Demand]) -> bool:
    """One kind of slot after the other, each node as full as it gets before the next one is begun."""
    states: dict[tuple[SubtreeClass, Chain], dict[_Held, int]] = {host: {(): number} for host, number in hosts.items()}
    for want, number in order:
        left = number
        for host, nodes in states.items():
            after: dict[_Held, int] = {}
            for held, count in nodes.items():
                room = _room(capacity, host, held, want) if left else 0
                full = min(count, left // room) if room else 0
                left -= full * room
                rest = count - full
                if room and rest and left:
                    _add(after, (*held, (want, left)), 1)
                    rest, left = rest - 1, 0
                if full:
                    _add(after, (*held, (want, room)), full)
                if rest:
                    _add(after, held, rest)
            states[host] = after
        if left:
            return False
    return True


def _room(capacity: Capacity, host: tuple[SubtreeClass, Chain], held: _Held, want: Want) -> int:
    """How many more slots of this kind a node takes that holds others already."""
    there = [part for other, number in held for part in times(other.demands, number)]
    low, high = 0, capacity.slots(want, *host)
    middle = high
    while low < high:
        capacity.spend(_ROOM_STEPS)
        if capacity.holds(*host, merged([*there, *times(want.demands, middle)])):
            low = middle
        else:
            high = middle - 1
        middle = (low + high + 1) // 2
    return low


def _add(states: dict[_Held, int], held: _Held, number: int) -> None:
    states[held] = states.get(held, 0) + number
