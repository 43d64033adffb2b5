-- Counts that are not in statistics yet: each command inserts some, and a worker moves them there. So no command waits for
-- another that counts the same, and the rows of statistics have few versions.
CREATE TABLE fresh_counts (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    organization_id TEXT NOT NULL,
    measure TEXT NOT NULL,
    hour INTEGER NOT NULL,
    campaign_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    count INTEGER NOT NULL
) STRICT;

-- One worker adds to statistics, so a count is in one part.
ALTER TABLE statistics RENAME TO statistics_in_parts;
DROP INDEX statistics_by_age;
CREATE TABLE statistics (
    organization_id TEXT NOT NULL,
    step TEXT NOT NULL,
    measure TEXT NOT NULL,
    starts_at INTEGER NOT NULL,
    campaign_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    bucket INTEGER NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (organization_id, step, measure, starts_at, campaign_id, subject, bucket)
) STRICT, WITHOUT ROWID;
INSERT INTO statistics
    SELECT organization_id, step, measure, starts_at, campaign_id, subject, bucket, SUM(count)
    FROM statistics_in_parts
    WHERE measure <> 'endpoint_sent'
    GROUP BY organization_id, step, measure, starts_at, campaign_id, subject, bucket;
-- What was sent to an endpoint is what has a time and what has none.
INSERT INTO statistics
    SELECT organization_id, step, 'endpoint_untimed', starts_at, '', subject, 0,
        SUM(CASE measure WHEN 'endpoint_sent' THEN count ELSE -count END)
    FROM statistics_in_parts
    WHERE measure IN ('endpoint_sent', 'endpoint_time')
    GROUP BY organization_id, step, starts_at, subject
    HAVING SUM(CASE measure WHEN 'endpoint_sent' THEN count ELSE -count END) > 0;
DROP TABLE statistics_in_parts;
CREATE INDEX statistics_by_age ON statistics (starts_at);

-- Most entries are the service's, and are not searched for by their actor.
DROP INDEX activities_of_actor;
DROP INDEX activities_of_actor_by_outcome;
DROP INDEX activities_of_actor_in_campaign;
CREATE INDEX activities_of_actor ON activities (organization_id, actor_kind, actor_id, at)
    WHERE actor_kind <> 'service';
CREATE INDEX activities_of_actor_by_outcome ON activities (organization_id, actor_kind, actor_id, kind, outcome, at)
    WHERE actor_kind <> 'service';
CREATE INDEX activities_of_actor_in_campaign ON activities (organization_id, actor_kind, actor_id, campaign_id, at)
    WHERE actor_kind <> 'service';

-- The leads whose job.new was delivered: each counts once. Apart from leads, whose rows are wide.
CREATE TABLE told_leads (
    organization_id TEXT NOT NULL,
    lead_id TEXT NOT NULL,
    PRIMARY KEY (organization_id, lead_id)
) STRICT, WITHOUT ROWID;
INSERT INTO told_leads SELECT organization_id, id FROM leads WHERE delivered_at IS NOT NULL;
ALTER TABLE leads DROP COLUMN delivered_at;
