"""Programs as people have them in files, read and then run by a real agent."""

import re
from pathlib import Path
from typing import Any

import pytest

from rainbow_protocol.jobspec.reading import read
from tests.integration.agent.conftest import running_agent
from tests.integration.agent.fake_daemon import FakeDaemon

DATA = Path(__file__).resolve().parents[4] / "shared" / "data" / "jobspec-nextgen"

needs_data = pytest.mark.skipif(not DATA.is_dir(), reason=f"the example documents are not there: {DATA}")


def said(*tasks: str) -> list[str]:
    return [line for task in tasks for line in (f"Starting {task}", f"Finishing {task}")]


@needs_data
@pytest.mark.parametrize(
    ("document", "lines"),
    [
        ("depends-on.yaml", said("task 1", "task 2")),
        ("hello-world-jobspec.yaml", said("task 1", "task 2")),
        ("task-with-group.yaml", said("task 1", "task 2")),
        ("group-with-group.yaml", said("task 1 in group 1", "task 1 in group 2")),
        (
            "machine-learning.yaml",
            # Two nodes each, one process on a node, and twenty replicas of the test.
            ["running machine learning train"] * 2 + ["Running machine learning test"] * 40,
        ),
    ],
)
async def test_a_document_runs_as_it_reads(
    daemon: FakeDaemon, settings: dict[str, Any], document: str, lines: list[str]
) -> None:
    # Nobody here has a minute for what these tasks do in theirs.
    text = re.sub(r"sleep [0-9]+", "true", (DATA / document).read_text())
    request = read(text, name=document).request
    async with running_agent({**settings, "nodes": 8, "cores_per_node": 4, "gpus_per_node": 2}):
        await daemon.greet()
        ref = await daemon.begin(request)
        ended = await daemon.end(ref)
        out, err = await daemon.output(ref)
    assert (ended.event, err) == ("completed", b"")
    assert out.decode().splitlines() == lines
