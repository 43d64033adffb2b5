-- The bids that are being worked on.
CREATE INDEX bids_leased ON bids (organization_id, account_id, lease_until)
    WHERE status = 'queued' AND lease_until IS NOT NULL;
-- The next bid of each account.
CREATE INDEX bids_due_of_account ON bids (organization_id, account_id, next_attempt_at, queued_at, id)
    WHERE status = 'queued';
-- The bids that may be past their deadlines.
CREATE INDEX bids_given_up ON bids (deadline) WHERE status = 'queued' AND NOT answer_outstanding;
-- A lead's first changes find room in its page, and add nothing to the indexes.
ALTER TABLE leads SET (fillfactor = 85);
-- Each group of commands adds to some rows.
ALTER TABLE statistics SET (fillfactor = 50);
