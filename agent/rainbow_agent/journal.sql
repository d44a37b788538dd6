-- The agent's journal: what it has promised and what it has not yet been believed about.
-- `user_version` says which schema a file has; a newer one is refused.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE attempts (
    job TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    phase TEXT NOT NULL CHECK (phase IN ('accepted', 'queued', 'launching', 'running', 'finished')),
    shape TEXT NOT NULL,
    work TEXT NOT NULL,
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    place INTEGER NOT NULL,
    assignment TEXT NOT NULL,
    since REAL NOT NULL,
    cancel INTEGER NOT NULL,
    user TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (job, attempt)
) STRICT, WITHOUT ROWID;

CREATE TABLE reports (
    job TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    event TEXT NOT NULL,
    at REAL NOT NULL,
    exit_code INTEGER,
    reason TEXT NOT NULL,
    native_id TEXT,
    PRIMARY KEY (job, attempt, seq)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 3;
