"""Makes .venv and installs Rainbow into it, for the Makefile. Knows the standard library and nothing of Rainbow.

Quick when there is nothing to do, and safe to run twice at once: the second one waits for the first. Touches nothing
outside .venv.
"""

import argparse
import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TextIO

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
STAMP = VENV / "rainbow-set-up.json"  # written last: without it nothing counts as installed
INCLUDES = {"daemon": {"daemon"}, "dev": {"daemon", "dev"}}  # what the installation of an extra brings with it


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extra", choices=sorted(INCLUDES), help="what to install: .[EXTRA]")
    extra = parser.parse_args().extra
    VENV.mkdir(exist_ok=True)
    with (VENV / "rainbow-set-up.lock").open("w") as lock:
        _wait_for(lock)
        wanted = _fingerprint()
        if _installed(wanted, extra):
            return 0
        print(f"Setting up .venv (rainbowd[{extra}]), once; it needs the network and up to a minute.", flush=True)
        STAMP.unlink(missing_ok=True)
        return _install(wanted, extra)


def _wait_for(lock: TextIO) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Waiting for another set-up of .venv to finish.", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)


def _fingerprint() -> str:
    """Changes with what is installed, by which Python, and where: scripts in a venv hold its absolute path."""
    facts = [str(ROOT), f"{sys.version_info.major}.{sys.version_info.minor}", (ROOT / "pyproject.toml").read_text()]
    return hashlib.sha256("\0".join(facts).encode()).hexdigest()


def _installed(wanted: str, extra: str) -> bool:
    try:
        stamp = json.loads(STAMP.read_text())
    except (OSError, ValueError):
        return False
    return stamp.get("fingerprint") == wanted and extra in INCLUDES.get(stamp.get("extra"), set()) and _has_python()


def _has_python() -> bool:
    """Whether the venv's interpreter is there and is of our version: the system's may have been upgraded away."""
    wanted = f"{sys.version_info.major}.{sys.version_info.minor}"
    script = "import pip, sys; print('%d.%d' % sys.version_info[:2])"
    try:
        answer = subprocess.run([VENV / "bin" / "python", "-c", script], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return answer.returncode == 0 and answer.stdout.strip() == wanted


def _install(wanted: str, extra: str) -> int:
    if not _has_python():
        for leftover in ("bin", "lib", "lib64", "include", "pyvenv.cfg"):
            path = VENV / leftover
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)
        # Not sys.executable: with .venv activated that is the very interpreter just removed.
        base = str(getattr(sys, "_base_executable", sys.executable))
        if subprocess.run([base, "-m", "venv", str(VENV)], check=False).returncode != 0:
            print(f"{base} -m venv failed; on Debian and Ubuntu `sudo apt install python3-venv` brings what it needs.")
            return 1
    pip = [str(VENV / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet"]
    if subprocess.run([*pip, "install", "--editable", f".[{extra}]"], cwd=ROOT, check=False).returncode != 0:
        print("pip could not install what Rainbow needs (see above); it needs the network or a package index of yours.")
        return 1
    STAMP.write_text(json.dumps({"fingerprint": wanted, "extra": extra}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
