"""What the daemon keeps of every cluster: its classes of equal subtrees, shared with all clusters that have the same.

A class is known by its content, so a kind of node that a hundred clusters have is one object, and what was found out
about it for a request holds for all of them.
"""

from array import array
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import igraph  # type: ignore[import-untyped]
import orjson

from rainbowd.resources.classes import HOST, VERSION
from rainbowd.resources.graph import Scalar
from rainbowd.resources.traits import Trait
from rainbowd.resources.units import Number, available, exact

TYPES_REMEMBERED_MAX = 64


class UnreadableDescriptionError(Exception):
    """A stored description is not of a kind that this version knows."""


@dataclass(frozen=True, eq=False)
class SubtreeClass:
    """Equal subtrees. `children` are classes and how many of each; `size` counts in `unit`."""

    type: str
    size: Number
    unit: str
    properties: frozenset[str]
    attributes: tuple[tuple[str, Scalar], ...]
    traits: tuple[Trait, ...]
    children: tuple[tuple["SubtreeClass", int], ...]

    @cached_property
    def types(self) -> frozenset[str]:
        """Of itself and all that it holds."""
        return self.types_below | {self.type}

    @cached_property
    def types_below(self) -> frozenset[str]:
        return frozenset().union(*(child.types for child, _ in self.children))

    @cached_property
    def nesting(self) -> frozenset[str]:
        """Types of which one holds another of the same type, somewhere in here."""
        own = {self.type} & self.types_below
        return frozenset(own).union(*(child.nesting for child, _ in self.children))

    @cached_property
    def in_plain_hosts(self) -> frozenset[str] | None:
        """What the nodes in here hold; None if it is a node itself, or nodes stand in nodes."""
        return None if self.type == HOST or HOST in self.nesting else self.below_type(HOST)

    @cached_property
    def sized(self) -> frozenset[str]:
        """Types of which some vertex in here has another size than 1."""
        own = {self.type} if self.size != 1 else set()
        return frozenset(own).union(*(child.sized for child, _ in self.children))

    @cached_property
    def holders(self) -> frozenset[str]:
        """Types of which some vertex in here holds others."""
        own = {self.type} if self.children else set()
        return frozenset(own).union(*(child.holders for child, _ in self.children))

    @cached_property
    def supplies(self) -> dict[str, dict[str, Number]]:
        """How much of each type, by unit, there is in what it holds."""
        found: dict[str, dict[str, Number]] = {}
        for child, count in self.children:
            units = found.setdefault(child.type, {})
            units[child.unit] = units.get(child.unit, 0) + child.size * count
            for kind, more in child.supplies.items():
                units = found.setdefault(kind, {})
                for unit, amount in more.items():
                    units[unit] = units.get(unit, 0) + amount * count
        return found

    @cached_property
    def host_peaks(self) -> dict[str, tuple[Number, str]]:
        """The most of each type that one node in here has, with the unit; not where units differ."""
        if self.type == HOST:
            return {
                kind: (amount, unit)
                for kind, units in self.supplies.items()
                if len(units) == 1
                for unit, amount in units.items()
            }
        peaks: dict[str, tuple[Number, str]] = {}
        mixed: set[str] = set()
        for child, _ in self.children:
            if HOST not in child.types:
                continue
            theirs = child.host_peaks
            mixed |= {kind for kind in child.types_below if kind not in theirs and kind in child.below_type(HOST)}
            for kind, peak in theirs.items():
                best = peaks.setdefault(kind, peak)
                if best[1] != peak[1]:
                    mixed.add(kind)
                elif peak[0] > best[0]:
                    peaks[kind] = peak
        return {kind: peak for kind, peak in peaks.items() if kind not in mixed}

    def supply(self, kind: str, unit: str) -> Number:
        """How many of the wanted unit of a type are in what it holds."""
        units = self.supplies.get(kind)
        return sum(available(amount, own, unit) for own, amount in units.items()) if units else 0

    @cached_property
    def is_bare(self) -> bool:
        """Nothing here that a requirement could be about."""
        return not (self.traits or self.attributes or self.properties)

    @cached_property
    def traits_of(self) -> dict[str, list[Trait]]:
        """What is attached here, by subsystem."""
        found: dict[str, list[Trait]] = {}
        for trait in self.traits:
            found.setdefault(trait[0], []).append(trait)
        return found

    @cached_property
    def counts(self) -> dict[str, Number]:
        """How much of each type it holds, itself included: vertices, or the sizes of pools."""
        found: Counter[str] = Counter()
        found[self.type] += self.size  # type: ignore[assignment]
        for child, count in self.children:
            for name, amount in child.counts.items():
                found[name] += amount * count  # type: ignore[assignment]
        return dict(found)

    @cached_property
    def _below(self) -> dict[str, frozenset[str]]:
        return {}

    def below_type(self, name: str) -> frozenset[str]:
        """The types that vertices of the named type hold, anywhere in here (itself included)."""
        known = self._below.get(name)
        if known is None:
            own = self.types_below if self.type == name else frozenset[str]()
            known = own.union(*(child.below_type(name) for child, _ in self.children if name in child.types))
            if len(self._below) < TYPES_REMEMBERED_MAX:  # a request may name any type
                self._below[name] = known
        return known


@dataclass(slots=True)
class Skeleton:
    """Nodes and what is above them, one by one; each comes after its parent."""

    parents: "array[int]"
    classes: list[SubtreeClass]
    names: list[str]
    ranks: "array[int]"


