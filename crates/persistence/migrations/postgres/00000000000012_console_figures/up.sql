-- The Activity pages search by two conditions at once: each pair reads only what it finds, in the order of time.
CREATE INDEX activities_of_campaign_by_outcome ON activities (organization_id, campaign_id, kind, outcome, at);
CREATE INDEX activities_of_actor_by_outcome ON activities (organization_id, actor_kind, actor_id, kind, outcome, at);
CREATE INDEX activities_of_actor_in_campaign ON activities (organization_id, actor_kind, actor_id, campaign_id, at);

-- The bids that wait, by account. It has all that the Overview reads of them.
CREATE INDEX bids_waiting ON bids (organization_id, account_id, deadline, answer_outstanding) WHERE status = 'queued';
