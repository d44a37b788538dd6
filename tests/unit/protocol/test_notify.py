"""sd_notify over a real datagram socket."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from rainbow_protocol.service import notify


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.settimeout(10)
        sock.bind(address)
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        yield sock


def test_a_state_arrives_as_one_datagram(systemd: socket.socket) -> None:
    notify.notify("READY=1\nSTATUS=3 clusters online")
    assert systemd.recv(1024) == b"READY=1\nSTATUS=3 clusters online"


def test_an_abstract_socket_works_too(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"rainbow-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.settimeout(10)
        sock.bind(f"\0{name}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        notify.notify("STOPPING=1")
        assert sock.recv(1024) == b"STOPPING=1"


def test_without_systemd_nothing_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify.notify("READY=1")


def test_a_socket_that_is_gone_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    notify.notify("READY=1")


def test_a_full_socket_holds_up_nobody(systemd: socket.socket) -> None:
    for _ in range(10_000):  # more than any receive queue takes
        notify.notify("WATCHDOG=1")
    assert systemd.recv(1024) == b"WATCHDOG=1"


@pytest.mark.parametrize(
    ("micros", "pid", "interval"),
    [
        ("30000000", "", 15.0),
        ("30000000", "ours", 15.0),
        ("30000000", "1", None),  # meant for another process
        ("", "", None),
        ("0", "", None),
        ("-1", "", None),
        ("soon", "", None),
        ("²", "", None),
    ],
)
def test_the_watchdog_is_fed_twice_as_often_as_asked(
    micros: str, pid: str, interval: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", micros)
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()) if pid == "ours" else pid)
    assert notify.watchdog_interval_s() == interval


async def test_the_watchdog_is_fed_until_the_task_ends(systemd: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "2000")
    monkeypatch.delenv("WATCHDOG_PID", raising=False)
    feeding = asyncio.create_task(notify.keep_watchdog_fed())
    for _ in range(3):
        assert await asyncio.to_thread(systemd.recv, 1024) == b"WATCHDOG=1"
    feeding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await feeding


async def test_without_a_watchdog_feeding_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WATCHDOG_USEC", raising=False)
    await asyncio.wait_for(notify.keep_watchdog_fed(), 10)
