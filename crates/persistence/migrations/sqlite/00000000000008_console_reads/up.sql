-- The status of a match's lead, kept with the match so that the Feed counts and pages by status without reading leads
-- (decision E9). A match without a lead is new.
ALTER TABLE matches ADD COLUMN lead_status TEXT NOT NULL DEFAULT 'new';
UPDATE matches SET lead_status = l.status FROM leads AS l
    WHERE l.status <> 'new' AND matches.job_id = l.job_id AND matches.campaign_id = l.campaign_id
    AND matches.organization_id = l.organization_id;
-- Matches whose leads are decided on.
CREATE INDEX matches_decided ON matches (organization_id, campaign_id, generation, lead_status, seq)
    WHERE lead_status <> 'new';

-- A person's last look at a campaign's Feed.
CREATE TABLE feed_looks (
    organization_id TEXT NOT NULL,
    email_key TEXT NOT NULL,
    campaign_id TEXT NOT NULL,
    looked_at INTEGER NOT NULL,
    PRIMARY KEY (organization_id, email_key, campaign_id)
) STRICT, WITHOUT ROWID;

-- The entry that says who rejected a lead.
CREATE INDEX activities_of_rejected_lead ON activities (lead_id) WHERE kind = 'rejection' AND outcome = 'accepted';
-- What the Activity pages search by.
CREATE INDEX activities_by_outcome ON activities (organization_id, kind, outcome, at);
CREATE INDEX activities_of_actor ON activities (organization_id, actor_kind, actor_id, at);

-- The last deliveries of an endpoint.
CREATE INDEX deliveries_of_endpoint ON deliveries (organization_id, endpoint_id, created_at);
