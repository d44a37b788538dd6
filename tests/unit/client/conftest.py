from collections.abc import AsyncIterator

import pytest

from tests.unit.client.fake_daemon import FakeDaemon


@pytest.fixture
async def daemon() -> AsyncIterator[FakeDaemon]:
    async with FakeDaemon() as fake:
        yield fake
