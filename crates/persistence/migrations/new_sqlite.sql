-- What the steps in the folder sqlite make of an empty file. Written by the test a_new_database_is_what_the_steps_make.
CREATE TABLE __diesel_schema_migrations (
       version VARCHAR(50) PRIMARY KEY NOT NULL,
       run_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);
CREATE TABLE organizations (
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    subscription_status TEXT NOT NULL,
    collection_paused INTEGER NOT NULL,
    period_start INTEGER NOT NULL,
    period_end INTEGER NOT NULL,
    renewal TEXT NOT NULL DEFAULT 'same_length', proposal_limit INTEGER, customer TEXT,
    PRIMARY KEY (id)
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
    last_match_at INTEGER, match_settled INTEGER NOT NULL DEFAULT 0, match_gap INTEGER NOT NULL DEFAULT 0,
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
CREATE TABLE revision_counter (
    id INTEGER NOT NULL CHECK (id = 1),
    value INTEGER NOT NULL, filters_logged_since INTEGER NOT NULL DEFAULT 0, filters_logged_to INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (id)
) STRICT;
CREATE TABLE feed_position (
    id INTEGER NOT NULL CHECK (id = 1),
    position TEXT,
    last_job_seq INTEGER NOT NULL, pruned_before INTEGER, pruned_to INTEGER NOT NULL DEFAULT 0, read_at INTEGER,
    PRIMARY KEY (id)
) STRICT;
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
    created_at INTEGER NOT NULL, lead_status TEXT NOT NULL DEFAULT 'new',
    PRIMARY KEY (organization_id, campaign_id, generation, seq)
) STRICT, WITHOUT ROWID;
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
CREATE UNIQUE INDEX leads_by_id ON leads (id);
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
    ended_at INTEGER, trace_parent TEXT,
    PRIMARY KEY (organization_id, id)
) STRICT;
CREATE INDEX bids_due ON bids (next_attempt_at) WHERE status = 'queued';
CREATE INDEX bids_of_account_on_job ON bids (organization_id, account_id, job_id)
    WHERE status IN ('queued', 'submitted');
CREATE INDEX bids_counted_in_quota ON bids (organization_id, queued_at)
    WHERE status IN ('queued', 'submitted');
