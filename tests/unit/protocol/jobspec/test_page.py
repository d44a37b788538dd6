"""The page about jobspecs: every example in it is read, without a remark."""

import re
from pathlib import Path

import pytest

from rainbow_protocol import limits
from rainbow_protocol.jobspec import FORMATS, read, read_compat

PAGE = (Path(__file__).resolve().parents[4] / "docs" / "jobspecs.md").read_text()
EXAMPLES = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
MEANT = ["flux", "nextgen", "rainbow", "kubernetes", "nextgen"]


@pytest.mark.parametrize("number", range(len(MEANT)))
def test_every_example_is_what_the_page_says(number: int) -> None:
    assert len(EXAMPLES) == len(MEANT)
    found = read(EXAMPLES[number])
    assert (found.format, found.warnings) == (MEANT[number], ())


def test_the_example_of_one_vertex_and_another() -> None:
    needs = read(EXAMPLES[-1]).request.needs
    assert needs is not None
    assert [len(one.conditions) for one in needs[0].alternatives[0][0].requires] == [2, 1]


def test_the_compatibility_artifact() -> None:
    [artifact] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    [requirement], warnings = read_compat(artifact)
    assert (requirement.subsystem, len(requirement.conditions), warnings) == ("org.supercontainers.mpi", 2, ())


def test_every_format_and_bound_is_on_the_page() -> None:
    assert all(f"`{name}` |" in PAGE for name in FORMATS)
    assert f"{limits.JOBSPEC_VALUES_MAX:,} values" in PAGE
    assert f"{limits.JOBSPEC_DEPTH_MAX} levels" in PAGE
