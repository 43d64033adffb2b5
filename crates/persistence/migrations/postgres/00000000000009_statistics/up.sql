-- What was counted in an hour or a day. Texts are empty where a count has no organization, campaign or subject. A count that
-- many transactions add to at once may be in several parts.
CREATE TABLE statistics (
    organization_id TEXT COLLATE "C" NOT NULL,
    step TEXT COLLATE "C" NOT NULL,
    measure TEXT COLLATE "C" NOT NULL,
    starts_at BIGINT NOT NULL,
    campaign_id TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    bucket BIGINT NOT NULL,
    part BIGINT NOT NULL,
    count BIGINT NOT NULL,
    PRIMARY KEY (organization_id, step, measure, starts_at, campaign_id, subject, bucket, part)
);
CREATE INDEX statistics_by_age ON statistics (starts_at);

-- When a lead's job.new was first delivered: it is counted once.
ALTER TABLE leads ADD COLUMN delivered_at BIGINT;

-- When the feed was last read, to within some seconds.
ALTER TABLE feed_position ADD COLUMN read_at BIGINT;

-- Deliveries that people try from the console. They are sent at once and are never pending.
ALTER TABLE deliveries ADD COLUMN is_test BOOLEAN NOT NULL DEFAULT FALSE;

-- When people tried an endpoint in the last minute.
CREATE TABLE endpoint_tries (
    organization_id TEXT COLLATE "C" NOT NULL,
    endpoint_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (organization_id, endpoint_id, id)
);
