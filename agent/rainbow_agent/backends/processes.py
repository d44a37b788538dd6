"""Processes by pid and start time, so that a reused pid is never mistaken for the one that was meant."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from rainbow_agent.core.model import Key

_PROC = Path("/proc")
_SESSION_FIELD, _TICKS_FIELD = 3, 19  # of /proc/PID/stat, counted from the state after the name


def boot_id() -> str:
    """Changes when the machine restarts: start times count from the boot, and mean nothing across one."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_ticks(pid: int) -> int | None:
    stat = _stat(pid)
    return None if stat is None else int(stat[_TICKS_FIELD])


def open_process(pid: int, ticks: int) -> int | None:
    """A pidfd of exactly that process, or None if it is gone."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    if start_ticks(pid) != ticks:
        os.close(fd)
        return None
    return fd


def kill_leftovers(leader: int, ticks: int, key: Key) -> int:
    """Kill what a dead runner left of its job; returns how many processes that were.

    They are found by the session that the runner led, whose number stays taken while anybody is in it, or by the
    job's variables if they left that session. Each is signalled through a pidfd checked after it was opened.
    """
    if start_ticks(leader) not in (None, ticks):
        leader = -1  # the number belongs to somebody else now, so the session had emptied
    killed = 0
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and _is_leftover(int(entry.name), leader, ticks, key):
            killed += _kill_if(int(entry.name), leader, ticks, key)
    return killed


def _kill_if(pid: int, leader: int, ticks: int, key: Key) -> int:
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return 0
    try:
        if _is_leftover(pid, leader, ticks, key):
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(fd, signal.SIGKILL)
                return 1
        return 0
    finally:
        os.close(fd)


def _is_leftover(pid: int, leader: int, ticks: int, key: Key) -> bool:
    stat = _stat(pid)
    if stat is None or stat[0] == "Z" or int(stat[_TICKS_FIELD]) < ticks or pid == os.getpid():
        return False
    return int(stat[_SESSION_FIELD]) == leader or _has_variables(pid, key)


def _has_variables(pid: int, key: Key) -> bool:
    try:
        variables = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:  # gone, or not ours
        return False
    return f"RAINBOW_JOB_ID={key.job}".encode() in variables and f"RAINBOW_ATTEMPT={key.attempt}".encode() in variables


def _stat(pid: int) -> list[str] | None:
    try:
        text = (_PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()
