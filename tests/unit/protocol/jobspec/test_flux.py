"""RFC 14 and RFC 25, as they are written, and what is said about what is not."""

from typing import Any

import pytest

from rainbow_protocol import limits
from rainbow_protocol.job import Dependency, Shape
from rainbow_protocol.program import TaskCount
from rainbow_protocol.resources import Constraint, CountRange, CountSet
from tests.unit.protocol.jobspec.documents import FLUX, changed, only_forest, reading, refusal

SLOT = "resources/0/with/0"


def test_a_whole_document() -> None:
    found = reading(FLUX)
    request = found.request
    assert (found.format, found.warnings) == ("flux", ())
    assert request.command == ["app", "--fast"]
    assert request.shape == Shape(nodes=4, tasks=8, cores_per_task=3, time_limit_s=3600)
    assert (request.cwd, request.env) == ("/home/ada", {"HOME": "/home/ada"})
    assert (request.queue, request.name) == ("debug", "engine")
    assert request.program is None
    assert request.task_count is None
    [node] = only_forest(found)
    assert (node.type, node.count, node.exclusive) == ("node", 4, None)
    [slot] = node.children
    assert (slot.type, slot.count, slot.label) == ("slot", 2, "default")
    [core] = slot.children
    assert (core.type, core.count) == ("core", 3)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (7, 7),
        ("7", 7),
        ({"min": 3}, CountRange(min=3)),
        ({"min": 3, "max": 30, "operator": "+", "operand": 1}, CountRange(min=3, max=30)),
        ({"min": 2, "max": 64, "operator": "*", "operand": 2}, CountRange(min=2, max=64, operator="*", operand=2)),
        ("4,9,16,25", CountSet(any_of=[4, 9, 16, 25])),
        ("[2-4,9]", CountSet(any_of=[2, 3, 4, 9])),
        ("2-5", CountRange(min=2, max=5)),
        ("2+", CountRange(min=2)),
        ("2-64:2:*", CountRange(min=2, max=64, operator="*", operand=2)),
        ("[2-9:2]", CountRange(min=2, max=9, operand=2)),
        ("1+:2:^", CountRange(min=1, operator="^", operand=2)),
    ],
)
def test_counts(written: Any, meant: Any) -> None:
    [node] = only_forest(reading(changed(FLUX, "resources/0/count", written)))
    assert node.count == meant


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (0, "must be at least 1"),
        (-4, "must be at least 1"),
        (limits.RESOURCE_COUNT_MAX + 1, f"must be at most {limits.RESOURCE_COUNT_MAX}"),
        (1.5, "must be a number, {min"),
        (True, "must be a number, {min"),
        ([4], "must be a number, {min"),
        ("", "must be a number, {min"),
        ("four", "must be a number, {min"),
        ("0,4", "must be a number, {min"),
        ("04", "must be a number, {min"),
        ("9-4,10", "'9-4' counts backwards"),
        ("9-4", "max (4) is less than min (9)"),
        ("1,3-5000", "stands for more than 256 numbers"),
        ("4:2", "has no maximum"),
        ("2-8:1:*", "stays at 2 forever"),
        ({"max": 4}, "min: is missing"),
        ({"min": 4, "max": 2}, "max (2) is less than min (4)"),
        ({"min": 4, "operator": "-"}, 'operator: must be "+", "*" or "^"'),
        ({"min": 4, "operand": 0}, "operand: must be at least 1"),
    ],
)
def test_counts_that_are_none(written: Any, words: str) -> None:
    message = refusal(changed(FLUX, "resources/0/count", written))
    assert message.startswith("resources[0].count")
    assert words in message


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("tasks/0/slot", "gpu", "tasks[0].slot: names no slot; there are: default"),
        ("tasks/0/slot", ..., "tasks[0].slot: is missing"),
        ("tasks/0/count", ..., "tasks[0].count: is missing"),
        ("tasks/0/count", {}, "tasks[0].count: must have one of per_slot, total and per_resource"),
        ("tasks/0/count", {"per_slot": 1, "total": 2}, "tasks[0].count: must have one of"),
        ("tasks/0/count/per_slot", 0, "tasks[0].count.per_slot: must be at least 1"),
        ("tasks/0/command", [], "tasks[0].command: must have a first word"),
        ("tasks/0/command", [""], "tasks[0].command: must have a first word"),
        ("tasks/0/command", ["a", 1], "tasks[0].command[1]: must be a text, and is a number"),
        ("tasks/0/command", "echo 'half", "tasks[0].command: cannot be cut into words"),
        ("tasks", [], "tasks: must have at least one task and at most 256"),
        ("tasks", {}, "tasks: must be a list, and is an object"),
        ("resources", [], "resources: must name at least one resource"),
        ("resources/0/type", ..., "resources[0].type: is missing"),
        ("resources/0/count", ..., "resources[0].count: is missing"),
        ("resources/0/with", [], "resources: has no slot"),
        (f"{SLOT}/label", ..., "resources[0].with[0].label: is missing"),
        (f"{SLOT}/with", [], "resources[0].with[0]: a slot must say what it holds"),
        (f"{SLOT}/exclusive", "yes", "resources[0].with[0].exclusive: must be true or false, and is a text"),
        ("version", ..., "version: is missing"),
        ("version", 2, "version: must be 1"),
        ("version", "1", "version: must be a whole number, and is a text"),
        ("attributes/system/duration", -1, "attributes.system.duration: must be between 0 and"),
        ("attributes/system/duration", "soon", "attributes.system.duration: 'soon' is not a time"),
        ("attributes/system/environment", ["A=1"], "attributes.system.environment: must be an object"),
        ("attributes/system/environment/HOME", True, "attributes.system.environment.HOME: must be a text"),
        ("attributes/system/constraints", {"near": ["x"]}, "attributes.system.constraints.near: is not an operator"),
        ("attributes/system/constraints", {"not": [4]}, "attributes.system.constraints.not[0]: must be an object"),
        (
            "attributes/system/dependencies",
            [{"scheme": "afterok"}],
            "attributes.system.dependencies[0].value: is missing",
        ),
    ],
)
def test_mistakes_say_where_and_what(path: str, value: Any, message: str) -> None:
    assert message in refusal(changed(FLUX, path, value), format="flux")


