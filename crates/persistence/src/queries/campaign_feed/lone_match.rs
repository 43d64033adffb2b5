//! One match of a campaign, whether or not its lead is stored.

use std::collections::HashMap;

use bidloop_domain::model::{
    AccountSummary, Campaign, CoverLetter, JobId, JobPost, LeadId, LeadWithJob, OrganizationId,
    QuestionAnswerPair,
};
use bidloop_domain::port::{BidLetter, BidSummary, LeadContext};

use super::super::leads::context::{account_of_campaign, lead_context};
use super::super::leads::rows::new_lead;
use super::super::lists::match_list::{CampaignKey, matches_of};
use super::super::lists::served::{ServedList, matched_at};
use super::super::prelude::*;

/// A campaign with its served generation, its subscription and its account.
type CampaignRow = (i64, Tried<Campaign>, Option<Tried<AccountSummary>>);

/// A bid with its letter and answers.
type BidRow = (
    Tried<BidSummary>,
    Attempt<Col<CoverLetter>>,
    Attempt<Col<Vec<QuestionAnswerPair>>>,
);

pub(super) async fn find_match(
    conn: &mut Conn,
    quarantine: &Quarantine,
    key: &CampaignKey,
    job: &JobId,
) -> Result<Option<LeadContext>, Failure> {
    let (organization, id) = key;
    let lead = LeadId::derive(organization, id, job);
    if let Some(found) = lead_context(conn, quarantine, organization, &lead).await? {
        let has_campaign = found.campaign.is_some();
        return Ok(Some(found).filter(|_| has_campaign));
    }
    let campaign: Option<CampaignRow> = campaigns::table
        .inner_join(organizations::table.on(organizations::id.eq(campaigns::organization_id)))
        .left_join(bidder_accounts::table.on(account_of_campaign()))
        .filter(campaigns::organization_id.eq(organization.as_str()))
        .filter(campaigns::id.eq(id.as_str()))
        .select((
            campaigns::generation,
            Tried::<Campaign>::as_select(),
            Option::<Tried<AccountSummary>>::as_select(),
        ))
        .first(conn)
        .await
        .optional()?;
    let Some((generation, campaign, account)) = campaign else {
        return Ok(None);
    };
    let Some(created_at) = matched_at(conn, key, generation, job).await? else {
        return Ok(None);
    };
    let job_json: String = jobs::table
        .find(job.as_str())
        .select(jobs::json)
        .first(conn)
        .await?;
    let campaign = campaign.required(quarantine)?;
    let account = account.map(|account| account.required(quarantine)).transpose()?;
    Ok(Some(LeadContext {
        lead: LeadWithJob {
            lead: new_lead(key, job, created_at),
            job_json,
        },
        campaign: Some(Campaign { account, ..campaign }),
        attachments: Vec::new(),
        bid: None,
    }))
}

pub(super) async fn job_of_lead(
    conn: &mut Conn,
    key: &CampaignKey,
    lead: &LeadId,
    newest: u32,
) -> Result<Option<JobId>, Failure> {
    let (organization, campaign) = key;
    let Some(list) = ServedList::of(conn, key).await? else {
        return Ok(None);
    };
    let oldest = (list.total - i64::from(newest) + 1).max(1);
    for (first, last) in list.gap.ranges(oldest, list.total) {
        let jobs: Vec<Attempt<Col<JobId>>> = matches_of(key, list.generation)
            .filter(dense_range!(matches::seq, first, last))
            .order(matches::seq.desc())
            .select(matches::job_id)
            .load(conn)
            .await?;
        let mut jobs = jobs.into_iter().filter_map(|job| Some(job.0.ok()?.0));
        let of_lead = |job: &JobId| LeadId::derive(organization, campaign, job) == *lead;
        if let Some(job) = jobs.find(of_lead) {
            return Ok(Some(job));
        }
    }
    Ok(None)
}

pub(super) async fn lead_titles(
    conn: &mut Conn,
    organization: &OrganizationId,
    leads: &[LeadId],
) -> Result<HashMap<LeadId, String>, Failure> {
    let rows: Vec<(Attempt<Col<LeadId>>, String)> = leads::table
        .inner_join(jobs::table.on(jobs::id.eq(leads::job_id)))
        .filter(leads::organization_id.eq(organization.as_str()))
        .filter(one_of!(leads::id, leads.iter().map(LeadId::as_str)))
        .select((leads::id, jobs::json))
        .load(conn)
        .await?;
    let titles = rows.into_iter().filter_map(|(lead, json)| {
        let post = JobPost::parse(&json).ok()?;
        Some((lead.0.ok()?.0, post.title))
    });
    Ok(titles.collect())
}

pub(super) async fn latest_bid(
    conn: &mut Conn,
    quarantine: &Quarantine,
    organization: &OrganizationId,
    lead: &LeadId,
) -> Result<Option<(BidSummary, BidLetter)>, Failure> {
    let bid: Option<Option<String>> = leads::table
        .find((organization.as_str(), lead.as_str()))
        .select(leads::bid_id)
        .first(conn)
        .await
        .optional()?;
    let Some(bid) = bid.flatten() else {
        return Ok(None);
    };
    let (summary, letter, answers): BidRow = bids::table
        .find((organization.as_str(), bid.as_str()))
        .select((
            Tried::<BidSummary>::as_select(),
            bids::cover_letter,
            bids::answers,
        ))
        .first(conn)
        .await?;
    // A pruned letter is empty, which no letter is.
    let letter = BidLetter {
        cover_letter: letter.0.ok().map(|letter| letter.0),
        answers: answers.0.map(|answers| answers.0).unwrap_or_default(),
    };
    Ok(Some((summary.required(quarantine)?, letter)))
}
