"""Named resources, requirements, groups and order."""

from typing import Any

import pytest

from rainbow_protocol import limits
from rainbow_protocol.job import Shape
from rainbow_protocol.program import TaskCount
from rainbow_protocol.resources import Condition, Requirement
from tests.unit.protocol.jobspec.documents import NEXTGEN, Document, changed, reading, refusal

GCC = Requirement(
    subsystem="spack",
    conditions=[Condition(field="type", any_of=["package"]), Condition(field="name", any_of=["gcc"])],
)
NODE: Document = {"type": "node", "with": [{"type": "core", "count": 2}]}


def document(**parts: Any) -> Document:
    return {"version": 1, "resources": {"one": NODE}, **parts}


def test_a_whole_document() -> None:
    found = reading(NEXTGEN)
    request = found.request
    assert (found.format, found.warnings) == ("nextgen", ())
    assert request.name == "two steps"
    assert request.command == ["make"]
    assert request.program is not None
    build, run = request.program.tasks
    assert (build.name, build.command, build.need, build.depends_on) == ("build", ["make"], 0, [])
    assert (run.name, run.command, run.need, run.depends_on) == ("run", ["./run"], 1, ["build"])
    assert request.needs is not None
    small, large = [need.alternatives[0][0] for need in request.needs]
    assert (small.count, small.requires) == (1, [GCC])  # two needs: it is required where its task runs
    assert (large.count, large.requires) == (8, [])
    assert [(one.type, one.count) for one in large.children] == [("core", 16), ("gpu", 2)]
    assert request.requires == []
    assert request.shape == Shape(nodes=8, tasks=8, cores_per_task=16, gpus_per_task=2)


def test_one_task_is_a_command_and_its_requirements_are_of_the_job() -> None:
    request = reading(changed(NEXTGEN, "tasks", NEXTGEN["tasks"][:1])).request
    assert request.program is None
    assert request.command == ["make"]
    assert request.requires == [GCC]
    assert request.shape == Shape(nodes=1, tasks=1, cores_per_task=4)


def test_tasks_with_the_same_resources_share_a_need() -> None:
    tasks = [{"command": ["a"]}, {"command": ["b"]}]
    request = reading(document(tasks=tasks)).request
    assert request.needs is not None
    assert len(request.needs) == 1
    assert request.program is not None
    assert [task.need for task in request.program.tasks] == [0, 0]


def test_alternatives() -> None:
    request = reading(changed(NEXTGEN, "tasks/1/resources", "large|small")).request
    assert request.needs is not None
    assert [forest[0].count for forest in request.needs[1].alternatives] == [8, 1]


def test_alternatives_of_requirements() -> None:
    requires = {"a": [{"name": "spack", "match": "x"}], "b": [{"name": "module", "match": "y"}]}
    request = reading(document(requires=requires, tasks=[{"command": ["t"], "requires": "a|b"}])).request
    assert request.needs is not None
    [need] = request.needs
    assert [[one.subsystem for one in forest[0].requires] for forest in need.alternatives] == [["spack"], ["module"]]


def test_several_resources_at_the_same_time() -> None:
    request = reading(changed(NEXTGEN, "tasks/1/resources", ["large", "small"])).request
    assert request.needs is not None
    [forest] = request.needs[1].alternatives
    assert [one.count for one in forest] == [8, 1]


def test_a_set_that_no_task_names_is_required_of_the_whole_job() -> None:
    found = reading(changed(NEXTGEN, "tasks/0/requires", ...))
    assert found.request.requires == [GCC]
    assert found.warnings == ("requires.compiler: is named by no task or group, so it is required of the whole job",)


def test_requirements_of_the_job_as_fields() -> None:
    request = reading(document(requires={"io.archspec": {"cpu.target": "amd64"}}, tasks=[{"command": ["a"]}])).request
    assert request.requires == [
        Requirement(subsystem="io.archspec", conditions=[Condition(field="cpu.target", any_of=["amd64"])])
    ]


def test_requirements_of_the_job_as_a_list() -> None:
    request = reading(document(requires=[{"name": "os", "match": "linux"}], tasks=[{"command": ["a"]}])).request
    assert [one.subsystem for one in request.requires] == ["os"]


def test_time_limits_within_a_group_are_told() -> None:
    task = {"command": ["a"], "attributes": {"duration": 5}}
    groups = [{"name": "g", "attributes": {"duration": 60}, "tasks": [task]}]
    found = reading(document(groups=groups))
    assert found.request.shape.time_limit_s == 60
    assert found.warnings == ("groups[0].tasks[0]: a time limit within a group is not kept; give the group itself one",)


def test_a_node_of_which_nothing_is_asked_is_wanted_itself() -> None:
    whole = reading(document(resources={"n": {"type": "node", "count": 2}}, tasks=[{"command": ["a"]}])).request
    part = reading(document(tasks=[{"command": ["a"]}])).request
    assert (whole.shape.exclusive, part.shape.exclusive) == (True, False)


