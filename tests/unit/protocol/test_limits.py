"""Every bound at its edge: the last value is taken, the next one refused."""

import json
import re
from typing import Any

import pytest

from rainbow_protocol import codec, limits
from rainbow_protocol.errors import ErrorCode, ProtocolError
from rainbow_protocol.job import JobRequest
from rainbow_protocol.program import Program, Task
from tests.unit.protocol.schemas import ENDPOINTS, MESSAGES, Edge, edges

EDGES = [(endpoint, edge) for endpoint, model in MESSAGES for edge in edges(model)]

# Bounds that a session or the daemon keeps, not a message; their tests are theirs.
OF_SESSIONS = {
    "SEND_QUEUE_FRAMES_MAX",
    "INBOX_COMMANDS_MAX",
    "HELLO_TIMEOUT_S",
    "PING_INTERVAL_S",
    "PING_TIMEOUT_S",
    "WATCHES_PER_SESSION_MAX",
    "REQUESTS_IN_FLIGHT_MAX",
    "HISTORY_EVENTS_MAX",
    "COMMAND_SHOWN_CHARS_MAX",
    "OUTPUT_CHUNK_BYTES_MAX",  # OUTPUT_CHUNK_CHARS_MAX is its form on the wire
}
# Bounds of what a cluster's description becomes, kept by the daemon that reads it.
OF_GRAPHS = {
    "GRAPH_PART_BYTES_MAX",  # GRAPH_PART_CHARS_MAX is its form on the wire
    "GRAPH_SENT_BYTES_MAX",
    "GRAPH_VERTICES_MAX",
    "GRAPH_DEPTH_MAX",
    "GRAPH_SIZE_MAX",
    "GRAPH_KINDS_MAX",
    "SUBSYSTEMS_MAX",
    "SUBSYSTEM_VERTICES_MAX",
    "SUBSYSTEM_EDGES_MAX",
    "CONSTRAINT_HOSTS_MAX",
}
# Bounds of the readers of jobspecs, tested with them.
OF_JOBSPECS = {"JOBSPEC_CHARS_MAX", "JOBSPEC_VALUES_MAX", "JOBSPEC_DEPTH_MAX", "JOBSPEC_REMARKS_MAX"}
# Bounds with a test of their own, here or beside this file.
BY_HAND = {
    "REQUEST_DETAIL_BYTES_MAX",
    "RESOURCE_DEPTH_MAX",
    "RESOURCE_VERTICES_MAX",
    "FRAME_BYTES_MAX",
    "NAME_PATTERN",
    "ENV_VARIABLES_MAX",
    "ENV_CHARS_MAX",
    "MISTAKE_PATH_CHARS_MAX",
}
# For messages that later versions bring.
RESERVED = {"STATE_KEYS_MAX", "CURRENCY_CHARS_MAX"}


@pytest.mark.parametrize(("endpoint", "edge"), EDGES, ids=[f"{endpoint}-{edge}" for endpoint, edge in EDGES])
def test_the_last_is_taken_and_the_next_refused(endpoint: str, edge: Edge) -> None:
    decoder = ENDPOINTS[endpoint][0]
    decoder.decode(json.dumps(edge.taken))
    with pytest.raises(ProtocolError) as caught:
        decoder.decode(json.dumps(edge.refused))
    assert caught.value.code in (ErrorCode.INVALID, ErrorCode.TOO_LARGE)
    assert names(caught.value.message, [str(step) for step in edge.path])


def names(message: str, path: list[str]) -> bool:
    """Whether the message tells of that path; where a value may be of several kinds, it says too which was tried."""
    for place in re.split(r"[:;] ", message):
        steps = iter(place.split("."))
        if all(step in steps for step in path):
            return True
    return False


def test_every_limit_is_tested_somewhere() -> None:
    bounds = {edge.bound for _, edge in EDGES}
    for name, value in vars(limits).items():
        if name.isupper() and name not in OF_SESSIONS | OF_GRAPHS | OF_JOBSPECS | BY_HAND | RESERVED:
            assert value in bounds, f"no message has a field bounded by {name}"


def submit(**request: Any) -> Any:
    document = {"type": "submit", "id": 1, "items": [{"request": {"command": ["true"], **request}}]}
    return codec.from_client.decode(json.dumps(document))


