"""Opening the database: fresh, old, from the future, damaged, somebody else's, already in use."""

import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from rainbowd.store import db
from rainbowd.store.db import DatabaseRefusedError, lock, migrations
from rainbowd.store.repo import Repo
from tests.unit.daemon import made

NEWEST = migrations()[-1][0]
Migrate = Callable[[str], None]


def version(database: Path) -> int:
    return int(read(database, "PRAGMA user_version"))


def read(database: Path, query: str) -> str:
    with closing(sqlite3.connect(database)) as connection:
        return str(connection.execute(query).fetchone()[0])


async def open_and_close(database: Path) -> None:
    await (await Repo.open(database)).close()


async def refusal(database: Path) -> str:
    with pytest.raises(DatabaseRefusedError) as refused:
        await open_and_close(database)
    words = str(refused.value)
    assert words.startswith(str(database))
    return words.removeprefix(f"{database}: ")


@pytest.fixture
def next_migration(monkeypatch: pytest.MonkeyPatch) -> Migrate:
    """A rainbowd that is one version newer than this one."""

    def add(text: str) -> None:
        monkeypatch.setattr(db, "migrations", lambda: [*migrations(), (NEWEST + 1, text)])

    return add


# --- migrations -----------------------------------------------------------


def test_migrations_are_numbered_from_one_without_a_gap() -> None:
    assert [number for number, _ in migrations()] == list(range(1, NEWEST + 1))


async def test_a_fresh_database_gets_the_newest_schema_and_is_private(database: Path) -> None:
    await open_and_close(database)
    assert version(database) == NEWEST
    assert stat.S_IMODE(database.stat().st_mode) == 0o600
    assert read(database, "PRAGMA journal_mode") == "wal"


async def test_every_commit_waits_for_the_disk(repo: Repo) -> None:
    full = 2
    ((level,),) = await repo._writer.execute_fetchall("PRAGMA synchronous")
    assert level == full


async def test_opening_again_changes_nothing_and_makes_no_backup(database: Path) -> None:
    await open_and_close(database)
    await open_and_close(database)
    assert version(database) == NEWEST
    assert list(database.parent.glob("*.backup")) == []


async def test_a_database_from_the_future_is_refused_and_left_alone(database: Path) -> None:
    await open_and_close(database)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(f"PRAGMA user_version = {NEWEST + 1}")
    before = database.read_bytes()
    words = await refusal(database)
    assert words.startswith(f"has schema {NEWEST + 1}, this rainbowd knows up to {NEWEST}; ")
    assert "newer rainbowd" in words
    assert "backup" in words
    assert database.read_bytes() == before


async def test_a_backup_is_made_before_migrating(database: Path, next_migration: Migrate) -> None:
    repo = await Repo.open(database)
    job = made.job()
    await repo.commit(made.saved(job))
    await repo.close()
    next_migration("ALTER TABLE jobs ADD COLUMN colour TEXT;\nUPDATE jobs SET colour = 'red';\n")
    await open_and_close(database)
    assert version(database) == NEWEST + 1
    assert read(database, "SELECT colour FROM jobs") == "red"
    backup = database.with_name(f"{database.name}.schema-{NEWEST}.backup")
    assert version(backup) == NEWEST
    assert read(backup, "SELECT id FROM jobs") == job.id
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600


async def test_a_backup_of_an_earlier_try_does_not_stand_in_the_way(database: Path, next_migration: Migrate) -> None:
    await open_and_close(database)
    backup = database.with_name(f"{database.name}.schema-{NEWEST}.backup")
    backup.write_text("what an interrupted try left")
    next_migration("CREATE TABLE colours (name TEXT);\n")
    await open_and_close(database)
    assert version(backup) == NEWEST


async def test_a_migration_that_fails_half_way_leaves_the_old_version(database: Path, next_migration: Migrate) -> None:
    await open_and_close(database)
    next_migration("CREATE TABLE colours (name TEXT);\nINSERT INTO nowhere VALUES (1);\n")
    assert await refusal(database) == "cannot be used: no such table: nowhere"
    assert version(database) == NEWEST
    assert read(database, "SELECT count(*) FROM sqlite_master WHERE name = 'colours'") == "0"
    next_migration("CREATE TABLE colours (name TEXT);\n")
    await open_and_close(database)
    assert version(database) == NEWEST + 1


