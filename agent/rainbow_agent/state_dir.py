"""The agent's own directory: nobody else's to read, and never two agents' at once."""

import fcntl
import os
from pathlib import Path


class StateDirError(Exception):
    """The directory cannot be used, in words."""


class StateDirInUseError(StateDirError):
    """Another agent has it."""


class StateDir:
    """Holds the lock from construction to `close`; the kernel drops it if the process dies."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as cause:
            raise StateDirError(f"the state directory {path} cannot be used: {cause.strerror}") from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._fd)
            raise StateDirInUseError(
                f"another rainbow-agent is using the state directory {path}; stop it, or give this one its own "
                "with --state-dir"
            ) from None

    @property
    def journal(self) -> Path:
        return self.path / "journal.sqlite"

    @property
    def jobs(self) -> Path:
        return self.path / "jobs"

    def close(self) -> None:
        os.close(self._fd)
