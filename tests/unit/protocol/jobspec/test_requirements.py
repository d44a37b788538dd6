"""Entries about subsystems, and which of them are about one and the same vertex."""

from typing import Any

import pytest

from rainbow_protocol import limits
from rainbow_protocol.jobspec.errors import JobspecError
from rainbow_protocol.jobspec.place import Place, Remarks
from rainbow_protocol.jobspec.requirements import requirements_of
from rainbow_protocol.jobspec.text import document_of
from rainbow_protocol.resources import Condition, Requirement, Scalar


def gathered(written: Any) -> list[Requirement]:
    return requirements_of(Place(written, "requires", Remarks()))


@pytest.mark.parametrize(
    ("entry", "conditions"),
    [
        ({"field": "type", "match": "shm"}, [Condition(field="type", any_of=["shm"])]),
        ({"match": "shm"}, [Condition(field="type", any_of=["shm"])]),
        ({"field": "version", "value": "1.2"}, [Condition(field="version", any_of=["1.2"])]),
        ({"field": "version", "value": ["1.2", "1.3"]}, [Condition(field="version", any_of=["1.2", "1.3"])]),
        ({"field": "version", "min": "1", "max": "2"}, [Condition(field="version", min="1", max="2")]),
        ({"field": "size", "gt": 4, "lt": 8}, [Condition(field="size", above=4, below=8)]),
        ({"field": "size", "ge": 4, "le": 8}, [Condition(field="size", min=4, max=8)]),
        ({"field": "os", "not": "windows"}, [Condition(field="os", none_of=["windows"])]),
        ({"field": "os", "not": ["a", "b"]}, [Condition(field="os", none_of=["a", "b"])]),
        ({"field": "licence", "exists": False}, [Condition(field="licence", present=False)]),
        ({"field": "licence"}, [Condition(field="licence", present=True)]),
        (
            {"field": "type", "match": "package", "attribute": "name", "value": "openssl"},
            [Condition(field="type", any_of=["package"]), Condition(field="name", any_of=["openssl"])],
        ),
        (
            {"field": "type", "match": "package", "attribute": "version", "min": "3", "not": "3.1"},
            [Condition(field="type", any_of=["package"]), Condition(field="version", min="3", none_of=["3.1"])],
        ),
        ({"attribute": "cuda", "value": True}, [Condition(field="cuda", any_of=[True])]),
        ({}, []),
        ({"exists": True}, []),
    ],
)
def test_one_entry(entry: dict[str, Any], conditions: list[Condition]) -> None:
    assert gathered([{"name": "s", **entry}]) == [Requirement(subsystem="s", conditions=conditions)]


def test_a_subsystem_or_a_vertex_that_must_not_be_there() -> None:
    assert gathered([{"name": "s", "exists": False}]) == [Requirement(subsystem="s", absent=True)]
    assert gathered([{"name": "s", "match": "x", "absent": True}]) == [
        Requirement(subsystem="s", conditions=[Condition(field="type", any_of=["x"])], absent=True)
    ]


def test_entries_of_one_subsystem_are_about_one_vertex_until_they_cannot_be() -> None:
    found = gathered(
        [
            {"name": "io", "field": "type", "match": "shm"},
            {"name": "io", "field": "size", "min": 4},
            {"name": "os", "field": "name", "value": "ubuntu"},
            {"name": "io", "field": "type", "match": "nvme"},
            {"name": "io", "field": "size", "min": 8},
        ]
    )
    assert [(one.subsystem, [condition.field for condition in one.conditions]) for one in found] == [
        ("io", ["type", "size"]),
        ("os", ["name"]),
        ("io", ["type", "size"]),
    ]
    assert found[2].conditions[1].min == 8


def test_what_is_said_twice_counts_once() -> None:
    assert len(gathered([{"name": "io", "match": "shm"}, {"name": "io", "match": "shm"}])[0].conditions) == 1
    assert gathered([{"name": "io"}, {"name": "io"}]) == [Requirement(subsystem="io")]


