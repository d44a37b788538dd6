-- Named queries: `-- name: NAME` starts one, the next name or the end of the file ends it.

-- name: save_owner
INSERT INTO owners (owner, grants) VALUES (:owner, :grants) ON CONFLICT (owner) DO NOTHING;

-- name: save_job
INSERT INTO jobs (
    id, owner, key, name, state, attempt, cluster, reason, exit_code, native_id,
    submitted_at, assigned_at, started_at, finished_at, cancel_requested, report_seq, history_len,
    user, array, array_index, array_at_once, moves, promised_at
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET
    state = excluded.state,
    attempt = excluded.attempt,
    cluster = excluded.cluster,
    reason = excluded.reason,
    exit_code = excluded.exit_code,
    native_id = excluded.native_id,
    assigned_at = excluded.assigned_at,
    started_at = excluded.started_at,
    finished_at = excluded.finished_at,
    cancel_requested = excluded.cancel_requested,
    report_seq = excluded.report_seq,
    history_len = excluded.history_len,
    moves = excluded.moves,
    promised_at = excluded.promised_at;

-- name: save_request
INSERT INTO requests (job, request) VALUES (?, ?);

-- name: save_event
INSERT INTO history (job, seq, at, event, state, data) VALUES (?, ?, ?, ?, ?, ?);

-- name: save_cluster
INSERT INTO clusters (
    name, registered_at, secret_hash, token_hash, form, described_by, described_at, digest, revision, generation,
    site_keys
) VALUES (
    :name, :registered_at, :secret_hash, :token_hash, :form, :described_by, :described_at, :digest, :revision,
    :generation, :site_keys
)
ON CONFLICT (name) DO UPDATE SET
    resources = NULL,
    form = excluded.form,
    described_by = excluded.described_by,
    described_at = excluded.described_at,
    digest = excluded.digest,
    revision = excluded.revision,
    site_keys = excluded.site_keys;

-- name: load_clusters
SELECT clusters.*, descriptions.description
FROM clusters LEFT JOIN descriptions ON descriptions.cluster = clusters.name
ORDER BY name;

-- name: save_description
INSERT INTO descriptions (cluster, description) VALUES (?, ?)
ON CONFLICT (cluster) DO UPDATE SET description = excluded.description;

-- name: save_graph
INSERT INTO graphs (cluster, packed) VALUES (?, ?) ON CONFLICT (cluster) DO UPDATE SET packed = excluded.packed;

-- name: save_subsystem
INSERT INTO subsystems (cluster, name, packed) VALUES (?, ?, ?)
ON CONFLICT (cluster, name) DO UPDATE SET packed = excluded.packed;

-- name: delete_graph
DELETE FROM graphs WHERE cluster = ?;

-- name: delete_subsystem
DELETE FROM subsystems WHERE cluster = ? AND name = ?;

-- name: delete_subsystems
DELETE FROM subsystems WHERE cluster = ?;

-- name: load_graph
-- One statement, so that all of it is of one revision; the cluster itself has no name in the answer.
SELECT NULL AS name, clusters.revision, graphs.packed
FROM clusters LEFT JOIN graphs ON graphs.cluster = clusters.name
WHERE clusters.name = :cluster
UNION ALL
SELECT name, NULL, packed FROM subsystems WHERE cluster = :cluster;

-- name: delete_cluster
-- What belongs to it goes with it.
DELETE FROM clusters WHERE name = ?;

-- name: save_retired
INSERT INTO retired_clusters (retired, name, generation, token_hash, retired_at) VALUES (?, ?, ?, ?, ?);

-- name: load_retired
SELECT retired, name, generation, token_hash FROM retired_clusters ORDER BY retired_at, retired;

-- name: rename_grants
UPDATE owners SET grants = :grants WHERE owner = :owner;

-- name: load_live_jobs
SELECT jobs.*, owners.grants, requests.request
FROM jobs JOIN owners USING (owner) JOIN requests ON requests.job = jobs.id
WHERE state IN ('pending', 'offered', 'awarded', 'assigned', 'queued', 'running')
ORDER BY jobs.id;

-- name: newest_job
SELECT max(id) AS id FROM jobs;

-- name: find_keys
WITH wanted (owner, key) AS (VALUES :pairs)
SELECT jobs.owner, jobs.key, jobs.id, jobs.state, jobs.array, jobs.array_at_once, requests.request
FROM wanted
CROSS JOIN jobs ON jobs.owner = wanted.owner AND jobs.key = wanted.key
JOIN requests ON requests.job = jobs.id;

-- name: indices
SELECT array_index FROM jobs WHERE array = :array ORDER BY array_index LIMIT :limit;

-- name: load_owners
SELECT owner, grants FROM owners;

-- name: find_jobs
SELECT jobs.*, requests.request FROM jobs JOIN requests ON requests.job = jobs.id
WHERE id IN (SELECT value FROM json_each(:ids)) AND owner IN (SELECT value FROM json_each(:owners));

-- name: list_jobs
-- The ids first, newest first, straight from the index; only then what belongs to them.
SELECT jobs.*, requests.request FROM jobs JOIN requests ON requests.job = jobs.id
WHERE jobs.id IN (
    SELECT id FROM jobs NOT INDEXED
    WHERE owner IN (SELECT value FROM json_each(:owners))
        AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
        AND (:cluster IS NULL OR cluster = :cluster)
        AND id < coalesce(:before, '~')
    ORDER BY id DESC
    LIMIT :limit
)
ORDER BY jobs.id DESC;

-- name: list_members
-- The same of one array: its index is the shorter way, however many other jobs there are.
SELECT jobs.*, requests.request FROM jobs JOIN requests ON requests.job = jobs.id
WHERE jobs.id IN (
    SELECT id FROM jobs INDEXED BY jobs_by_array
    WHERE array = :array
        AND owner IN (SELECT value FROM json_each(:owners))
        AND (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
        AND (:cluster IS NULL OR cluster = :cluster)
        AND id < coalesce(:before, '~')
    ORDER BY id DESC
    LIMIT :limit
)
ORDER BY jobs.id DESC;

-- name: arrays
-- Of these arrays: how many members are not over, and how many have not ended well.
SELECT array,
    sum(state IN ('pending', 'offered', 'awarded', 'assigned', 'queued', 'running')) AS alive,
    sum(state IN ('failed', 'cancelled', 'rejected', 'lost')) AS failed
FROM jobs
WHERE array IN (SELECT value FROM json_each(:arrays))
    AND (:owners IS NULL OR owner IN (SELECT value FROM json_each(:owners)))
GROUP BY array;

-- name: ends
SELECT id, state FROM jobs
WHERE id IN (SELECT value FROM json_each(:ids))
    AND state NOT IN ('pending', 'offered', 'awarded', 'assigned', 'queued', 'running');

-- name: load_history
SELECT job, seq, at, event, state, data FROM history WHERE job = :job AND seq > :since ORDER BY seq LIMIT :limit;