def test_replicas_are_kept() -> None:
    request = reading(document(tasks=[{"command": ["a"], "replicas": 20}])).request
    assert request.program is not None
    assert request.program.tasks[0].replicas == 20


def test_groups_in_groups() -> None:
    found = reading(
        document(
            resources={"all": {"type": "node", "count": 4}, "one": NODE},
            groups=[
                {
                    "name": "outer",
                    "resources": "all",
                    "tasks": [{"group": "inner"}, {"command": ["b"], "resources": "one"}],
                },
                {"name": "inner", "tasks": [{"command": ["a"]}]},
            ],
        )
    )
    program = found.request.program
    assert program is not None
    assert [task.group for task in program.tasks] == ["outer"]
    outer, inner = program.groups
    assert (outer.name, outer.need, inner.name, inner.need) == ("outer", 0, "inner", None)
    assert [(task.group, task.command, task.need) for task in outer.tasks] == [("inner", [], None), (None, ["b"], 1)]
    assert found.request.needs is not None
    assert [need.alternatives[0][0].count for need in found.request.needs] == [4, 1]
    assert found.request.command == ["a"]  # the first that runs


def test_a_group_defined_in_a_group_runs_there() -> None:
    inner = {"name": "inner", "tasks": [{"command": ["a"]}]}
    program = reading(
        document(groups=[{"name": "outer", "tasks": [{"command": ["b"]}], "groups": [inner]}])
    ).request.program
    assert program is not None
    assert [task.group for task in program.tasks] == ["outer"]
    assert [task.group for task in program.groups[0].tasks] == ["inner", None]


def test_what_a_task_of_a_group_requires_is_required_of_the_group() -> None:
    groups = [
        {"name": "g", "resources": "one", "tasks": [{"command": ["a"], "requires": [{"name": "io", "match": "shm"}]}]}
    ]
    request = reading(document(groups=groups)).request
    assert [one.subsystem for one in request.requires] == ["io"]
    assert request.needs is not None
    assert len(request.needs) == 1


def test_schedule_tells_what_is_asked_for() -> None:
    resources = {"all": {**NODE, "count": 8, "schedule": True}, "part": NODE}
    groups = [{"name": "g", "resources": "all", "tasks": [{"command": ["a"], "resources": "part"}]}]
    found = reading(document(resources=resources, groups=groups))
    assert found.request.needs is not None
    assert [need.alternatives[0][0].count for need in found.request.needs] == [8]
    assert found.warnings == (
        "groups[0].tasks[0]: its resources are not scheduled by themselves: it runs in what the others have",
    )


def test_surroundings_of_resources_groups_and_tasks() -> None:
    resources = {"one": {**NODE, "attributes": {"duration": "300s", "cwd": "/a", "environment": {"A": "1", "B": "1"}}}}
    tasks = [{"command": ["a"], "attributes": {"environment": {"B": "2"}, "cwd": "/b"}}]
    request = reading(document(resources=resources, tasks=tasks)).request
    assert (request.cwd, request.env, request.shape.time_limit_s) == ("/b", {"A": "1", "B": "2"}, 300.0)


def test_time_limits_of_parts_add_up() -> None:
    tasks = [{"command": [name], "attributes": {"duration": 60}} for name in ("a", "b")]
    found = reading(document(tasks=tasks))
    assert found.request.shape.time_limit_s == 120
    assert found.warnings == ("the time limits of its parts make 120 seconds for the whole job",)
    found = reading(document(tasks=[*tasks, {"command": ["c"]}]))
    assert found.request.shape.time_limit_s is None
    assert "so the whole job has none" in found.warnings[0]


