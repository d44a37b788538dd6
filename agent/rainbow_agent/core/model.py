"""The nouns of the agent's core: attempts, shapes, totals and where tasks are placed.

They repeat a little of the wire's models on purpose: the core imports nothing, and the edge translates.
"""

from dataclasses import dataclass
from typing import NamedTuple


class Key(NamedTuple):
    """One attempt of one job: the unit that is held, accepted, started, run and reported."""

    job: str
    attempt: int

    def __str__(self) -> str:
        return f"{self.job}.{self.attempt}"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a job asks for: equal tasks, spread over `nodes` nodes if given. A task never spans nodes."""

    tasks: int = 1
    cores_per_task: int = 1
    gpus_per_task: int = 0
    nodes: int | None = None
    time_limit_s: float | None = None
    exclusive: bool = False  # its nodes are for this job alone, whatever it uses of them

    @property
    def cores(self) -> int:
        """What its tasks use. What it keeps from others is more if it is exclusive: see `placement.taken`."""
        return self.tasks * self.cores_per_task

    @property
    def gpus(self) -> int:
        return self.tasks * self.gpus_per_task


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks for what, as far as the daemon knows who; `queue` is one of the cluster's, if it matters."""

    shape: Shape
    user: str = ""
    queue: str | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """The declared cluster: so many equal nodes."""

    nodes: int
    cores_per_node: int
    gpus_per_node: int = 0

    @property
    def cores(self) -> int:
        return self.nodes * self.cores_per_node


@dataclass(frozen=True, slots=True)
class Free:
    """What is free right now, and how much waits and runs. `nodes` counts the wholly free ones."""

    nodes: int
    cores: int
    gpus: int
    queued: int
    running: int


# How many tasks go to which node: ((node, tasks), …), nodes ascending.
Placement = tuple[tuple[int, int], ...]


class Share(NamedTuple):
    """The part of a running job on one node, with the devices that it was given there."""

    node: int
    tasks: int
    gpus: tuple[int, ...] = ()


Assignment = tuple[Share, ...]
