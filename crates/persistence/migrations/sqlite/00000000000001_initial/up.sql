-- The conventions stand in the PostgreSQL step of the same name. Here booleans are 0 and 1, and tables whose rows
-- are small and always read by their primary key are stored in its order (WITHOUT ROWID).

CREATE TABLE organizations (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    subscription_status TEXT NOT NULL,
    collection_paused INTEGER NOT NULL,
    period_start INTEGER NOT NULL,
    period_end INTEGER NOT NULL,
    proposal_limit INTEGER NOT NULL,
    PRIMARY KEY (id)
) STRICT;

CREATE TABLE users (
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    email_key TEXT NOT NULL,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    password_hash TEXT,
    PRIMARY KEY (organization_id, email_key)
) STRICT;

CREATE TABLE api_keys (
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    id TEXT NOT NULL,
    key_hash TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    expires_at INTEGER,
    revoked_at INTEGER,
    PRIMARY KEY (organization_id, id)
) STRICT;
-- A request brings a key and nothing else, so this look-up is global.
CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (key_hash);

CREATE TABLE webhook_endpoints (
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    id TEXT NOT NULL,
    campaign_id TEXT,
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    active INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    secret TEXT NOT NULL,
    previous_secret TEXT,
    previous_secret_until INTEGER,
    PRIMARY KEY (organization_id, id)
) STRICT;

CREATE TABLE bidder_accounts (
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    token TEXT NOT NULL,
    connected INTEGER NOT NULL,
    profile_hourly_rate REAL,
    connects_balance INTEGER,
    read_at INTEGER,
    PRIMARY KEY (organization_id, id)
) STRICT;

CREATE TABLE campaigns (
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    mode TEXT NOT NULL,
    state TEXT NOT NULL,
    account_id TEXT,
    bidding_config TEXT NOT NULL,
    proposal TEXT NOT NULL,
    attachments TEXT NOT NULL,
    -- Raised by every change of the campaign's filters; matches are due for a backfill while they differ.
    revision INTEGER NOT NULL,
    matched_revision INTEGER NOT NULL,
    -- The generation of matches that is served, and the highest one ever begun.
    generation INTEGER NOT NULL,
    last_generation INTEGER NOT NULL,
    -- Matches of the served generation are numbered from 1 to match_total without a gap.
    match_total INTEGER NOT NULL,
    last_match_at INTEGER,
    PRIMARY KEY (organization_id, id)
) STRICT;
CREATE INDEX campaigns_due_for_backfill ON campaigns (organization_id, id) WHERE revision <> matched_revision;

CREATE TABLE filters (
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    id TEXT NOT NULL,
    campaign_id TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (organization_id, id)
) STRICT;
CREATE INDEX filters_of_campaign ON filters (organization_id, campaign_id);

-- One row: counts every change of filters, campaigns and organizations.
CREATE TABLE revision_counter (
    id INTEGER NOT NULL CHECK (id = 1),
    value INTEGER NOT NULL,
    PRIMARY KEY (id)
) STRICT;
INSERT INTO revision_counter (id, value) VALUES (1, 0);

-- One row: where the feed was read to, and the highest jobs.seq ever given.
CREATE TABLE feed_position (
    id INTEGER NOT NULL CHECK (id = 1),
    position TEXT,
    last_job_seq INTEGER NOT NULL,
    PRIMARY KEY (id)
) STRICT;
INSERT INTO feed_position (id, position, last_job_seq) VALUES (1, NULL, 0);

CREATE TABLE jobs (
    id TEXT NOT NULL,
    -- In the order in which contents were stored: a job that changed gets a new number.
    seq INTEGER NOT NULL,
    posted_at INTEGER NOT NULL,
    -- As served, byte for byte.
    json TEXT NOT NULL,
    PRIMARY KEY (id)
) STRICT;
CREATE UNIQUE INDEX jobs_by_seq ON jobs (seq);