def test_a_label_that_two_slots_have() -> None:
    twice = changed(FLUX, "resources", [*FLUX["resources"], *FLUX["resources"]])
    assert refusal(twice) == "resources: two slots have the label 'default'; a task could not say which it means"


@pytest.mark.parametrize(
    ("path", "value", "warning"),
    [
        ("colour", "blue", "colour: is not known here and was not used"),
        ("colour", None, "colour: is not known here and was not used"),
        ("resources/0/colour", "blue", "resources[0].colour: is not known here and was not used"),
        ("resources/0/id", "rack7", "resources[0].id: which one it is is up to the cluster; not used"),
        (
            "tasks/0/distribution",
            "cyclic",
            "tasks[0].distribution: how tasks are laid out is up to the cluster; not used",
        ),
        ("attributes/user", {"a": 1}, "attributes.user: is for other programs, and does not travel with the job"),
        ("attributes/system/bank", "b", "attributes.system.bank: is not known here and was not used"),
        (
            "attributes/system/shell",
            {"options": {}},
            "attributes.system.shell: options of the Flux shell do not travel with the job",
        ),
        ("version", 999, "version: is that of drafts; it is read as version 1"),
        (
            "tasks/0/command",
            "echo a | wc",
            "tasks[0].command: is run without a shell; for a shell write [sh, -c, the text]",
        ),
    ],
)
def test_what_is_not_used_is_told(path: str, value: Any, warning: str) -> None:
    assert reading(changed(FLUX, path, value)).warnings == (warning,)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({"per_slot": 1}, None),
        ({"per_slot": 5}, TaskCount(per_slot=5)),
        ({"total": 5}, TaskCount(total=5)),
        ({"per_resource": {"type": "node", "count": 2}}, TaskCount(per_resource="node", per_resource_count=2)),
    ],
)
def test_how_many_tasks(written: Any, meant: Any) -> None:
    request = reading(changed(FLUX, "tasks/0/count", written)).request
    assert request.task_count == meant
    assert request.shape.tasks == 8  # the slots are the same, however many processes share each


def test_one_process_for_a_slot_of_many_nodes() -> None:
    document = changed(
        FLUX, "resources", [{"type": "slot", "count": 2, "label": "default", "with": [{"type": "node", "count": 3}]}]
    )
    request = reading(document).request
    assert request.shape == Shape(nodes=6, tasks=6, exclusive=True, time_limit_s=3600)
    assert request.task_count == TaskCount(per_slot=1)


def test_a_command_as_a_text_is_cut_into_words() -> None:
    assert reading(changed(FLUX, "tasks/0/command", "echo 'two words'")).request.command == ["echo", "two words"]


@pytest.mark.parametrize(
    ("written", "seconds"), [(0, None), (90, 90.0), ("90s", 90.0), ("1.5h", 5400.0), ("2d", 172800.0)]
)
def test_durations(written: Any, seconds: float | None) -> None:
    assert reading(changed(FLUX, "attributes/system/duration", written)).request.shape.time_limit_s == seconds


def test_variables_of_the_only_task_count_before_those_of_the_job() -> None:
    document = changed(FLUX, "attributes/system/environment", {"A": "1", "B": "1", "C": 3})
    document = changed(document, "tasks/0/attributes", {"environment": {"A": None, "B": "2"}})
    assert reading(document).request.env == {"B": "2", "C": "3"}


