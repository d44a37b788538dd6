"""A store on a real file."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from rainbowd.store.repo import Repo


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "rainbow.db"


@pytest.fixture
async def repo(database: Path) -> AsyncIterator[Repo]:
    opened = await Repo.open(database)
    yield opened
    await opened.close()