CREATE TABLE matches (
    organization_id TEXT NOT NULL,
    campaign_id TEXT NOT NULL,
    generation INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    job_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (organization_id, campaign_id, generation, seq)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX matches_once_a_job ON matches (organization_id, campaign_id, generation, job_id);
CREATE INDEX matches_of_job ON matches (job_id);

CREATE TABLE leads (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    campaign_id TEXT NOT NULL,
    job_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    rejection_reason TEXT,
    proposal_id TEXT,
    bidding_config TEXT NOT NULL,
    -- The lead's bid, the last one if it was reopened in between.
    bid_id TEXT,
    PRIMARY KEY (organization_id, id)
) STRICT;
-- Lead ids are unique everywhere: operators' commands name no organization.
CREATE UNIQUE INDEX leads_by_id ON leads (id);
CREATE UNIQUE INDEX leads_once_a_job ON leads (organization_id, campaign_id, job_id);

CREATE TABLE lead_attachments (
    organization_id TEXT NOT NULL,
    lead_id TEXT NOT NULL,
    -- From 1, in the order of uploading.
    position INTEGER NOT NULL,
    -- SHA-256 of the name's comparison key: names may be longer than an index entry.
    name_digest TEXT NOT NULL,
    attachment TEXT NOT NULL,
    PRIMARY KEY (organization_id, lead_id, position)
) STRICT;
CREATE UNIQUE INDEX lead_attachments_once_a_name ON lead_attachments (organization_id, lead_id, name_digest);

CREATE TABLE bids (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    campaign_id TEXT NOT NULL,
    lead_id TEXT NOT NULL,
    job_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    cover_letter TEXT NOT NULL,
    answers TEXT NOT NULL,
    config TEXT NOT NULL,
    attachments TEXT NOT NULL,
    queued_at INTEGER NOT NULL,
    -- Start of the billing period that the bid's unit of quota was taken from.
    period_start INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    status TEXT NOT NULL,
    next_attempt_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    proposal TEXT,
    answer_outstanding INTEGER NOT NULL,
    lease_owner TEXT,
    lease_until INTEGER,
    reason TEXT,
    proposal_id TEXT,
    submitted_at INTEGER,
    terms TEXT,
    boost_connects INTEGER NOT NULL,
    connects_spent INTEGER NOT NULL,
    ended_at INTEGER,
    PRIMARY KEY (organization_id, id)
) STRICT;
CREATE INDEX bids_due ON bids (next_attempt_at) WHERE status = 'queued';
CREATE INDEX bids_of_account_on_job ON bids (organization_id, account_id, job_id)
    WHERE status IN ('queued', 'submitted');
CREATE INDEX bids_counted_in_quota ON bids (organization_id, queued_at)
    WHERE status IN ('queued', 'submitted');
-- A period can be in force before it starts: then what is queued in it lies outside it.
CREATE INDEX bids_queued_early ON bids (organization_id, period_start) WHERE queued_at < period_start;

-- How many bids queued from period_start (included) to period_end (excluded) are queued or submitted. A row is
-- made by counting when it is first needed, and removed when the organization's period changes.
CREATE TABLE quota_usage (
    organization_id TEXT NOT NULL,
    period_start INTEGER NOT NULL,
    period_end INTEGER NOT NULL,
    used INTEGER NOT NULL,
    PRIMARY KEY (organization_id, period_start)
) STRICT, WITHOUT ROWID;

CREATE TABLE automatic_bids (
    organization_id TEXT NOT NULL,
    lead_id TEXT NOT NULL,
    campaign_id TEXT NOT NULL,
    queued_at INTEGER NOT NULL,
    lease_owner TEXT,
    lease_until INTEGER,
    PRIMARY KEY (organization_id, lead_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX automatic_bids_by_age ON automatic_bids (queued_at);

CREATE TABLE deliveries (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    campaign_id TEXT NOT NULL,
    lead_id TEXT NOT NULL,
    event TEXT NOT NULL,
    -- The data of a bid_complete; a job.new is written when it is sent, from its lead.
    data TEXT,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    owner TEXT,
    owner_until INTEGER,
    reason TEXT,
    ended_at INTEGER,
    PRIMARY KEY (organization_id, id)
) STRICT;
CREATE INDEX deliveries_pending ON deliveries (created_at) WHERE state = 'pending';
CREATE INDEX deliveries_pending_by_endpoint ON deliveries (organization_id, endpoint_id, created_at)
    WHERE state = 'pending';
CREATE INDEX deliveries_sending ON deliveries (owner_until) WHERE state = 'sending';

CREATE TABLE activities (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    campaign_id TEXT,
    lead_id TEXT,
    kind TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_id TEXT,
    actor_name TEXT,
    outcome TEXT NOT NULL,
    http_status INTEGER,
    dry_run INTEGER NOT NULL,
    message TEXT NOT NULL,
    details TEXT NOT NULL,
    PRIMARY KEY (organization_id, id)
) STRICT;
CREATE INDEX activities_by_age ON activities (at);
CREATE INDEX activities_of_organization ON activities (organization_id, at);
CREATE INDEX activities_of_campaign ON activities (organization_id, campaign_id, at);
CREATE INDEX activities_of_lead ON activities (lead_id, at);
