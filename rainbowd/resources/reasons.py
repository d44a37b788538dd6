"""Why a cluster could never hold a job, in words, with what was needed and what there is."""

from collections.abc import Sequence

from rainbow_protocol.resources import Requirement
from rainbowd.core.ports import Verdict
from rainbowd.resources.asking import Ask, Demand, Want
from rainbowd.resources.capacity import Capacity, whole_times
from rainbowd.resources.classes import HOST
from rainbowd.resources.model import SubtreeClass
from rainbowd.resources.requirements import Chain, candidates, in_words
from rainbowd.resources.units import Number, available

_FOUND_MAX = 5


def why_not(capacity: Capacity, ask: Ask, place: SubtreeClass, forest: Sequence[Demand]) -> Verdict:
    if (ask.requires or ask.constraint is not None) and (verdict := _none_admitted(capacity, ask, place)):
        return verdict
    for group in capacity.groups(place, forest):
        for want, count in group:
            if whole_times(capacity.total(want, place, ()), count) == 0:
                return _too_few(capacity, place, (), want, count, "")
    parts = " and ".join(f"{count} {_words(want, count)}" for want, count in forest)
    return Verdict(False, f"has room for each of its parts, but not for all at the same time: {parts}")


def _none_admitted(capacity: Capacity, ask: Ask, place: SubtreeClass) -> Verdict | None:
    hosts = _vertices(capacity, place, (), HOST)
    if any(capacity.admitted(host, chain) for host, chain in hosts):
        return None
    wanted = [in_words(ask.requires)] if ask.requires else []
    if ask.constraint is not None:
        wanted.append("the properties or hosts of its constraint")
    needed = " and ".join(wanted)
    found = "" if ask.constraint is not None else _found(ask.requires, hosts)
    return Verdict(False, f"no node has {needed}{_having(found)}", needed, found or None)


def _too_few(capacity: Capacity, place: SubtreeClass, chain: Chain, want: Want, count: int, where: str) -> Verdict:
    """The one want that the place cannot hold often enough, traced down to what is missing."""
    if want.packed:
        return _too_few_slots(capacity, place, chain, want, count)
    there = _vertices(capacity, place, chain, want.type)
    have = _amount(there, want)
    if have < count:
        return shortage(count, want, where, have)
    suiting = {key: number for key, number in there.items() if capacity.suits(want, *key)}
    fit = _amount(suiting, want)
    if fit < count:
        needed = in_words(want.requires)
        found = _found(want.requires, there)
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
    hosts = {key: number for key, number in _vertices(capacity, place, chain, HOST).items() if capacity.admitted(*key)}
    for inner, amount in want.demands:
        most = max((capacity.total(inner, host, above) for host, above in hosts), default=0)
        if most < amount:
            held = max(
                (_amount(_vertices(capacity, host, above, inner.type), inner) for host, above in hosts), default=0
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
        words = f"needs {_count(count, want)} of this size, it holds {_number(room)}"
    else:
        words = f"needs {_count(count, want)}{where} {_holding(want)}, it has {_number(room)}"
    return Verdict(False, words, count, _plain(room))


def _vertices(
    capacity: Capacity, place: SubtreeClass, chain: Chain, kind: str
) -> dict[tuple[SubtreeClass, Chain], int]:
    """All vertices of a type in what the place holds."""
    found: dict[tuple[SubtreeClass, Chain], int] = {}
    stack = [(place, chain, 1)]
    while stack:
        one, above, number = stack.pop()
        within = capacity.inside(one, above)
        for child, count in one.children:
            if child.type == kind:
                found[child, within] = found.get((child, within), 0) + number * count
            if kind in child.types_below:
                stack.append((child, within, number * count))
    return found


def _amount(vertices: dict[tuple[SubtreeClass, Chain], int], want: Want) -> Number:
    if want.is_leaf:
        return sum(available(one.size, one.unit, want.unit) * number for (one, _), number in vertices.items())
    return sum(vertices.values())


def _found(requires: Sequence[Requirement], vertices: dict[tuple[SubtreeClass, Chain], int]) -> str:
    """What stands where something else was required, as far as it helps."""
    values: dict[str, None] = {}
    for requirement in requires:
        fields = [condition.field for condition in requirement.conditions]
        subsystem = requirement.subsystem
        for one, above in vertices:
            for trait in candidates(subsystem, (*above, one)):
                facts = dict(trait[2]) | {"type": trait[1]}
                known = [f"{name} {facts[name]}" for name in fields if name in facts]
                if known:
                    values[f"{subsystem} ({', '.join(known)})"] = None
    shown = list(values)[:_FOUND_MAX]
    return ", ".join(shown) + (" …" if len(values) > _FOUND_MAX else "")


def _having(found: str) -> str:
    return f"; there is {found}" if found else ""


def shortage(count: int, want: Want, where: str, have: Number) -> Verdict:
    return Verdict(False, f"needs {_count(count, want)}{where}, it has {_number(have)}", count, _plain(have))


def _holding(want: Want) -> str:
    parts = " and ".join(_count(count, inner) for inner, count in want.demands)
    return f"that hold {parts}" if want.demands else ""


def _count(count: int, want: Want) -> str:
    return f"{count} {_words(want, count)}"


def _words(want: Want, count: int) -> str:
    if want.unit:
        return f"{want.unit} of {want.type}"
    name = want.noun if want.packed else want.type
    if count == 1 or name == "memory":
        return name
    return f"{name}es" if name.endswith(("s", "x", "ch", "sh")) else f"{name}s"


def _number(amount: Number) -> str:
    return str(amount) if isinstance(amount, int) else f"{float(amount):g}"


def _plain(amount: Number) -> int | float:
    return amount if isinstance(amount, int) else float(amount)
