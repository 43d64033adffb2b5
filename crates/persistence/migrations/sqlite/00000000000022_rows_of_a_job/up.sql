-- The unique keys find all rows of a job, too, if they begin with it.
DROP INDEX matches_of_job;
DROP INDEX matches_once_a_job;
CREATE UNIQUE INDEX matches_once_a_job ON matches (job_id, organization_id, campaign_id, generation);
DROP INDEX leads_of_job;
DROP INDEX leads_once_a_job;
CREATE UNIQUE INDEX leads_once_a_job ON leads (job_id, organization_id, campaign_id);
