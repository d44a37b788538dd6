"""What the disk keeps of a cluster's resources, and of a cluster that was deleted."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class StoredDescription:
    """A change of what is kept. `description` is read at every start, the rest only when it is asked for.

    A `graph` that is None stays as it is; of the `subsystems`, those that are named change, and None removes one.
    With `anew` nothing of what was there before stays.
    """

    description: bytes
    graph: bytes | None = None
    subsystems: Mapping[str, bytes | None] = field(default_factory=dict)
    anew: bool = False


@dataclass(frozen=True, slots=True)
class StoredGraph:
    """All that was told of a cluster, as of one `revision`; 0 if nothing was."""

    revision: int = 0
    graph: bytes | None = None
    subsystems: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RetiredCluster:
    """The holders of its token see what they saw before, by the grant `retired`."""

    retired: str
    name: str
    generation: int
    token_hash: bytes
