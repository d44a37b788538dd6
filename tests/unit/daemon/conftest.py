"""A store on a real file, and hypothesis without its deadline: a busy machine makes one example slow, not wrong."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import settings

from rainbowd.store.repo import Repo

settings.register_profile("rainbow", deadline=None)
settings.load_profile("rainbow")


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "rainbow.db"


@pytest.fixture
async def repo(database: Path) -> AsyncIterator[Repo]:
    opened = await Repo.open(database)
    yield opened
    await opened.close()
