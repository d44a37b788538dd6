"""The earlier forms: one task, listed resources, subsystems beside the command."""

from typing import Any

import pytest

from rainbow_protocol.job import Shape
from rainbow_protocol.resources import Condition, Requirement
from tests.unit.protocol.jobspec.documents import FLUX, RAINBOW, changed, only_forest, reading, refusal


def required(task_resources: Any) -> list[Requirement]:
    return reading(changed(RAINBOW, "task/resources", task_resources)).request.requires


def one(subsystem: str, *conditions: Condition) -> Requirement:
    return Requirement(subsystem=subsystem, conditions=list(conditions))


SHM = Condition(field="type", any_of=["shm"])


def test_a_whole_document() -> None:
    found = reading(RAINBOW)
    assert (found.format, found.warnings) == ("rainbow", ())
    [node] = only_forest(found)
    assert (node.type, node.count, node.children[0].count) == ("node", 2, 2)
    assert found.request.command == ["ior"]
    assert found.request.shape == Shape(nodes=2, tasks=2, cores_per_task=2)
    assert found.request.requires == [one("io", SHM)]
    assert found.request.parameters == {"seconds_per_gb": 0.4}
    assert found.request.program is None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"io": {"match": [{"type": "shm"}]}}, [one("io", SHM)]),
        ({"io": {"match": [{"field": "type", "match": "shm"}]}}, [one("io", SHM)]),
        ({"io": {"match": [{"field": "type", "value": "shm"}]}}, [one("io", SHM)]),
        ({"io": {"match": ["shm"]}}, [one("io", SHM)]),
        ({"io": "shm"}, [one("io", SHM)]),
        ({"io": {"match": ["shm", "nvme"]}}, [one("io", SHM), one("io", Condition(field="type", any_of=["nvme"]))]),
        (
            {"spack": {"range": [{"field": "version", "min": "0.5.1", "max": "0.5.5"}]}},
            [one("spack", Condition(field="version", min="0.5.1", max="0.5.5"))],
        ),
        (
            {"spack": {"match": [{"type": "package"}], "range": [{"field": "version", "min": "1"}]}},
            [one("spack", Condition(field="type", any_of=["package"]), Condition(field="version", min="1"))],
        ),
        ({"os": {"os.name": "ubuntu"}}, [one("os", Condition(field="os.name", any_of=["ubuntu"]))]),
        (
            {"os": {"os.name": ["ubuntu", "debian"], "os.version": {"min": "20.04"}}},
            [
                one(
                    "os",
                    Condition(field="os.name", any_of=["ubuntu", "debian"]),
                    Condition(field="os.version", min="20.04"),
                )
            ],
        ),
        ({"os": {}}, [one("os")]),
    ],
)
def test_subsystems_beside_the_command(written: Any, meant: list[Requirement]) -> None:
    assert required(written) == meant


def test_priorities_are_wishes_and_told() -> None:
    found = reading(changed(RAINBOW, "task/resources", {"io": {"storage": [{"priority": 1, "storage": "shm"}]}}))
    assert found.request.requires == []
    assert found.warnings == (
        "task.resources.io.storage: is not a way of matching that is known (match, range); not used",
    )


def test_listed_resources_with_one_task() -> None:
    document = {**{key: value for key, value in FLUX.items() if key != "tasks"}, "task": FLUX["tasks"][0]}
    document = changed(document, "task/resources", {"io": {"match": [{"type": "shm"}]}})
    found = reading(document)
    assert found.format == "rainbow"
    assert found.request.shape == Shape(nodes=4, tasks=8, cores_per_task=3, time_limit_s=3600)
    assert found.request.requires == [one("io", SHM)]
    assert refusal(changed(document, "task/slot", "x")) == "task.slot: names no slot; there are: default"


def test_listed_nodes_of_which_nothing_is_asked_are_wanted_themselves() -> None:
    document = {"version": 1, "resources": [{"type": "node", "count": 2}], "task": {"command": ["a"]}}
    assert reading(document).request.shape == Shape(nodes=2, tasks=2, exclusive=True)


def test_several_tasks_with_requirements_of_their_own() -> None:
    tasks = [{"command": ["a"], "requires": [{"name": "io", "match": "shm"}]}, {"command": ["b"]}]
    document = {"version": 1, "resources": RAINBOW["resources"], "tasks": tasks}
    request = reading(document).request
    assert request.requires == []
    assert request.needs is not None
    assert [need.alternatives[0][0].requires for need in request.needs] == [[one("io", SHM)], []]
    assert request.program is not None
    assert [task.need for task in request.program.tasks] == [0, 1]


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("task", ..., "has no task"),
        ("task/command", ..., "task.command: is missing"),
        ("tasks", [], "task: is there beside `tasks`; keep one of them"),
        ("task/resources", "nothing", "task.resources: 'nothing' names no resources; there are: ior"),
        ("attributes/parameter", {"a": [1]}, "attributes.parameter.a: must be a text, a number, or true or false"),
        ("attributes/parameter", 4, "attributes.parameter: must be an object"),
    ],
)
def test_mistakes_say_where_and_what(path: str, value: Any, message: str) -> None:
    assert message in refusal(changed(RAINBOW, path, value), format="rainbow")
