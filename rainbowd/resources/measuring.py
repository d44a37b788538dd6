"""Numbers about a match, for bids, policies and people: on how many nodes, and of what sizes these are."""

from dataclasses import replace

from rainbowd.core.ports import Verdict
from rainbowd.resources.asking import Ask, Demand, Want
from rainbowd.resources.capacity import Capacity
from rainbowd.resources.classes import HOST
from rainbowd.resources.model import SubtreeClass
from rainbowd.resources.units import Number

NUMBERS_MAX = 64


def measured(verdict: Verdict, capacity: Capacity, ask: Ask, place: SubtreeClass) -> Verdict:
    wants = _hosting(ask)
    nodes = 0
    smallest: dict[str, Number] = {}
    largest: dict[str, Number] = {}
    kinds = 0
    for (host, chain), number in capacity.vertices(HOST, place, ()).items():
        if any(capacity.cap(want, host, chain) >= 1 for want in wants):
            nodes += number
            kinds += 1
            for name, amount in _amounts(host):
                smallest[name] = min(smallest.get(name, amount), amount)
                largest[name] = max(largest.get(name, amount), amount)
    numbers: dict[str, int | float] = {
        "instances": verdict.instances,
        "nodes_matched": nodes,
        "kinds_matched": kinds,
        "nodes_total": _plain(place.counts.get(HOST, 0)),
    }
    for name in sorted(smallest):
        if len(numbers) + 2 <= NUMBERS_MAX:
            numbers[f"{name}_per_node_min"] = _plain(smallest[name])
            numbers[f"{name}_per_node_max"] = _plain(largest[name])
    return replace(verdict, nodes_matched=nodes, numbers=numbers)


def _hosting(ask: Ask) -> list[Want]:
    """What decides whether a node takes part: nodes that are wanted, slots, or else the things themselves."""
    found: dict[Want, None] = {}
    leaves: dict[Want, None] = {}

    def look(demands: tuple[Demand, ...]) -> None:
        for want, _ in demands:
            if want.packed or want.type == HOST:
                found[want] = None
            else:
                if want.is_leaf:
                    leaves[want] = None
                look(want.demands)

    for alternatives in ask.needs:
        for forest in alternatives:
            look(forest)
    return list(found) or list(leaves)


def _amounts(host: SubtreeClass) -> list[tuple[str, Number]]:
    """How much of each type a node has, and its own numeric attributes."""
    held = [(name, amount) for name, amount in host.counts.items() if name != HOST]
    return held + [(key, value) for key, value in host.attributes if isinstance(value, int)]


def _plain(number: Number) -> int | float:
    return number if isinstance(number, int) else float(number)
