-- Conventions of every table here and in the SQLite step of the same name (a test compares the two):
--   * ids and words are text compared byte by byte (COLLATE "C"), so that both databases order them alike;
--   * times are UNIX milliseconds, money is cents, JSON is text that PostgreSQL only passes through;
--   * what belongs to an organization has organization_id first in its primary and unique keys;
--   * nothing refers to campaigns or jobs by a foreign key: leads, bids and Activity outlive campaigns.

CREATE TABLE organizations (
    id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    subscription_status TEXT NOT NULL,
    collection_paused BOOLEAN NOT NULL,
    period_start BIGINT NOT NULL,
    period_end BIGINT NOT NULL,
    proposal_limit BIGINT NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE users (
    organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
    email_key TEXT COLLATE "C" NOT NULL,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    password_hash TEXT,
    PRIMARY KEY (organization_id, email_key)
);

CREATE TABLE api_keys (
    organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
    id TEXT COLLATE "C" NOT NULL,
    key_hash TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    last_used_at BIGINT,
    expires_at BIGINT,
    revoked_at BIGINT,
    PRIMARY KEY (organization_id, id)
);
-- A request brings a key and nothing else, so this look-up is global.
CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (key_hash);

CREATE TABLE webhook_endpoints (
    organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
    id TEXT COLLATE "C" NOT NULL,
    campaign_id TEXT COLLATE "C",
    url TEXT NOT NULL,
    events TEXT NOT NULL,
    active BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    secret TEXT NOT NULL,
    previous_secret TEXT,
    previous_secret_until BIGINT,
    PRIMARY KEY (organization_id, id)
);

CREATE TABLE bidder_accounts (
    organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
    id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    token TEXT NOT NULL,
    connected BOOLEAN NOT NULL,
    profile_hourly_rate DOUBLE PRECISION,
    connects_balance BIGINT,
    read_at BIGINT,
    PRIMARY KEY (organization_id, id)
);

CREATE TABLE campaigns (
    organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
    id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    mode TEXT NOT NULL,
    state TEXT NOT NULL,
    account_id TEXT COLLATE "C",
    bidding_config TEXT NOT NULL,
    proposal TEXT NOT NULL,
    attachments TEXT NOT NULL,
    -- Raised by every change of the campaign's filters; matches are due for a backfill while they differ.
    revision BIGINT NOT NULL,
    matched_revision BIGINT NOT NULL,
    -- The generation of matches that is served, and the highest one ever begun.
    generation BIGINT NOT NULL,
    last_generation BIGINT NOT NULL,
    -- Matches of the served generation are numbered from 1 to match_total without a gap.
    match_total BIGINT NOT NULL,
    last_match_at BIGINT,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX campaigns_due_for_backfill ON campaigns (organization_id, id) WHERE revision <> matched_revision;

CREATE TABLE filters (
    organization_id TEXT COLLATE "C" NOT NULL REFERENCES organizations (id),
    id TEXT COLLATE "C" NOT NULL,
    campaign_id TEXT COLLATE "C" NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX filters_of_campaign ON filters (organization_id, campaign_id);

-- One row: counts every change of filters, campaigns and organizations.
CREATE TABLE revision_counter (
    id BIGINT NOT NULL CHECK (id = 1),
    value BIGINT NOT NULL,
    PRIMARY KEY (id)
);
INSERT INTO revision_counter (id, value) VALUES (1, 0);

-- One row: where the feed was read to, and the highest jobs.seq ever given.
CREATE TABLE feed_position (
    id BIGINT NOT NULL CHECK (id = 1),
    position TEXT,
    last_job_seq BIGINT NOT NULL,
    PRIMARY KEY (id)
);
INSERT INTO feed_position (id, position, last_job_seq) VALUES (1, NULL, 0);

CREATE TABLE jobs (
    id TEXT COLLATE "C" NOT NULL,
    -- In the order in which contents were stored: a job that changed gets a new number.
    seq BIGINT NOT NULL,
    posted_at BIGINT NOT NULL,
    -- As served, byte for byte.
    json TEXT NOT NULL,
    PRIMARY KEY (id)
);
CREATE UNIQUE INDEX jobs_by_seq ON jobs (seq);

CREATE TABLE matches (
    organization_id TEXT COLLATE "C" NOT NULL,
    campaign_id TEXT COLLATE "C" NOT NULL,
    generation BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    job_id TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (organization_id, campaign_id, generation, seq)
);
CREATE UNIQUE INDEX matches_once_a_job ON matches (organization_id, campaign_id, generation, job_id);
CREATE INDEX matches_of_job ON matches (job_id);

CREATE TABLE leads (
    organization_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    campaign_id TEXT COLLATE "C" NOT NULL,
    job_id TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    rejection_reason TEXT,
    proposal_id TEXT,
    bidding_config TEXT NOT NULL,
    -- The lead's bid, the last one if it was reopened in between.
    bid_id TEXT COLLATE "C",
    PRIMARY KEY (organization_id, id)
);
-- Lead ids are unique everywhere: operators' commands name no organization.
CREATE UNIQUE INDEX leads_by_id ON leads (id);
CREATE UNIQUE INDEX leads_once_a_job ON leads (organization_id, campaign_id, job_id);

CREATE TABLE lead_attachments (
    organization_id TEXT COLLATE "C" NOT NULL,
    lead_id TEXT COLLATE "C" NOT NULL,
    -- From 1, in the order of uploading.
    position BIGINT NOT NULL,
    -- SHA-256 of the name's comparison key: names may be longer than an index entry.
    name_digest TEXT COLLATE "C" NOT NULL,
    attachment TEXT NOT NULL,
    PRIMARY KEY (organization_id, lead_id, position)
);
CREATE UNIQUE INDEX lead_attachments_once_a_name ON lead_attachments (organization_id, lead_id, name_digest);

CREATE TABLE bids (
    organization_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    campaign_id TEXT COLLATE "C" NOT NULL,
    lead_id TEXT COLLATE "C" NOT NULL,
    job_id TEXT COLLATE "C" NOT NULL,
    account_id TEXT COLLATE "C" NOT NULL,
    cover_letter TEXT NOT NULL,
    answers TEXT NOT NULL,
    config TEXT NOT NULL,
    attachments TEXT NOT NULL,
    queued_at BIGINT NOT NULL,
    -- Start of the billing period that the bid's unit of quota was taken from.
    period_start BIGINT NOT NULL,
    deadline BIGINT NOT NULL,
    status TEXT NOT NULL,
    next_attempt_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    proposal TEXT,
    answer_outstanding BOOLEAN NOT NULL,
    lease_owner TEXT,
    lease_until BIGINT,
    reason TEXT,
    proposal_id TEXT,
    submitted_at BIGINT,
    terms TEXT,
    boost_connects BIGINT NOT NULL,
    connects_spent BIGINT NOT NULL,
    ended_at BIGINT,
    PRIMARY KEY (organization_id, id)
);
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
    organization_id TEXT COLLATE "C" NOT NULL,
    period_start BIGINT NOT NULL,
    period_end BIGINT NOT NULL,
    used BIGINT NOT NULL,
    PRIMARY KEY (organization_id, period_start)
) WITH (fillfactor = 50);

CREATE TABLE automatic_bids (
    organization_id TEXT COLLATE "C" NOT NULL,
    lead_id TEXT COLLATE "C" NOT NULL,
    campaign_id TEXT COLLATE "C" NOT NULL,
    queued_at BIGINT NOT NULL,
    lease_owner TEXT,
    lease_until BIGINT,
    PRIMARY KEY (organization_id, lead_id)
);
CREATE INDEX automatic_bids_by_age ON automatic_bids (queued_at);

CREATE TABLE deliveries (
    organization_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    endpoint_id TEXT COLLATE "C" NOT NULL,
    campaign_id TEXT COLLATE "C" NOT NULL,
    lead_id TEXT COLLATE "C" NOT NULL,
    event TEXT NOT NULL,
    -- The data of a bid_complete; a job.new is written when it is sent, from its lead.
    data TEXT,
    created_at BIGINT NOT NULL,
    state TEXT NOT NULL,
    owner TEXT,
    owner_until BIGINT,
    reason TEXT,
    ended_at BIGINT,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX deliveries_pending ON deliveries (created_at) WHERE state = 'pending';
CREATE INDEX deliveries_pending_by_endpoint ON deliveries (organization_id, endpoint_id, created_at)
    WHERE state = 'pending';
CREATE INDEX deliveries_sending ON deliveries (owner_until) WHERE state = 'sending';

CREATE TABLE activities (
    organization_id TEXT COLLATE "C" NOT NULL,
    id TEXT COLLATE "C" NOT NULL,
    at BIGINT NOT NULL,
    campaign_id TEXT COLLATE "C",
    lead_id TEXT COLLATE "C",
    kind TEXT NOT NULL,
    actor_kind TEXT NOT NULL,
    actor_id TEXT,
    actor_name TEXT,
    outcome TEXT NOT NULL,
    http_status BIGINT,
    dry_run BOOLEAN NOT NULL,
    message TEXT NOT NULL,
    details TEXT NOT NULL,
    PRIMARY KEY (organization_id, id)
);
CREATE INDEX activities_by_age ON activities (at);
CREATE INDEX activities_of_organization ON activities (organization_id, at);
CREATE INDEX activities_of_campaign ON activities (organization_id, campaign_id, at);
CREATE INDEX activities_of_lead ON activities (lead_id, at);