@dataclass(eq=False)
class ClusterModel:
    """One cluster's resources. Never changed: a new description makes a new one, so what was cached goes with it."""

    root: SubtreeClass
    source: str
    down: int
    subsystems: list[dict[str, Any]]
    skeleton: Skeleton | None
    table: "ClassTable"
    verdicts: dict[Any, Any] = field(default_factory=dict)
    marked: dict[frozenset[Any], SubtreeClass] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, Number]:
        return self.root.counts

    @cached_property
    def universe(self) -> SubtreeClass:
        """A place that holds this cluster and nothing else."""
        return SubtreeClass("", 0, "", frozenset(), (), (), ((self.root, 1),))

    @cached_property
    def graph(self) -> igraph.Graph:
        """The classes as a graph: an edge to each class of children, with how many there are (`count`)."""
        order: dict[SubtreeClass, int] = {}
        stack = [self.root]
        while stack:
            one = stack.pop()
            if one not in order:
                order[one] = len(order)
                stack.extend(child for child, _ in reversed(one.children))
        edges = [(order[one], order[child], count) for one in order for child, count in one.children]
        graph = igraph.Graph(len(order), [(source, target) for source, target, _ in edges], directed=True)
        graph.vs["subtree"] = list(order)
        graph.es["count"] = [count for _, _, count in edges]
        return graph

    def occurrences(self) -> list[tuple[SubtreeClass, int]]:
        """Every class with how often it occurs in the whole cluster, parents before children."""
        graph = self.graph
        times = [0] * graph.vcount()
        times[0] = 1
        order = graph.topological_sorting()
        for vertex in order:
            for edge in graph.es[graph.incident(vertex)]:
                times[edge.target] += times[vertex] * edge["count"]
        return [(graph.vs[vertex]["subtree"], times[vertex]) for vertex in order]


class ClassTable:
    """All classes that any cluster has at this moment, each once."""

    def __init__(self) -> None:
        self.generation = 0  # grows with every description: what was found out about older ones may go
        self._known: WeakValueDictionary[Any, SubtreeClass] = WeakValueDictionary()

    def load(self, description: bytes) -> ClusterModel:
        self.generation += 1
        data = orjson.loads(description)
        if data["version"] != VERSION:
            raise UnreadableDescriptionError(f"the description has version {data['version']}, this is {VERSION}")
        traits: list[Trait] = [
            (subsystem, name, tuple((key, value) for key, value in facts)) for subsystem, name, facts in data["traits"]
        ]
        trait_sets = [tuple(traits[number] for number in members) for members in data["trait_sets"]]
        classes: list[SubtreeClass] = []
        for kind, size, unit, properties, attributes, trait_set, children in data["classes"]:
            below = tuple((classes[child], count) for child, count in children)
            facts = tuple((key, value) for key, value in attributes)
            classes.append(
                self.intern(kind, exact(size), unit, frozenset(properties), facts, trait_sets[trait_set], below)
            )
        model = ClusterModel(
            classes[data["root"]],
            data["source"],
            data["down"],
            data["subsystems"],
            _skeleton(data["skeleton"], classes),
            self,
        )
        # Worked out now, where it delays nobody: the first request would have to otherwise.
        whole = model.universe
        _ = whole.types, whole.nesting, whole.holders, whole.sized, whole.supplies, whole.host_peaks
        whole.below_type(HOST)
        return model

    def intern(
        self,
        kind: str,
        size: Number,
        unit: str,
        properties: frozenset[str],
        attributes: tuple[tuple[str, Scalar], ...],
        traits: tuple[Trait, ...],
        children: tuple[tuple[SubtreeClass, int], ...],
    ) -> SubtreeClass:
        key = (kind, size, unit, properties, attributes, traits, frozenset(children))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = SubtreeClass(kind, size, unit, properties, attributes, traits, children)
        return known


def _skeleton(data: dict[str, Any] | None, classes: list[SubtreeClass]) -> Skeleton | None:
    if data is None:
        return None
    return Skeleton(
        array("i", data["parents"]),
        [classes[position] for position in data["classes"]],
        data["names"],
        array("i", data["ranks"]),
    )


def marked_root(model: ClusterModel, marks: dict[str, frozenset[int]]) -> SubtreeClass:
    """The cluster with further properties (`marks`) on some of its nodes, given by their place in the skeleton.

    Nodes that were equal stop being so when a request tells them apart by name; this splits their class for it.
    """
    skeleton = model.skeleton
    key = frozenset(marks.items())
    known = model.marked.get(key)
    if known is not None or skeleton is None:
        return model.root if known is None else known
    above: list[Counter[SubtreeClass]] = [Counter() for _ in skeleton.parents]
    split: dict[Any, SubtreeClass] = {}
    upper = {id(one) for one, parent in zip(skeleton.classes, skeleton.parents, strict=True)}
    root = model.root
    for place in range(len(skeleton.parents) - 1, -1, -1):
        one = skeleton.classes[place]
        found = frozenset(mark for mark, places in marks.items() if place in places)
        rest = tuple((child, count) for child, count in one.children if id(child) not in upper)
        content = (one, found, frozenset(above[place].items()))
        again = split.get(content)
        if again is None:
            again = split[content] = model.table.intern(
                one.type,
                one.size,
                one.unit,
                one.properties | found,
                one.attributes,
                one.traits,
                (*rest, *above[place].items()),
            )
        parent = skeleton.parents[place]
        if parent >= 0:
            above[parent][again] += 1
        else:
            root = again
    if len(model.marked) >= 64:
        model.marked.clear()
    model.marked[key] = root
    return root