def test_fields_by_subsystem() -> None:
    assert gathered({"os": {"os.name": "ubuntu", "os.version": {"min": "20.04"}}}) == [
        Requirement(
            subsystem="os",
            conditions=[Condition(field="os.name", any_of=["ubuntu"]), Condition(field="os.version", min="20.04")],
        )
    ]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ([{"match": "x"}], "requires[0]: has no `name`"),
        ([{"name": "s", "field": "f", "match": "x", "value": "y"}], "requires[0].value: says the same as match"),
        ([{"name": "s", "value": {"a": 1}}], "requires[0].value: must be a text, a number, or true or false"),
        ([{"name": "s", "value": []}], "requires[0].value: must name at least one value"),
        ([{"name": "s", "min": 1, "ge": 2}], "requires[0].ge: says the same as min"),
        ([{"name": "s", "exists": "no"}], "requires[0].exists: must be true or false"),
        ([{"name": 4}], "requires[0].name: must be a text"),
        ([{"name": ""}], "requires: subsystem: must not be empty"),
        (["spack"], "requires[0]: must be an object"),
        ("spack", "requires: must be an object"),
        ([{"name": "s", "value": "x" * 513}], "requires[0].value: must have at most 512 characters"),
        ([{"name": "s", "min": 1e300}], "requires[0].min: must be a number of at most"),
    ],
)
def test_mistakes_say_where_and_what(written: Any, message: str) -> None:
    with pytest.raises(JobspecError) as caught:
        gathered(written)
    assert str(caught.value).startswith(message)


def test_requirements_are_counted() -> None:
    many = [{"name": f"s{number}"} for number in range(limits.RESOURCE_CONDITIONS_MAX + 1)]
    assert len(gathered(many[:-1])) == limits.RESOURCE_CONDITIONS_MAX
    with pytest.raises(JobspecError, match="requires: has more than 64 requirements"):
        gathered(many)
    fields = [{"name": "s", "field": f"f{number}"} for number in range(limits.RESOURCE_CONDITIONS_MAX + 1)]
    assert len(gathered(fields[:-1])[0].conditions) == limits.RESOURCE_CONDITIONS_MAX
    with pytest.raises(JobspecError, match="requires: has more than 64 conditions on 's'"):
        gathered(fields)


def from_yaml(text: str) -> tuple[list[Condition], tuple[str, ...]]:
    remarks = Remarks()
    [requirement] = requirements_of(Place(document_of(text), "requires", remarks))
    return requirement.conditions, remarks.lines()


@pytest.mark.parametrize(
    ("written", "values", "read_as"),
    [
        ("20.10", [20.1, "20.10"], "the number 20.1"),
        ("1.0e+3", [1000.0, "1.0e+3"], "the number 1000.0"),
        ("010", [8, "010"], "the number 8"),
        ("1_000", [1000, "1_000"], "the number 1000"),
        ("yes", [True, "yes"], "true"),
        ("off", [False, "off"], "false"),
    ],
)
def test_a_value_that_yaml_changes_is_also_the_text(written: str, values: list[Scalar], read_as: str) -> None:
    expected = Condition(field="os.version", any_of=values)
    words = f"is {read_as} or the text {written!r}; write it in quotes if you mean only the text"
    assert from_yaml(f"os: {{os.version: {written}}}") == ([expected], (f"requires.os.os.version: {words}",))
    refused = Condition(field="os.version", none_of=values)
    assert from_yaml(f"os: {{os.version: {{not: [{written}]}}}}")[0] == [refused]


def test_json_changes_numbers_too() -> None:
    assert from_yaml('{"os": {"os.version": 20.10}}')[0] == [Condition(field="os.version", any_of=[20.1, "20.10"])]


@pytest.mark.parametrize("written", ["20.04", "1.0", "12", "true", "True", "FALSE", "1e3", "1:30", "'20.10'", '"yes"'])
def test_what_yaml_does_not_change_is_not_spoken_of(written: str) -> None:
    [condition], remarks = from_yaml(f"os: {{f: {written}}}")
    assert condition.any_of is not None
    assert (len(condition.any_of), remarks) == (1, ())


def test_a_bound_of_a_version_is_the_text() -> None:
    assert from_yaml("[{name: s, field: version, min: 1.10, max: 1.2, below: 3}]") == (
        [Condition(field="version", min="1.10", max="1.2", below=3)],
        (),
    )


def test_any_other_bound_is_the_number_and_told() -> None:
    assert from_yaml("[{name: s, field: release, min: 20.10, colour: 1}]") == (
        [Condition(field="release", min=20.1)],
        (
            "requires[0].min: is read as the number 20.1; write '20.10' in quotes if you mean the text",
            "requires[0].colour: is not known here and was not used",
        ),
    )
