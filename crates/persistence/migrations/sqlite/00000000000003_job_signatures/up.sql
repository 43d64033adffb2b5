-- What each stored job has, in a few bytes: a backfill reads these instead of the jobs. A table of its own, so that the
-- signatures of many jobs lie together. Jobs stored before this step have none, and are read.
CREATE TABLE job_signatures (
    -- The job's jobs.seq.
    seq INTEGER NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (seq)
) STRICT;
