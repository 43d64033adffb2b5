-- In words of their own, so that no query for the queue of one endpoint or account can take them. PostgreSQL takes them for as
-- short as that queue if nothing waited when it made its statistics, and would read all that waits for each endpoint or account.
DROP INDEX deliveries_pending;
CREATE INDEX deliveries_oldest_pending ON deliveries (created_at) WHERE state = 'pending' AND ended_at IS NULL;
DROP INDEX bids_due;
CREATE INDEX bids_longest_due ON bids (next_attempt_at) WHERE status = 'queued' AND ended_at IS NULL;
