"""A daemon that is scripted, and the command in this process."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from rainbow_client.cli import main
from rainbow_client.config import Config, ConfiguredCluster, write_config
from tests.unit.client.fake_daemon import REGISTRATION, TOKEN, FakeDaemon


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


Rainbow = Callable[..., Awaitable[Outcome]]


@pytest.fixture
async def daemon() -> AsyncIterator[FakeDaemon]:
    async with FakeDaemon() as fake:
        yield fake


@pytest.fixture
def rainbow(capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rainbow:
    """Runs the command in a thread with a loop of its own; the fake daemon lives in the test's loop."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("RAINBOW_CONFIG", "RAINBOW_DAEMON", "RAINBOW_TOKEN", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)

    async def run(*args: str) -> Outcome:
        with pytest.raises(SystemExit) as left:
            await asyncio.to_thread(main, args)
        captured = capfd.readouterr()
        assert isinstance(left.value.code, int)
        return Outcome(left.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def configured(daemon: FakeDaemon, rainbow: Rainbow, tmp_path: Path) -> Path:
    path = tmp_path / "rainbow-config.yaml"
    write_config(path, Config(daemon.url, REGISTRATION, (ConfiguredCluster("one", TOKEN),)))
    return path
