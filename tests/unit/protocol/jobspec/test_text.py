"""Texts that are documents, texts that are not, and texts that were made to do harm."""

import json
import time
import tracemalloc

import pytest

from rainbow_protocol import limits
from rainbow_protocol.jobspec import FORMATS, JobspecError, read, recognise
from rainbow_protocol.jobspec.spelling import Spelled
from rainbow_protocol.jobspec.text import document_of
from tests.unit.protocol.jobspec.documents import ALL, FLUX, KUBERNETES, NEXTGEN, RAINBOW, Document, changed, refusal

BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGES = "a: &a {x: 1}\n" + "".join(
    f"{name}: &{name}\n  <<: [{','.join(['*' + before] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("a: [", "is not YAML: line 2, column 1"),
        ("a: b: c", "is not YAML: line 1, column"),
        ("\x00", "is not YAML"),
        ("a: !!python/object:os.system {}", "is not YAML"),
        ("a: 1\n---\nb: 2", "more than one document"),
        ("a: 1\na: 2", "the key 'a' is there twice in the mapping of line 1"),
        ('{"a": 1, "a": 2}', "the key 'a' is there twice in one object"),
        ("1: 2", "the key 1 is not a text; write it in quotes"),
        ("a: {b: {true: 2}}", "a.b: the key True is not a text"),
        ("? [a]\n: b", "is not YAML"),
        ("a: " + "9" * 5000, "has a value that YAML cannot read"),
        ('{"a": "\\ud800"}', "a: has half of a character"),
        ("&a [*a]", "is nested deeper"),
        (BOMB, f"has more than {limits.JOBSPEC_VALUES_MAX} values"),
        (MERGES, f"has more than {limits.JOBSPEC_VALUES_MAX} values"),
        ("[" * 100_000, f"is nested deeper than {limits.JOBSPEC_DEPTH_MAX}"),
        ('{"a":' * 100_000, f"is nested deeper than {limits.JOBSPEC_DEPTH_MAX}"),
        ("- " * 100_000, f"is nested deeper than {limits.JOBSPEC_DEPTH_MAX}"),
        ("- a\n" * (2 * limits.JOBSPEC_VALUES_MAX), f"has more than {limits.JOBSPEC_VALUES_MAX} values"),
        ("a" * (limits.JOBSPEC_CHARS_MAX + 1), f"is longer than {limits.JOBSPEC_CHARS_MAX} characters"),
    ],
    ids=range(22),
)
def test_what_is_no_document_is_refused_at_once(text: str, words: str) -> None:
    start = time.monotonic()
    with pytest.raises(JobspecError) as caught:
        document_of(text)
    assert words in str(caught.value)
    assert time.monotonic() - start < 5  # generous: without the bounds these take minutes, or all memory


def test_the_last_that_is_taken() -> None:
    values = limits.JOBSPEC_VALUES_MAX - 1
    assert len(document_of(json.dumps(["a"] * values))) == values
    assert len(document_of("- a\n" * values)) == values
    with pytest.raises(JobspecError, match="values"):
        document_of(json.dumps(["a"] * (values + 1)))
    with pytest.raises(JobspecError, match="values"):
        document_of("- a\n" * (values + 1))
    for deepest in (
        "[" * limits.JOBSPEC_DEPTH_MAX + "]" * limits.JOBSPEC_DEPTH_MAX,
        "- " * (limits.JOBSPEC_DEPTH_MAX - 1) + "a",
    ):
        assert document_of(deepest)
    with pytest.raises(JobspecError, match="deeper"):
        document_of("[" * (limits.JOBSPEC_DEPTH_MAX + 1) + "]" * (limits.JOBSPEC_DEPTH_MAX + 1))
    assert document_of("a" * limits.JOBSPEC_CHARS_MAX) == "a" * limits.JOBSPEC_CHARS_MAX


def test_yaml_json_and_what_is_between() -> None:
    meant = {"a": [1, "2", 3.5, True, None]}
    assert document_of('{"a": [1, "2", 3.5, true, null]}') == meant
    assert document_of('{a: [1, "2", 3.5, true, null]}') == meant
    assert document_of("a:\n- 1\n- '2'\n- 3.5\n- true\n- null\n") == meant
    assert document_of('{\n\t"a": [1, "2", 3.5, true, null]\n}') == meant  # tabs: fine in JSON, not in YAML