def test_the_words_of_a_command_count_together() -> None:
    half = "x" * (limits.COMMAND_CHARS_MAX // 2)
    submit(command=[half, half])
    with pytest.raises(ProtocolError, match=str(limits.COMMAND_CHARS_MAX)):
        submit(command=[half, half, "x"])


def test_the_variables_of_an_environment_are_counted() -> None:
    variables = {f"V{number}": "" for number in range(limits.ENV_VARIABLES_MAX)}
    submit(env=variables)
    with pytest.raises(ProtocolError, match=str(limits.ENV_VARIABLES_MAX)):
        submit(env={**variables, "ONE_MORE": ""})


def test_names_and_values_of_an_environment_count_together() -> None:
    submit(env={"NAME": "x" * (limits.ENV_CHARS_MAX - len("NAME"))})
    with pytest.raises(ProtocolError, match=str(limits.ENV_CHARS_MAX)):
        submit(env={"NAME": "x" * (limits.ENV_CHARS_MAX - len("NAME") + 1)})


def nested(depth: int, holds: str, innermost: dict[str, Any]) -> dict[str, Any]:
    for _ in range(depth - 1):
        innermost = {**innermost, holds: [innermost]}
    return innermost


def test_resources_are_nested_only_so_deep() -> None:
    deepest = nested(limits.RESOURCE_DEPTH_MAX, "with", {"type": "rack"})
    submit(needs=[{"alternatives": [[deepest]]}])
    with pytest.raises(ProtocolError, match=f"deeper than {limits.RESOURCE_DEPTH_MAX}"):
        submit(needs=[{"alternatives": [[{"type": "rack", "with": [deepest]}]]}])


def test_constraints_are_nested_only_so_deep() -> None:
    deepest = nested(limits.RESOURCE_DEPTH_MAX, "args", {"op": "not"})
    submit(constraint=deepest)
    with pytest.raises(ProtocolError, match=f"deeper than {limits.RESOURCE_DEPTH_MAX}"):
        submit(constraint={"op": "not", "args": [deepest]})


def test_the_resources_of_all_needs_count_together() -> None:
    eight = {"type": "node", "with": [{"type": "core"}] * 7}
    needs = [{"alternatives": [[eight] * 8]}] * (limits.RESOURCE_VERTICES_MAX // 64)
    submit(needs=needs)
    with pytest.raises(ProtocolError, match=f"more than {limits.RESOURCE_VERTICES_MAX} resources"):
        submit(needs=[*needs, {"alternatives": [[{"type": "core"}]]}])


def test_all_that_a_request_says_beside_command_and_environment_counts_together() -> None:
    def tasks(chars: int) -> dict[str, Any]:
        quarter = ["x" * (chars // 8)]
        return {"tasks": [{"command": quarter}] * 8}

    submit(program=tasks(limits.REQUEST_DETAIL_BYTES_MAX - 4_096))
    with pytest.raises(ProtocolError, match=str(limits.REQUEST_DETAIL_BYTES_MAX)):
        submit(program=tasks(limits.REQUEST_DETAIL_BYTES_MAX))


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ({"command": ["x" * limits.COMMAND_CHARS_MAX, "x"]}, str(limits.COMMAND_CHARS_MAX)),
        ({"command": [""]}, "must not be empty"),
        ({"command": ["a\0b"]}, "NUL"),
        ({"command": ["true"], "env": {"A=B": None}}, "A=B"),
        ({"command": ["true"], "env": {"A": "\0"}}, "'A'"),
        ({"command": ["true"], "env": {"NAME": "x" * (limits.ENV_CHARS_MAX - 3)}}, str(limits.ENV_CHARS_MAX)),
    ],
)
def test_a_task_of_a_program_is_bounded_like_a_job(task: dict[str, Any], words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        submit(program={"tasks": [task]})


def test_the_largest_job_fits_into_a_frame() -> None:
    """Even in its longest spelling, where a control character takes six."""
    detail = limits.REQUEST_DETAIL_BYTES_MAX - 100 * 1024
    largest = JobRequest(
        program=Program(tasks=[Task(command=["x" * (detail // 16)])] * 16),
        command=["\x01" * limits.COMMAND_CHARS_MAX],
        env={"\x01": "\x01" * (limits.ENV_CHARS_MAX - 1)},
        cwd="🌈" * limits.CWD_CHARS_MAX,
        clusters=["x" * limits.NAME_CHARS_MAX] * limits.CLUSTERS_WANTED_MAX,
    )
    assert len(codec.encode(largest)) < limits.FRAME_BYTES_MAX - 1_024


def test_the_largest_output_fits_into_a_frame() -> None:
    assert 2 * limits.OUTPUT_CHUNK_CHARS_MAX < limits.FRAME_BYTES_MAX - 1_024


@pytest.mark.parametrize("name", ["a", "0", "a-b", "a" * limits.NAME_CHARS_MAX, "9-9"])
def test_a_cluster_is_named_like_a_dns_label(name: str) -> None:
    codec.from_client.decode(json.dumps({"type": "register_cluster", "id": 1, "name": name}))


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a.b", "a_b", "a b", "é", "a\n", "a\0", "../a"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ProtocolError, match="register_cluster: name: "):
        codec.from_client.decode(json.dumps({"type": "register_cluster", "id": 1, "name": name}))