async def test_several_migrations_are_made_in_order(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await open_and_close(database)
    more = [(NEWEST + 1, "CREATE TABLE a (x);\n"), (NEWEST + 2, "ALTER TABLE a RENAME TO b;\n")]
    monkeypatch.setattr(db, "migrations", lambda: [*migrations(), *more])
    await open_and_close(database)
    assert version(database) == NEWEST + 2
    assert read(database, "SELECT count(*) FROM b") == "0"


async def test_of_two_migrations_the_first_stays_when_the_second_fails(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await open_and_close(database)
    more = [(NEWEST + 1, "CREATE TABLE a (x);\n"), (NEWEST + 2, "DROP TABLE a;\nDROP TABLE nothing;\n")]
    monkeypatch.setattr(db, "migrations", lambda: [*migrations(), *more])
    await refusal(database)
    assert version(database) == NEWEST + 1
    assert read(database, "SELECT count(*) FROM a") == "0"


# --- files that are no database of ours -----------------------------------


async def test_a_file_that_is_no_database_is_refused_and_left_alone(database: Path) -> None:
    database.write_text("These are my notes, not a database.\n" * 100)
    before = database.read_bytes()
    assert await refusal(database) == "cannot be used: file is not a database"
    assert database.read_bytes() == before


async def test_a_damaged_database_is_refused(database: Path) -> None:
    repo = await Repo.open(database)
    await repo.commit(made.saved(*(made.job() for _ in range(200))))
    await repo.close()
    pages = bytearray(database.read_bytes())
    middle = len(pages) // 2
    pages[middle : middle + 8192] = b"\xff" * 8192
    database.write_bytes(pages)
    words = await refusal(database)
    assert "damaged" in words or "malformed" in words


async def test_a_truncated_database_is_refused(database: Path) -> None:
    repo = await Repo.open(database)
    await repo.commit(made.saved(*(made.job() for _ in range(200))))
    await repo.close()
    database.write_bytes(database.read_bytes()[:8192])
    words = await refusal(database)
    assert "damaged" in words or "malformed" in words


async def test_the_database_of_another_program_is_refused_and_left_alone(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    assert "another program" in await refusal(database)
    assert read(database, "SELECT group_concat(name) FROM sqlite_master") == "bookmarks"


async def test_a_database_that_only_looks_like_ours_is_refused(database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
        connection.execute(f"PRAGMA user_version = {NEWEST}")
    assert await refusal(database) == "cannot be read: no such table: owners"


async def test_a_directory_in_place_of_the_file_is_refused(database: Path) -> None:
    database.mkdir()
    assert await refusal(database) == "cannot be used: Is a directory"


async def test_a_path_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert await refusal(tmp_path / "file" / "rainbow.db") == "cannot be used: Not a directory"


async def test_a_file_that_another_program_has_locked_is_refused(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        # The other program does not let go: how long it is waited for is not what is tested here.
        connect = db.aiosqlite.connect
        monkeypatch.setattr(db.aiosqlite, "connect", lambda path, **options: connect(path, timeout=0, **options))
        assert await refusal(database) == "cannot be used: database is locked"


# --- one daemon at a time -------------------------------------------------


def test_a_second_daemon_is_kept_off_until_the_first_has_gone(database: Path) -> None:
    with lock(database), pytest.raises(DatabaseRefusedError, match=r"another rainbowd is using this database"):
        lock(database)
    lock(database).close()


def test_two_databases_side_by_side_do_not_disturb_each_other(tmp_path: Path) -> None:
    with lock(tmp_path / "a.db"), lock(tmp_path / "b.db"):
        assert (tmp_path / "a.db.lock").exists()


def test_a_lock_that_cannot_be_written_is_told_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DatabaseRefusedError, match=r"rainbow\.db\.lock: cannot be written: Not a directory"):
        lock(tmp_path / "file" / "rainbow.db")
