"""One agent a directory, but no false alarm about one that was just killed."""

import fcntl
import os
import threading
from pathlib import Path

import pytest

from rainbow_agent import state_dir
from rainbow_agent.state_dir import StateDir, StateDirError, StateDirInUseError


def test_a_lock_that_is_about_to_go_is_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a dead agent's child holds it between fork and exec."""
    monkeypatch.setattr(state_dir, "LOCK_WAIT_S", 20.0)
    fd = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
    threading.Timer(0.1, os.close, (fd,)).start()
    StateDir(tmp_path).close()


def test_a_lock_that_stays_is_somebody_elses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_dir, "LOCK_WAIT_S", 0.05)
    first = StateDir(tmp_path)
    with pytest.raises(StateDirInUseError, match="another rainbow-agent is using the state directory"):
        StateDir(tmp_path)
    first.close()
    StateDir(tmp_path).close()


def test_a_file_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateDirError, match="cannot be used"):
        StateDir(tmp_path / "file")
