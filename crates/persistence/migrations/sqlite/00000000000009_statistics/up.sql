-- What was counted in an hour or a day. Texts are empty where a count has no organization, campaign or subject. A count that
-- many transactions add to at once may be in several parts.
CREATE TABLE statistics (
    organization_id TEXT NOT NULL,
    step TEXT NOT NULL,
    measure TEXT NOT NULL,
    starts_at INTEGER NOT NULL,
    campaign_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    part INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (organization_id, step, measure, starts_at, campaign_id, subject, bucket, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX statistics_by_age ON statistics (starts_at);

-- When a lead's job.new was first delivered: it is counted once.
ALTER TABLE leads ADD COLUMN delivered_at INTEGER;

-- When the feed was last read, to within some seconds.
ALTER TABLE feed_position ADD COLUMN read_at INTEGER;

-- Deliveries that people try from the console. They are sent at once and are never pending.
ALTER TABLE deliveries ADD COLUMN is_test INTEGER NOT NULL DEFAULT 0;

-- When people tried an endpoint in the last minute.
CREATE TABLE endpoint_tries (
    organization_id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (organization_id, endpoint_id, id)
) STRICT, WITHOUT ROWID;
