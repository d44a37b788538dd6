"""From vertices in any order and who holds whom to a `ResourceGraph`: one root, no cycles, not too deep."""

from array import array
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

from rainbow_protocol import limits
from rainbowd.resources.graph import Kind, ResourceGraph
from rainbowd.resources.reading import natural
from rainbowd.resources.reading.words import is_line, listed, refused, shown, vertex

NOWHERE = -1
NODE = "node"


class Kinds:
    """The different kinds of vertex, each with a number."""

    def __init__(self) -> None:
        self.all: list[Kind] = []
        self._numbers: dict[tuple[Kind, str], int] = {}

    def number(self, kind: Kind) -> int:
        # True equals 1 for a dictionary, but not for the person who wrote it.
        key = (kind, repr(kind.attributes) if kind.attributes else "")
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.all)
            self.all.append(kind)
        return number


class Vertices:
    """What a document says of its vertices, in its own order."""

    def __init__(self) -> None:
        self.ids: list[Any] = []  # of text; or all of them numbers, which stand for their text
        self.kind_of: array[int] = array("I")
        self.kinds = Kinds()
        self.names: dict[int, str] = {}
        self.ranks: dict[int, int] = {}
        self.down: set[int] = set()
        self.foreign: set[int] = set()  # of another subsystem, by their own words

    def add(
        self, vertex_id: str, kind: Kind, name: str | None = None, rank: int | None = None, down: bool = False
    ) -> int:
        position = len(self.ids)
        self.ids.append(vertex_id)
        self.kind_of.append(self.kinds.number(kind))
        self.note(position, kind.type, name, rank, down)
        return position

    def note(self, position: int, kind: str, name: str | None, rank: int | None, down: bool) -> None:
        if kind == NODE:
            if name:
                self.names[position] = name
            if rank is not None and rank >= 0:
                self.ranks[position] = rank
        if down:
            self.down.add(position)


def bounded(count: int) -> None:
    if count > limits.GRAPH_VERTICES_MAX:
        raise refused(
            f"the graph has more than {limits.GRAPH_VERTICES_MAX:,} vertices; "
            "describe cores as pools (one vertex of type core with a size) instead of one by one"
        )


def index(ids: Sequence[Any]) -> dict[Any, int]:
    """The position of each id. Refuses ids that stand there twice, or could not be shown."""
    found = dict(zip(ids, range(len(ids)), strict=True))
    if len(found) != len(ids):
        twice = min((str(one) for one, count in Counter(ids).items() if count > 1), key=natural.key)
        raise refused(f"two vertices have the id {shown(twice)}; every vertex needs an id of its own")
    if not are_numbers(ids) and not _all_well_formed(ids):
        wrong = next(one for one in ids if not _all_well_formed([one]))
        raise refused(
            f"{vertex(wrong)}: an id is 1 to {limits.RESOURCE_VALUE_CHARS_MAX} characters without control characters"
        )
    return found


def are_numbers(ids: Sequence[Any]) -> bool:
    return bool(ids) and isinstance(ids[0], int)


def _all_well_formed(ids: Sequence[str]) -> bool:
    return all(ids) and max(map(len, ids)) <= limits.RESOURCE_VALUE_CHARS_MAX and is_line("".join(ids))


def grown(
    vertices: Vertices, parents: list[int], warnings: list[str], left_out: set[int] | None = None
) -> ResourceGraph:
    """Everything in an order that depends on ids and places alone. `parents` has `NOWHERE` for the root."""
    ids = vertices.ids
    out = left_out or set()
    roots = [position for position, parent in enumerate(parents) if parent == NOWHERE and position not in out]
    if not roots:
        raise refused(f"the graph has no root: {_cycle(ids, parents, 0)}")
    if len(roots) > 1:
        names = sorted((str(ids[root]) for root in roots), key=natural.key)
        raise refused(
            f"the graph has {len(roots):,} roots, and must have one that contains the others: {listed(names)}"
        )
    levels: list[list[int]] = [[] for _ in range(limits.GRAPH_DEPTH_MAX)]
    by_id = sorted(range(len(ids)), key=ids.__getitem__) if are_numbers(ids) else natural.order(ids)
    depths = _depths(ids, parents, by_id)
    for position in by_id:
        levels[depths[position]].append(position)
    order = list(chain.from_iterable(levels))
    if out:
        order = [position for position in order if position not in out]
    return _arranged(vertices, parents, order, warnings)


