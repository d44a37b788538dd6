"""Jobs of several tasks and jobs that want their nodes alone, by the installed commands: order, cancel, kill -9."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rainbow_client.config import read_config
from rainbow_client.sync import Client
from rainbow_protocol.job import JobRequest, Shape
from rainbow_protocol.program import Group, Program, Task
from rainbow_protocol.resources import Constraint, Need, Resource
from tests.acceptance.commands import Commands, federation, until

pytestmark = pytest.mark.xdist_group("programs")


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with federation(tmp_path_factory.mktemp("programs") / "f") as running:
        yield running


def submit(commands: Commands, request: JobRequest) -> str:
    with Client.from_config(read_config(commands.directory / "rainbow-config.yaml")) as client:
        job = client.submit(request).job
    assert job is not None
    return job


def program(*tasks: Task, groups: tuple[Group, ...] = (), **more: Any) -> JobRequest:
    """As the reader of such documents makes it: every task in one node of the job."""
    node = Resource(type="node", children=[Resource(type="core")])
    return JobRequest(
        command=["program"],
        program=Program(tasks=list(tasks), groups=list(groups)),
        needs=[Need(alternatives=[[node]])],
        **more,
    )


def sh(name: str, script: str, *after: str, **more: Any) -> Task:
    return Task(name=name, command=["sh", "-c", script], depends_on=list(after), need=0, **more)


def test_every_cluster_describes_itself(commands: Commands) -> None:
    for cluster in ("small", "medium", "large"):
        until(
            f"the daemon has what {cluster} says of itself",
            lambda cluster=cluster: "the daemon has taken this cluster's description" in commands.log(cluster),
        )


def test_a_constraint_on_a_property_that_no_node_has_is_never_offered(commands: Commands) -> None:
    request = JobRequest(command=["true"], constraint=Constraint(op="properties", values=["unheard-of"]))
    job = submit(commands, request)
    assert commands.until_state(job, "rejected", "completed", "pending") == "rejected"


def test_a_queue_that_no_cluster_has_is_told_in_words(commands: Commands) -> None:
    job = submit(commands, JobRequest(command=["true"], queue="debug"))
    words = "there is no queue 'debug': this cluster has no queues"
    until("the clusters have said so", lambda: words in commands.run("explain", job).stdout)
    commands.run("cancel", job)
    assert commands.until_state(job, "cancelled", "completed") == "cancelled"


def test_a_program_runs_in_the_order_that_it_asks_for(commands: Commands) -> None:
    request = program(
        sh("report", "echo report", "simulate", "train"),
        sh("simulate", "echo simulate $RAINBOW_REPLICA", "fetch", replicas=2),
        sh("fetch", "echo fetch"),
        Task(group="train", depends_on=["simulate"]),
        groups=(Group(name="train", tasks=[sh("second", "echo second", "first"), sh("first", "echo first")]),),
    )
    job = submit(commands, request)
    commands.run("wait", job)
    lines = commands.run("logs", job).stdout.splitlines()
    assert lines == ["fetch", "simulate 0", "simulate 1", "first", "second", "report"]


def test_a_task_that_fails_is_named_and_its_code_is_the_jobs(commands: Commands) -> None:
    job = submit(commands, program(sh("build", "exit 3"), sh("test", "echo never", "build"), sh("docs", "echo docs")))
    commands.run("wait", job, code=3)
    assert commands.json("status", job)["exit_code"] == 3
    read = commands.run("logs", job)
    assert read.stdout == "docs\n"
    assert "rainbow: task build: exit code 3\n" in read.stderr


def test_cancel_ends_a_program(commands: Commands, tmp_path: Path) -> None:
    job = submit(commands, program(sh("a", f"touch {tmp_path}/a; sleep 600"), sh("b", f"touch {tmp_path}/b")))
    until("its first task runs", (tmp_path / "a").exists)
    commands.run("cancel", job)
    assert commands.until_state(job, "cancelled", "completed", "failed") == "cancelled"
    assert not (tmp_path / "b").exists()


def test_an_exclusive_job_keeps_others_off_its_node(commands: Commands, tmp_path: Path) -> None:
    """Of the two nodes of `medium` one is taken whole: what needs both waits until it is free again."""
    alone = submit(
        commands,
        JobRequest(
            command=["sh", "-c", f"until [ -e {tmp_path}/gate ]; do sleep 0.05; done"],
            shape=Shape(exclusive=True, time_limit_s=60.0),
            clusters=["medium"],
        ),
    )
    commands.until_state(alone, "running")
    one = JobRequest(command=["true"], shape=Shape(cores_per_task=4, time_limit_s=1.0), clusters=["medium"])
    beside = submit(commands, one)
    assert commands.until_state(beside, "completed", "failed") == "completed"
    both = submit(commands, one.model_copy(update={"shape": Shape(tasks=2, nodes=2, time_limit_s=1.0)}))
    assert commands.until_state(both, "queued", "running", "completed") == "queued"
    (tmp_path / "gate").touch()
    assert commands.until_state(both, "completed", "failed") == "completed"
    assert commands.state(alone) == "completed"


def test_killing_the_agent_in_the_middle_of_a_program_runs_nothing_twice(commands: Commands, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    tasks = [sh(f"t{n}", f"echo t{n} >> {marks}; sleep 0.1", *([f"t{n - 1}"] if n else [])) for n in range(20)]
    job = submit(commands, program(*tasks, clusters=["small"]))
    for seen in (3, 9):
        until(f"{seen} tasks have run", lambda seen=seen: marks.exists() and len(marks.read_text().split()) >= seen)
        commands.kill("small")
        commands.up()
    commands.run("wait", job)
    assert marks.read_text().split() == [f"t{n}" for n in range(20)]
