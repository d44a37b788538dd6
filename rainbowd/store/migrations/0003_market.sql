-- Who submitted a job, by their own account; the array that it is of; how often it has moved, and the promise it has.
ALTER TABLE jobs ADD COLUMN user TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN array TEXT;
ALTER TABLE jobs ADD COLUMN array_index INTEGER;
ALTER TABLE jobs ADD COLUMN array_at_once INTEGER;
ALTER TABLE jobs ADD COLUMN moves INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN promised_at REAL;
CREATE INDEX jobs_by_array ON jobs (array, array_index) WHERE array IS NOT NULL;

-- What the site's people say of a cluster, for policies: a JSON object.
ALTER TABLE clusters ADD COLUMN site_keys TEXT NOT NULL DEFAULT '{}';
