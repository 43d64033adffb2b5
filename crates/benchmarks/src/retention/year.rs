//! A year of activity, made by SQL: jobs that four campaigns list, some of them leads, with bids, deliveries and Activity
//! entries that ended long ago.

use std::fmt::Write as _;

use anyhow::Result;
use bidloop_domain::model::{CampaignId, JobId, LeadId, OrganizationId};
use serde_json::json;

use crate::database::Database;
use crate::matching::posts::now_ms;
use crate::world::{ORGANIZATION, World, organization};

/// The campaigns that list every job.
pub(super) const LISTS: [&str; 4] = ["list_0", "list_1", "list_2", "list_3"];
const DAY_MS: i64 = 24 * 60 * 60 * 1000;
/// One job in this many is a lead of the first two lists.
const LEAD_EACH: i64 = 10;
/// Leads that one statement stores.
const LEADS_AT_ONCE: usize = 5_000;

/// How many rows of each kind there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Year {
    jobs: i64,
    activities: i64,
    deliveries: i64,
    bids: i64,
}

impl Year {
    /// Some `rows` in all.
    pub(super) fn of(rows: u32) -> Self {
        let rows = i64::from(rows);
        Self {
            jobs: rows / 10,
            activities: rows / 4,
            deliveries: rows / 5,
            bids: rows / 20,
        }
    }

    pub(super) fn rows(self) -> i64 {
        let lists = 4;
        self.jobs * (1 + lists) + 2 * self.jobs / LEAD_EACH + self.activities + self.deliveries + self.bids
    }

    /// Provisions the organization and stores the rows, the last of them a week old.
    pub(super) fn fill(self, world: &World<'_>) -> Result<()> {
        let campaigns = LISTS.map(|list| (list.to_owned(), Some(json!({}))));
        world.installation.apply(&organization(campaigns.into_iter()))?;
        let database = &world.database;
        let first = now_ms() - 372 * DAY_MS;
        let last = first + 365 * DAY_MS;
        let moment = |count: i64| format!("({first} + i * {})", (last - first) / count.max(1));
        let text = "Some words of a text that is as long as texts are. ".repeat(16);
        let digest = "(i * 2654435761 % 4294967296) || '_' || i";
        let (posted, jobs) = (moment(self.jobs), self.jobs);
        let blob = match database {
            Database::Sqlite(_) => "zeroblob(129)",
            Database::Postgres(_) => "decode(repeat('00', 129), 'hex')",
        };
        let number = "'18' || (1000000000000 + i)";
        database.execute(&format!(
            "WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < {jobs}) \
             INSERT INTO jobs (id, seq, posted_at, json) SELECT {number}, i, {posted}, \
             '{{\"id\":\"' || {number} || '\",\"ciphertext\":\"~' || i || '\",\"title\":\"Old\",\"description\":\"{text}\",\
             \"url\":\"/jobs/' || i || '\",\"postedAt\":' || {posted} || '}}' FROM n; \
             INSERT INTO job_signatures (seq, signature) SELECT seq, {blob} FROM jobs; \
             INSERT INTO matches (organization_id, campaign_id, generation, seq, job_id, created_at) \
             SELECT c.organization_id, c.id, c.generation, j.seq, j.id, j.posted_at FROM campaigns c, jobs j \
             ORDER BY c.id, j.seq; \
             UPDATE campaigns SET match_total = {jobs}, last_match_at = (SELECT max(posted_at) FROM jobs); \
             UPDATE feed_position SET last_job_seq = {jobs}; \
             INSERT INTO job_ages (at, last_job_seq) SELECT max(posted_at), max(seq) FROM jobs"
        ))?;
        self.leads(database, first, last)?;
        let (at, count) = (moment(self.activities), self.activities);
        database.execute(&format!(
            "WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < {count}) \
             INSERT INTO activities (organization_id, id, at, campaign_id, lead_id, kind, actor_kind, outcome, \
             dry_run, message, details) SELECT '{ORGANIZATION}', {digest}, {at}, 'list_0', 'lead_' || (i / 3), \
             'delivery', 'service', 'delivered', {no}, 'Delivered.', '{{\"responseStatus\":200}}' FROM n",
            no = match database {
                Database::Sqlite(_) => "0",
                Database::Postgres(_) => "false",
            },
        ))?;
        let (at, count) = (moment(self.deliveries), self.deliveries);
        database.execute(&format!(
            "WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < {count}) \
             INSERT INTO deliveries (organization_id, id, endpoint_id, campaign_id, lead_id, event, created_at, \
             state, ended_at) SELECT '{ORGANIZATION}', {digest}, 'endpoint', 'list_0', 'lead_' || (i / 3), \
             'job.new', {at}, 'delivered', {at} FROM n"
        ))?;
        let (at, count) = (moment(self.bids), self.bids);
        database.execute(&format!(
            "WITH RECURSIVE n(i) AS (SELECT CAST(1 AS BIGINT) UNION ALL SELECT i + 1 FROM n WHERE i < {count}) \
             INSERT INTO bids (organization_id, id, campaign_id, lead_id, job_id, account_id, cover_letter, answers, \
             config, attachments, queued_at, period_start, deadline, status, next_attempt_at, attempts, proposal, \
             answer_outstanding, boost_connects, connects_spent, ended_at) SELECT '{ORGANIZATION}', {digest}, \
             'list_0', 'lead_' || i, 'job_' || i, 'account', '{text}', '[]', '{{}}', '[]', {at}, {first}, {at}, \
             'failed', {at}, 1, '{text}', {no}, 0, 0, {at} FROM n",
            no = match database {
                Database::Sqlite(_) => "0",
                Database::Postgres(_) => "false",
            },
        ))?;
        if matches!(database, Database::Postgres(_)) {
            // As autovacuum has done for a year.
            database.execute("VACUUM ANALYZE")?;
        }
        Ok(())
    }

