"""What a cluster of plain processes says to jobs that ask for more than a shape."""

import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rainbow_agent.backends.demands import objection
from rainbow_agent.backends.launching import LocalSettings
from rainbow_agent.core.model import Totals
from rainbow_protocol.job import Dependency, JobRequest
from rainbow_protocol.job import Shape as WireShape
from rainbow_protocol.messages.agent import Offer
from rainbow_protocol.program import Program, Task, TaskCount
from rainbow_protocol.resources import Constraint

SETTINGS = LocalSettings(Totals(4, 8), Path("jobs"), Path("work"), lambda: "tested", properties=("fast",))


def offer(**more: Any) -> Offer:
    return Offer(job="000000000001", attempt=1, shape=WireShape(), deadline_ms=1000, hold_s=1.0, **more)


def request(**more: Any) -> JobRequest:
    return JobRequest(command=["true"], **more)


def test_nothing_asked_nothing_objected() -> None:
    assert objection(offer(), SETTINGS) is None
    assert objection(request(), SETTINGS) is None


@pytest.mark.parametrize("make", [offer, request])
def test_queues(make: Any) -> None:
    assert objection(make(queue="debug"), SETTINGS) == "there is no queue 'debug': this cluster has no queues"
    queues = replace(SETTINGS, queues=("batch", "debug"))
    assert objection(make(queue="debug"), queues) is None
    assert objection(make(queue="big"), queues) == "there is no queue 'big': its queues are batch, debug"


def test_words_of_others_are_cut_to_what_a_reason_holds() -> None:
    words = objection(offer(queue="q" * 5000), SETTINGS)
    assert words is not None
    assert len(words) == 500


@pytest.mark.parametrize("asked", [offer(image=True), request(image="docker://alpine")])
def test_images(asked: Offer | JobRequest) -> None:
    assert objection(asked, SETTINGS) == "this cluster runs plain processes; set container_command to run images"
    assert objection(asked, replace(SETTINGS, ignore_images=True)) is None
    assert objection(asked, replace(SETTINGS, container_command=("apptainer", "exec", "{image}"))) is None


@pytest.mark.parametrize(
    "asked", [offer(dependencies=True), request(dependencies=[Dependency(scheme="afterok", value="f1")])]
)
def test_dependencies(asked: Offer | JobRequest) -> None:
    words = "this cluster runs plain processes and cannot make one job wait for another"
    assert objection(asked, SETTINGS) == words


@pytest.mark.parametrize("make", [offer, request])
@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (Constraint(op="properties", values=["fast"]), None),
        (Constraint(op="hostlist", values=["node[0-3]"]), None),
        (
            Constraint(op="hostlist", values=["node1"]),
            "cannot keep a job to some nodes: the constraint holds for 1 of 4",
        ),
    ],
)
def test_constraints(make: Any, constraint: Constraint, words: str | None) -> None:
    assert objection(make(constraint=constraint), SETTINGS) == words


def test_constraints_on_nodes_that_a_file_describes() -> None:
    described = replace(SETTINGS, nodes_json=Path("nodes.json"))
    words = objection(offer(constraint=Constraint(op="properties", values=["fast"])), described)
    assert words is not None
    assert "cannot keep a job to some of the nodes that nodes_json names" in words


def test_a_program_that_cannot_be_run_is_refused_at_the_award() -> None:
    stuck = Program(tasks=[Task(name="a", command=["a"], depends_on=["b"])])
    assert objection(request(program=stuck), SETTINGS) == (
        "a task waits for 'b', which is not among the tasks beside it"
    )
    sockets = TaskCount(per_resource="socket")
    assert objection(request(task_count=sockets), SETTINGS) == (
        "the job has no 'socket', so it cannot have tasks for each of them"
    )


def test_a_shape_of_millions_costs_nothing_to_look_at() -> None:
    """The shape is judged elsewhere; the processes are counted, not listed."""
    huge = request(shape=WireShape(tasks=10_000_000), task_count=TaskCount(per_slot=1))
    assert objection(huge, SETTINGS) == (
        "the job asks for 10000000 processes at once, this cluster starts at most 10000"
    )


@pytest.mark.parametrize(
    ("values", "fits"),
    [
        (["os=linux"], True),
        ([f"arch={platform.machine()}", "os=linux", "fast"], True),
        (["site=west"], True),
        (["^os=linux"], False),
        (["os=plan9"], False),
        (["os"], False),
        (["^os=plan9"], True),
    ],
)
def test_a_label_counts_as_the_property_that_it_makes(values: list[str], fits: bool) -> None:
    """As it does for the daemon, which read the labels in the list of nodes that this agent sent."""
    settings = replace(SETTINGS, labels={"site": "west"})
    asked = offer(constraint=Constraint(op="properties", values=values))
    assert (objection(asked, settings) is None) == fits


def test_a_configured_label_replaces_that_of_the_machine() -> None:
    settings = replace(SETTINGS, labels={"os": "plan9"})
    asked = offer(constraint=Constraint(op="properties", values=["os=plan9", "^os=linux"]))
    assert objection(asked, settings) is None
