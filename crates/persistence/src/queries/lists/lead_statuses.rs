//! The status of a match's lead, kept in the match's row, so that the Feed counts and pages by status without reading
//! leads (decision E9). A match without a lead is `new`.
//!
//! A transaction that decides on a lead changes its match in the same transaction, and shares a lock on the campaign for
//! it. A transaction that writes matches of jobs that may have leads locks the campaign first and then reads the leads. So
//! neither misses what the other does. The lock on the campaign is the last but that on a delivery.

use std::collections::HashMap;
use std::ops::RangeInclusive;

use bidloop_domain::model::{JobId, Lead, LeadId, LeadStatus};

use super::super::prelude::*;
use super::match_list::{CampaignKey, matches_of};

/// Gives the lead's match the lead's new status, in the served list and in one that is being written.
pub(crate) async fn show_status(conn: &mut Conn, lead: &Lead, status: LeadStatus) -> Result<(), Failure> {
    let key = (lead.organization_id.clone(), lead.campaign_id.clone());
    let campaign = campaigns::table
        .find((key.0.as_str(), key.1.as_str()))
        .select((campaigns::generation, campaigns::last_generation));
    let generations: Option<(i64, i64)> = for_share!(campaign).first(conn).await.optional()?;
    let Some((served, last)) = generations else {
        return Ok(());
    };
    for generation in served..=last {
        let match_of_job = matches_of(&key, generation).filter(matches::job_id.eq(lead.job_id.as_str()));
        diesel::update(match_of_job)
            .set(matches::lead_status.eq(status.as_str()))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Does the same for several leads, together with the commit. Their campaigns are locked. Each lead comes with its campaign's
/// generations, from the served one to the last one.
pub(crate) async fn show_statuses<'l>(
    conn: &mut Conn,
    leads: impl Iterator<Item = (&'l Lead, LeadStatus, RangeInclusive<i64>)>,
) -> Result<(), Failure> {
    let shown: Vec<(&Lead, LeadStatus, i64)> = leads
        .flat_map(|(lead, status, generations)| generations.map(move |of| (lead, status, of)))
        .collect();
    Batch::of("matches", &shown)
        .with(matches::organization_id, |(lead, ..)| {
            lead.organization_id.as_str()
        })
        .with(matches::campaign_id, |(lead, ..)| lead.campaign_id.as_str())
        .with(matches::generation, |(.., generation)| *generation)
        .with(matches::job_id, |(lead, ..)| lead.job_id.as_str())
        .with(matches::lead_status, |(_, status, _)| status.as_str())
        .run_at_commit(conn, Write::Update(4))
        .await
}

/// Locks the campaign, so that no lead of it is decided on until this transaction ends.
pub(super) async fn lock_campaign(conn: &mut Conn, campaign: &CampaignKey) -> Result<(), Failure> {
    let row = campaigns::table
        .find((campaign.0.as_str(), campaign.1.as_str()))
        .select(campaigns::id);
    let _locked: Option<String> = for_no_key_update!(row).first(conn).await.optional()?;
    Ok(())
}

/// Those of the jobs whose leads are not `new`, with the leads' statuses. Leads are found by their ids alone: see
/// [`pages`](super::super::leads).
pub(super) async fn decided_on(
    conn: &mut Conn,
    (organization, campaign): &CampaignKey,
    jobs: impl Iterator<Item = &str> + Send,
) -> Result<HashMap<String, String>, Failure> {
    // No lead is made of a job whose id cannot be read.
    let leads: Vec<LeadId> = jobs
        .filter_map(|job| JobId::parse(job).ok())
        .map(|job| LeadId::derive(organization, campaign, &job))
        .collect();
    let leads: Vec<&str> = leads.iter().map(LeadId::as_str).collect();
    let decided: Vec<(String, String)> = leads::table
        .filter(one_of!(leads::id, leads))
        .filter(leads::status.ne(LeadStatus::New.as_str()))
        .select((leads::job_id, leads::status))
        .load(conn)
        .await?;
    Ok(decided.into_iter().collect())
}
