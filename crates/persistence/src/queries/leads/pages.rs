//! Pages of a campaign's list. Each job on a page becomes a lead.

use std::collections::{HashMap, HashSet};

use bidloop_domain::model::{CampaignId, JobId, Lead, LeadWithJob, OrganizationId};
use bidloop_domain::port::{LeadPage, StoreError};

use super::super::lists::match_list::{CampaignKey, matches_of};
use super::super::lists::served::ServedList;
use super::super::prelude::*;
use super::rows::{insert_new_leads, new_lead};

/// Which page. All offsets beyond the list's end are equal.
#[derive(Debug, Clone)]
struct Range {
    campaign: CampaignKey,
    offset: i64,
    limit: i64,
}

/// A page as it was found: some of its jobs may not be leads yet.
struct FoundPage {
    page: LeadPage,
    /// The places of leads that are not stored.
    new: Vec<usize>,
}

/// A page of the campaign's list. It writes only if it shows jobs for the first time.
pub(super) async fn page(
    store: &Store,
    organization: &OrganizationId,
    campaign: &CampaignId,
    offset: u64,
    limit: u32,
) -> Result<Option<LeadPage>, StoreError> {
    let range = Range {
        campaign: (organization.clone(), campaign.clone()),
        offset: stored(offset).min(i64::MAX / 2),
        limit: i64::from(limit),
    };
    let (reading, quarantine) = (range.clone(), store.quarantine.clone());
    let found = store
        .snapshot(async move |conn: &mut Conn| find_page(conn, &quarantine, &reading).await)
        .await?;
    match found {
        Some(found) if !found.new.is_empty() => {
            let quarantine = store.quarantine.clone();
            store
                .write(async move |conn: &mut Conn| materialized_page(conn, &quarantine, &range).await)
                .await
        }
        found => Ok(found.map(|found| found.page)),
    }
}

/// Finds the page. The matches have numbers that are dense but for one gap, so the page is one or two ranges of their
/// primary key, however far it is from the newest match. A match that cannot be read, or whose lead cannot, keeps its
/// place and is left out.
async fn find_page(
    conn: &mut Conn,
    quarantine: &Quarantine,
    range: &Range,
) -> Result<Option<FoundPage>, Failure> {
    let Some((campaign_name, list)) = ServedList::with_name(conn, quarantine, &range.campaign).await? else {
        return Ok(None);
    };
    let newest = list.total - range.offset;
    let oldest = (newest - range.limit + 1).max(1);
    let mut rows: Vec<(Attempt<Col<JobId>>, i64, Attempt<String>)> = Vec::new();
    for (first, last) in list.gap.ranges(oldest, newest) {
        let newest_first = matches_of(&range.campaign, list.generation)
            .inner_join(jobs::table.on(jobs::id.eq(matches::job_id)))
            .filter(dense_range!(matches::seq, first, last))
            .order(matches::seq.desc())
            .select((matches::job_id, matches::created_at, jobs::json));
        rows.append(&mut newest_first.load(conn).await?);
    }
    let places = rows.len();
    let mut leads = Vec::with_capacity(places);
    for (Attempt(job_id), created_at, Attempt(job_json)) in rows {
        if let (Ok(Col(job_id)), Ok(job_json)) = (job_id, job_json) {
            leads.push(LeadWithJob {
                lead: new_lead(&range.campaign, &job_id, created_at),
                job_json,
            });
        }
    }
    let mut found = FoundPage {
        new: (0..leads.len()).collect(),
        page: LeadPage {
            total: u64::try_from(list.total).unwrap_or(0),
            campaign_name,
            unreadable: places - leads.len(),
            leads,
        },
    };
    found.look_up_leads(conn, quarantine).await?;
    Ok(Some(found))
}

impl FoundPage {
    fn new_leads(&self) -> impl Iterator<Item = &Lead> {
        self.new.iter().map(|place| &self.page.leads[*place].lead)
    }

    /// Replaces leads that were not stored by what is stored now.
    ///
    /// Leads are not joined, and found by their ids alone: as long as PostgreSQL has no statistics of the tables, it
    /// takes all of an organization's leads for one row and reads them all for each match.
    async fn look_up_leads(&mut self, conn: &mut Conn, quarantine: &Quarantine) -> Result<(), Failure> {
        let ids: Vec<&str> = self.new_leads().map(|lead| lead.id.as_str()).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let rows: Vec<(String, Tried<Lead>)> = leads::table
            .filter(one_of!(leads::id, ids))
            .select((leads::id, Tried::<Lead>::as_select()))
            .load(conn)
            .await?;
        let mut stored: HashMap<String, Option<Lead>> = rows
            .into_iter()
            .map(|(id, lead)| (id, lead.or_aside(quarantine)))
            .collect();
        let mut unreadable = HashSet::new();
        self.new.retain(|place| {
            let lead = &mut self.page.leads[*place].lead;
            match stored.remove(lead.id.as_str()) {
                Some(Some(stored)) => *lead = stored,
                Some(None) => {
                    unreadable.insert(*place);
                }
                None => return true,
            }
            false
        });
        if !unreadable.is_empty() {
            self.leave_out(&unreadable);
        }
        Ok(())
    }

    /// Takes leads off the page.
    fn leave_out(&mut self, places: &HashSet<usize>) {
        let leads = std::mem::take(&mut self.page.leads);
        let mut moved = Vec::with_capacity(leads.len());
        for (place, lead) in leads.into_iter().enumerate() {
            moved.push(self.page.leads.len());
            if !places.contains(&place) {
                self.page.leads.push(lead);
            }
        }
        self.new = self.new.iter().map(|place| moved[*place]).collect();
        self.page.unreadable += places.len();
    }
}

/// The page, after all its jobs were made leads.
async fn materialized_page(
    conn: &mut Conn,
    quarantine: &Quarantine,
    range: &Range,
) -> Result<Option<LeadPage>, Failure> {
    let (organization, id) = &range.campaign;
    // Under this lock no match comes or goes: a lead has the createdAt of its match in the list (decision A5).
    let campaign = campaigns::table
        .find((organization.as_str(), id.as_str()))
        .select(campaigns::id);
    let _locked: Option<String> = for_share!(campaign).first(conn).await.optional()?;
    let Some(mut found) = find_page(conn, quarantine, range).await? else {
        return Ok(None);
    };
    let mut new: Vec<Lead> = found.new_leads().cloned().collect();
    // Requests that show overlapping pages insert in one order, so there is no deadlock.
    new.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    insert_new_leads(conn, &new).await?;
    // Another request may have been first, and a bid on one of its leads accepted already.
    found.look_up_leads(conn, quarantine).await?;
    Ok(Some(found.page))
}
