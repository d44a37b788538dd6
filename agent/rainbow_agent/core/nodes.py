"""What the nodes have free at this moment: the truth that starting a job goes by, where the profile only plans."""

from rainbow_agent.core.model import Assignment, Placement, Shape, Share, Totals
from rainbow_agent.core.placement import taken_of_a_node


class Nodes:
    def __init__(self, totals: Totals) -> None:
        self._totals = totals
        self.cores = [totals.cores_per_node] * totals.nodes
        self._devices = [list(range(totals.gpus_per_node)) for _ in range(totals.nodes)]
        self.gpus = [totals.gpus_per_node] * totals.nodes
        self.cores_free = totals.cores_per_node * totals.nodes

    def take(self, shape: Shape, placement: Placement) -> Assignment:
        """Occupy, choosing the devices. The placement must have been found against this very state."""
        shares = []
        for node, tasks in placement:
            wanted = tasks * shape.gpus_per_task
            devices = tuple(self._devices[node][:wanted])
            shares.append(Share(node, tasks, devices))
        assignment = tuple(shares)
        self.occupy(shape, assignment)
        return assignment

    def occupy(self, shape: Shape, assignment: Assignment) -> None:
        """Also for jobs from before a restart: a cluster that was declared smaller since may go below zero."""
        for node, tasks, devices in assignment:
            if node < self._totals.nodes:
                self._count(shape, node, tasks, -1)
                left = [] if shape.exclusive else self._devices[node]
                self._devices[node] = [device for device in left if device not in devices]

    def give_back(self, shape: Shape, assignment: Assignment) -> None:
        for node, tasks, devices in assignment:
            if node < self._totals.nodes:
                self._count(shape, node, tasks, +1)
                every = self._totals.gpus_per_node
                known = range(every) if shape.exclusive else [device for device in devices if device < every]
                self._devices[node] = sorted({*self._devices[node], *known})

    def _count(self, shape: Shape, node: int, tasks: int, sign: int) -> None:
        cores, gpus = taken_of_a_node(shape, tasks, self._totals)
        self.cores[node] += sign * cores
        self.cores_free += sign * cores
        self.gpus[node] += sign * gpus

    @property
    def wholly_free(self) -> int:
        full = self._totals.cores_per_node
        return sum(1 for cores in self.cores if cores == full)
