"""The sd_notify protocol: one datagram to $NOTIFY_SOCKET per thing systemd should know.

Without systemd every call does nothing, so callers need not ask.
"""

import asyncio
import contextlib
import os
import socket


def notify(state: str) -> None:
    """Send e.g. "READY=1" or "STATUS=12 clusters online"."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):  # an abstract socket
        address = "\0" + address[1:]
    # Telling systemd is a courtesy: a socket that is gone or full must neither stop nor hold up the work.
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) as sock,
    ):
        sock.sendto(state.encode(), address)


def watchdog_interval_s() -> float | None:
    """How often systemd wants to hear from us: half of WatchdogSec, or None if it does not."""
    micros = os.environ.get("WATCHDOG_USEC", "")
    pid = os.environ.get("WATCHDOG_PID", "")
    if not micros.isdecimal() or int(micros) == 0 or (pid and pid != str(os.getpid())):
        return None
    return int(micros) / 2_000_000


async def keep_watchdog_fed() -> None:
    """Runs on the event loop that does the work: a loop that hangs stops feeding, and systemd restarts us."""
    interval = watchdog_interval_s()
    while interval is not None:
        notify("WATCHDOG=1")
        await asyncio.sleep(interval)
