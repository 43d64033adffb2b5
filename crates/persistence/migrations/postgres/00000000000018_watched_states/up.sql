-- What is watched over in the whole installation. These are few rows of large tables.
CREATE INDEX bidder_accounts_disconnected ON bidder_accounts (organization_id, id) WHERE NOT connected;
CREATE INDEX bids_unanswered ON bids (deadline) WHERE status = 'queued' AND answer_outstanding;
CREATE INDEX organizations_lapsed ON organizations (id) WHERE subscription_status <> 'active' OR collection_paused;