def test_a_slot_of_ones_own() -> None:
    resources = {
        "r": {"type": "node", "with": [{"type": "slot", "label": "s", "count": 3, "with": [{"type": "core"}]}]}
    }
    task = {"command": ["a"], "slot": "s", "count": {"per_slot": 2}}
    request = reading(document(resources=resources, tasks=[task])).request
    assert request.shape == Shape(nodes=1, tasks=3)
    assert request.task_count is not None
    assert request.task_count.per_slot == 2


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"tasks": [{"command": ["a"], "resources": "two"}]},
            "tasks[0].resources: 'two' names no resources; there are: one",
        ),
        (
            {"tasks": [{"command": ["a"], "requires": "x"}]},
            "tasks[0].requires: 'x' names no requirements; there are: none",
        ),
        ({"tasks": [{"group": "g"}]}, "tasks[0].group: 'g' names no group; there are: none"),
        ({"tasks": [{"name": "a"}]}, "tasks[0].command: is missing, and it names no group either"),
        ({"tasks": [{"command": ["a"], "slot": "s"}]}, "tasks[0].slot: names a slot, and no slot has a label"),
        ({"tasks": [{"command": ["a"], "replicas": 0}]}, "tasks[0].replicas: must be at least 1"),
        ({"tasks": [{"command": ["a"], "depends_on": ["b"]}]}, "task number 1 waits for 'b', which is not there"),
        (
            {
                "tasks": [
                    {"name": "a", "command": ["a"], "depends_on": ["b"]},
                    {"name": "b", "command": ["b"], "depends_on": "a"},
                ]
            },
            "these wait for each other, so that none could ever run: a → b → a",
        ),
        ({"tasks": [{"name": "a", "command": ["a"], "depends_on": ["a"]}]}, "so that none could ever run: a → a"),
        ({"tasks": [{"name": "a", "command": ["a"]}] * 2}, "two tasks have the name 'a'"),
        (
            {"groups": [{"name": "g", "tasks": [{"group": "h"}]}, {"name": "h", "tasks": [{"group": "g"}]}]},
            "these run within each other, so that none could ever run: g → h → g",
        ),
        ({"groups": [{"name": "g", "tasks": []}]}, "groups[0]: must have at least one task"),
        (
            {"groups": [{"name": "g", "tasks": [{"command": ["a"]}]}] * 2},
            "groups[1]: there is another group with the name 'g'",
        ),
        ({"tasks": []}, "has neither tasks nor groups"),
        (
            {"resources": {"a": NODE, "b": NODE}, "tasks": [{"command": ["x"]}]},
            "tasks[0]: must say which `resources` it runs on; there are: a, b",
        ),
        ({"resources": {}, "tasks": [{"command": ["x"]}]}, "resources: must name at least one resource"),
        (
            {
                "resources": {"a": {**NODE, "schedule": True}, "b": NODE},
                "tasks": [{"command": ["x"], "resources": "b"}],
            },
            "no task runs on resources with `schedule: true`",
        ),
        (
            {"tasks": [{"command": ["a"], "resources": "|".join(["one"] * 17)}]},
            f"has more than {limits.ALTERNATIVES_MAX} alternatives",
        ),
        (
            {"resources": {"a": {"type": "node", "count": 1, "replicas": 2}}, "tasks": [{"command": ["x"]}]},
            "resources.a.replicas: says the same as count",
        ),
    ],
)
def test_mistakes_say_where_and_what(parts: Document, message: str) -> None:
    assert message in refusal(document(**parts), format="nextgen")


@pytest.mark.parametrize(
    ("task", "warning"),
    [
        ({"local": True}, "tasks[0].local: this task is started like the others; not used"),
        ({"steps": [{"name": "stage"}]}, "tasks[0].steps: staging files and the like is not known here; not used"),
        ({"colour": 1}, "tasks[0].colour: is not known here and was not used"),
        ({"attributes": {"watch": True}}, "tasks[0].attributes.watch: is up to whoever submits: --watch"),
    ],
)
def test_what_is_not_used_is_told(task: Document, warning: str) -> None:
    assert reading(document(tasks=[{"command": ["a"], **task}])).warnings == (warning,)


def test_tasks_and_groups_are_counted() -> None:
    tasks = [{"command": ["a"]}] * (limits.PROGRAM_TASKS_MAX + 1)
    assert reading(document(tasks=tasks[:-1])).request.program is not None
    assert "has more than 256 tasks" in refusal(document(tasks=tasks))
    groups = [{"name": f"g{number}", "tasks": tasks[:1]} for number in range(limits.PROGRAM_GROUPS_MAX + 1)]
    assert reading(document(groups=groups[:-1])).request.program is not None
    assert "there are more than 64 groups" in refusal(document(groups=groups))


def test_allocations_are_counted() -> None:
    resources = {f"r{number}": {**NODE, "count": number + 1} for number in range(limits.NEEDS_MAX + 1)}
    tasks = [{"command": ["a"], "resources": name} for name in resources]
    assert len(reading(document(resources=resources, tasks=tasks[:-1])).request.needs or []) == limits.NEEDS_MAX
    assert f"more than {limits.NEEDS_MAX} different allocations" in refusal(document(resources=resources, tasks=tasks))


def test_processes_are_counted_by_the_alternative_that_the_shape_is_made_of() -> None:
    gpu = {"type": "node", "count": 4, "with": [{"type": "gpu", "count": 2}]}
    cpu = {"type": "node", "count": 2, "with": [{"type": "slot", "count": 3, "with": [{"type": "core"}]}]}
    for names, written in (("gpu|cpu", [4, 2]), ("cpu|gpu", [2, 4])):
        found = reading(document(resources={"gpu": gpu, "cpu": cpu}, tasks=[{"command": ["a"], "resources": names}]))
        assert found.request.shape == Shape(nodes=2, tasks=6)
        assert found.request.needs is not None
        # For matching they stay in the order in which they are written.
        assert [forest[0].count for forest in found.request.needs[0].alternatives] == written
        assert found.request.task_count is None  # one for each task of the shape
    mixed = {**cpu, "with": [*cpu["with"], {"type": "core", "count": 2}]}
    resources = {"gpu": gpu, "mixed": mixed}
    found = reading(document(resources=resources, tasks=[{"command": ["a"], "resources": "gpu|mixed"}]))
    assert found.request.shape == Shape(nodes=2, tasks=2, cores_per_task=5)
    assert found.request.task_count == TaskCount(per_slot=1)  # six slots, and the shape has two tasks
