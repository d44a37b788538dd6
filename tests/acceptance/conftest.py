"""One federation of three clusters, shared by the tests that leave it as they found it."""

from collections.abc import Iterator

import pytest

from tests.acceptance.commands import Commands, federation


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with federation(tmp_path_factory.mktemp("federation") / "f") as commands:
        yield commands
