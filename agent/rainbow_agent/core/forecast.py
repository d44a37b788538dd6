"""The availability profile: for every node, how many cores and gpus are free from when to when.

A list of segments; each holds from its time until the next one's, the last one for ever. Whatever occupies ends
at some time, so a shape that fits the empty cluster always has an earliest place.
"""

from bisect import bisect_right
from collections.abc import Iterable
from operator import itemgetter
from typing import NamedTuple

from rainbow_agent.core.model import Placement, Shape, Totals
from rainbow_agent.core.placement import place, taken, taken_of_a_node

# Past so many visited segments a search stops looking for a hole and takes the end of the profile instead:
# an answer that is late but true, in bounded time.
SEARCH_STEPS_MAX = 50_000
HINTS_MAX = 4_096


class Slot(NamedTuple):
    start: float
    end: float
    placement: Placement


class Profile:
    def __init__(self, totals: Totals, now: float) -> None:
        self._totals = totals
        self._times = [now]
        self._cores = [[totals.cores_per_node] * totals.nodes]
        self._gpus = [[totals.gpus_per_node] * totals.nodes]
        # Sums over the nodes: most segments of a busy profile are ruled out by comparing one number.
        self._cores_sum = [totals.cores_per_node * totals.nodes]
        self._gpus_sum = [totals.gpus_per_node * totals.nodes]
        # Where the last search for the same shape and duration ended. Occupying only ever moves the answer
        # later, so the next search may begin there; releasing forgets all of it.
        self._hints: dict[tuple[Shape, float], float] = {}

    def begin(self, running: Iterable[tuple[Shape, Slot]]) -> None:
        """What runs already, in a profile that is empty yet: as if occupied one by one, but in one pass.

        Every slot begins with the profile and ends later.
        """
        freed: list[tuple[float, list[tuple[int, int, int]]]] = []
        cores, gpus = self._cores[0], self._gpus[0]
        for shape, slot in running:
            changes = [(node, *taken_of_a_node(shape, tasks, self._totals)) for node, tasks in slot.placement]
            for node, cores_taken, gpus_taken in changes:
                cores[node] -= cores_taken
                gpus[node] -= gpus_taken
            freed.append((slot.end, changes))
        self._cores_sum[0], self._gpus_sum[0] = sum(cores), sum(gpus)
        freed.sort(key=itemgetter(0))
        for end, changes in freed:
            self._split(end)  # always at the end of the profile
            cores, gpus = self._cores[-1], self._gpus[-1]
            for node, cores_taken, gpus_taken in changes:
                cores[node] += cores_taken
                gpus[node] += gpus_taken
                self._cores_sum[-1] += cores_taken
                self._gpus_sum[-1] += gpus_taken

    @property
    def horizon(self) -> float:
        """From here on everything is free."""
        return self._times[-1]

    @property
    def segments(self) -> int:
        return len(self._times)

    def earliest(self, shape: Shape, duration_s: float, now: float) -> Slot | None:
        """The first time from `now` on when the shape has its place for the whole duration."""
        hint = self._hints.get((shape, duration_s), now)
        slot = self._search(shape, duration_s, max(now, hint))
        if slot is not None:
            if len(self._hints) >= HINTS_MAX:
                self._hints.clear()
            self._hints[shape, duration_s] = slot.start
        return slot

    def occupy(self, shape: Shape, slot: Slot) -> None:
        self._shift(shape, slot, -1)

    def release(self, shape: Shape, slot: Slot) -> None:
        self._hints.clear()
        self._shift(shape, slot, +1)

    def free_at(self, time: float) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Free cores and gpus of each node at that time."""
        index = max(0, bisect_right(self._times, time) - 1)
        return tuple(self._cores[index]), tuple(self._gpus[index])

    def breakpoints(self) -> tuple[float, ...]:
        return tuple(self._times)

    def _search(self, shape: Shape, duration_s: float, begin: float) -> Slot | None:
        times, cores_sum, gpus_sum = self._times, self._cores_sum, self._gpus_sum
        need_cores, need_gpus = taken(shape, self._totals)
        count = len(times)
        first = max(0, bisect_right(times, begin) - 1)
        checked = first  # segments before this one, from `first` on, have enough in sum
        steps = 0
        while True:
            if steps > SEARCH_STEPS_MAX and first < count - 1:
                first = checked = count - 1
            start = times[first] if times[first] > begin else begin
            end = start + duration_s
            if checked < first:
                checked = first
            while checked < count and (checked == first or times[checked] < end):
                if cores_sum[checked] < need_cores or gpus_sum[checked] < need_gpus:
                    break
                checked += 1
            steps += 1
            if checked < count and (checked == first or times[checked] < end):
                # No window over this segment can do, so the next candidate begins after it.
                steps += checked - first
                if checked == count - 1:
                    return None
                first = checked = checked + 1
                continue
            # `checked` may have been pushed further by an earlier candidate: take this window's own segments.
            last = checked
            while last - 1 > first and times[last - 1] >= end:
                last -= 1
            steps += last - first
            placement = place(shape, *self._lowest(first, last, shape), self._totals)
            if placement is not None:
                return Slot(start, end, placement)
            if first == count - 1:
                return None
            first += 1

    def _lowest(self, first: int, last: int, shape: Shape) -> tuple[list[int], list[int]]:
        """What every node has free throughout segments first…last-1."""
        if last - first == 1:
            return self._cores[first], self._gpus[first]
        cores = list(map(min, *self._cores[first:last]))
        gpus = list(map(min, *self._gpus[first:last])) if shape.gpus_per_task else self._gpus[first]
        return cores, gpus

    def _shift(self, shape: Shape, slot: Slot, sign: int) -> None:
        first = self._split(slot.start)
        last = self._split(slot.end)
        changes = []
        cores_change = gpus_change = 0
        for node, tasks in slot.placement:
            cores, gpus = taken_of_a_node(shape, tasks, self._totals)
            changes.append((node, sign * cores, sign * gpus))
            cores_change += sign * cores
            gpus_change += sign * gpus
        cores_sum = self._cores_sum
        for index in range(first, last):
            row = self._cores[index]
            for node, cores, _ in changes:
                row[node] += cores
            cores_sum[index] += cores_change
            if gpus_change:
                row = self._gpus[index]
                for node, _, gpus in changes:
                    row[node] += gpus
                self._gpus_sum[index] += gpus_change

    def _split(self, at: float) -> int:
        """The index of the segment that begins at `at`, made if need be. The past is the first segment."""
        index = bisect_right(self._times, at) - 1
        if index < 0:
            return 0
        if self._times[index] == at:
            return index
        self._times.insert(index + 1, at)
        self._cores.insert(index + 1, self._cores[index].copy())
        # Where there are no gpus at all, one row of zeros does for all segments.
        self._gpus.insert(index + 1, self._gpus[index].copy() if self._totals.gpus_per_node else self._gpus[index])
        self._cores_sum.insert(index + 1, self._cores_sum[index])
        self._gpus_sum.insert(index + 1, self._gpus_sum[index])
        return index + 1
