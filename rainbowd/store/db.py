"""Opens the database: the lock, the pragmas, the migrations. Says plainly why when it cannot."""

import fcntl
import os
import sqlite3
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import IO

import aiosqlite

_CHECK_BYTES_MAX = 256 * 1024 * 1024  # a quick_check of more than this would hold up the start

_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    "busy_timeout=5000",
    "cache_size=-65536",  # KiB
    "wal_autocheckpoint=8192",  # pages: a page that changes often is copied back seldom
)


class DatabaseRefusedError(Exception):
    """The database cannot be used; the message is for the person who starts the daemon."""


def migrations() -> list[tuple[int, str]]:
    """All migrations, oldest first, as (version, SQL)."""
    folder = files("rainbowd.store").joinpath("migrations")
    named = sorted((entry.name, entry.read_text()) for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [(int(name.split("_")[0]), text) for name, text in named]


def lock(path: Path) -> IO[str]:
    """Keep every other daemon off this database for as long as the returned file stays open."""
    lock_path = path.with_name(path.name + ".lock")
    try:
        handle = lock_path.open("a+")
    except OSError as cause:
        raise DatabaseRefusedError(f"{lock_path}: cannot be written: {cause.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        raise DatabaseRefusedError(f"{path}: another rainbowd is using this database") from None
    return handle


async def open_database(path: Path) -> aiosqlite.Connection:
    """The one connection that writes, with the newest schema."""
    connection: aiosqlite.Connection | None = None
    try:
        _create_private(path)
        connection = await aiosqlite.connect(path, isolation_level="IMMEDIATE")
        connection.row_factory = sqlite3.Row
        for pragma in _PRAGMAS:
            await connection.execute(f"PRAGMA {pragma}")
        await _check(connection, path)
        await _migrate(connection, path)
    except (OSError, sqlite3.Error, DatabaseRefusedError) as cause:
        if connection is not None:
            with suppress(sqlite3.Error):
                await connection.close()
        if isinstance(cause, DatabaseRefusedError):
            raise
        words = cause.strerror if isinstance(cause, OSError) else str(cause)
        raise DatabaseRefusedError(f"{path}: cannot be used: {words}") from None
    return connection


async def open_reader(path: Path) -> aiosqlite.Connection:
    """A second connection for questions; in WAL mode it sees what is committed and never blocks the writer."""
    connection = await aiosqlite.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None)
    connection.row_factory = sqlite3.Row
    await connection.execute("PRAGMA busy_timeout=5000")
    return connection


def _create_private(path: Path) -> None:
    """SQLite would create the file readable for everybody; it holds people's environments."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))


async def _check(connection: aiosqlite.Connection, path: Path) -> None:
    if path.stat().st_size > _CHECK_BYTES_MAX:
        return
    rows = list(await connection.execute_fetchall("PRAGMA quick_check(1)"))
    if rows[0][0] != "ok":
        raise DatabaseRefusedError(f"{path}: is damaged ({rows[0][0]}); restore it from a backup")


async def _migrate(connection: aiosqlite.Connection, path: Path) -> None:
    rows = list(await connection.execute_fetchall("PRAGMA user_version"))
    version = int(rows[0][0])
    known = migrations()
    newest = known[-1][0]
    if version > newest:
        raise DatabaseRefusedError(
            f"{path}: has schema {version}, this rainbowd knows up to {newest}; "
            "start the newer rainbowd, or restore the backup made before its upgrade"
        )
    if version == 0 and list(await connection.execute_fetchall("SELECT name FROM sqlite_master LIMIT 1")):
        raise DatabaseRefusedError(f"{path}: is a database of another program; name a file of rainbowd, or a new one")
    if 0 < version < newest:
        backup = path.with_name(f"{path.name}.schema-{version}.backup")
        with suppress(FileNotFoundError):
            backup.unlink()
        await connection.execute("VACUUM INTO ?", (str(backup),))
        backup.chmod(0o600)
    for number, text in known:
        if number > version:
            # A migration and its record share one transaction: it happened whole, or not at all.
            await connection.execute("BEGIN IMMEDIATE")
            for statement in _statements(text):
                await connection.execute(statement)
            await connection.execute(f"PRAGMA user_version = {number}")
            await connection.execute("COMMIT")


def _statements(text: str) -> list[str]:
    statements, current = [], ""
    for line in text.splitlines(keepends=True):
        current += line
        if sqlite3.complete_statement(current):
            statements.append(current)
            current = ""
    return statements
