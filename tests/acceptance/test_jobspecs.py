"""Documents given to the installed commands: read, asked about, and run, each in its own form."""

from pathlib import Path

import pytest

from tests.acceptance.commands import Commands, until

FLUX = """\
version: 1
resources:
  - type: node
    count: 2
    with:
      - {type: slot, count: 1, label: default, with: [{type: core, count: 2}]}
tasks:
  - command: [sh, -c, 'echo "$WHO on node $RAINBOW_NODE"']
    slot: default
    count: {per_slot: 1}
attributes:
  system: {duration: 60, environment: {WHO: flux}}
"""
NEXTGEN = """\
version: 1
resources:
  one: {type: node, with: [{type: core, count: 2}]}
tasks:
  - {name: first, command: [echo, first]}
  - {name: second, command: [echo, second], depends_on: [first]}
"""
EARLIER = """\
version: 1
resources:
  one: {type: node, replicas: 1, with: [{type: core, count: 1}]}
task:
  command: [echo, earlier]
"""
KUBERNETES = """\
apiVersion: batch/v1
kind: Job
metadata: {name: greeting}
spec:
  parallelism: 2
  template:
    spec:
      containers:
        - name: greeting
          command: [sh, -c]
          args: ["echo $GREETING"]
          env: [{name: GREETING, value: hello}]
          resources: {requests: {cpu: 1}}
"""


@pytest.fixture(scope="module")
def described(shared: Commands) -> Commands:
    """Clusters whose agents have told what they have, so that trees can be matched."""
    for cluster in ("small", "medium", "large"):
        until(
            f"the daemon has what {cluster} says of itself",
            lambda name=cluster: "the daemon has taken this cluster's description" in shared.log(name),
        )
    return shared


@pytest.mark.parametrize(
    ("form", "text", "lines"),
    [
        ("flux", FLUX, 2),
        ("nextgen", NEXTGEN, ["first", "second"]),
        ("rainbow", EARLIER, ["earlier"]),
        ("kubernetes", KUBERNETES, ["hello", "hello"]),
    ],
)
def test_a_document_of_every_form_is_run(
    described: Commands, tmp_path: Path, form: str, text: str, lines: int | list[str]
) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(text)
    assert described.run("validate", str(file)).stdout.splitlines()[0].endswith(f"of the form {form}")
    done = described.run("submit", "--wait", "--name", form, str(file))
    job = done.stdout.split()[0]
    output = described.run("logs", job).stdout.splitlines()
    if isinstance(lines, int):
        assert len(output) == len(set(output)) == lines
        assert all(line.startswith("flux on node ") for line in output)
    else:
        assert output == lines
    assert described.json("status", job)["name"] == form


def test_a_document_on_standard_input(described: Commands) -> None:
    assert described.run("submit", "--wait", "-", stdin=EARLIER).returncode == 0


def test_satisfy_tells_who_could_and_submits_nothing(described: Commands, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(FLUX)
    before = described.json("jobs")
    answer = described.json("satisfy", str(file))
    assert {one["cluster"]: one["nodes_matched"] for one in answer["matches"]} == {"large": 4, "medium": 2}
    assert all(one["instances"] >= 1 and len(one) == 3 for one in answer["matches"])
    [mismatch] = answer["mismatches"]
    assert mismatch["cluster"] == "small"
    assert set(mismatch) == {"cluster", "reason", "needed", "have"}
    assert described.json("jobs") == before
    file.write_text(FLUX.replace("count: 2\n", "count: 2000\n"))
    assert described.json("satisfy", str(file), code=1)["matches"] == []


def test_a_document_that_is_wrong_says_where(described: Commands, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(FLUX.replace("slot: default", "slot: gpu"))
    for command in ("submit", "satisfy", "validate"):
        refused = described.run(command, str(file), code=2)
        assert f"{file}: tasks[0].slot: names no slot; there are: default" in refused.stderr
