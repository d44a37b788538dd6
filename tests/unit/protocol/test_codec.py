"""Frames: what is taken comes back the same, and what is not is refused with the right code."""

import contextlib
import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from rainbow_protocol import codec, limits
from rainbow_protocol.errors import HINTS, ErrorCode, ProtocolError
from rainbow_protocol.job import JobRequest, Shape
from rainbow_protocol.messages import common
from tests.unit.protocol.schemas import ENDPOINTS, MESSAGE_IDS, MESSAGES, any_document, smallest

JOB = "0123456789ab"


def refusal(frame: Any, decoder: codec.Decoder[Any] = codec.from_client) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        decoder.decode(frame)
    return caught.value


@pytest.mark.parametrize(("endpoint", "model"), MESSAGES, ids=MESSAGE_IDS)
def test_every_message_comes_back_as_it_was_sent(endpoint: str, model: type[BaseModel]) -> None:
    decoder = ENDPOINTS[endpoint][0]

    @settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
    @given(any_document(model))
    def check(document: dict[str, Any]) -> None:
        message = decoder.decode(json.dumps(document))
        assert type(message) is model
        assert decoder.decode(codec.encode(message).decode()) == message

    check()


@pytest.mark.parametrize(("endpoint", "model"), MESSAGES, ids=MESSAGE_IDS)
def test_unknown_fields_are_ignored(endpoint: str, model: type[BaseModel]) -> None:
    decoder = ENDPOINTS[endpoint][0]
    plain = smallest(model)
    newer = {**plain, "from_the_future": {"a": [1, None]}}
    if plain.get("items"):
        newer["items"] = [{**item, "colour": "blue"} for item in plain["items"]]
    assert decoder.decode(json.dumps(newer)) == decoder.decode(json.dumps(plain))


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_an_unknown_type_is_named_and_keeps_the_request_id(endpoint: str) -> None:
    error = refusal('{"type": "dance", "id": 7}', ENDPOINTS[endpoint][0])
    assert (error.code, error.ref) == (ErrorCode.UNKNOWN_TYPE, 7)
    assert "'dance'" in error.message


def test_a_message_of_the_other_endpoint_is_an_unknown_type() -> None:
    assert refusal('{"type": "bids", "items": []}').code is ErrorCode.UNKNOWN_TYPE


@pytest.mark.parametrize(
    "frame",
    [
        "",
        " ",
        "hello",
        "{",
        '{"type": "clusters", "id": 1',
        '{"type": "clusters", "id": 1} {}',
        "[]",
        "[{}]",
        "null",
        "42",
        '"clusters"',
        "{}",
        '{"id": 1}',
        '{"type": null}',
        '{"type": 1}',
        '{"type": ["clusters"]}',
        '{"type": "logs", "id": 1, "job": "0123456789ab", "wait_s": NaN}',
        '{"type": "logs", "id": 1, "job": "0123456789ab", "wait_s": Infinity}',
        '{"type": "logs", "id": 1, "job": "0123456789ab", "wait_s": 1e999}',
        '{"type": "explain", "id": 1, "job": "\\ud800"}',
        '{"type": "explain", "id": 1, "job": "\ud800"}',
        "[" * 1_000_000,
        '{"type": "clusters", "id": 1, "x": ' + "[" * 100_000 + "]" * 100_000 + "}",
        b'{"type": "clusters", "id": 1}',
        b"\xff\xfe\x00",
    ],
    ids=lambda frame: str(frame[:40]),
)
def test_what_is_not_a_message_is_malformed(frame: str | bytes) -> None:
    assert refusal(frame).code is ErrorCode.MALFORMED


@given(st.text() | st.binary())
def test_no_frame_raises_anything_but_a_protocol_error(frame: str | bytes) -> None:
    for decoder, _ in ENDPOINTS.values():
        with pytest.raises(ProtocolError):
            decoder.decode(frame)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    ),
    st.sampled_from(MESSAGES),
)
def test_no_value_in_any_field_raises_anything_but_a_protocol_error(
    value: Any, where: tuple[str, type[BaseModel]]
) -> None:
    endpoint, model = where
    for field in set(model.model_fields) - {"type"}:
        with contextlib.suppress(ProtocolError):
            ENDPOINTS[endpoint][0].decode(json.dumps({**smallest(model), field: value}))


