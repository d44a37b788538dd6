-- What a cluster has may be told by a document, and by whom and when it was told is known. `resources`, the totals of
-- clusters that told no more than that, is read as long as nothing better was told; it is not written any more.
ALTER TABLE clusters ADD COLUMN form TEXT;
ALTER TABLE clusters ADD COLUMN described_by TEXT;
ALTER TABLE clusters ADD COLUMN described_at REAL;
ALTER TABLE clusters ADD COLUMN digest TEXT;
ALTER TABLE clusters ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE clusters ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
UPDATE clusters SET form = 'totals', described_by = 'agent', described_at = registered_at WHERE resources IS NOT NULL;

-- The classes of a cluster's resources: small, and read at every start.
CREATE TABLE descriptions (
    cluster     TEXT PRIMARY KEY REFERENCES clusters (name) ON DELETE CASCADE,
    description BLOB NOT NULL
);

-- Every vertex: large, and read only when a description is made anew or shown whole.
CREATE TABLE graphs (
    cluster TEXT PRIMARY KEY REFERENCES clusters (name) ON DELETE CASCADE,
    packed  BLOB NOT NULL
);

CREATE TABLE subsystems (
    cluster TEXT NOT NULL REFERENCES clusters (name) ON DELETE CASCADE,
    name    TEXT NOT NULL,
    packed  BLOB NOT NULL,
    PRIMARY KEY (cluster, name)
);

-- Clusters that were deleted: their tokens still open the jobs of their time, as the grant `retired`.
CREATE TABLE retired_clusters (
    retired    TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    generation INTEGER NOT NULL,
    token_hash BLOB NOT NULL UNIQUE,
    retired_at REAL NOT NULL
) WITHOUT ROWID;
