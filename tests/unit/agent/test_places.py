"""How many processes a task has, and where they run."""

import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbow_agent.backends.places import PROCESSES_MAX, Allocation, places
from rainbow_agent.core.model import Shape, Share
from rainbow_protocol.jobspec import shape_of
from rainbow_protocol.program import TaskCount
from rainbow_protocol.resources import CountRange, Need, Resource

# Two tasks on the first node, one on the second; two devices each.
ALLOCATION = Allocation(
    Shape(tasks=3, cores_per_task=4, gpus_per_task=2), (Share(0, 2, (0, 1, 2, 3)), Share(5, 1, (6, 7)))
)
NEED = Need(
    alternatives=[
        [
            Resource(
                type="node",
                count=2,
                children=[
                    Resource(
                        type="slot",
                        count=CountRange(min=3, max=5),
                        label="big",
                        children=[Resource(type="socket", count=2, children=[Resource(type="core", count=4)])],
                    ),
                    Resource(type="slot", label="small", children=[Resource(type="core")]),
                ],
            )
        ]
    ]
)


def test_without_a_count_there_is_one_for_each_slot() -> None:
    assert places(None, ALLOCATION, None) == places(TaskCount(per_slot=1), ALLOCATION, None)
    assert len(places(None, ALLOCATION, NEED)) == 8


def test_without_slots_there_is_one_for_each_of_what_is_asked_for() -> None:
    cores = Need(alternatives=[[Resource(type="node", count=2, children=[Resource(type="core", count=4)])]])
    assert [node for node, _ in places(None, ALLOCATION, cores)] == ["node0", "node0"]
    one = Need(alternatives=[[Resource(type="node", children=[Resource(type="core", count=4)])]])
    assert places(None, ALLOCATION, one) == [("node0", (0, 1, 2, 3))]


@pytest.mark.parametrize(
    ("count", "nodes"),
    [
        (TaskCount(per_slot=1), ["node0", "node0", "node5"]),
        (TaskCount(per_slot=2), ["node0"] * 4 + ["node5"] * 2),
        (TaskCount(total=1), ["node0"]),
        (TaskCount(total=6), ["node0"] * 4 + ["node5"] * 2),
        (TaskCount(total=7), ["node0"] * 5 + ["node5"] * 2),
        (TaskCount(per_resource="node"), ["node0", "node5"]),
        (TaskCount(per_resource="node", per_resource_count=2), ["node0", "node0", "node5", "node5"]),
        (TaskCount(per_resource="gpu"), ["node0"] * 4 + ["node5"] * 2),
        (TaskCount(per_resource="core"), ["node0"] * 8 + ["node5"] * 4),
        (TaskCount(per_resource="slot", per_resource_count=2), ["node0"] * 4 + ["node5"] * 2),
    ],
)
def test_where_they_go(count: TaskCount, nodes: list[str]) -> None:
    assert [node for node, _ in places(count, ALLOCATION, None)] == nodes


def test_devices_are_those_of_the_slot() -> None:
    assert [gpus for _, gpus in places(TaskCount(per_slot=1), ALLOCATION, None)] == [(0, 1), (2, 3), (6, 7)]


@pytest.mark.parametrize(
    ("count", "slot", "processes"),
    [
        (TaskCount(per_slot=2), None, 16),
        (TaskCount(per_slot=2), "big", 12),
        (TaskCount(per_slot=2), "small", 4),
        (TaskCount(per_slot=2), "unheard-of", 16),
        (TaskCount(per_resource="socket"), None, 12),
        (TaskCount(per_resource="node", per_resource_count=3), None, 6),
        (TaskCount(per_resource="core"), None, 50),
    ],
)
def test_what_a_task_asks_for_itself_is_counted(count: TaskCount, slot: str | None, processes: int) -> None:
    assert len(places(count, ALLOCATION, NEED, slot)) == processes


def test_the_number_of_processes_is_bounded() -> None:
    assert len(places(TaskCount(total=PROCESSES_MAX), ALLOCATION, None)) == PROCESSES_MAX
    for count in (
        TaskCount(total=PROCESSES_MAX + 1),
        TaskCount(per_slot=PROCESSES_MAX),
        TaskCount(per_resource="node", per_resource_count=PROCESSES_MAX + 1),
    ):
        with pytest.raises(ValueError, match=f"starts at most {PROCESSES_MAX}"):
            places(count, ALLOCATION, None)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(1, 60))
def test_slots_get_their_fair_share(tasks: list[int], total: int) -> None:
    shape = Shape(tasks=sum(tasks), gpus_per_task=1)
    first = [sum(tasks[:node]) for node in range(len(tasks))]
    shares = tuple(
        Share(node, number, tuple(range(first[node], first[node] + number))) for node, number in enumerate(tasks)
    )
    found = places(TaskCount(total=total), Allocation(shape, shares), None)
    used = Counter(gpus for _, gpus in found)
    assert len(found) == total
    assert max(used.values()) - min(used.values()) <= 1
    assert [node for node, _ in found] == sorted(node for node, _ in found)
    if total <= shape.tasks:
        devices = [device for _, gpus in found for device in gpus]
        assert len(devices) == len(set(devices))


GPU_OR_CPU = Need(
    alternatives=[
        [Resource(type="node", count=4, children=[Resource(type="gpu", count=2), Resource(type="core")])],
        [Resource(type="node", count=2, children=[Resource(type="core", count=8)])],
    ]
)


@pytest.mark.parametrize(
    ("count", "processes"),
    [(None, 2), (TaskCount(per_slot=3), 6), (TaskCount(per_resource="core"), 16), (TaskCount(per_resource="node"), 2)],
)
def test_of_alternatives_the_one_is_counted_that_was_set_aside(count: TaskCount | None, processes: int) -> None:
    shape = shape_of([GPU_OR_CPU])
    assert (shape.nodes, shape.tasks, shape.cores_per_task, shape.gpus_per_task) == (2, 2, 8, 0)
    allocation = Allocation(Shape(tasks=2, cores_per_task=8), (Share(0, 1), Share(1, 1)))
    assert len(places(count, allocation, GPU_OR_CPU)) == processes


def test_an_agent_does_not_load_the_readers_of_jobspecs() -> None:
    code = "import sys, rainbow_agent.backends.places; print([one for one in sys.modules if 'jobspec' in one])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
