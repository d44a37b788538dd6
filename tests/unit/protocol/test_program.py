"""A program that no cluster could ever run is told so before it is a job."""

from typing import Any

import pytest

from rainbow_protocol.program import Program, why_never


def task(name: str | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "command": [] if "group" in more else ["true"], **more}


def test_tasks_wait_for_tasks_and_groups_of_their_level() -> None:
    program = {
        "tasks": [task("a"), task(group="g"), task("b", depends_on=["a", "g"]), task()],
        "groups": [{"name": "g", "tasks": [task("x"), task("y", depends_on=["x"])], "depends_on": ["a"]}],
    }
    assert why_never(Program.model_validate(program), 0) is None


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ({"tasks": [task("a", depends_on=["b"])]}, "waits for 'b', which is not there"),
        ({"tasks": [task("a", depends_on=["a"])]}, "wait for each other"),
        ({"tasks": [task("a", depends_on=["b"]), task("b", depends_on=["a"])]}, "wait for each other"),
        ({"tasks": [task(depends_on=["x"])]}, "waits for 'x'"),
        ({"tasks": [task(group="g")]}, "group 'g' is not there"),
        ({"tasks": [task(group="g")], "groups": [{"name": "g", "tasks": [task(group="g")]}]}, "within each other"),
        ({"tasks": [task()], "groups": [{"name": "g", "tasks": [task()]}] * 2}, "the same name"),
        (
            {"tasks": [task("a"), task(group="g")], "groups": [{"name": "g", "tasks": [task("b", depends_on=["a"])]}]},
            "waits for 'a'",
        ),
        ({"tasks": [task(need=1)]}, "counts on an allocation"),
    ],
)
def test_what_could_never_run_is_told_in_words(program: dict[str, Any], words: str) -> None:
    assert words in str(why_never(Program.model_validate(program), 1))
