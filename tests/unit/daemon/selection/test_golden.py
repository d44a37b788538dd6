"""Each golden file must come out as it is written. `REWRITE=1` writes them anew: then read the diff."""

import os
from pathlib import Path

import pytest

from tests.unit.daemon.selection.stage import ALL, play

GOLDEN = sorted(Path(__file__).with_name("golden").glob("*.txt"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_golden(path: Path) -> None:
    played = play(path.read_text())
    if os.environ.get("REWRITE"):
        path.write_text(played)
    assert played == path.read_text()


def test_every_policy_has_its_golden_file() -> None:
    assert {path.stem for path in GOLDEN} >= {policy.name for policy in ALL}