def _depths(ids: Sequence[Any], parents: list[int], order: list[int]) -> list[int]:
    depths = [-1] * len(parents)
    for start in order:
        parent = parents[start]
        if parent != NOWHERE and 0 <= depths[parent] < limits.GRAPH_DEPTH_MAX - 1:
            depths[start] = depths[parent] + 1  # as it is nearly always: parents have the smaller ids
        elif depths[start] < 0:
            _climb(ids, parents, depths, start)
    return depths


def _climb(ids: Sequence[Any], parents: list[int], depths: list[int], start: int) -> None:
    """The depth of a vertex and of those above it whose depth is not known yet."""
    climbed = [start]
    at = parents[start]
    while at != NOWHERE and depths[at] < 0:
        climbed.append(at)
        if len(climbed) > limits.GRAPH_DEPTH_MAX:
            raise _too_long(ids, parents, start)
        at = parents[at]
    depth = -1 if at == NOWHERE else depths[at]
    if depth + len(climbed) >= limits.GRAPH_DEPTH_MAX:
        raise _too_long(ids, parents, start)
    for position in reversed(climbed):
        depth += 1
        depths[position] = depth


def _too_long(ids: Sequence[Any], parents: list[int], start: int) -> Exception:
    """A cycle or only a deep graph: walked to its end once, which is enough to tell."""
    at, steps = start, 0
    while at != NOWHERE and steps <= len(parents):
        at = parents[at]
        steps += 1
    if at != NOWHERE:
        return refused(f"the graph has a cycle: {_cycle(ids, parents, at)}")
    return refused(
        f"{vertex(str(ids[start]))} is {steps:,} levels deep; a graph has at most {limits.GRAPH_DEPTH_MAX} levels"
    )


def _cycle(ids: Sequence[Any], parents: list[int], start: int) -> str:
    """The vertices of the cycle above `start`."""
    seen: dict[int, int] = {}
    at = start
    while at != NOWHERE and at not in seen:
        seen[at] = len(seen)
        at = parents[at]
    circle = [str(ids[position]) for position, place in seen.items() if place >= seen.get(at, 0)]
    return f"{listed(circle)} contain each other in a circle"


def contained_twice(ids: Sequence[Any], parents: list[int], child: int, other: int) -> Exception:
    """Two parents; or, if one of them is below the child, a cycle."""
    for parent in (parents[child], other):
        at, steps = parent, 0
        while at not in (NOWHERE, child) and steps <= len(parents):
            at = parents[at]
            steps += 1
        if at == child:
            return refused(f"the graph has a cycle: {vertex(str(ids[child]))} contains what it is contained in")
    both = sorted((str(ids[parents[child]]), str(ids[other])), key=natural.key)
    return refused(
        f"{vertex(str(ids[child]))} has two parents, {shown(both[0])} and {shown(both[1])}; in containment it has one"
    )


def _arranged(vertices: Vertices, parents: list[int], order: list[int], warnings: list[str]) -> ResourceGraph:
    place: Sequence[int]
    if len(order) == 1:
        place = [0] * len(parents)
        ordered_ids, ordered_kinds = [str(vertices.ids[order[0]])], [vertices.kind_of[order[0]]]
        ordered_parents = array("i", [NOWHERE])
    else:
        table = [0] * (len(parents) + 1)
        for new, old in enumerate(order):
            table[old] = new
        table[NOWHERE] = NOWHERE  # the last one: that is what an index of -1 reads
        place = table
        take = itemgetter(*order)
        ordered_ids, ordered_kinds = list(map(str, take(vertices.ids))), list(take(vertices.kind_of))
        ordered_parents = array("i", map(table.__getitem__, take(parents)))
    numbers = {kind: number for number, kind in enumerate(dict.fromkeys(ordered_kinds))}
    kept = set(order) if len(order) < len(parents) else None

    def moved(old: int) -> bool:
        return kept is None or old in kept

    return ResourceGraph(
        ids=ordered_ids,
        parents=ordered_parents,
        kind_of=array("I", map(numbers.__getitem__, ordered_kinds)),
        kinds=[vertices.kinds.all[kind] for kind in numbers],
        names=dict(sorted((place[old], name) for old, name in vertices.names.items() if moved(old))),
        ranks=dict(sorted((place[old], rank) for old, rank in vertices.ranks.items() if moved(old))),
        down={place[old] for old in vertices.down if moved(old)},
        warnings=sorted(warnings),
    )