CREATE INDEX bids_queued_early ON bids (organization_id, period_start) WHERE queued_at < period_start;
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
    ended_at INTEGER, is_test INTEGER NOT NULL DEFAULT 0, sent_by TEXT, trace_parent TEXT,
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
CREATE TABLE filter_changes (
    organization_id TEXT NOT NULL,
    filter_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (organization_id, filter_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX filter_changes_by_revision ON filter_changes (revision);
CREATE TABLE job_signatures (
    -- The job's jobs.seq.
    seq INTEGER NOT NULL,
    signature BLOB NOT NULL,
    PRIMARY KEY (seq)
) STRICT;
CREATE TABLE removed_api_keys (
    key_hash TEXT NOT NULL,
    PRIMARY KEY (key_hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE job_ages (
    at INTEGER NOT NULL,
    last_job_seq INTEGER NOT NULL,
    PRIMARY KEY (at)
) STRICT;
CREATE INDEX deliveries_ended ON deliveries (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX bids_with_letters ON bids (ended_at) WHERE ended_at IS NOT NULL AND cover_letter <> '';
CREATE TABLE removed_organizations (
    id TEXT NOT NULL,
    removed_at INTEGER NOT NULL,
    lease_owner TEXT,
    lease_until INTEGER,
    PRIMARY KEY (id)
) STRICT;
CREATE TABLE people (
    -- The address as it is compared: after NFC and full case folding.
    email_key TEXT NOT NULL,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    password_hash TEXT,
    PRIMARY KEY (email_key)
) STRICT;
CREATE TABLE memberships (
    organization_id TEXT NOT NULL REFERENCES organizations (id),
    email_key TEXT NOT NULL REFERENCES people (email_key),
    role TEXT NOT NULL,
    last_seen_at INTEGER,
    PRIMARY KEY (organization_id, email_key)
) STRICT;
CREATE INDEX memberships_of_person ON memberships (email_key);
CREATE TABLE sessions (
    -- The organization that is shown.
    organization_id TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    email_key TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    PRIMARY KEY (organization_id, token_hash)
) STRICT;
CREATE UNIQUE INDEX sessions_by_hash ON sessions (token_hash);
CREATE INDEX sessions_of_person ON sessions (email_key);
CREATE INDEX sessions_by_use ON sessions (last_used_at);
CREATE TABLE one_time_links (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    kind TEXT NOT NULL,
    email_key TEXT NOT NULL,
    email TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    -- The address of the owner who made it.
    made_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (organization_id, id)
) STRICT;
CREATE UNIQUE INDEX one_time_links_by_hash ON one_time_links (token_hash);
CREATE INDEX one_time_links_by_end ON one_time_links (expires_at);
CREATE TABLE personal_tokens (
    organization_id TEXT NOT NULL,
    id TEXT NOT NULL,
    token_hash TEXT NOT NULL,
    email_key TEXT NOT NULL,
    name TEXT NOT NULL,
    scope TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    last_used_at INTEGER,
    expires_at INTEGER,
    revoked_at INTEGER,
    PRIMARY KEY (organization_id, id)
) STRICT;
CREATE UNIQUE INDEX personal_tokens_by_hash ON personal_tokens (token_hash);
CREATE TABLE sign_in_tries (
    subject TEXT NOT NULL,
    failures INTEGER NOT NULL,
    since INTEGER NOT NULL,
    waits_until INTEGER,
    -- From when on the row says nothing.
    forgotten_at INTEGER NOT NULL,
    PRIMARY KEY (subject)
) STRICT;
CREATE INDEX sign_in_tries_by_end ON sign_in_tries (forgotten_at);
CREATE TABLE first_run_codes (
    code_hash TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    replaced_at INTEGER,
    PRIMARY KEY (code_hash)
) STRICT;
CREATE INDEX matches_decided ON matches (organization_id, campaign_id, generation, lead_status, seq)
    WHERE lead_status <> 'new';
CREATE TABLE feed_looks (
    organization_id TEXT NOT NULL,
    email_key TEXT NOT NULL,
    campaign_id TEXT NOT NULL,
    looked_at INTEGER NOT NULL,
    PRIMARY KEY (organization_id, email_key, campaign_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX activities_of_rejected_lead ON activities (lead_id) WHERE kind = 'rejection' AND outcome = 'accepted';
CREATE INDEX activities_by_outcome ON activities (organization_id, kind, outcome, at);
CREATE INDEX deliveries_of_endpoint ON deliveries (organization_id, endpoint_id, created_at);
CREATE TABLE endpoint_tries (
    organization_id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (organization_id, endpoint_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX leads_newest ON leads (organization_id, campaign_id, created_at);
CREATE INDEX activities_of_campaign_by_outcome ON activities (organization_id, campaign_id, kind, outcome, at);
CREATE INDEX bids_waiting ON bids (organization_id, account_id, deadline, answer_outstanding) WHERE status = 'queued';
CREATE INDEX bids_leased ON bids (organization_id, account_id, lease_until)
    WHERE status = 'queued' AND lease_until IS NOT NULL;
CREATE INDEX bids_due_of_account ON bids (organization_id, account_id, next_attempt_at, queued_at, id)
    WHERE status = 'queued';
CREATE INDEX bids_given_up ON bids (deadline) WHERE status = 'queued' AND NOT answer_outstanding;
CREATE TABLE feed_lease (
    id INTEGER NOT NULL CHECK (id = 1),
    lease_owner TEXT,
    lease_until INTEGER,
    PRIMARY KEY (id)
) STRICT;
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
CREATE INDEX statistics_by_age ON statistics (starts_at);
CREATE INDEX activities_of_actor ON activities (organization_id, actor_kind, actor_id, at)
    WHERE actor_kind <> 'service';
CREATE INDEX activities_of_actor_by_outcome ON activities (organization_id, actor_kind, actor_id, kind, outcome, at)
    WHERE actor_kind <> 'service';
CREATE INDEX activities_of_actor_in_campaign ON activities (organization_id, actor_kind, actor_id, campaign_id, at)
    WHERE actor_kind <> 'service';
CREATE TABLE told_leads (
    organization_id TEXT NOT NULL,
    lead_id TEXT NOT NULL,
    PRIMARY KEY (organization_id, lead_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX organizations_by_customer ON organizations (customer);
CREATE TABLE billed_subscriptions (
    id TEXT NOT NULL,
    organization_id TEXT,
    events TEXT NOT NULL,
    PRIMARY KEY (id)
) STRICT;
CREATE INDEX billed_subscriptions_by_organization ON billed_subscriptions (organization_id);
CREATE INDEX bidder_accounts_disconnected ON bidder_accounts (organization_id, id) WHERE NOT connected;
CREATE INDEX bids_unanswered ON bids (deadline) WHERE status = 'queued' AND answer_outstanding;
CREATE INDEX organizations_lapsed ON organizations (id) WHERE subscription_status <> 'active' OR collection_paused;
CREATE INDEX bids_applied_elsewhere ON bids (organization_id, campaign_id)
    WHERE status = 'failed' AND proposal_id IS NOT NULL;
CREATE TABLE fresh_counts (
    id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
    hour INTEGER NOT NULL,
    counts TEXT NOT NULL,
    is_gathered INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX matches_once_a_job ON matches (job_id, organization_id, campaign_id, generation);
CREATE UNIQUE INDEX leads_once_a_job ON leads (job_id, organization_id, campaign_id);
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000001');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000002');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000003');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000004');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000005');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000006');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000007');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000008');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000009');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000011');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000012');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000013');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000014');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000015');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000016');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000017');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000018');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000019');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000020');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000021');
INSERT INTO __diesel_schema_migrations (version) VALUES ('00000000000022');
INSERT INTO feed_lease (id, lease_owner, lease_until) VALUES (1, NULL, NULL);
INSERT INTO feed_position (id, position, last_job_seq, pruned_before, pruned_to, read_at) VALUES (1, NULL, 0, NULL, 0, NULL);
INSERT INTO revision_counter (id, value, filters_logged_since, filters_logged_to) VALUES (1, 0, 0, 0);
