"""Whatever somebody hands in: a request comes back, or a JobspecError, and soon."""

import contextlib
import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rainbow_protocol import codec
from rainbow_protocol.job import JobRequest
from rainbow_protocol.jobspec import FORMATS, JobspecError, read, read_compat
from tests.unit.protocol.jobspec.documents import ALL, FLUX, KUBERNETES, changed, reading

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, 1, -1, 2**63, 10**400, 0.5, 1e308, float("inf"), float("nan")])
    | st.sampled_from(
        ["", "a", "node", "core", "slot", "default", "small|large", "4,9", "2-5", "2+", "500m", "x" * 600]
    )
    | st.text(max_size=8)
)
names = st.sampled_from(
    ["name", "type", "count", "with", "requires", "resources", "tasks", "groups", "group", "command", "slot", "match"]
) | st.text(max_size=4)
values = st.recursive(
    scalars, lambda some: st.lists(some, max_size=3) | st.dictionaries(names, some, max_size=3), max_leaves=8
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(one for step, part in inner for one in places(part, (*path, step)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy with something else at the path."""
    if not path:
        return new
    if isinstance(value, dict):
        return {**value, path[0]: put(value.get(path[0]), path[1:], new)}
    return [put(part, path[1:], new) if index == path[0] else part for index, part in enumerate(value)]


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, Any]:
    name = draw(st.sampled_from(FORMATS))
    document: Any = ALL[name]
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(document)))
        if draw(st.booleans()) and path and isinstance(path[-1], str):
            path = (*path[:-1], draw(names))
        document = put(document, path, draw(values))
    return name, document


def answer(text: str, **options: Any) -> JobRequest | None:
    """The request, or None; any other exception than the one that says what is wrong fails the test."""
    try:
        found = read(text, **options)
    except JobspecError as refused:
        told = refused
    else:
        return found.request
    assert told.message
    assert "\n" not in told.path
    return None


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(mutated(), st.booleans())
def test_a_changed_document_is_read_or_refused_in_words(case: tuple[str, Any], as_json: bool) -> None:
    name, document = case
    text = json.dumps(document) if as_json else yaml.safe_dump(document)
    for options in ({}, {"format": name}):
        request = answer(text, **options)
        if request is not None:  # what is read can be sent, and comes out as it went in
            assert JobRequest.model_validate_json(codec.encode(request)) == request


@settings(max_examples=100)
@given(values)
def test_anything_is_read_or_refused_in_words(document: Any) -> None:
    text = yaml.safe_dump(document)
    for name in (None, *FORMATS):
        answer(text, format=name)
    with contextlib.suppress(JobspecError):
        read_compat(text)


@settings(max_examples=100)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    answer(text)


NODE = {"type": "node", "with": [{"type": "core"}]}
LARGE: dict[str, Any] = {
    "requirements": {
        "resources": {"a": {**NODE, "requires": [{"name": f"s{n}", "match": "x"} for n in range(12_000)]}}
    },
    "tasks": {"tasks": [{"command": ["a"]}] * 16_000},
    "resources": {"resources": {"a": {"type": "node", "with": [{"type": "core"}] * 20_000}}},
    "lists of choices": {"tasks": [{"command": ["a"], "resources": ["a|a"] * 40_000}]},
    "choices": {"tasks": [{"command": ["a"], "resources": "a|" * 300_000}]},
    "all at once": {"tasks": [{"command": ["a"], "resources": "a," * 300_000 + "a"}]},
    "variables": {"attributes": {"environment": {f"V{number}": "" for number in range(20_000)}}},
}


@pytest.mark.parametrize("case", LARGE)
def test_the_largest_documents_are_refused_soon(case: str) -> None:
    document = {"version": 1, "resources": {"a": NODE}, "tasks": [{"command": ["a"]}], **LARGE[case]}
    start = time.monotonic()
    assert answer(json.dumps(document)) is None
    assert time.monotonic() - start < 10  # they take a second; what is not bounded takes minutes


@pytest.mark.parametrize("name", FORMATS)
def test_the_documents_that_are_changed_are_good_ones(name: str) -> None:
    assert answer(json.dumps(ALL[name])) is not None


@pytest.mark.parametrize("name", FORMATS)
@given(order=st.randoms(use_true_random=False))
def test_the_order_of_keys_changes_nothing(name: str, order: Any) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            keys = list(value)
            order.shuffle(keys)
            return {key: shuffled(value[key]) for key in keys}
        return [shuffled(part) for part in value] if isinstance(value, list) else value

    document = ALL[name]
    # Of one object each; named resources and fields of requirements keep the order in which they are written.
    reordered = {key: document[key] for key in sorted(document, key=lambda _: order.random())}
    assert read(json.dumps(reordered)).request == read(json.dumps(document)).request
    assert read(json.dumps(shuffled(document))).format == name


def test_numbers_that_become_texts_are_as_they_were_written() -> None:
    text = json.dumps(changed(FLUX, "attributes/system/environment", {"MASK": "MASK"})).replace('"MASK"}', "0077}")
    assert reading(text).request.env == {"MASK": "0077"}
    text = json.dumps(changed(KUBERNETES, "spec/template/spec/containers/0/env", [{"name": "M", "value": "V"}]))
    assert reading(text.replace('"V"', "0077")).request.env == {"M": "0077"}
    dependencies = [{"scheme": "afterok", "value": "V"}]
    text = json.dumps(changed(FLUX, "attributes/system/dependencies", dependencies)).replace('"V"', "1.10")
    assert reading(text).request.dependencies[0].value == "1.10"


NODE = "version: 1\nresources: {a: {type: node, with: [%s]}}\n"
TASK = "tasks: [{command: [a]}]"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (NODE % "core: 4" + TASK, "resources.a.with[0].type: is missing; write {type: core, count: 4}"),
        (NODE % "{}" + TASK, "resources.a.with[0].type: is missing"),
        (
            NODE % "{type: memory, count: 4GB}" + TASK,
            "resources.a.with[0].count: '4GB' has a unit; write `count: 4` and `unit: GB`",
        ),
        (
            NODE % "{type: core}" + "tasks: [{command: [a], count: 4}]",
            "tasks[0].count: must say of what: {total: 4}, or {per_slot: 4}",
        ),
        (
            NODE % "{type: core}" + "tasks: [{command: [sleep, 10]}]",
            "tasks[0].command[1]: must be a text, and is a number; write it in quotes",
        ),
        (
            NODE % "{type: core}" + "task: [{command: [a]}]",
            "task: is a list, and `task` is one alone; for several write `tasks`",
        ),
        ("resources: {a: {type: node}}\n" + TASK, "version: is missing; write `version: 1`"),
        (
            "version: '1'\nresources: {a: {type: node}}\n" + TASK,
            "version: must be a whole number, and is a text; write it without quotes",
        ),
        ("#!/bin/sh\nsrun hostname", "is a script, not a jobspec; submit it as a command: rainbow submit sh FILE"),
        ('{"graph": {"nodes": []}}', "describes a cluster, not a job; hand it over with `rainbow register`"),
        ('{"version": 1, "execution": {}}', "describes a cluster, not a job; hand it over with `rainbow register`"),
    ],
)
def test_common_mistakes_are_told_with_what_to_write(text: str, message: str) -> None:
    with pytest.raises(JobspecError) as caught:
        read(text)
    assert str(caught.value) == message


def test_a_name_that_is_nearly_known_is_told_with_the_one_that_is() -> None:
    found = read(NODE % "{type: core}" + "tasks: [{command: [a], depend_on: [b], resourcess: a, colour: red}]")
    assert found.warnings == (
        "tasks[0].depend_on: is not known here and was not used; did you mean depends_on?",
        "tasks[0].resourcess: is not known here and was not used; did you mean resources?",
        "tasks[0].colour: is not known here and was not used",
    )
