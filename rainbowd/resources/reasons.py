"""Why a cluster could never hold a job, in words, with what was needed and what there is."""

from collections.abc import Iterable, Sequence

from rainbow_protocol.resources import Constraint, Requirement
from rainbowd.core.ports import Verdict
from rainbowd.resources.asking import Ask, Demand, Want
from rainbowd.resources.capacity import Capacity, whole_times
from rainbowd.resources.classes import HOST
from rainbowd.resources.model import SubtreeClass
from rainbowd.resources.requirements import Chain, admits, candidates, constraint_words, holds, in_words
from rainbowd.resources.units import Number, available, shown

_FOUND_MAX = 5


def why_not(capacity: Capacity, ask: Ask, place: SubtreeClass, forest: Sequence[Demand]) -> Verdict:
    if (ask.requires or ask.constraint is not None) and (verdict := _none_admitted(capacity, ask, place)):
        return verdict
    for group in capacity.groups(place, forest):
        for want, count in group:
            if whole_times(capacity.total(want, place, ()), count) == 0:
                return _too_few(capacity, place, (), want, count, "")
    parts = "; ".join(_count(count, want) + (f" of {_sizes(want)}" if want.demands else "") for want, count in forest)
    return Verdict(False, f"has room for each of its parts, but not for all at the same time: {parts}")


def _none_admitted(capacity: Capacity, ask: Ask, place: SubtreeClass) -> Verdict | None:
    """No node may be used at all: because of which part of what is required of every node?"""
    hosts = list(capacity.vertices(HOST, place, (), usable=False)) or [
        (place.children[0][0] if place.children else place, ())
    ]
    if any(capacity.admitted(host, chain) for host, chain in hosts if host.type == HOST):
        return None
    if ask.constraint is not None and not any(admits(ask.constraint, host) for host, _ in hosts):
        needed = constraint_words(_unmet(ask.constraint, [host for host, _ in hosts]))
        return Verdict(False, f"no node {needed}", needed)
    chains = [capacity.inside(host, chain) for host, chain in hosts]
    unmet = [one for one in ask.requires if not any(capacity.satisfies((one,), chain) for chain in chains)]
    needed, found = in_words(unmet or ask.requires), _found(unmet, chains)
    if not unmet and ask.constraint is not None:
        needed += f" and {constraint_words(ask.constraint)}"
    return Verdict(False, f"no node has {needed}{_having(found)}", needed, found or None)


def _unmet(constraint: Constraint, nodes: list[SubtreeClass]) -> Constraint:
    """The smallest part of it that no node satisfies."""
    if constraint.op == "and":
        for part in constraint.args:
            if not any(admits(part, node) for node in nodes):
                return _unmet(part, nodes)
    if constraint.op == "properties":
        for name in constraint.values:
            alone = Constraint(op="properties", values=[name])
            if not any(admits(alone, node) for node in nodes):
                return alone
    return constraint


def _too_few(capacity: Capacity, place: SubtreeClass, chain: Chain, want: Want, count: int, where: str) -> Verdict:
    """The one want that the place cannot hold often enough, traced down to what is missing."""
    if want.packed:
        return _too_few_slots(capacity, place, chain, want, count)
    there = capacity.vertices(want.type, place, chain, usable=False)
    have = _amount(there, want)
    if have < count:
        return shortage(count, want, where, have)
    suiting = {key: number for key, number in there.items() if capacity.suits(want, *key)}
    fit = _amount(suiting, want)
    if fit < count:
        chains = [capacity.inside(one, above) for one, above in there]
        unmet = [one for one in want.requires if not any(capacity.satisfies((one,), chain) for chain in chains)]
        needed, found = in_words(unmet or want.requires), _found(unmet, chains)
        with_them = f"needs {_count(count, want)}{where} with {needed}, it has {_number(fit)}{_having(found)}"
        return Verdict(False, with_them, needed, found or _plain(fit))
    # Enough of them, but too few that hold what is wanted inside: the best of them tells by how much.
    best: tuple[Number, Demand] | None = None
    for inner, amount in want.demands:
        most = max(capacity.total(inner, one, above) for one, above in suiting)
        if most < amount and (best is None or most * best[1].number < best[0] * amount):
            best = (most, Demand(inner, amount))
    if best is None:
        return _no_room(capacity, place, chain, want, count, where)
    inner, amount = best[1]
    one, above = max(suiting, key=lambda key: capacity.total(inner, *key))
    return _too_few(capacity, one, above, inner, amount, f" on one {want.type}")


