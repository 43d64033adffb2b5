//! Pages of a campaign's list, each job of which becomes a lead.

use std::collections::HashMap;

use bidloop_domain::model::{CampaignId, JobId, LeadWithJob, OrganizationId, Timestamp};
use bidloop_domain::port::{LeadPage, StoreError};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::{Conn, Store};
use crate::columns::{FreeText, number, read, stored};
use crate::failure::Failure;
use crate::rows::{LeadRow, ListedMatchRow};
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
    known: ListedMatchRow,
    job_json: String,
    lead: Option<LeadRow>,
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
        .read(async move |conn: &mut Conn| find_page(conn, &reading).await)
        .await?;
    match found {
        Some(found) if found.matches.iter().any(|found| found.lead.is_none()) => {
            store
                .write(async move |conn: &mut Conn| materialized_page(conn, &range).await)
                .await
        }
        Some(found) => Ok(Some(found.into_page()?)),
        None => Ok(None),
    }
}

/// Finds the page in one statement, so that number, order and leads are those of one moment. The matches' dense
/// numbers make it a range of their primary key.
async fn find_page(conn: &mut Conn, range: &Range) -> Result<Option<FoundPage>, Failure> {
    let on_page = matches::organization_id
        .eq(campaigns::organization_id)
        .and(matches::campaign_id.eq(campaigns::id))
        .and(matches::generation.eq(campaigns::generation))
        .and(matches::seq.le(campaigns::match_total - range.offset))
        .and(matches::seq.gt(campaigns::match_total - (range.offset + range.limit)));
    let lead_of_match = leads::organization_id
        .eq(matches::organization_id)
        .and(leads::campaign_id.eq(matches::campaign_id))
        .and(leads::job_id.eq(matches::job_id));
    let rows: Vec<(
        FreeText,
        i64,
        Option<ListedMatchRow>,
        Option<String>,
        Option<LeadRow>,
    )> = campaigns::table
        .left_join(matches::table.on(on_page))
        .left_join(jobs::table.on(jobs::id.eq(matches::job_id)))
        .left_join(leads::table.on(lead_of_match))
        .filter(campaigns::organization_id.eq(range.organization.as_str()))
        .filter(campaigns::id.eq(range.campaign.as_str()))
        .order(matches::seq.desc())
        .select((
            campaigns::name,
            campaigns::match_total,
            Option::<ListedMatchRow>::as_select(),
            jobs::json.nullable(),
            Option::<LeadRow>::as_select(),
        ))
        .load(conn)
        .await?;
    let mut page: Option<FoundPage> = None;
    for (name, total, known, job_json, lead) in rows {
        let page = match &mut page {
            Some(page) => page,
            none => none.insert(FoundPage {
                campaign_name: name.0,
                total: number("campaigns.match_total", total)?,
                matches: Vec::new(),
            }),
        };
        // A campaign without a match in the range is found beside none.
        let Some(known) = known else { continue };
        let Some(job_json) = job_json else {
            return Err(Failure::Corrupt(format!("job {} is gone", known.job_id)));
        };
        page.matches.push(FoundMatch {
            known,
            job_json,
            lead,
        });
    }
    Ok(page)
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
    let mut new = Vec::new();
    for found in page.matches.iter().filter(|found| found.lead.is_none()) {
        let job_id = &found.known.job_id;
        let job_id = read("matches.job_id", job_id, JobId::new(job_id.as_str()))?;
        let created_at = Timestamp::from_millis(found.known.created_at);
        new.push(LeadRow::new(
            &range.organization,
            &range.campaign,
            &job_id,
            created_at,
        ));
    }
    // Two lists that overlap insert in one order, so that neither waits for the other in a circle.
    new.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    let _inserted: usize = insert_new!(conn, leads::table, new.as_slice());
    let ids = new.iter().map(|lead| lead.id.as_str());
    let mut stored = leads_by_job(conn, &range.organization, ids.collect()).await?;
    for found in page.matches.iter_mut().filter(|found| found.lead.is_none()) {
        found.lead = stored.remove(&found.known.job_id);
    }
    page.into_page().map(Some)
}

/// As they are stored: another list may have been first, and one of its leads be bid on already.
async fn leads_by_job(
    conn: &mut Conn,
    organization: &OrganizationId,
    ids: Vec<&str>,
) -> Result<HashMap<String, LeadRow>, Failure> {
    let rows: Vec<LeadRow> = leads::table
        .filter(leads::organization_id.eq(organization.as_str()))
        .filter(leads::id.eq_any(ids))
        .select(LeadRow::as_select())
        .load(conn)
        .await?;
    Ok(rows.into_iter().map(|row| (row.job_id.clone(), row)).collect())
}

impl FoundPage {
    fn into_page(self) -> Result<LeadPage, Failure> {
        let mut leads = Vec::with_capacity(self.matches.len());
        for found in self.matches {
            let Some(lead) = found.lead else {
                return Err(Failure::Corrupt(format!(
                    "job {} has no lead",
                    found.known.job_id
                )));
            };
            leads.push(LeadWithJob {
                lead: lead.into_lead()?,
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
