"""The demo: exits 0, tells what it promises, leaves nothing, and may run twice at once."""

import os
import signal
import subprocess
import sys
from pathlib import Path


def start(tmp_path: Path) -> "subprocess.Popen[str]":
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAINBOW_")}
    return subprocess.Popen(
        [sys.executable, "-m", "rainbow_client.demo"],
        env=env | {"TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def processes_in(tmp_path: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace") if entry.name.isdigit() else ""
        except OSError:
            continue
        if str(tmp_path) in words:
            found.append(words.replace("\0", " "))
    return found


def test_twice_at_once(tmp_path: Path) -> None:
    demos = [start(tmp_path), start(tmp_path)]
    told = [(demo, *demo.communicate(timeout=60)) for demo in demos]
    for demo, out, err in told:
        assert (demo.returncode, err) == (0, "")
        assert "small won: " in out  # the cheaper wins a tie
        assert "medium won: " in out  # the earliest wins
        assert "queue is full" in out  # a No with its reason
        assert out.count("needs 1000 tasks of 1 core") == 3  # too big for each
        assert "stderr │ the disk is full" in out
        assert "with exit code 3" in out
        assert "rainbow explain JOB" in out
        assert "\x1b" not in out
    assert list(tmp_path.iterdir()) == []
    assert processes_in(tmp_path) == []


def test_interrupted(tmp_path: Path) -> None:
    demo = start(tmp_path)
    with demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            if "won: " in line:
                break
        demo.send_signal(signal.SIGINT)
        assert "Interrupted" in demo.stdout.read()
    assert demo.returncode == 130
    assert list(tmp_path.iterdir()) == []
    assert processes_in(tmp_path) == []