def test_a_date_is_a_text_and_an_alias_what_it_stands_for() -> None:
    assert document_of("a: 2024-01-01") == {"a": "2024-01-01"}
    assert document_of("a: &x {b: 1}\nc: *x\nd:\n  <<: *x\n  e: 2") == {
        "a": {"b": 1},
        "c": {"b": 1},
        "d": {"b": 1, "e": 2},
    }


def test_a_number_of_base_60_is_a_text() -> None:
    assert document_of("[1:30, 22:22, 1:30.5, -1:30]") == ["1:30", "22:22", "1:30.5", "-1:30"]


def test_a_value_that_is_not_as_written_keeps_its_text() -> None:
    assert document_of("[1.10, yes, 0x10, 0o7, -.5]") == [
        Spelled(1.1, "1.10"),
        Spelled(True, "yes"),
        Spelled(16, "0x10"),
        "0o7",
        Spelled(-0.5, "-.5"),
    ]


@pytest.mark.parametrize("key", ["k" * 500_000, "k" * 79])
def test_a_long_key_is_not_in_the_path_of_everything_below_it(key: str) -> None:
    """All paths together would take 25 GB."""
    document = {**FLUX, key: ["a"] * 49_000}
    found = read(json.dumps(document))
    assert found.warnings == (f"{key if len(key) < 80 else 'k' * 79 + '…'}: is not known here and was not used",)
    tracemalloc.start()
    with pytest.raises(JobspecError):
        read(json.dumps(changed(FLUX, "attributes/system/constraints", {key: [1] * 40_000})))
    with pytest.raises(JobspecError):
        read(json.dumps(changed(FLUX, "attributes/system/environment", {key: {key: [1] * 40_000}})))
    assert tracemalloc.get_traced_memory()[1] < 100_000_000
    tracemalloc.stop()


def test_a_key_that_is_there_twice_among_very_many_is_found_at_once() -> None:
    names = [*(f"k{number}" for number in range(20_000)), "k19999"]
    start = time.monotonic()
    for text in ("".join(f"{name}: 1\n" for name in names), "{" + ",".join(f'"{name}": 1' for name in names) + "}"):
        with pytest.raises(JobspecError, match="the key 'k19999' is there twice"):
            document_of(text)
    assert time.monotonic() - start < 5  # generous


def test_a_mistake_in_json_is_told_as_one() -> None:
    with pytest.raises(JobspecError, match="is not JSON: Expecting"):
        document_of('{"a": nope}', "job.json")
    with pytest.raises(JobspecError, match="is not JSON"):
        document_of('{"a": NaN}', "job.json")


# --- which form it is ---


@pytest.mark.parametrize("name", FORMATS)
def test_every_form_is_recognised(name: str) -> None:
    assert recognise(ALL[name]) == name
    assert read(json.dumps(ALL[name])).format == name
    assert read(json.dumps(ALL[name]), format=name).format == name


@pytest.mark.parametrize(
    "document",
    [
        {**FLUX, "groups": []},
        {**KUBERNETES, "tasks": []},
        {**RAINBOW, "groups": []},
        {"version": 1},
        {"resources": 4},
        {},
    ],
)
def test_what_is_not_clear_asks_for_a_format(document: Document) -> None:
    assert "say which with --format: flux, nextgen, rainbow, kubernetes" in refusal(document)


@pytest.mark.parametrize("text", ["4", "[]", "hello", "null"])
def test_what_is_no_object_is_no_jobspec(text: str) -> None:
    assert refusal(text) in ("is not a jobspec, which is an object with resources and tasks",)
    for name in FORMATS:
        assert "must be an object" in refusal(text, format=name)


def test_a_format_that_is_none() -> None:
    assert refusal(FLUX, format="slurm") == "'slurm' is not a format; there are: flux, nextgen, rainbow, kubernetes"


def test_forcing_a_format_reads_as_that_or_says_why_not() -> None:
    assert refusal(NEXTGEN, format="flux") == "resources: must be a list, and is an object"
    assert refusal(FLUX, format="kubernetes") == "kind: is missing"


def test_remarks_are_bounded() -> None:
    found = read(json.dumps({**FLUX, **{f"unknown{number}": 1 for number in range(limits.JOBSPEC_REMARKS_MAX + 5)}}))
    assert len(found.warnings) == limits.JOBSPEC_REMARKS_MAX + 1
    assert found.warnings[-1] == "and 5 more remarks"


def test_a_path_cannot_forge_a_line() -> None:
    found = read(json.dumps(changed(FLUX, "attributes/system", {"a\nrainbow: forged\x1b[2J": 1})))
    assert all(warning.isprintable() for warning in found.warnings)
