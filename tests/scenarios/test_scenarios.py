"""Each golden file must come out as it is written. `REWRITE=1` writes them anew: then read the diff."""

import os
from pathlib import Path

import pytest

from tests.scenarios.stage import play

GOLDEN = sorted(Path(__file__).with_name("golden").glob("*.txt"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_scenario(path: Path) -> None:
    text = path.read_text()
    played = play(text)
    if os.environ.get("REWRITE"):
        path.write_text(played)
    assert played == path.read_text()


def test_there_are_scenarios() -> None:
    assert len(GOLDEN) >= 10
