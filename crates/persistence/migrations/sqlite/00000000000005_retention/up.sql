-- Matches of the served generation are numbered from 1 to match_settled, and behind a gap of match_gap numbers on. They
-- are match_total in all. Whatever old matches leave, the others close up towards 1.
ALTER TABLE campaigns ADD COLUMN match_settled INTEGER NOT NULL DEFAULT 0;
ALTER TABLE campaigns ADD COLUMN match_gap INTEGER NOT NULL DEFAULT 0;

-- Jobs whose content was stored by pruned_before have numbers up to pruned_to; those without leads may be gone.
ALTER TABLE feed_position ADD COLUMN pruned_before INTEGER;
ALTER TABLE feed_position ADD COLUMN pruned_to INTEGER NOT NULL DEFAULT 0;

-- The highest number of a job at a moment: how old jobs are, without a column in each.
CREATE TABLE job_ages (
    at INTEGER NOT NULL,
    last_job_seq INTEGER NOT NULL,
    PRIMARY KEY (at)
) STRICT;

-- What pruning looks for.
CREATE INDEX leads_of_job ON leads (job_id);
CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX bids_with_letters ON bids (ended_at) WHERE ended_at IS NOT NULL AND cover_letter <> '';