def test_constraints() -> None:
    written = {
        "and": [
            {"properties": ["ssd", "^slow"]},
            {"or": [{"hostlist": ["host[0-1]"]}, {"ranks": ["0-3"]}]},
            {"not": [{"properties": ["old"]}]},
        ]
    }
    meant = Constraint(
        op="and",
        args=[
            Constraint(op="properties", values=["ssd", "^slow"]),
            Constraint(
                op="or",
                args=[Constraint(op="hostlist", values=["host[0-1]"]), Constraint(op="ranks", values=["0-3"])],
            ),
            Constraint(op="not", args=[Constraint(op="properties", values=["old"])]),
        ],
    )
    assert reading(changed(FLUX, "attributes/system/constraints", written)).request.constraint == meant


def test_a_constraint_with_two_operators_means_both_and_an_empty_one_nothing() -> None:
    both = reading(changed(FLUX, "attributes/system/constraints", {"hostlist": "a", "ranks": [0]})).request.constraint
    assert both is not None
    assert (both.op, [(one.op, one.values) for one in both.args]) == ("and", [("hostlist", ["a"]), ("ranks", ["0"])])
    assert reading(changed(FLUX, "attributes/system/constraints", {})).request.constraint is None


def test_dependencies_of_both_forms() -> None:
    written = [
        {"scheme": "afterok", "value": "f23"},
        {"type": "out", "scope": "user", "scheme": "string", "value": "x"},
    ]
    assert reading(changed(FLUX, "attributes/system/dependencies", written)).request.dependencies == [
        Dependency(scheme="afterok", value="f23"),
        Dependency(type="out", scope="user", scheme="string", value="x"),
    ]


def test_several_tasks_make_a_program() -> None:
    document = changed(
        FLUX,
        "resources/0/with",
        [
            {"type": "slot", "count": 1, "label": "db", "with": [{"type": "core", "count": 6}]},
            {"type": "slot", "count": 10, "label": "reader", "with": [{"type": "core", "count": 1}]},
        ],
    )
    document = changed(
        document,
        "tasks",
        [
            {"command": ["db"], "slot": "db", "count": {"per_slot": 1}},
            {
                "command": ["read"],
                "slot": "reader",
                "count": {"total": 3},
                "attributes": {"environment": {"HOME": None}},
            },
        ],
    )
    request = reading(document).request
    assert request.command == ["db"]
    assert request.program is not None
    assert [(task.need, task.slot, task.count) for task in request.program.tasks] == [
        (0, "db", TaskCount(per_slot=1)),
        (0, "reader", TaskCount(total=3)),
    ]
    assert request.program.tasks[1].env == {"HOME": None}
    assert request.shape == Shape(nodes=4, tasks=4, cores_per_task=16, time_limit_s=3600)


def test_all_entries_are_one_need_at_the_same_time() -> None:
    more = {"type": "slot", "count": 5, "label": "extra", "with": [{"type": "gpu", "count": 1}]}
    found = reading(changed(FLUX, "resources", [*FLUX["resources"], more]))
    assert [one.type for one in only_forest(found)] == ["node", "slot"]
    assert found.request.program is not None  # one task, but it must be told in which slot
    assert found.request.program.tasks[0].slot == "default"


LEFT_OUT = "is left out: what a cluster itself sets for its jobs stays"


def test_a_variable_that_is_null_is_told_where_it_cannot_be_unset() -> None:
    found = reading(changed(FLUX, "attributes/system/environment", {"A": None, "B": "1"}))
    assert found.request.env == {"B": "1"}
    assert found.warnings == (f"attributes.system.environment.A: {LEFT_OUT}",)
    of_task = changed(FLUX, "tasks/0/attributes", {"environment": {"HOME": None, "B": "1"}})
    found = reading(of_task)
    assert found.request.env == {"B": "1"}
    assert found.warnings == (f"tasks[0].attributes.environment.HOME: {LEFT_OUT}",)


def test_a_variable_of_a_program_is_unset_by_its_tasks_alone() -> None:
    two = [{**FLUX["tasks"][0], "attributes": {"environment": {"HOME": None}}}, FLUX["tasks"][0]]
    found = reading(changed(FLUX, "tasks", two))
    assert found.warnings == ()
    assert found.request.program is not None
    assert [task.env for task in found.request.program.tasks] == [{"HOME": None}, {}]
    found = reading(changed(changed(FLUX, "tasks", two), "attributes/system/environment", {"A": None}))
    assert found.warnings == (f"attributes.system.environment.A: {LEFT_OUT}; write it at the tasks, where null unsets",)


def test_a_slot_in_a_slot_is_told() -> None:
    inner = {"type": "slot", "count": 2, "label": "inner", "with": [{"type": "core", "count": 1}]}
    found = reading(changed(FLUX, f"{SLOT}/with", [inner]))
    assert found.warnings == ("resources[0].with[0].with[0]: a slot inside a slot is taken as part of the outer one",)
    socket = {"type": "socket", "count": 1, "with": [inner]}
    assert (
        "resources[0].with[0].with[0].with[0]: a slot" in reading(changed(FLUX, f"{SLOT}/with", [socket])).warnings[0]
    )
    assert reading(changed(FLUX, "resources/0/with", [FLUX["resources"][0]["with"][0], inner])).warnings == ()
