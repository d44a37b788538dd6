"""Clusters that told counts only, against putting every task somewhere; and the tests' own twin of the matcher."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rainbow_protocol import job as wire
from rainbowd.core.ports import Verdict
from rainbowd.core.state import Shape
from rainbowd.resources.asking import ask_of
from rainbowd.resources.classes import from_totals
from rainbowd.resources.match import GraphMatcher
from rainbowd.resources.model import ClassTable
from tests.totals import Totals, TotalsMatcher

_totals = st.builds(Totals, nodes=st.integers(1, 4), cores_per_node=st.integers(1, 6), gpus_per_node=st.integers(0, 3))
_shapes = st.builds(
    Shape,
    nodes=st.none() | st.integers(1, 5),
    tasks=st.integers(1, 10),
    cores_per_task=st.integers(1, 7),
    gpus_per_task=st.integers(0, 4),
).filter(lambda shape: shape.nodes is None or shape.nodes <= shape.tasks)


def place(shape: Shape, have: Totals) -> bool:
    """Put one task after the other on a node: dealt out evenly over so many nodes, or wherever there is room."""
    cores = [have.cores_per_node] * have.nodes
    gpus = [have.gpus_per_node] * have.nodes
    if shape.nodes is not None and shape.nodes > have.nodes:
        return False
    for task in range(shape.tasks):
        allowed = range(have.nodes) if shape.nodes is None else [task % shape.nodes]
        roomy = [n for n in allowed if cores[n] >= shape.cores_per_task and gpus[n] >= shape.gpus_per_task]
        if not roomy:
            return False
        cores[roomy[0]] -= shape.cores_per_task  # tasks are equal: any node with room is as good as another
        gpus[roomy[0]] -= shape.gpus_per_task
    return True


def match(shape: Shape, have: Totals) -> Verdict:
    asked = wire.Shape(
        nodes=shape.nodes,
        tasks=shape.tasks,
        cores_per_task=shape.cores_per_task,
        gpus_per_task=shape.gpus_per_task,
    )
    model = ClassTable().load(from_totals(have.nodes, have.cores_per_node, have.gpus_per_node))
    return GraphMatcher().match(ask_of(wire.JobRequest(command=["true"], shape=asked)), model)


@given(_shapes, _totals)
def test_a_job_fits_exactly_when_its_tasks_can_be_placed(shape: Shape, have: Totals) -> None:
    verdict = match(shape, have)
    assert verdict.fits == place(shape, have) == TotalsMatcher().match(shape, have).fits
    assert bool(verdict.reason) != verdict.fits


@given(_shapes, _totals)
def test_more_of_everything_never_makes_a_job_impossible(shape: Shape, have: Totals) -> None:
    bigger = Totals(have.nodes + 1, have.cores_per_node + 1, have.gpus_per_node + 1)
    if match(shape, have).fits:
        assert match(shape, bigger).fits


@pytest.mark.parametrize(
    ("shape", "needed", "have"),
    [
        (Shape(cores_per_task=5), "5 cores", "4"),
        (Shape(gpus_per_task=2), "2 gpus", "1"),
        (Shape(tasks=9), "9 tasks", "8"),
        (Shape(tasks=3, gpus_per_task=1), "3 tasks", "2"),
        (Shape(nodes=3, tasks=3), "3 nodes", "2"),
        (Shape(nodes=2, tasks=9), "5 cores", "4"),
    ],
)
def test_a_no_says_how_much_is_needed_and_how_much_there_is(shape: Shape, needed: str, have: str) -> None:
    verdict = match(shape, Totals(nodes=2, cores_per_node=4, gpus_per_node=1))
    assert not verdict.fits
    assert f"needs {needed}" in verdict.reason
    assert verdict.reason.endswith(have)


def test_the_largest_numbers_of_the_protocol_are_compared_exactly() -> None:
    huge = Totals(nodes=1_000_000, cores_per_node=100_000)
    assert match(Shape(tasks=10_000_000, cores_per_task=10_000), huge).fits
    assert not match(Shape(tasks=10_000_000, cores_per_task=10_001), huge).fits
