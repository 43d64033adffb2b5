-- Bids that the marketplace refused because the account had bid on the job by other means. Few, and asked for with each page
-- of a campaign's leads.
CREATE INDEX bids_applied_elsewhere ON bids (organization_id, campaign_id)
    WHERE status = 'failed' AND proposal_id IS NOT NULL;
