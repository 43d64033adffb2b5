//! Pages of a campaign's list, each job of which becomes a lead.

use std::collections::HashMap;

use bidloop_domain::model::{CampaignId, JobId, LeadWithJob, OrganizationId, Timestamp};
use bidloop_domain::port::{LeadPage, StoreError};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::{Conn, Store};
use crate::columns::{FreeText, number, read, stored};
use crate::failure::Failure;
use crate::rows::LeadRow;
use crate::schema::{campaigns, jobs, leads, matches};

/// Which page. An offset beyond any list is as good as any other such.
#[derive(Debug, Clone)]
struct Range {
    organization: OrganizationId,
    campaign: CampaignId,
    offset: i64,
    limit: i64,
}

/// A page as it was found: some of its jobs may not be leads yet.
struct FoundPage {
    campaign_name: String,
    total: u64,
    matches: Vec<FoundMatch>,
}

struct FoundMatch {
    job_json: String,
    /// The lead as stored or, if it is not, as it will be.
    lead: LeadRow,
    is_stored: bool,
}

/// A page of the campaign's list. Only one that shows jobs for the first time writes.
pub(super) async fn page(
    store: &Store,
    organization: &OrganizationId,
    campaign: &CampaignId,
    offset: u64,
    limit: u32,
) -> Result<Option<LeadPage>, StoreError> {
    let range = Range {
        organization: organization.clone(),
        campaign: campaign.clone(),
        offset: stored(offset).min(i64::MAX / 2),
        limit: i64::from(limit),
    };
    let reading = range.clone();
    let found = store
        .snapshot(async move |conn: &mut Conn| find_page(conn, &reading).await)
        .await?;
    match found {
        Some(found) if !found.is_stored() => {
            store
                .write(async move |conn: &mut Conn| materialized_page(conn, &range).await)
                .await
        }
        Some(found) => Ok(Some(found.into_page()?)),
        None => Ok(None),
    }
}

/// Finds the page. The matches' dense numbers make it a range of their primary key, however far from the newest.
async fn find_page(conn: &mut Conn, range: &Range) -> Result<Option<FoundPage>, Failure> {
    let campaign: Option<(FreeText, i64, i64)> = campaigns::table
        .find((range.organization.as_str(), range.campaign.as_str()))
        .select((campaigns::name, campaigns::generation, campaigns::match_total))
        .first(conn)
        .await
        .optional()?;
    let Some((name, generation, total)) = campaign else {
        return Ok(None);
    };
    let newest = total - range.offset;
    let oldest = (newest - range.limit + 1).max(1);
    let mut page = FoundPage {
        campaign_name: name.0,
        total: number("campaigns.match_total", total)?,
        matches: Vec::new(),
    };
    if oldest > newest {
        return Ok(Some(page));
    }
    let rows: Vec<(String, i64, String)> = matches::table
        .inner_join(jobs::table.on(jobs::id.eq(matches::job_id)))
        .filter(matches::organization_id.eq(range.organization.as_str()))
        .filter(matches::campaign_id.eq(range.campaign.as_str()))
        .filter(matches::generation.eq(generation))
        .filter(dense_range!(matches::seq, oldest, newest))
        .order(matches::seq.desc())
        .select((matches::job_id, matches::created_at, jobs::json))
        .load(conn)
        .await?;
    for (job_id, created_at, job_json) in rows {
        let job_id = read("matches.job_id", &job_id, JobId::parse(&job_id))?;
        let created_at = Timestamp::from_millis(created_at);
        page.matches.push(FoundMatch {
            job_json,
            lead: LeadRow::new(&range.organization, &range.campaign, &job_id, created_at),
            is_stored: false,
        });
    }
    look_up_leads(conn, &mut page).await?;
    Ok(Some(page))
}

/// Replaces leads that were not stored by what is stored now.
///
/// This is no join, and ids alone are asked for: as long as PostgreSQL knows little of the tables, it takes all of
/// an organization's leads for one row and reads them all, once a match.
async fn look_up_leads(conn: &mut Conn, page: &mut FoundPage) -> Result<(), Failure> {
    let ids: Vec<String> = page.missing().map(|lead| lead.id.clone()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let rows: Vec<LeadRow> = leads::table
        .filter(leads::id.eq_any(ids))
        .select(LeadRow::as_select())
        .load(conn)
        .await?;
    let mut stored: HashMap<String, LeadRow> = rows.into_iter().map(|row| (row.id.clone(), row)).collect();
    for found in page.matches.iter_mut().filter(|found| !found.is_stored) {
        if let Some(lead) = stored.remove(&found.lead.id) {
            found.lead = lead;
            found.is_stored = true;
        }
    }
    Ok(())
}

/// The page, every job of which is a lead.
async fn materialized_page(conn: &mut Conn, range: &Range) -> Result<Option<LeadPage>, Failure> {
    // While this lasts, no match comes or goes: a lead's createdAt is that of its match in the list (decision A5).
    let campaign = campaigns::table
        .find((range.organization.as_str(), range.campaign.as_str()))
        .select(campaigns::id);
    let _locked: Option<String> = for_share!(campaign).first(conn).await.optional()?;
    let Some(mut page) = find_page(conn, range).await? else {
        return Ok(None);
    };
    let mut new: Vec<LeadRow> = page.missing().cloned().collect();
    // Two lists that overlap insert in one order, so that neither waits for the other in a circle.
    new.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    let _inserted: usize = insert_new!(conn, leads::table, new.as_slice());
    // Another list may have been first, and one of its leads be bid on already.
    look_up_leads(conn, &mut page).await?;
    page.into_page().map(Some)
}

impl FoundPage {
    fn missing(&self) -> impl Iterator<Item = &LeadRow> {
        self.matches
            .iter()
            .filter(|found| !found.is_stored)
            .map(|found| &found.lead)
    }

    fn is_stored(&self) -> bool {
        self.matches.iter().all(|found| found.is_stored)
    }

    fn into_page(self) -> Result<LeadPage, Failure> {
        let mut leads = Vec::with_capacity(self.matches.len());
        for found in self.matches {
            leads.push(LeadWithJob {
                lead: found.lead.into_lead()?,
                job_json: found.job_json,
            });
        }
        Ok(LeadPage {
            total: self.total,
            campaign_name: self.campaign_name,
            leads,
        })
    }
}
