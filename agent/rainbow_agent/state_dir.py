"""The agent's own directory: nobody else's to read, and never two agents' at once."""

import fcntl
import os
import time
from pathlib import Path

# An agent that was killed while it started a runner leaves its lock to that child, until the child has become one.
LOCK_WAIT_S = 1.0
LOCK_RETRY_S = 0.02


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
        if not self._lock():
            os.close(self._fd)
            raise StateDirInUseError(
                f"another rainbow-agent is using the state directory {path}; stop it, or give this one its own "
                "with --state-dir"
            )

    def _lock(self) -> bool:
        until = time.monotonic() + LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                if time.monotonic() >= until:
                    return False
                time.sleep(LOCK_RETRY_S)
            else:
                return True

    @property
    def journal(self) -> Path:
        return self.path / "journal.sqlite"

    @property
    def jobs(self) -> Path:
        return self.path / "jobs"

    @property
    def site(self) -> Path:
        """What the site says of its cluster."""
        return self.path / "site.json"

    def close(self) -> None:
        os.close(self._fd)