@pytest.mark.parametrize(
    ("document", "where"),
    [
        ({"type": "clusters"}, "id"),
        ({"type": "clusters", "id": "1"}, "id"),
        ({"type": "clusters", "id": 1.0}, "id"),
        ({"type": "clusters", "id": True}, "id"),
        ({"type": "clusters", "id": 10**30}, "id"),
        ({"type": "status", "id": 1, "jobs": "all"}, "jobs"),
        ({"type": "status", "id": 1, "jobs": [JOB.upper()]}, "jobs.0"),
        ({"type": "status", "id": 1, "jobs": [JOB + "\n"]}, "jobs.0"),
        ({"type": "list", "id": 1, "limit": "10"}, "limit"),
        ({"type": "list", "id": 1, "states": ["sleeping"]}, "states.0"),
        ({"type": "register_cluster", "id": 1, "name": "Not A Name"}, "name"),
        ({"type": "register_cluster", "id": 1, "name": "x\n"}, "name"),
        ({"type": "submit", "id": 1, "items": [{"request": {"command": "true"}}]}, "items.0.request.command"),
        ({"type": "submit", "id": 1, "items": [{"request": {"command": []}}]}, "items.0.request.command"),
        (
            {"type": "submit", "id": 1, "items": [{"request": {"command": ["true"], "shape": {"tasks": "2"}}}]},
            "items.0.request.shape.tasks",
        ),
    ],
)
def test_a_wrong_field_is_named(document: dict[str, Any], where: str) -> None:
    error = refusal(json.dumps(document))
    assert error.code is ErrorCode.INVALID
    assert error.message.startswith(f"{document['type']}: {where}: ")
    assert error.ref == (1 if type(document.get("id")) is int and document["id"] == 1 else None)


@pytest.mark.parametrize("missing", ["eta_s", "cost"])
def test_a_yes_says_when_and_how_much(missing: str) -> None:
    """Taken for zero, what is missing would win every auction."""
    bid = {"job": JOB, "attempt": 1, "answer": "yes", "eta_s": 0, "cost": 0}
    codec.from_agent.decode(json.dumps({"type": "bids", "items": [bid]}))
    del bid[missing]
    error = refusal(json.dumps({"type": "bids", "items": [bid]}), codec.from_agent)
    assert error.message == "bids: items.0: a Yes needs eta_s and cost"
    codec.from_agent.decode(json.dumps({"type": "bids", "items": [{**bid, "answer": "no"}]}))


def test_the_request_id_is_kept_only_if_it_is_one() -> None:
    for request_id in (0, limits.REQUEST_ID_MAX):
        assert refusal(json.dumps({"type": "status", "id": request_id, "jobs": []})).ref == request_id
    for no_id in (limits.REQUEST_ID_MAX + 1, -1, 1.0, "1", True, None, [1]):
        assert refusal(json.dumps({"type": "status", "id": no_id, "jobs": []})).ref is None


def test_a_batch_beyond_its_limit_is_too_large_and_says_so() -> None:
    error = refusal(json.dumps({"type": "status", "id": 3, "jobs": [JOB] * (limits.BATCH_ITEMS_MAX + 1)}))
    assert (error.code, error.ref) == (ErrorCode.TOO_LARGE, 3)
    assert str(limits.BATCH_ITEMS_MAX) in error.message


@pytest.mark.parametrize("letter", ["a", "é", "虹", "🌈"])
def test_a_frame_is_measured_in_bytes_and_taken_up_to_its_limit(letter: str) -> None:
    start, end = '{"type": "clusters", "id": 1, "padding": "', '"}'
    room = limits.FRAME_BYTES_MAX - len(start) - len(end)
    letters, rest = divmod(room, len(letter.encode()))
    fits = start + letter * letters + "a" * rest + end
    assert len(fits.encode()) == limits.FRAME_BYTES_MAX
    codec.from_client.decode(fits)
    error = refusal(start + letter * letters + "a" * (rest + 1) + end)
    assert error.code is ErrorCode.TOO_LARGE
    assert str(limits.FRAME_BYTES_MAX) in error.message


