"""How attempts stand in the schedule: running, queued, or waiting with a bid."""

from dataclasses import dataclass

from rainbow_agent.core.model import Assignment, Placement, Shape, Totals
from rainbow_agent.core.plan import Place
from rainbow_agent.core.scores import Told


@dataclass(slots=True)
class Running:
    shape: Shape
    user: str
    assignment: Assignment
    since: float

    def placement(self, totals: Totals) -> Placement:
        return tuple((node, tasks) for node, tasks, _ in self.assignment if node < totals.nodes)


@dataclass(slots=True)
class Queued:
    """`told` is the forecast of its bid, `promised` the start by limits then; a job from before a restart has none."""

    shape: Shape
    user: str
    told: Told | None = None
    promised: float | None = None


@dataclass(slots=True)
class Waiting:
    """A bid or an acceptance: it occupies the plans, but not the nodes."""

    shape: Shape
    user: str
    place: Place
    told: Told
    likely: tuple[Place, float] | None  # its place in the outlook, for so long
