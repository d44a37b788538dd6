"""The journal: what is committed is there after a crash, what is not is not, and a damaged one is refused in words."""

import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rainbow_agent.core.effects import AttemptRow, DropReports, ForgetAttempt, Report, SaveAttempt, SaveReport
from rainbow_agent.core.model import Key, Shape, Share
from rainbow_agent.journal import SCHEMA_VERSION, Journal, JournalError

KEY = Key("000000000001", 2)
ROW = AttemptRow(
    KEY,
    "running",
    Shape(tasks=3, cores_per_task=2, gpus_per_task=1, nodes=2, time_limit_s=1.5, exclusive=True),
    '{"command": ["true"]}',
    run=2,
    seq=1,
    place=7,
    assignment=(Share(0, 2, (0, 3)), Share(1, 1, (1,))),
    since=12.5,
    cancel=True,
    user="anna",
)
REPORT = Report(KEY, 1, "running", 13.5, None, "", "4711")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


def test_what_goes_in_comes_out(path: Path) -> None:
    journal = Journal(path, to_wall_s=lambda: 1000.0)
    journal.commit([SaveAttempt(ROW), SaveReport(REPORT)])
    journal.close()
    # The clock of another process has another zero; on disk there is only the wall's.
    journal = Journal(path, to_wall_s=lambda: 990.0)
    [row], [report] = journal.load()
    assert row.since == 22.5
    assert report.at == 23.5
    journal.close()
    journal = Journal(path, to_wall_s=lambda: 1000.0)
    assert journal.load() == ([ROW], [REPORT])
    journal.close()


def test_forgetting(path: Path) -> None:
    journal = Journal(path)
    journal.commit([SaveAttempt(ROW), SaveReport(REPORT), SaveReport(Report(KEY, 2, "completed", 14.0, 0))])
    journal.commit([DropReports(KEY, 1)])
    assert [report.seq for report in journal.load()[1]] == [2]
    journal.commit([ForgetAttempt(KEY)])
    assert journal.load() == ([], [])
    journal.close()


def test_a_batch_is_all_or_nothing(path: Path) -> None:
    journal = Journal(path)
    with pytest.raises(sqlite3.IntegrityError):
        journal.commit([SaveAttempt(ROW), SaveReport(REPORT), SaveReport(REPORT)])
    assert journal.load() == ([], [])
    journal.commit([SaveAttempt(ROW)])
    assert journal.load() == ([ROW], [])
    journal.close()


def test_the_agent_id_stays_and_the_file_is_private(path: Path) -> None:
    journal = Journal(path)
    agent_id = journal.agent_id
    journal.close()
    again = Journal(path)
    assert again.agent_id == agent_id
    again.close()
    assert path.stat().st_mode & 0o077 == 0


def test_a_killed_process_loses_nothing_that_was_committed(path: Path) -> None:
    """It dies in the middle of a transaction, after one that was complete."""
    script = """
        import os, signal, sys
        from pathlib import Path
        from rainbow_agent.core.effects import AttemptRow, SaveAttempt
        from rainbow_agent.core.model import Key, Shape
        from rainbow_agent.journal import Journal

        def rows():
            yield SaveAttempt(AttemptRow(Key("000000000002", 1), "accepted", Shape()))
            os.kill(os.getpid(), signal.SIGKILL)

        journal = Journal(Path(sys.argv[1]))
        journal.commit([SaveAttempt(AttemptRow(Key("000000000001", 1), "accepted", Shape()))])
        journal.commit(rows())
    """
    died = subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(path)], check=False)
    assert died.returncode == -9
    journal = Journal(path)
    assert [row.key.job for row in journal.load()[0]] == ["000000000001"]
    journal.close()


def test_it_is_synced_before_commit_returns(path: Path) -> None:
    journal = Journal(path)
    assert journal._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert journal._db.execute("PRAGMA synchronous").fetchone() == (2,)
    journal.close()


def test_a_file_that_is_no_journal_is_refused(path: Path) -> None:
    path.write_bytes(b"this is not a database, " * 100)
    with pytest.raises(JournalError, match="is damaged: file is not a database"):
        Journal(path)


def test_a_torn_journal_is_refused(path: Path) -> None:
    journal = Journal(path)
    for number in range(200):
        journal.commit([SaveAttempt(AttemptRow(Key(f"{number:012}", 1), "accepted", Shape(), "x" * 500))])
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(JournalError, match="is damaged"):
        Journal(path)


def test_a_journal_from_the_future_is_refused(path: Path) -> None:
    journal = Journal(path)
    journal._db.execute("PRAGMA user_version = 99")
    journal.close()
    with pytest.raises(JournalError, match="written by a newer rainbow-agent"):
        Journal(path)


@pytest.mark.parametrize("version", [1, 2])
def test_a_journal_of_a_version_before_is_read(path: Path, version: int) -> None:
    journal = Journal(path)
    journal.commit([SaveAttempt(ROW)])
    old = '{"tasks": 3, "cores_per_task": 2, "gpus_per_task": 0, "nodes": null, "time_limit_s": null}'
    journal._db.execute("UPDATE attempts SET shape = ?", (old,))
    journal._db.execute("ALTER TABLE attempts DROP COLUMN user")
    journal._db.execute(f"PRAGMA user_version = {version}")
    journal.close()
    journal = Journal(path)
    [row], _ = journal.load()
    assert row.shape == Shape(tasks=3, cores_per_task=2)
    assert journal._db.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
    journal.close()


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot open the journal"):
        Journal(tmp_path / "nowhere" / "journal.sqlite")


def test_it_remembers_what_the_daemon_calls_the_cluster(path: Path) -> None:
    for before, name in ((None, "west"), ("west", "east")):
        journal = Journal(path)
        assert journal.cluster() == before
        journal.remember_cluster(name)
        assert journal.cluster() == name
        journal.close()
