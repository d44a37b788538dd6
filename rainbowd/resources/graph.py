"""A cluster's resources as it described them: every vertex, as flat arrays. Readers make it, classes come of it.

Only the process that reads a document ever holds one of these; the daemon keeps the classes (`classes.py`).
"""

from array import array
from dataclasses import dataclass, field

Scalar = bool | int | float | str


class GraphRefusedError(Exception):
    """The document cannot be used; the message names the vertex, and says what is wrong, for the person who sent it."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What a vertex is, apart from its place and its name. `size` counts in `unit`."""

    type: str
    size: int | float = 1
    unit: str = ""
    properties: tuple[str, ...] = ()  # sorted
    attributes: tuple[tuple[str, Scalar], ...] = ()  # sorted by key


@dataclass(slots=True)
class ResourceGraph:
    """Vertices in an order in which each comes after its parent; the first is the root, and the only one.

    `names` are host names, of vertices of type `node` (by vertex); `ranks` likewise. `down` are vertices that are
    known to be out of service: a state, not a size, so they are counted, and only told of.
    """

    ids: list[str] = field(default_factory=list)
    parents: "array[int]" = field(default_factory=lambda: array("i"))  # -1 for the root
    kind_of: "array[int]" = field(default_factory=lambda: array("I"))
    kinds: list[Kind] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    ranks: dict[int, int] = field(default_factory=dict)
    down: set[int] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class SubsystemVertex:
    """`attributes` has all that the document says of it, its type apart; nested keys are joined with dots."""

    id: str
    type: str
    attributes: tuple[tuple[str, Scalar], ...] = ()


@dataclass(slots=True)
class SubsystemGraph:
    """A subsystem's vertices, which of them hold which, and what they are attached to.

    `attached` maps a vertex of the cluster to subsystem vertices, by id and position. A subsystem that attaches
    nowhere speaks of the whole cluster.
    """

    name: str
    vertices: list[SubsystemVertex] = field(default_factory=list)
    children: dict[int, list[int]] = field(default_factory=dict)
    attached: dict[str, list[int]] = field(default_factory=dict)
    everywhere: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Limits:
    """A cluster that grows on demand: at most so many nodes, each at most so big. `None` means no limit is known."""

    nodes: int | None
    per_node: tuple[tuple[str, int | float, str], ...]  # type, amount, unit
    properties: tuple[str, ...] = ()
    attributes: tuple[tuple[str, Scalar], ...] = ()
