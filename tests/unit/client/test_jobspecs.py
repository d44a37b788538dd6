"""Documents on the command line: submitted, checked, and asked about."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rainbow_client import InvalidRequest, read_jobspec
from rainbow_client.request_words import constraint_words, request_lines
from rainbow_protocol.resources import Constraint
from tests.unit.client.conftest import Rainbow
from tests.unit.client.fake_daemon import FakeDaemon, Message

FLUX: dict[str, Any] = {
    "version": 1,
    "resources": [
        {
            "type": "node",
            "count": 2,
            "with": [{"type": "slot", "count": 1, "label": "default", "with": [{"type": "core", "count": 4}]}],
        }
    ],
    "tasks": [{"command": ["app"], "slot": "default", "count": {"per_slot": 1}}],
    "attributes": {"system": {"duration": 60, "environment": {"A": "1", "B": "1"}, "cwd": "/a"}},
}
COMPAT = {"compatibilities": [{"name": "mpi", "version": "1", "attributes": {"implementation": "mpich"}}]}


@pytest.fixture
def job(configured: Path, tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(json.dumps(FLUX))
    return path


def submitted(daemon: FakeDaemon) -> Message:
    [request] = daemon.of_type("submit")
    [item] = request["items"]
    found: Message = item["request"]
    return found


async def test_a_file_is_a_jobspec(rainbow: Rainbow, daemon: FakeDaemon, job: Path) -> None:
    done = await rainbow("submit", "job.yaml")
    assert (done.code, done.err) == (0, "")
    request = submitted(daemon)
    assert request["command"] == ["app"]
    assert request["shape"]["nodes"] == 2
    assert request["needs"][0]["alternatives"][0][0]["with"][0]["type"] == "slot"


async def test_options_on_both_sides_of_a_file_count_before_what_it_says(
    rainbow: Rainbow, daemon: FakeDaemon, job: Path
) -> None:
    before = ("--name", "mine", "-t", "5m", "--env", "B=2", "--env", "C=3")
    done = await rainbow("submit", *before, str(job), "--cwd", "/b", "--cluster", "one", "--image", "img", "--json")
    assert (done.code, json.loads(done.out)["state"]) == (0, "pending")
    request = submitted(daemon)
    assert (request["name"], request["cwd"], request["clusters"]) == ("mine", "/b", ["one"])
    assert request["shape"]["time_limit_s"] == 300
    assert request["env"] == {"A": "1", "B": "2", "C": "3"}
    assert request["image"] == "img"


async def test_standard_input(rainbow: Rainbow, daemon: FakeDaemon, job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(job.read_bytes())))
    done = await rainbow("submit", "-")
    assert done.code == 0
    assert submitted(daemon)["command"] == ["app"]


@pytest.mark.parametrize("option", ["--jobspec", "--format=flux"])
async def test_a_file_of_any_name(rainbow: Rainbow, daemon: FakeDaemon, job: Path, option: str) -> None:
    job.rename(job.with_name("spec"))
    assert (await rainbow("submit", option, "spec")).code == 0
    assert submitted(daemon)["command"] == ["app"]


async def test_a_file_that_is_a_command_gets_a_hint(rainbow: Rainbow, daemon: FakeDaemon, job: Path) -> None:
    job.rename(job.with_name("spec"))
    done = await rainbow("submit", "spec")
    assert done.code == 0
    assert submitted(daemon)["command"] == ["spec"]
    assert "if it is a jobspec, write --jobspec spec" in done.err


async def test_commands_are_what_they_were(rainbow: Rainbow, daemon: FakeDaemon, job: Path) -> None:
    assert (await rainbow("submit", "-n", "2", "--", "cat", "job.yaml", "-n", "7")).code == 0
    request = submitted(daemon)
    assert request["command"] == ["cat", "job.yaml", "-n", "7"]
    assert (request["shape"]["tasks"], request["needs"]) == (2, None)


async def test_an_image_and_what_it_needs(rainbow: Rainbow, daemon: FakeDaemon, job: Path, tmp_path: Path) -> None:
    (tmp_path / "compat.json").write_text(json.dumps(COMPAT))
    done = await rainbow("submit", "--image", "ghcr.io/x/y:1", "--compat", "compat.json", "lmp", "-in", "x")
    assert (done.code, done.err) == (0, "")
    request = submitted(daemon)
    assert (request["command"], request["image"]) == (["lmp", "-in", "x"], "ghcr.io/x/y:1")
    [requirement] = request["requires"]
    assert requirement["subsystem"] == "mpi"
    assert [(one["field"], one["any_of"]) for one in requirement["conditions"]] == [("implementation", ["mpich"])]
    assert request["needs"] is None


async def test_what_an_image_needs_is_added_to_what_a_document_says(
    rainbow: Rainbow, daemon: FakeDaemon, job: Path, tmp_path: Path
) -> None:
    (tmp_path / "compat.json").write_text(json.dumps(COMPAT))
    assert (await rainbow("submit", "--compat", "compat.json", "job.yaml")).code == 0
    assert [one["subsystem"] for one in submitted(daemon)["requires"]] == ["mpi"]


async def test_what_is_not_used_is_told_on_stderr(rainbow: Rainbow, daemon: FakeDaemon, job: Path) -> None:
    job.write_text(json.dumps({**FLUX, "colour\x1b": "blue"}))
    done = await rainbow("submit", "job.yaml")
    assert done.code == 0
    assert done.err == "rainbow: warning: job.yaml: colour : is not known here and was not used\n"


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("-n", "2", "job.yaml"), "-n/--tasks cannot be given beside job.yaml"),
        (("-N", "2", "job.yaml"), "-N/--nodes cannot be given beside job.yaml"),
        (("-c", "1", "job.yaml"), "-c/--cores-per-task cannot be given beside job.yaml"),
        (("job.yaml", "-g", "0"), "-g/--gpus-per-task cannot be given beside job.yaml"),
        (("job.yaml", "more"), "job.yaml is a document that describes a job, and 'more' is there beside it"),
        (("--jobspec", "job.yaml", "true"), "--jobspec job.yaml says what is run, and 'true' is there beside it"),
        (("--format", "flux", "a", "b"), "a is a document that describes a job"),
        (("--format", "slurm", "job.yaml"), "'slurm' is not one of"),
        (("--format", "kubernetes", "job.yaml"), "job.yaml: kind: is missing"),
        (("nothing.yaml",), "nothing.yaml: there is no such file here"),
        (("--jobspec", "nothing.yaml"), "nothing.yaml: cannot be read: no such file or directory"),
        (("--compat", "nothing.json", "true"), "nothing.json: cannot be read"),
        (("--compat", "job.yaml", "true"), "job.yaml: compatibilities: is missing"),
        (("--compat", "job.yaml", "job.yaml"), "cannot be the same document"),
        (("--name", "", "job.yaml"), "--name: must not be empty"),
        (("--cluster", "Bad_Name", "job.yaml"), "--cluster: has characters"),
        (("wrong.json",), "wrong.json: tasks[0].slot: names no slot; there are: default"),
        (("binary.json",), "binary.json: is not a text in UTF-8"),
    ],
)
async def test_a_mistake_gets_one_sentence_and_a_hint(
    rainbow: Rainbow, daemon: FakeDaemon, job: Path, args: tuple[str, ...], words: str
) -> None:
    wrong = {**FLUX, "tasks": [{"command": ["app"], "slot": "gpu", "count": {"per_slot": 1}}]}
    job.with_name("wrong.json").write_text(json.dumps(wrong))
    job.with_name("binary.json").write_bytes(b"\xff\xfe\x00")
    done = await rainbow("submit", *args)
    sentence, hint = done.err.splitlines()
    assert done.code == 2
    assert words in sentence
    assert hint.startswith("  ")
    assert daemon.of_type("submit") == []


# --- validate ---


async def test_validate_shows_the_job(rainbow: Rainbow, job: Path) -> None:
    done = await rainbow("validate", "job.yaml")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "job.yaml is a jobspec of the form flux",
        "Command     app",
        "Directory   /a",
        "Time limit  1m",
        "Variables   A, B",
        "Resources",
        "  node: 2",
        "    slot: 1 (default)",
        "      core: 4",
        "Where only nodes, cores and gpus are counted: 2 tasks on 2 nodes, 4 cores each, at most 1m",
    ]


async def test_validate_as_json_is_what_would_be_submitted(rainbow: Rainbow, daemon: FakeDaemon, job: Path) -> None:
    shown = await rainbow("validate", "job.yaml", "--json")
    assert daemon.requests == []
    await rainbow("submit", "job.yaml")
    assert json.loads(shown.out) == submitted(daemon)


async def test_validate_says_where_and_why_not(rainbow: Rainbow, job: Path) -> None:
    job.write_text(json.dumps({**FLUX, "version": 7}))
    done = await rainbow("validate", "job.yaml")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("rainbow: job.yaml: version: must be 1, the only version that is known\n  ")
    done = await rainbow("validate", "job.yaml", "--json")
    assert json.loads(done.err)["error"]["code"] == "invalid"


def test_everything_that_a_request_can_say_has_words() -> None:
    text = json.dumps(
        {
            "version": 1,
            "requires": {"mpi": [{"name": "mpi", "field": "version", "min": "4", "not": "4.1"}]},
            "resources": {
                "all": {"type": "node", "count": "2-8", "requires": [{"name": "io", "match": ["shm", "nvme"]}]},
                "some": {
                    "type": "node",
                    "count": 9,
                    "exclusive": False,
                    "with": [{"type": "memory", "count": 4, "unit": "GB"}],
                },
            },
            "groups": [
                {
                    "name": "g",
                    "resources": "all|some",
                    "tasks": [
                        {"name": "a", "command": ["a b"], "resources": "some", "requires": "mpi"},
                        {"command": ["c"], "replicas": 3, "depends_on": ["a"], "count": {"total": 4}},
                    ],
                }
            ],
        }
    )
    assert list(request_lines(read_jobspec(text).request)) == [
        "Tasks",
        "  group g",
        "  group g, on resources 0",
        "    a: 'a b', on resources 1",
        "    c, 4 in all, 3 times, after a",
        "Resources 0",
        "  node: 2 to 8, exclusive",
        "    requires io: type is shm or nvme",
        "  or",
        "  node: 9, shared",
        "    memory: 4 GB",
        "Resources 1",
        "  node: 9, shared",
        "    requires mpi: version is not 4.1 and ≥ 4",
        "    memory: 4 GB",
        "Where only nodes, cores and gpus are counted: 9 tasks on 9 nodes, 1 core each, no time limit"
        ", nodes of its own",
    ]


def test_constraints_in_words() -> None:
    constraint = Constraint(
        op="and",
        args=[
            Constraint(op="properties", values=["ssd", "^slow"]),
            Constraint(
                op="or", args=[Constraint(op="hostlist", values=["a[1-2]"]), Constraint(op="ranks", values=["0"])]
            ),
            Constraint(op="not", args=[Constraint(op="properties", values=["old"])]),
        ],
    )
    assert constraint_words(constraint) == "(ssd and not slow) and ((named a[1-2]) or (of rank 0)) and (not (old))"


# --- satisfy ---

ANSWER: Message = {
    "type": "satisfy_answer",
    "matches": [{"cluster": "large", "instances": 3, "nodes_matched": 8, "numbers": {"memory_min": 4}}],
    "mismatches": [{"cluster": "small", "reason": "its nodes have 2 cores", "needed": 4, "have": 2}],
}


async def test_satisfy_tells_who_could_and_why_others_could_not(
    rainbow: Rainbow, daemon: FakeDaemon, job: Path
) -> None:
    daemon.handlers["satisfy"] = lambda _: [ANSWER]
    done = await rainbow("satisfy", "job.yaml")
    assert done.code == 0
    assert [line.split(maxsplit=4) for line in done.out.splitlines()] == [
        ["CLUSTER", "FITS", "TIMES", "NODES", "WHY NOT"],
        ["large", "yes", "3", "8"],
        ["small", "no", "-", "-", "its nodes have 2 cores"],
    ]
    [request] = daemon.of_type("satisfy")
    assert request["request"]["command"] == ["app"]
    assert daemon.of_type("submit") == []


async def test_satisfy_as_json(rainbow: Rainbow, daemon: FakeDaemon, job: Path) -> None:
    daemon.handlers["satisfy"] = lambda _: [ANSWER]
    for args in (("--json", "job.yaml"), ("job.yaml", "--json")):
        done = await rainbow("satisfy", *args)
        assert (done.code, done.err) == (0, "")
        assert json.loads(done.out) == {
            "matches": [{"cluster": "large", "instances": 3, "nodes_matched": 8}],
            "mismatches": [{"cluster": "small", "reason": "its nodes have 2 cores", "needed": 4, "have": 2}],
        }


async def test_satisfy_with_a_command(rainbow: Rainbow, daemon: FakeDaemon, job: Path) -> None:
    daemon.handlers["satisfy"] = lambda _: [{**ANSWER, "matches": []}]
    done = await rainbow("satisfy", "-n", "4", "-c", "2", "--", "hostname")
    assert done.code == 1  # nobody could
    assert "large" not in done.out
    [request] = daemon.of_type("satisfy")
    assert (request["request"]["shape"]["tasks"], request["request"]["needs"]) == (4, None)


async def test_satisfy_where_there_is_nobody(rainbow: Rainbow, daemon: FakeDaemon, job: Path) -> None:
    daemon.handlers["satisfy"] = lambda _: [{"type": "satisfy_answer", "matches": [], "mismatches": []}]
    done = await rainbow("satisfy", "job.yaml")
    assert (done.code, done.out.split(".")[0]) == (1, "No clusters")


# --- the SDK ---


def test_a_document_that_is_none_is_an_invalid_request() -> None:
    with pytest.raises(InvalidRequest, match=r"^job: is empty$"):
        read_jobspec("", name="job")


def test_submitting_a_command_does_not_load_the_readers() -> None:
    check = "import sys, rainbow_client.cli.submit; print('rainbow_protocol.jobspec' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"
