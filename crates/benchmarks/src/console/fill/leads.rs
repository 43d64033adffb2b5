//! Leads and their bids.

use std::fmt::Write as _;

use anyhow::Result;
use bidloop_domain::model::{BiddingConfig, CampaignId, JobId, LeadId, OrganizationId, effective};

use super::{CAMPAIGN, Job, OTHERS, ROWS_AT_ONCE, no};
use crate::database::Database as Raw;
use crate::world::{ORGANIZATION, PERIOD_START};

const LETTER: &str = "Hello, I have built two systems of this kind that have been in daily use for years. I would start \
                      with the part that everything else hangs on, and show it to you running within three days.";

/// Makes leads of the matches: half of them new, a quarter rejected, the others with a bid that ended.
pub(super) fn store(raw: &Raw<'_>, jobs: &[Job]) -> Result<()> {
    for (number, some) in jobs.chunks(ROWS_AT_ONCE).enumerate() {
        let first = number * ROWS_AT_ONCE;
        let all = some
            .iter()
            .enumerate()
            .map(|(place, job)| (first + place, CAMPAIGN, job));
        store_some(raw, all)?;
        let others = some.iter().enumerate().filter_map(|(place, job)| {
            let number = first + place;
            let campaign = OTHERS.get(number % 10)?;
            (number % 20 < 10).then_some((number, *campaign, job))
        });
        store_some(raw, others)?;
    }
    raw.execute(
        "UPDATE matches SET lead_status = l.status FROM leads AS l WHERE l.status <> 'new' \
         AND matches.job_id = l.job_id AND matches.campaign_id = l.campaign_id \
         AND matches.organization_id = l.organization_id",
    )
}

fn store_some<'j>(raw: &Raw<'_>, some: impl Iterator<Item = (usize, &'static str, &'j Job)>) -> Result<()> {
    let organization = OrganizationId::parse(ORGANIZATION)?;
    let none = BiddingConfig::default();
    let config = serde_json::to_string(&effective(&none, &none, &none))?;
    let no = no(raw);
    let (mut leads, mut bids) = (Vec::new(), Vec::new());
    for (number, campaign, job) in some {
        let id = LeadId::derive(
            &organization,
            &CampaignId::parse(campaign)?,
            &JobId::parse(&job.id)?,
        );
        // By a factor prime to their number, so that statuses are mixed in every campaign.
        let status = match number * 7 / 10 % 20 {
            0..10 => "new",
            10..15 => "rejected",
            15..18 => "submitted",
            18 => "skipped",
            _ => "failed",
        };
        let (job, at) = (&job.id, job.posted_at + 2_000);
        let mut bid = "NULL".to_owned();
        if !matches!(status, "new" | "rejected") {
            let of = campaign.len() + usize::from(campaign.as_bytes()[campaign.len() - 1]);
            bid = format!("'b1d{of:05}-0000-4000-8000-{number:012}'");
            bids.push(format!(
                "('{ORGANIZATION}', {bid}, '{campaign}', '{id}', '{job}', 'account', '{LETTER}', '[]', '{config}', '[]', \
                 {at}, {period}, {at}, '{status}', {at}, 1, {no}, 2, 18, {at}, '{{\"type\":\"hourly\",\"amount\":54}}')",
                period = PERIOD_START * 1000,
            ));
        }
        let reason = match status {
            "skipped" => "'{\"code\":\"already_hired\",\"message\":\"The client already hired someone.\"}'",
            "failed" => "'{\"code\":\"job_closed\",\"message\":\"The job takes no more proposals.\"}'",
            _ => "NULL",
        };
        leads.push(format!(
            "('{ORGANIZATION}', '{id}', '{campaign}', '{job}', {at}, '{status}', '{{}}', {bid}, {reason})"
        ));
    }
    let mut statement = String::new();
    if !leads.is_empty() {
        write!(
            statement,
            "INSERT INTO leads (organization_id, id, campaign_id, job_id, created_at, status, bidding_config, bid_id, \
             reason) VALUES {};",
            leads.join(", "),
        )?;
    }
    if !bids.is_empty() {
        write!(
            statement,
            "INSERT INTO bids (organization_id, id, campaign_id, lead_id, job_id, account_id, cover_letter, \
             answers, config, attachments, queued_at, period_start, deadline, status, next_attempt_at, attempts, \
             answer_outstanding, boost_connects, connects_spent, ended_at, terms) VALUES {}",
            bids.join(", ")
        )?;
    }
    raw.execute(&statement)
}