def _too_few_slots(capacity: Capacity, place: SubtreeClass, chain: Chain, want: Want, count: int) -> Verdict:
    hosts = capacity.vertices(HOST, place, chain)
    for inner, amount in want.demands:
        most = max((capacity.total(inner, host, above) for host, above in hosts), default=0)
        if most < amount:
            held = max(
                (_amount(capacity.vertices(inner.type, *host, usable=False), inner) for host in hosts), default=0
            )
            if held >= amount and hosts:
                host, above = max(hosts, key=lambda key: capacity.total(inner, *key))
                return _too_few(capacity, host, above, inner, amount, f" on one node for a {want.noun}")
            return shortage(amount, inner, f" on one node for a {want.noun}", held)
    if want.requires and capacity.total(want, place, chain) == 0:
        return Verdict(False, f"needs a node with {in_words(want.requires)} for a {want.noun}, it has none", count, 0)
    return _no_room(capacity, place, chain, want, count)


def _no_room(capacity: Capacity, place: SubtreeClass, chain: Chain, want: Want, count: int, where: str = "") -> Verdict:
    return short_of_room(want, count, capacity.total(want, place, chain), where)


def short_of_room(want: Want, count: int, room: Number, where: str = "") -> Verdict:
    """Some of them fit, but not that many."""
    if want.packed:
        words = f"needs {_count(count, want)} of {_sizes(want)}, it holds {_number(room)}"
    else:
        words = f"needs {_count(count, want)}{where} {_holding(want)}, it has {_number(room)}"
    return Verdict(False, words, count, _plain(room))


def _amount(vertices: dict[tuple[SubtreeClass, Chain], int], want: Want) -> Number:
    if want.is_leaf:
        return sum(available(one.size, one.unit, want.unit) * number for (one, _), number in vertices.items())
    return sum(vertices.values())


def _found(requires: Sequence[Requirement], chains: Iterable[Chain]) -> str:
    """What there is instead: of each requirement, that which comes nearest to it."""
    nearest: dict[str, int] = {}
    for requirement in requires:
        if requirement.absent:
            continue
        subsystem, fields = requirement.subsystem, [condition.field for condition in requirement.conditions]
        values: dict[str, int] = {}
        for place in dict.fromkeys(place for chain in chains for place in chain):
            for trait in candidates(subsystem, place):
                facts = dict(trait[2]) | {"type": trait[1]}
                known = [f"{name} {facts[name]}" for name in fields if name in facts]
                if known:
                    met = sum(holds(condition, subsystem, trait) for condition in requirement.conditions)
                    values[f"{subsystem} ({', '.join(known)})"] = met
        best = max(values.values(), default=0)
        nearest |= {value: met for value, met in values.items() if met == best}
    shown = list(nearest)[:_FOUND_MAX]
    return ", ".join(shown) + (" …" if len(nearest) > _FOUND_MAX else "")


def _having(found: str) -> str:
    return f"; there is {found}" if found else ""


def shortage(count: int, want: Want, where: str, have: Number) -> Verdict:
    return Verdict(False, f"needs {_count(count, want)}{where}, it has {shown(have, want.unit)}", count, _plain(have))


def _holding(want: Want) -> str:
    return f"that hold {_sizes(want)}" if want.demands else ""


def _sizes(want: Want) -> str:
    return " and ".join(_count(count, inner) for inner, count in want.demands)


def _count(count: int, want: Want) -> str:
    return f"{shown(count, want.unit)} of {want.type}" if want.unit else f"{count} {_words(want, count)}"


def _words(want: Want, count: int) -> str:
    name = want.noun if want.packed else want.type
    if count == 1 or name == "memory":
        return name
    return f"{name}es" if name.endswith(("s", "x", "ch", "sh")) else f"{name}s"


def _number(amount: Number) -> str:
    return str(amount) if isinstance(amount, int) else f"{float(amount):g}"


def _plain(amount: Number) -> int | float:
    return amount if isinstance(amount, int) else float(amount)
