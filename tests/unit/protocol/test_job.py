"""What a user may ask for, and what not."""

from typing import Any

import pytest
from pydantic import ValidationError

from rainbow_protocol import codec, limits
from rainbow_protocol.job import JOB_STATES, TERMINAL_STATES, JobRequest, Shape
from rainbow_protocol.messages.agent import Report
from rainbow_protocol.wire import one_line

REPORT: dict[str, Any] = {"job": "0123456789ab", "attempt": 1, "seq": 1, "event": "failed", "at": 0.0}


@pytest.mark.parametrize("count", [-1, 0, 10**12, 2**64, True, 1.0, "1"])
@pytest.mark.parametrize("field", ["nodes", "tasks", "cores_per_task"])
def test_absurd_counts_are_refused(field: str, count: Any) -> None:
    with pytest.raises(ValidationError, match=field):
        Shape.model_validate({field: count})


@pytest.mark.parametrize("count", [-1, 10**12])
def test_absurd_gpus_are_refused_but_none_is_fine(count: int) -> None:
    assert Shape(gpus_per_task=0).gpus_per_task == 0
    with pytest.raises(ValidationError, match="gpus_per_task"):
        Shape(gpus_per_task=count)


@pytest.mark.parametrize("limit", [0, -1, limits.TIME_LIMIT_S_MAX + 1, float("nan"), float("inf"), "1h"])
def test_absurd_time_limits_are_refused(limit: Any) -> None:
    with pytest.raises(ValidationError, match="time_limit_s"):
        Shape(time_limit_s=limit)


def test_a_node_needs_a_task() -> None:
    assert Shape(nodes=3, tasks=3).nodes == 3
    with pytest.raises(ValidationError, match=r"nodes \(4\) must not exceed tasks \(3\)"):
        Shape(nodes=4, tasks=3)
    with pytest.raises(ValidationError, match="a node needs a task"):
        Shape(nodes=2)  # one task is the default


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ([], "at least 1"),
        ([""], "must not be empty"),
        (["", "x"], "must not be empty"),
        (["true\0"], "NUL"),
        (["true", "a\0b"], "NUL"),
        (["\udcff"], "unicode"),
        ("true", "valid list"),
        ([b"true"], "valid string"),
    ],
)
def test_commands_that_no_process_can_have(command: Any, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        JobRequest(command=command)


def test_the_words_of_a_command_are_anything_else() -> None:
    words = ["sh", "-c", "printf 'a\tb\n'", "", "🌈", "\x1b[0m"]
    assert JobRequest(command=words).command == words


@pytest.mark.parametrize(
    "env", [{"": "x"}, {"A=B": "x"}, {"A\0": "x"}, {"A": "x\0"}, {"A": "\udcff"}, {"A": 1}, {"A": None}, ["A=B"]]
)
def test_variables_that_no_process_can_have(env: Any) -> None:
    with pytest.raises(ValidationError, match="env"):
        JobRequest(command=["true"], env=env)


def test_variables_that_one_can_have() -> None:
    env = {"A": "", "a.b": "x=y", "MULTI": "one\ntwo", "é": "🌈"}
    assert JobRequest(command=["true"], env=env).env == env


@pytest.mark.parametrize("field", ["name", "cwd"])
@pytest.mark.parametrize("control", ["\0", "\n", "\r", "\t", "\x1b", "\x7f", "\x85", "\x9b", "\u2028", "\u2029"])
def test_names_and_directories_are_one_line(field: str, control: str) -> None:
    with pytest.raises(ValidationError, match=field):
        JobRequest.model_validate({"command": ["true"], field: f"a{control}b"})


def test_a_name_may_have_any_other_letters() -> None:
    assert JobRequest(command=["true"], name="größe 虹 🌈").name == "größe 虹 🌈"


def test_a_job_without_a_name_is_called_after_its_program() -> None:
    assert JobRequest(command=["/usr/bin/hostname", "-f"]).display_name == "hostname"
    assert JobRequest(command=["hostname"], name="mine").display_name == "mine"
    assert len(JobRequest(command=["x" * 1_000]).display_name) == limits.JOB_NAME_CHARS_MAX


def test_a_reason_is_cleaned_not_refused() -> None:
    """It quotes somebody else's words; a batch of reports must not fail for them."""
    report = Report(**REPORT, reason="line one\nline two\x1b[31m\x85\u2028end")
    assert report.reason == "line one line two [31m  end"
    assert Report.model_validate_json(codec.encode(report)) == report
    assert one_line("größe\u00a0🌈") == "größe\u00a0🌈"


def test_terminal_states_are_states() -> None:
    assert set(JOB_STATES) > TERMINAL_STATES
    assert len(JOB_STATES) == len(set(JOB_STATES)) <= limits.STATES_WANTED_MAX
