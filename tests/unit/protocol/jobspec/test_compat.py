"""Compatibility artifacts become requirements."""

import json
from typing import Any

import pytest

from rainbow_protocol.jobspec import JobspecError, read_compat
from rainbow_protocol.resources import Condition, Requirement

ARTIFACT: dict[str, Any] = {
    "compatibilities": [
        {
            "name": "org.supercontainers.mpi",
            "version": "0.0.0",
            "attributes": {"implementation": "mpich", "version": "4.1"},
        },
        {"name": "os", "version": "0.0.0", "attributes": {"vendor": ["ubuntu", "debian"]}},
    ]
}


def test_one_requirement_for_each_entry() -> None:
    assert read_compat(json.dumps(ARTIFACT)) == (
        [
            Requirement(
                subsystem="org.supercontainers.mpi",
                conditions=[
                    Condition(field="implementation", any_of=["mpich"]),
                    Condition(field="version", any_of=["4.1"]),
                ],
            ),
            Requirement(subsystem="os", conditions=[Condition(field="vendor", any_of=["ubuntu", "debian"])]),
        ],
        (),
    )


def test_what_is_not_used_is_told() -> None:
    extra = {"colour": 1, "compatibilities": [{**ARTIFACT["compatibilities"][1], "annotations": {}, "shade": 2}]}
    assert read_compat(json.dumps(extra))[1] == (
        "colour: is not known here and was not used",
        "compatibilities[0].annotations: says nothing that could be required",
        "compatibilities[0].shade: is not known here and was not used",
    )


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "compatibilities: is missing"),
        ([], "must be an object"),
        ({"compatibilities": {}}, "compatibilities: must be a list"),
        ({"compatibilities": [{"attributes": {}}]}, "compatibilities[0].name: is missing"),
        ({"compatibilities": [{"name": "os"}]}, "compatibilities[0].attributes: is missing"),
        ({"compatibilities": [{"name": "os", "attributes": {"a": None}}]}, "compatibilities[0].attributes.a: must be"),
        ({"compatibilities": [{"name": "os", "attributes": {"": "x"}}]}, "field: must not be empty"),
    ],
)
def test_mistakes_say_where_and_what(document: Any, message: str) -> None:
    with pytest.raises(JobspecError) as caught:
        read_compat(json.dumps(document))
    assert message in str(caught.value)
