-- The newest lead of a campaign, from which people test its endpoints.
CREATE INDEX leads_newest ON leads (organization_id, campaign_id, created_at);
