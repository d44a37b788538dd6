"""How long output is kept after its job is over and told: the last so many jobs, within so many bytes."""

import re
from collections import deque
from collections.abc import Set
from pathlib import Path

from rainbow_agent.backends.rundir import attempt_dir, remove
from rainbow_agent.core.model import Key

_NAME = re.compile(r"^([0-9a-z]+)\.([0-9]+)$")


class Retention:
    """Blocking; used from one thread."""

    def __init__(self, jobs: Path, jobs_max: int, bytes_max: int) -> None:
        self._jobs = jobs
        self._jobs_max = jobs_max
        self._bytes_max = bytes_max
        self._kept: deque[tuple[Key, int]] = deque()
        self._bytes = 0

    def adopt(self, alive: Set[Key]) -> None:
        """Take over what an earlier agent kept: every directory whose attempt is not in the journal any more."""
        found = []
        for entry in self._jobs.iterdir():
            match = _NAME.match(entry.name)
            if match is not None and (key := Key(match[1], int(match[2]))) not in alive:
                found.append((entry.stat().st_mtime, key))
        for _, key in sorted(found):
            self.add(key)

    def add(self, key: Key) -> None:
        size = _size(attempt_dir(self._jobs, key))
        self._kept.append((key, size))
        self._bytes += size
        while self._kept and (len(self._kept) > self._jobs_max or self._bytes > self._bytes_max):
            oldest, size = self._kept.popleft()
            self._bytes -= size
            remove(self._jobs, oldest)


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
