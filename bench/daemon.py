"""A real daemon for a measurement: its own directory, database and port, gone afterwards."""

import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rainbow_protocol import ids


@dataclass(frozen=True)
class Daemon:
    pid: int
    url: str
    secret: str
    folder: Path


@contextmanager
def scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="rainbow-bench-") as name:
        yield Path(name)


@contextmanager
def started() -> Iterator[Daemon]:
    with scratch() as folder:
        secret = ids.new_secret(ids.REGISTRATION_PREFIX)
        (folder / "secret").write_text(secret)
        (folder / "secret").chmod(0o600)
        ready = folder / "url"
        command = [sys.executable, "-m", "rainbowd", "--listen", "127.0.0.1:0", "--database", str(folder / "db")]
        command += ["--registration-secret-file", str(folder / "secret"), "--ready-file", str(ready)]
        command += ["--log-level", "warning"]
        process = subprocess.Popen(command)
        try:
            while not ready.exists():
                if process.poll() is not None:
                    raise SystemExit("the daemon did not start")
                time.sleep(0.01)
            yield Daemon(process.pid, ready.read_text().strip(), secret, folder)
        finally:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            process.wait()
