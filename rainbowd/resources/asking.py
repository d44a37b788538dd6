"""A job's request as the matcher works on it: slots dissolved into what they hold, equal wants one object.

A slot is no thing, so it vanishes here: so many slots of so much are that many times as much. It leaves one trace:
what a slot holds comes from one node. A slot that neither stands in a node nor holds one stays, as a packed want.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import orjson

from rainbow_protocol.job import JobRequest
from rainbow_protocol.resources import Constraint, Need, Requirement, Resource, least
from rainbowd.resources.classes import HOST
from rainbowd.resources.requirements import named_nodes
from rainbowd.resources.units import factor, in_bytes

SLOT = "slot"
REMEMBERED_BYTES_MAX = 16 * 1024  # longer requests are rare, and thousands of them would be a lot of memory


class Demand(NamedTuple):
    want: "Want"
    number: int


@dataclass(frozen=True, eq=False, slots=True)
class Want:
    """One of something. `packed` marks a slot: all of its demands come from one node, which may hold many slots."""

    type: str
    unit: str
    exclusive: bool
    requires: tuple[Requirement, ...]
    demands: tuple[Demand, ...]
    packed: bool = False
    noun: str = ""
    is_leaf: bool = field(init=False)
    is_loose: bool = field(init=False)  # so much of something, wherever it is
    holds_loose: bool = field(init=False)  # nothing but loose things, each of another type
    held_types: frozenset[str] = field(init=False)
    touches: frozenset[str] = field(init=False)  # the types that it uses itself
    closes: frozenset[str] = field(init=False)  # the types whose insides it keeps to itself

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_leaf", not self.demands)
        object.__setattr__(self, "is_loose", not self.demands and not self.requires)
        loose = all(part.is_loose for part, _ in self.demands)
        types = frozenset(part.type for part, _ in self.demands)
        object.__setattr__(self, "held_types", types)
        own = frozenset[str]() if self.packed else frozenset((self.type,))
        object.__setattr__(self, "touches", own.union(*(part.touches for part, _ in self.demands)))
        closed = own if self.exclusive else frozenset[str]()
        object.__setattr__(self, "closes", closed.union(*(part.closes for part, _ in self.demands)))
        object.__setattr__(self, "holds_loose", loose and len(types) == len(self.demands) > 0)


@dataclass(eq=False, slots=True)
class Ask:
    """All that decides where a job could run. `needs` must each be held, by one of its alternatives."""

    needs: tuple[tuple[tuple[Demand, ...], ...], ...]
    requires: tuple[Requirement, ...] = ()
    constraint: Constraint | None = None
    has_requirements: bool = False
    types: frozenset[str] = field(init=False)  # everything that it could use itself
    ladder: tuple[Demand, ...] = field(init=False)

    def __post_init__(self) -> None:
        # Nodes named one by one are of classes that no other cluster has: nothing to look up there.
        self.ladder = () if any(named_nodes(self.constraint)) else _ladder(self.needs)
        forests = [forest for alternatives in self.needs for forest in alternatives]
        self.types = frozenset[str]().union(*(want.touches for forest in forests for want, _ in forest))


def _ladder(needs: tuple[tuple[tuple[Demand, ...], ...], ...]) -> tuple[Demand, ...]:
    """The commonest requests of all: equal tasks, or nodes of which some must hold as much as the others and more.

    What is counted for a rung: nodes (or slots) that suffice for it, and how many are wanted of it and of all above.
    If that is there on every rung, then everybody can be served. Empty if the request is not like that.
    """
    if len(needs) != 1 or len(needs[0]) != 1:
        return ()
    (forest,) = needs[0]
    rungs: list[Demand] = []
    for want, number in forest:
        plain = want.holds_loose and not want.requires and (want.type == HOST or (want.packed and len(forest) == 1))
        if not plain or (rungs and not _exceeds(rungs[-1].want, want)):
            return ()
        rungs.append(Demand(want, number + (rungs[-1].number if rungs else 0)))
    return tuple(rungs)


def _exceeds(more: Want, less: Want) -> bool:
    held = dict(more.demands)
    return more.exclusive == less.exclusive and all(held.get(part, 0) >= number for part, number in less.demands)


def ask_of(request: JobRequest) -> Ask:
    if request.needs is None and not request.requires and request.constraint is None:
        shape = request.shape
        return _simple(shape.nodes, shape.tasks, shape.cores_per_task, shape.gpus_per_task, shape.exclusive)
    wanted = request.model_dump(include={"needs", "requires", "constraint"}, exclude_defaults=True)
    wanted["command"] = ["-"]  # what it runs does not matter here
    if request.needs is None:
        wanted["shape"] = request.shape.model_dump(exclude={"time_limit_s"})
    text = orjson.dumps(wanted, option=orjson.OPT_SORT_KEYS)
    return _written(text) if len(text) <= REMEMBERED_BYTES_MAX else _written.__wrapped__(text)


@lru_cache(maxsize=4096)
def _simple(nodes: int | None, tasks: int, cores: int, gpus: int, exclusive: bool) -> Ask:
    return Ask(needs=((_of_shape(_Wants(), nodes, tasks, cores, gpus, exclusive),),))


@lru_cache(maxsize=4096)
def _written(text: bytes) -> Ask:
    request = JobRequest.model_validate_json(text)
    wants = _Wants(_in_several_units(request.needs or ()))
    if request.needs is not None:
        needs = tuple(_alternatives(wants, need) for need in request.needs)
    else:
        shape = request.shape
        forest = _of_shape(wants, shape.nodes, shape.tasks, shape.cores_per_task, shape.gpus_per_task, shape.exclusive)
        needs = ((forest,),)
    return Ask(
        needs=needs,
        requires=tuple(request.requires),
        constraint=request.constraint,
        has_requirements=bool(request.requires) or wants.has_requirements,
    )


class _Wants:
    """Makes wants, each once: equal ones are the same object, so that their counts can be added."""

    def __init__(self, in_bytes_types: frozenset[str] = frozenset()) -> None:
        self._known: dict[Any, Want] = {}
        self.has_requirements = False
        self.in_bytes = in_bytes_types

    def get(
        self,
        kind: str,
        unit: str = "",
        exclusive: bool = False,
        requires: Sequence[Requirement] = (),
        demands: Iterable[Demand] = (),
        packed: bool = False,
        noun: str = "",
    ) -> Want:
        held = merged(demands)
        key = (kind, unit, exclusive, repr(requires), held, packed)
        want = self._known.get(key)
        if want is None:
            self.has_requirements |= bool(requires)
            want = self._known[key] = Want(kind, unit, exclusive, tuple(requires), held, packed, noun)
        return want


def merged(demands: Iterable[Demand]) -> tuple[Demand, ...]:
    """The same thing wanted twice is wanted in the sum of both counts."""
    counts: dict[Want, int] = {}
    for want, count in demands:
        counts[want] = counts.get(want, 0) + count
    return tuple(Demand(want, count) for want, count in counts.items())


def _of_shape(
    wants: _Wants, nodes: int | None, tasks: int, cores: int, gpus: int, exclusive: bool
) -> tuple[Demand, ...]:
    def of_tasks(count: int) -> list[Demand]:
        parts = [Demand(wants.get("core"), cores * count)]
        return [*parts, Demand(wants.get("gpu"), gpus * count)] if gpus else parts

    if nodes is None:  # exclusive or not: nobody else is on the empty cluster
        return (Demand(wants.get(SLOT, demands=of_tasks(1), packed=True, noun="task"), tasks),)
    low, extra = divmod(tasks, nodes)
    spread = [(extra, low + 1), (nodes - extra, low)]
    return merged(
        Demand(wants.get(HOST, exclusive=exclusive, demands=of_tasks(each)), count) for count, each in spread if count
    )


def _in_several_units(needs: Iterable[Need]) -> frozenset[str]:
    """The types that are asked for in GB here and in MB there: to be added, they are counted in bytes."""
    units: dict[str, set[str]] = {}
    stack = [resource for need in needs for forest in need.alternatives for resource in forest]
    while stack:
        resource = stack.pop()
        if factor(resource.unit) is not None:
            units.setdefault(resource.type, set()).add(resource.unit)
        stack += resource.children
    return frozenset(kind for kind, several in units.items() if len(several) > 1)


def _alternatives(wants: _Wants, need: Need) -> tuple[tuple[Demand, ...], ...]:
    return tuple(
        merged(demand for resource in forest for demand in _demands(wants, resource, _Where(), ()))
        for forest in need.alternatives
    )


class _Where(NamedTuple):
    """Where in the request a resource stands. A slot right in a packed slot is part of it: one node holds both."""

    slot: bool = False
    packed: bool = False
    in_node: bool = False

    def in_slot(self, slot: Resource) -> "_Where":
        return _Where(True, self.packed or not (self.in_node or _mentions(slot, HOST)), self.in_node)

    def inside(self, resource: Resource) -> "_Where":
        return _Where(self.slot, False, self.in_node or resource.type == HOST)


def _demands(wants: _Wants, resource: Resource, where: _Where, inherited: tuple[Requirement, ...]) -> list[Demand]:
    """`inherited` are requirements of the slot around it: they fall to each thing that it holds."""
    count = least(resource.count)
    requires = (*inherited, *resource.requires)
    if resource.type == SLOT:
        held = [d for child in resource.children for d in _demands(wants, child, where.in_slot(resource), requires)]
        if where.packed or where.in_node or _mentions(resource, HOST):
            return [Demand(want, each * count) for want, each in held]
        return [Demand(wants.get(SLOT, demands=held, packed=True, noun=SLOT), count)]
    exclusive = where.slot if resource.exclusive is None else resource.exclusive
    held = [d for child in resource.children for d in _demands(wants, child, where.inside(resource), ())]
    unit = resource.unit
    if resource.type in wants.in_bytes and not held:
        count, unit = in_bytes(count, unit)
    return [Demand(wants.get(resource.type, unit, exclusive, requires, held), count)]


def _mentions(resource: Resource, kind: str) -> bool:
    return any(child.type == kind or _mentions(child, kind) for child in resource.children)
