"""A daemon that cannot start says why in one sentence and leaves: 1, or 2 if the configuration is at fault."""

import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.integration.daemon.conftest import StartDaemon
from tests.integration.daemon.process import DaemonProcess, refused


def check(daemon: DaemonProcess, code: int, *words: str) -> None:
    got, log = refused(daemon)
    assert got == code, log
    last = log.splitlines()[-1]
    assert last.startswith("rainbowd: ")
    for word in words:
        assert word in last
    assert not (daemon.directory / "ready").exists()


def test_a_port_in_use(new_daemon: StartDaemon) -> None:
    with closing(socket.socket()) as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        check(new_daemon(listen=address), 1, f"listen: {address}: ", "in use")


def test_a_host_that_does_not_exist(new_daemon: StartDaemon) -> None:
    check(new_daemon(listen="no-such-host.invalid:0"), 1, "listen: no-such-host.invalid:0: ")


def test_an_address_that_is_not_ours(new_daemon: StartDaemon) -> None:
    check(new_daemon(listen="192.0.2.1:0"), 1, "listen: 192.0.2.1:0: ")


def test_a_database_from_the_future(new_daemon: StartDaemon) -> None:
    daemon = new_daemon()
    daemon.start().stop()
    with closing(sqlite3.connect(daemon.database)) as connection:
        connection.execute("PRAGMA user_version = 99")
    check(daemon, 1, str(daemon.database), "has schema 99", "newer rainbowd")


def test_a_database_that_is_none(new_daemon: StartDaemon) -> None:
    daemon = new_daemon()
    daemon.database.write_text("just some text, longer than a header of SQLite, which has 100 bytes. " * 10)
    check(daemon, 1, f"{daemon.database}: cannot be used: file is not a database")


def test_a_database_of_another_program(new_daemon: StartDaemon) -> None:
    daemon = new_daemon()
    with closing(sqlite3.connect(daemon.database)) as connection:
        connection.execute("CREATE TABLE t (x)")
        connection.execute("PRAGMA user_version = 1")
    check(daemon, 1, f"{daemon.database}: cannot be used: no such table")


def test_a_directory_in_place_of_the_database(new_daemon: StartDaemon) -> None:
    daemon = new_daemon()
    daemon.database.mkdir()
    check(daemon, 1, f"{daemon.database}: cannot be used: Is a directory")


def test_a_place_where_nothing_can_be_written(new_daemon: StartDaemon, tmp_path: Path) -> None:
    """A path below a file: nobody can write there, not even root."""
    (tmp_path / "file").touch()
    check(new_daemon(database=tmp_path / "file" / "rainbow.db"), 1, "database: the directory ", "file cannot be made")


def test_a_second_daemon_on_the_same_database(new_daemon: StartDaemon, tmp_path: Path) -> None:
    first = new_daemon().start()
    other = tmp_path / "other"
    other.mkdir()
    check(new_daemon(other, database=first.database), 1, "another rainbowd is using this database")
    assert first.running
    first.stop()


def test_a_database_on_a_disk_without_room(new_daemon: StartDaemon) -> None:
    daemon = new_daemon(log_format="text")
    process = daemon.launch(file_bytes_max=8_192)
    assert process.wait(30) == 1
    daemon.check_log()
    assert f"rainbowd: {daemon.database}: cannot be used: " in daemon.log()


@pytest.mark.parametrize(("setting", "value"), [("fanout", "0"), ("listen", "nowhere"), ("database", ".")])
def test_a_mistake_in_the_configuration(new_daemon: StartDaemon, setting: str, value: str) -> None:
    check(new_daemon(**{setting: value}), 2, f"$RAINBOW_{setting.upper()}: ")


def test_a_secret_that_is_too_short(new_daemon: StartDaemon) -> None:
    check(new_daemon(registration_secret="short"), 2, "registration_secret: expected at least 16 characters")


def test_a_secret_file_that_is_not_there(new_daemon: StartDaemon, tmp_path: Path) -> None:
    daemon = new_daemon(registration_secret_file=tmp_path / "nothing")
    daemon.forget("registration_secret")
    check(daemon, 2, "registration_secret_file: ", "No such file or directory")


def test_a_ready_file_that_cannot_be_written(new_daemon: StartDaemon, tmp_path: Path) -> None:
    ready = tmp_path / "nowhere" / "ready"
    check(new_daemon(ready_file=ready), 1, f"ready_file: {ready}: cannot be written: No such file or directory")
