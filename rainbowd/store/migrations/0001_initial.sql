-- Clusters and the hashes of their credentials.
CREATE TABLE clusters (
    name          TEXT PRIMARY KEY,
    registered_at REAL NOT NULL,
    secret_hash   BLOB NOT NULL UNIQUE,
    token_hash    BLOB NOT NULL UNIQUE,
    resources     TEXT
) WITHOUT ROWID;

-- Who may see a job: the set of clusters whose tokens it was submitted with. Few sets, many jobs.
CREATE TABLE owners (
    owner  TEXT PRIMARY KEY,
    grants TEXT NOT NULL
) WITHOUT ROWID;

-- What changes in a job's life. What does not change is in `requests`, so that updates stay small.
CREATE TABLE jobs (
    id               TEXT PRIMARY KEY,
    owner            TEXT NOT NULL REFERENCES owners (owner),
    key              TEXT,
    name             TEXT NOT NULL,
    state            TEXT NOT NULL,
    attempt          INTEGER NOT NULL,
    cluster          TEXT,
    reason           TEXT NOT NULL,
    exit_code        INTEGER,
    native_id        TEXT,
    submitted_at     REAL NOT NULL,
    assigned_at      REAL,
    started_at       REAL,
    finished_at      REAL,
    cancel_requested INTEGER NOT NULL,
    report_seq       INTEGER NOT NULL,
    history_len      INTEGER NOT NULL
) WITHOUT ROWID;

CREATE UNIQUE INDEX jobs_by_key ON jobs (owner, key) WHERE key IS NOT NULL;
CREATE INDEX jobs_by_owner ON jobs (owner, id);
CREATE INDEX jobs_alive ON jobs (id)
    WHERE state IN ('pending', 'offered', 'awarded', 'assigned', 'queued', 'running');

CREATE TABLE requests (
    job     TEXT PRIMARY KEY REFERENCES jobs (id),
    request TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE history (
    job   TEXT NOT NULL,
    seq   INTEGER NOT NULL,
    at    REAL NOT NULL,
    event TEXT NOT NULL,
    state TEXT NOT NULL,
    data  TEXT NOT NULL,
    PRIMARY KEY (job, seq)
) WITHOUT ROWID;
