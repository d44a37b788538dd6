"""`python -m rainbowd` as a process of its own, started, killed and stopped as an init system would."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

SECRET = "the-registration-secret-of-the-tests"
START_S = STOP_S = 30.0
_NOTICE_S = 0.005


class DaemonProcess:
    """Its files stay in `directory`, so a second one started there takes up what the first left."""

    def __init__(self, directory: Path, **settings: Any) -> None:
        self.directory = directory
        self.database = directory / "rainbow.db"
        self._ready_file = directory / "ready"
        self._log_file = directory / "log"
        # Windows so long that a busy machine never lets one pass: a test that wants one to pass says so.
        given = {"bid_window_ms": 60_000, "award_window_s": 60, "restart_grace_s": 0}
        given |= {"log_format": "json", "registration_secret": SECRET, **settings}
        self._settings = {f"RAINBOW_{name.upper()}": str(value) for name, value in given.items()}
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self, *, file_bytes_max: int | None = None) -> "DaemonProcess":
        process = self.launch(file_bytes_max=file_bytes_max)
        deadline = time.monotonic() + START_S
        while not self._ready_file.exists():
            assert process.poll() is None, f"the daemon did not start: {self.log()}"
            assert time.monotonic() < deadline, "the daemon did not get ready"
            time.sleep(_NOTICE_S)
        self.url = self._ready_file.read_text().strip()
        return self

    def launch(self, *, file_bytes_max: int | None = None) -> "subprocess.Popen[bytes]":
        """Start it without waiting for it to be ready: it may be meant to refuse."""
        assert self._process is None, "it runs already"
        self._ready_file.unlink(missing_ok=True)
        env = {name: value for name, value in os.environ.items() if not name.startswith("RAINBOW_")}
        env |= {"RAINBOW_LISTEN": "127.0.0.1:0", "RAINBOW_DATABASE": str(self.database)}
        env |= {"RAINBOW_READY_FILE": str(self._ready_file), **self._settings}
        command = [sys.executable, "-X", "dev", "-W", "error", "-m", "rainbowd"]
        with self._log_file.open("ab") as log:
            self._process = subprocess.Popen(command, env=env, stdout=log, stderr=log, cwd=self.directory)
        if file_bytes_max is not None:
            resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (file_bytes_max, file_bytes_max))
        return self._process

    def forget(self, setting: str) -> None:
        """One of the settings that daemons of the tests usually have."""
        del self._settings[f"RAINBOW_{setting.upper()}"]

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def limit_files(self, file_bytes_max: int) -> None:
        """No file of the daemon may grow beyond this from now on, as on a disk that is full."""
        resource.prlimit(self.pid, resource.RLIMIT_FSIZE, (file_bytes_max, file_bytes_max))

    def send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self) -> int:
        assert self._process is not None
        code = self._process.wait(STOP_S)
        self._process = None
        return code

    def kill(self) -> None:
        self.send(signal.SIGKILL)
        self.wait()

    async def restart(self) -> None:
        """Stop it and start it again where it left off. Its peers of this loop go on meanwhile."""
        await asyncio.to_thread(self.stop)
        await asyncio.to_thread(self.start)

    async def crash(self) -> None:
        """SIGKILL, and a start after it."""
        self.kill()
        await asyncio.to_thread(self.start)

    def stop(self) -> None:
        """In good order, leaving nothing odd behind."""
        self.send(signal.SIGTERM)
        code = self.wait()
        assert code == 0, f"exit code {code}: {self.log()}"
        self.check_log()

    def end(self) -> None:
        """For the end of a test, however it went."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait(STOP_S)

    def log(self) -> str:
        return self._log_file.read_text() if self._log_file.exists() else ""

    def wait_for_log(self, words: str) -> None:
        deadline = time.monotonic() + START_S
        while words not in self.log():
            assert time.monotonic() < deadline, f"the log does not say {words!r}: {self.log()}"
            time.sleep(_NOTICE_S)

    def check_log(self) -> None:
        for odd in ("Traceback", "Warning:", "never retrieved", "never awaited"):
            assert odd not in self.log(), self.log()


def refused(daemon: DaemonProcess) -> tuple[int, str]:
    """Exit code and words of a daemon that does not start."""
    process = daemon.launch()
    try:
        process.wait(START_S)
    finally:
        daemon.end()
    daemon.check_log()
    return process.returncode, daemon.log()