    /// Their ids are the program's, so that listing finds them.
    fn leads(self, database: &Database<'_>, first: i64, last: i64) -> Result<()> {
        let organization = OrganizationId::parse(ORGANIZATION)?;
        let mut rows = Vec::new();
        for list in &LISTS[..2] {
            let campaign = CampaignId::parse(list)?;
            for number in (LEAD_EACH..=self.jobs).step_by(usize::try_from(LEAD_EACH)?) {
                let job = format!("18{}", 1_000_000_000_000 + number);
                let id = LeadId::derive(&organization, &campaign, &JobId::parse(&job)?);
                let at = first + number * ((last - first) / self.jobs.max(1));
                rows.push(format!(
                    "('{ORGANIZATION}', '{id}', '{list}', '{job}', {at}, 'new', '{{}}')"
                ));
            }
        }
        for some in rows.chunks(LEADS_AT_ONCE) {
            let mut statement =
                "INSERT INTO leads (organization_id, id, campaign_id, job_id, created_at, status, \
                                 bidding_config) VALUES "
                    .to_owned();
            write!(statement, "{}", some.join(", "))?;
            database.execute(&statement)?;
        }
        Ok(())
    }
}

/// The rows that pruning may remove, those of new jobs not counted.
pub(super) fn left(world: &World<'_>) -> Result<i64> {
    let old = now_ms() - 2 * DAY_MS;
    let mut rows = 0;
    for count in [
        "SELECT count(*) FROM activities".to_owned(),
        "SELECT count(*) FROM deliveries".to_owned(),
        "SELECT count(*) FROM bids WHERE ended_at IS NOT NULL AND cover_letter <> ''".to_owned(),
        format!("SELECT count(*) FROM jobs WHERE posted_at < {old}"),
        format!("SELECT count(*) FROM matches WHERE created_at < {old}"),
    ] {
        rows += world.database.number(&count)?;
    }
    Ok(rows)
}

/// Makes the lists as if all old matches had been pruned.
pub(super) fn clear_lists(world: &World<'_>) -> Result<()> {
    let old = now_ms() - 2 * DAY_MS;
    let of_campaign = "m.organization_id = campaigns.organization_id AND m.campaign_id = campaigns.id \
                       AND m.generation = campaigns.generation";
    world.database.execute(&format!(
        "DELETE FROM matches WHERE created_at < {old}; \
         UPDATE campaigns SET match_settled = 0, \
         match_total = (SELECT count(*) FROM matches m WHERE {of_campaign}), \
         match_gap = (SELECT min(m.seq) - 1 FROM matches m WHERE {of_campaign})"
    ))
}

/// How many lists have another length than their total, a place without a match, or a match before an older one.
pub(super) fn faults(world: &World<'_>) -> Result<i64> {
    let of_campaign =
        "m.organization_id = c.organization_id AND m.campaign_id = c.id AND m.generation = c.generation";
    let numbered = "m.seq BETWEEN 1 AND c.match_settled OR \
                    m.seq BETWEEN c.match_settled + c.match_gap + 1 AND c.match_total + c.match_gap";
    let lengths = world.database.number(&format!(
        "SELECT count(*) FROM campaigns c WHERE c.match_total <> (SELECT count(*) FROM matches m \
         WHERE {of_campaign} AND ({numbered})) OR c.match_total <> (SELECT count(*) FROM matches m WHERE {of_campaign})"
    ))?;
    let orders = world.database.number(&format!(
        "SELECT count(*) FROM (SELECT m.created_at, lag(m.created_at) OVER (PARTITION BY m.campaign_id ORDER BY m.seq) \
         AS older FROM matches m JOIN campaigns c ON {of_campaign}) AS pairs WHERE created_at < older"
    ))?;
    let missing = world.database.number(
        "SELECT count(*) FROM matches m WHERE NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = m.job_id)",
    )?;
    Ok(lengths + orders + missing)
}