BAD_WORDS = "[" + ",".join("1" * 1_900) + "]"
BAD_ENV = "{" + ",".join(f'"V{number}":1' for number in range(400)) + "}"


@pytest.mark.parametrize(
    "frame",
    [
        '{"type":"list","id":1,"states":[' + ",".join("1" * 2_000_000) + "]}",
        '{"type":"status","id":1,"jobs":[' + ",".join("1" * 2_000_000) + "]}",
        '{"type":"hello","id":1,"tokens":[' + ",".join("1" * 2_000_000) + "]}",
        '{"type":"submit","id":1,"items":[' + ",".join(['{"request":{"command":' + BAD_WORDS + "}}"] * 900) + "]}",
        '{"type":"submit","id":1,"items":['
        + ",".join(['{"request":{"command":["a"],"env":' + BAD_ENV + "}}"] * 900)
        + "]}",
        '{"type":"submit","id":1,"items":[{"request":{"command":["a"],"env":{'
        + ",".join(f'"{number:x}":1' for number in range(300_000))
        + "}}}]}",
    ],
    ids=["states", "jobs", "tokens", "words", "variables", "one environment"],
)
def test_a_frame_full_of_mistakes_is_refused_in_moderate_time(frame: str) -> None:
    """Explaining every one of two million mistakes once held up the daemon for twenty seconds."""
    assert len(frame) < limits.FRAME_BYTES_MAX
    before = time.process_time()
    error = refusal(frame)
    assert time.process_time() - before < 1
    assert error.ref == 1
    assert len(error.message) < 1_000


def test_a_mistake_is_one_short_line_whatever_the_peer_sent() -> None:
    for env in ({"k\n" * 100_000: 1}, {"\x1b" * 100_000: "", "=" * 100_000: ""}):
        frame = {"type": "submit", "id": 1, "items": [{"request": {"command": ["a"], "env": env}}]}
        message = refusal(json.dumps(frame)).message
        assert len(message) < 1_000
        assert message.isprintable()
    assert refusal(json.dumps({"type": "x\n" * 1_000})).message.isprintable()


def test_more_than_three_mistakes_are_counted() -> None:
    class Four(BaseModel):
        a: int
        b: int
        c: int
        d: int

    with pytest.raises(ValidationError) as caught:
        Four.model_validate({})
    assert codec.describe(caught.value) == "a: is missing; b: is missing; c: is missing; and 1 more"


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"tasks": 0}, "tasks: must be at least 1"),
        ({"tasks": 10**9}, f"tasks: must be at most {limits.TASKS_MAX}"),
        ({"tasks": "4"}, "tasks: must be a whole number"),
        ({"tasks": 1.5}, "tasks: must be a whole number"),
        ({"time_limit_s": 0}, "time_limit_s: must be more than 0"),
        ({"time_limit_s": "1h"}, "time_limit_s: must be a number"),
        ({"nodes": 2}, "nodes (2) must not exceed tasks (1): a node needs a task"),
    ],
)
def test_mistakes_of_a_shape_in_words(shape: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Shape.model_validate(shape)
    assert codec.describe(caught.value) == words


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"command": []}, "command: must not be empty"),
        ({"command": "ls"}, "command: must be a list"),
        ({"command": ["a"] * (limits.COMMAND_WORDS_MAX + 1)}, f"must have at most {limits.COMMAND_WORDS_MAX} entries"),
        ({"name": ""}, "name: must not be empty"),
        ({"name": 1}, "name: must be a text"),
        ({"name": "n" * 100_000}, f"name: must have at most {limits.JOB_NAME_CHARS_MAX} characters"),
        ({"clusters": ["B!"]}, "clusters.0: has characters that are not allowed there"),
        ({"shape": 1}, "shape: "),
    ],
)
def test_mistakes_of_a_job_in_words(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        JobRequest.model_validate({"command": ["true"]} | changes)
    assert words in codec.describe(caught.value)
    assert "Input should" not in codec.describe(caught.value)


def test_every_error_code_has_a_hint_of_its_own() -> None:
    assert set(HINTS) == set(ErrorCode)
    for code, hint in HINTS.items():
        assert code.value == code.name.lower()
        assert hint.endswith("."), code
        assert common.error(code, "why").hint == hint
    assert len(set(HINTS.values())) == len(ErrorCode)
