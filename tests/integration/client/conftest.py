"""A real federation for these tests: a daemon and three clusters, started as `rainbow up` does."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from rainbow_client.local.federation import Federation

COMMAND_S_MAX = 60


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    def json(self) -> dict[str, object]:
        document = orjson.loads(self.out)
        assert isinstance(document, dict)
        return document

    def json_list(self) -> list[dict[str, object]]:
        document = orjson.loads(self.out)
        assert isinstance(document, list)
        return document

    def json_lines(self) -> list[dict[str, object]]:
        return [orjson.loads(line) for line in self.out.splitlines()]


Rainbow = Callable[..., Outcome]


def command_line(*args: str) -> list[str]:
    return [sys.executable, "-m", "rainbow_client", *args]


def environment(home: Path, **variables: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("RAINBOW_", "XDG_"))}
    return kept | {"HOME": str(home)} | variables


@pytest.fixture(scope="package")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Federation]:
    made = Federation(tmp_path_factory.mktemp("federation") / "dir")
    asyncio.run(made.up(3))
    yield made

    async def stop() -> None:
        await made.cancel_jobs(10)
        await made.down()

    asyncio.run(stop())


@pytest.fixture
def rainbow(federation: Federation, tmp_path: Path) -> Rainbow:
    env = environment(tmp_path, RAINBOW_CONFIG=str(federation.layout.client_config))

    def run(*args: str) -> Outcome:
        done = subprocess.run(
            command_line(*args), env=env, cwd=tmp_path, capture_output=True, timeout=COMMAND_S_MAX, check=False
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
