"""The agent's durable memory: an SQLite file in which every batch of effects is one fsynced transaction.

It knows rows, not meanings. All its methods block; the app calls `commit` from a thread of its own.
"""

import secrets
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import asdict
from importlib import resources
from pathlib import Path

import orjson

from rainbow_agent.core.effects import (
    AttemptRow,
    DropReports,
    ForgetAttempt,
    Report,
    SaveAttempt,
    SaveReport,
    Stored,
)
from rainbow_agent.core.model import Key, Shape, Share

SCHEMA_VERSION = 3

_SAVE_ATTEMPT = """
INSERT INTO attempts (job, attempt, phase, shape, work, run, seq, place, assignment, since, cancel, user)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (job, attempt) DO UPDATE SET phase = excluded.phase, work = excluded.work, run = excluded.run,
    seq = excluded.seq, assignment = excluded.assignment, since = excluded.since, cancel = excluded.cancel
"""
_SAVE_REPORT = "INSERT INTO reports VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_DROP_REPORTS = "DELETE FROM reports WHERE job = ? AND attempt = ? AND seq <= ?"
_FORGET_ATTEMPT = "DELETE FROM attempts WHERE job = ? AND attempt = ?"
_FORGET_REPORTS = "DELETE FROM reports WHERE job = ? AND attempt = ?"


class JournalError(Exception):
    """The journal cannot be used, with what a person can do about it."""


class Journal:
    """`to_wall_s()` is added to the core's times on the way to disk: that clock means nothing after a restart."""

    def __init__(self, path: Path, to_wall_s: Callable[[], float] = lambda: 0.0) -> None:
        self._path = path
        self._to_wall_s = to_wall_s
        try:
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as cause:
            raise JournalError(f"cannot open the journal {path}: {cause}") from None
        try:
            path.chmod(0o600)  # commands and environments are nobody else's business
            self._prepare()
        except sqlite3.Error as cause:
            self._db.close()
            raise JournalError(_beyond_repair(path, str(cause))) from None
        except JournalError:
            self._db.close()
            raise

    def close(self) -> None:
        self._db.close()

    @property
    def agent_id(self) -> str:
        return self._meta("agent_id")

    def boot_id(self) -> str:
        """The boot of the machine under which the runs in here were launched."""
        return self._meta("boot_id")

    def cluster(self) -> str | None:
        """What the daemon last called this cluster; None before the first welcome."""
        found = self._db.execute("SELECT value FROM meta WHERE key = 'cluster'").fetchone()
        return None if found is None else str(found[0])

    def remember_cluster(self, name: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES ('cluster', ?)", (name,))

    def load(self) -> tuple[list[AttemptRow], list[Report]]:
        try:
            rows = [self._row(*columns) for columns in self._db.execute("SELECT * FROM attempts ORDER BY place")]
            reports = [
                Report(Key(job, attempt), seq, event, at - self._to_wall_s(), exit_code, reason, native_id)
                for job, attempt, seq, event, at, exit_code, reason, native_id in self._db.execute(
                    "SELECT * FROM reports ORDER BY job, attempt, seq"
                )
            ]
        except (sqlite3.Error, ValueError, TypeError, KeyError) as cause:
            raise JournalError(_beyond_repair(self._path, str(cause))) from None
        return rows, reports

    def commit(self, effects: Iterable[Stored], boot_id: str | None = None) -> None:
        """All of them, in order, or none. When this returns they survive a power cut.

        `boot_id` is given once per process, together with what became of the runs of an earlier boot: were it
        written sooner, a crash in between would let them pass for runs of this one.
        """
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        try:
            for effect in effects:
                match effect:
                    case SaveAttempt(row):
                        db.execute(_SAVE_ATTEMPT, self._columns(row))
                    case SaveReport(report):
                        db.execute(
                            _SAVE_REPORT,
                            (
                                *report.key,
                                report.seq,
                                report.event,
                                report.at + self._to_wall_s(),
                                report.exit_code,
                                report.reason,
                                report.native_id,
                            ),
                        )
                    case DropReports(key, seq):
                        db.execute(_DROP_REPORTS, (*key, seq))
                    case ForgetAttempt(key):
                        db.execute(_FORGET_REPORTS, key)
                        db.execute(_FORGET_ATTEMPT, key)
            if boot_id is not None:
                db.execute("UPDATE meta SET value = ? WHERE key = 'boot_id'", (boot_id,))
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise

    def _prepare(self) -> None:
        db = self._db
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        verdict = db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if verdict != "ok":
            raise JournalError(_beyond_repair(self._path, str(verdict)))
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA_VERSION:
            raise JournalError(
                f"the journal {self._path} was written by a newer rainbow-agent (schema {version}, this one knows "
                f"{SCHEMA_VERSION}); install that version again"
            )
        if version == 0:
            schema = resources.files("rainbow_agent").joinpath("journal.sql").read_text()
            db.executescript(f"BEGIN IMMEDIATE;\n{schema}")
            db.execute("INSERT INTO meta VALUES ('agent_id', ?), ('boot_id', '')", (secrets.token_urlsafe(16),))
            db.execute("COMMIT")
        elif version < SCHEMA_VERSION:
            self._migrate()

    def _migrate(self) -> None:
        """From version 1 to 2 the tables stayed the same. But an agent of version 1 would share the nodes of an
        exclusive job, and run the words that describe a program in place of the program: it must not read this file.
        """
        db = self._db
        db.execute("BEGIN IMMEDIATE")
        db.execute("ALTER TABLE attempts ADD COLUMN user TEXT NOT NULL DEFAULT ''")
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("COMMIT")

    def _meta(self, key: str) -> str:
        found = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        if found is None:
            raise JournalError(_beyond_repair(self._path, f"it has no {key}"))
        return str(found[0])

    def _columns(self, row: AttemptRow) -> tuple[str | int | float, ...]:
        return (
            *row.key,
            row.phase,
            orjson.dumps(asdict(row.shape)).decode(),
            row.work,
            row.run,
            row.seq,
            row.place,
            orjson.dumps([tuple(share) for share in row.assignment]).decode(),
            row.since + self._to_wall_s(),
            int(row.cancel),
            row.user,
        )

    def _row(
        self,
        job: str,
        attempt: int,
        phase: str,
        shape: str,
        work: str,
        run: int,
        seq: int,
        place: int,
        assignment: str,
        since: float,
        cancel: int,
        user: str,
    ) -> AttemptRow:
        return AttemptRow(
            key=Key(job, attempt),
            phase=phase,  # type: ignore[arg-type]  # the table's CHECK allows nothing else
            shape=Shape(**orjson.loads(shape)),
            work=work,
            run=run,
            seq=seq,
            place=place,
            assignment=tuple(Share(node, tasks, tuple(gpus)) for node, tasks, gpus in orjson.loads(assignment)),
            since=since - self._to_wall_s(),
            cancel=bool(cancel),
            user=user,
        )


def _beyond_repair(path: Path, what: str) -> str:
    return (
        f"the journal {path} is damaged: {what}. Restore it from a backup, or move it away to begin afresh; "
        "jobs that run now would then be reported as lost"
    )
