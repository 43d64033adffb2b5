//! Pages of a campaign's list. Each job on a page becomes a lead.

use std::collections::HashMap;
use std::sync::Arc;

use bidloop_domain::model::{
    CampaignId, JobId, Lead, LeadId, LeadStatus, ListedLead, OrganizationId, Reason, Timestamp,
};
use bidloop_domain::port::{JobContent, LeadPage, StoreError};
use diesel::dsl::{exists, not};
use diesel::sql_types::Bool;

use super::super::lists::match_list::{CampaignKey, matches_of};
use super::super::lists::served::{
    ServedCampaign, ServedList, ServedLists, StoredLead, applied_elsewhere, if_unchanged, stored_lead,
};
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
    /// The leads of the page that are not stored.
    new: Vec<Lead>,
    /// Those that were found stored with the `createdAt` of their match.
    stored: Vec<StoredLead>,
}

/// What was found of a page.
enum Found {
    Page(FoundPage),
    NoCampaign,
    /// The list was changed between two statements, or matches are missing.
    Changed,
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
    let known = Arc::clone(&store.served_lists);
    let find = async move |conn: &mut Conn| find_page(conn, &quarantine, &known, &reading).await;
    let found = match store.look_up(find.clone()).await? {
        Found::Changed => store.snapshot(find).await?,
        found => found,
    };
    match found {
        Found::Page(found) if found.new.is_empty() => Ok(Some(found.page)),
        Found::NoCampaign => Ok(None),
        Found::Page(_) | Found::Changed => {
            let quarantine = store.quarantine.clone();
            let work = async move |conn: &mut Conn| materialized_page(conn, &quarantine, &range).await;
            store.write_for(organization, work).await
        }
    }
}

/// The content that jobs have now.
pub(super) async fn job_contents(store: &Store, jobs: &[JobId]) -> Result<Vec<JobContent>, StoreError> {
    let ids: Vec<String> = jobs.iter().map(JobId::to_string).collect();
    store
        .read(async move |conn: &mut Conn| {
            let rows: Vec<(Col<JobId>, i64, Attempt<String>)> = jobs::table
                .filter(one_of!(jobs::id, &ids))
                .select((jobs::id, jobs::seq, jobs::json))
                .load(conn)
                .await?;
            let contents = rows.into_iter().filter_map(|(Col(job_id), seq, Attempt(json))| {
                let json = json.ok()?;
                Some(JobContent { job_id, seq, json })
            });
            Ok(contents.collect())
        })
        .await
}

/// Finds the page, each statement on the last commit before it.
async fn find_page(
    conn: &mut Conn,
    quarantine: &Quarantine,
    known: &ServedLists,
    range: &Range,
) -> Result<Found, Failure> {
    // An empty page would not show that the list was changed.
    let mut served = known
        .of(&range.campaign)
        .filter(|served| range.places(&served.list) > 0);
    let mut page = match &served {
        Some(served) => whole_page(conn, range, served).await?,
        None => None,
    };
    if page.is_none() {
        served = ServedCampaign::of(conn, quarantine, &range.campaign).await?;
        let Some(served) = &served else {
            return Ok(Found::NoCampaign);
        };
        known.remember(&range.campaign, served);
        page = whole_page(conn, range, served).await?;
    }
    let (Some(served), Some(page)) = (served, page) else {
        return Ok(Found::Changed);
    };
    let known_of_new = (!served.applied_elsewhere).then_some(known);
    let found = look_up_leads(conn, quarantine, known_of_new, range, page).await?;
    // Nothing is written here, so what is found is committed.
    known.note_stored(&found.stored);
    Ok(Found::Page(found))
}

/// The page as [`listed_jobs`] has it. `None` if the list was changed.
async fn whole_page(
    conn: &mut Conn,
    range: &Range,
    served: &ServedCampaign,
) -> Result<Option<LeadPage>, Failure> {
    let page = listed_jobs(conn, range, served).await?;
    let is_whole = page.leads.len() + page.unreadable >= range.places(&served.list);
    Ok(is_whole.then_some(page))
}

impl Range {
    /// The oldest and the newest place of the page; the oldest is the greater one if the page is empty.
    fn ends(&self, list: &ServedList) -> (i64, i64) {
        let newest = list.total - self.offset;
        ((newest - self.limit + 1).max(1), newest)
    }

    /// How many places the page has.
    fn places(&self, list: &ServedList) -> usize {
        let (oldest, newest) = self.ends(list);
        usize::try_from(newest - oldest + 1).unwrap_or(0)
    }
}

/// The page, as its matches have it: of each, whether its lead is `new`. The matches have numbers that are dense but for one
/// gap, so the page is one or two ranges of their primary key, however far it is from the newest match. A match that cannot
/// be read keeps its place and is left out.
///
/// If what was read of the campaign is not so any more, no match is found.
async fn listed_jobs(conn: &mut Conn, range: &Range, served: &ServedCampaign) -> Result<LeadPage, Failure> {
    let (organization, campaign) = &range.campaign;
    let ServedCampaign { name, list, .. } = served;
    let (oldest, newest) = range.ends(list);
    let mut rows: Vec<ListedMatch> = Vec::new();
    for (first, last) in list.gap.ranges(oldest, newest) {
        let newest_first = matches_of(&range.campaign, list.generation)
            .inner_join(jobs::table.on(jobs::id.eq(matches::job_id)))
            // Together with the limit, PostgreSQL knows that it is a short range of the primary key.
            .filter(matches::seq.between(first, last))
            .filter(exists(
                if_unchanged(&range.campaign, list).filter(campaigns::name.eq(Col(name.clone()))),
            ))
            .filter(
                served
                    .applied_elsewhere
                    .into_sql::<Bool>()
                    .or(not(exists(applied_elsewhere(&range.campaign)))),
            )
            .order(matches::seq.desc())
            .limit(last - first + 1)
            .select((
                matches::job_id,
                matches::created_at,
                jobs::seq,
                matches::lead_status.eq(LeadStatus::New.as_str()),
            ));
        rows.append(&mut newest_first.load(conn).await?);
    }
    let places = rows.len();
    let leads: Vec<ListedLead> = rows
        .into_iter()
        .filter_map(|(Attempt(job_id), created_at, job_seq, is_new)| {
            let Col(job_id) = job_id.ok()?;
            Some(ListedLead {
                id: LeadId::derive(organization, campaign, &job_id),
                job_id,
                job_seq,
                created_at: Timestamp::from_millis(created_at),
                // `Failed` stands for every other status. Such a lead is looked up.
                status: if is_new {
                    LeadStatus::New
                } else {
                    LeadStatus::Failed
                },
                reason: None,
                proposal_id: None,
            })
        })
        .collect();
    Ok(LeadPage {
        total: u64::try_from(list.total).unwrap_or(0),
        campaign_name: name.clone(),
        unreadable: places - leads.len(),
        leads,
    })
}

/// A match's job, `createdAt`, number of the job's content, and whether its lead is `new`.
type ListedMatch = (Attempt<Col<JobId>>, i64, i64, bool);

/// Gives the page's leads what is stored of them, unless it is `known` that they are stored as the page has them. A lead that
/// cannot be read is left out.
///
/// Leads are not joined, and found by their ids alone: as long as PostgreSQL has no statistics of the tables, it takes all
/// of an organization's leads for one row and reads them all for each match.
async fn look_up_leads(
    conn: &mut Conn,
    quarantine: &Quarantine,
    known: Option<&ServedLists>,
    range: &Range,
    mut page: LeadPage,
) -> Result<FoundPage, Failure> {
    let (mut new, mut stored) = (Vec::new(), Vec::new());
    let is_known = |lead: &ListedLead| {
        lead.status == LeadStatus::New && known.is_some_and(|known| known.is_stored(lead))
    };
    let are_known: Vec<bool> = page.leads.iter().map(is_known).collect();
    let unknown = page
        .leads
        .iter()
        .zip(&are_known)
        .filter(|(_, is_known)| !**is_known);
    let ids: Vec<&str> = unknown.map(|(lead, _)| lead.id.as_str()).collect();
    if ids.is_empty() {
        return Ok(FoundPage { page, new, stored });
    }
    let rows: Vec<(String, StoredState)> = leads::table
        .filter(one_of!(leads::id, ids))
        .select((
            leads::id,
            (
                leads::created_at,
                leads::status,
                leads::reason,
                leads::proposal_id,
            ),
        ))
        .load(conn)
        .await?;
    let mut states: HashMap<String, StoredState> = rows.into_iter().collect();
    let organization = &range.campaign.0;
    let mut are_known = are_known.into_iter();
    page.leads.retain_mut(|lead| {
        if are_known.next() == Some(true) {
            return true;
        }
        let Some(state) = states.remove(lead.id.as_str()) else {
            lead.status = LeadStatus::New;
            new.push(new_lead(
                &range.campaign,
                &lead.job_id,
                lead.created_at.as_millis(),
            ));
            return true;
        };
        let matched_at = lead.created_at;
        let shown = show(lead, state);
        if let Err(why) = &shown {
            let row = UnreadableRow::of_organization("leads", organization, lead.id.as_str(), why);
            quarantine.set_aside(&row);
            page.unreadable += 1;
        } else if lead.created_at == matched_at {
            stored.extend(stored_lead(lead));
        }
        shown.is_ok()
    });
    Ok(FoundPage { page, new, stored })
}

/// What a page says of a stored lead: `createdAt`, status, reason, and the proposal's id.
type StoredState = (
    i64,
    Attempt<Col<LeadStatus>>,
    Attempt<Option<Col<Reason>>>,
    Attempt<Option<Col<String>>>,
);

/// Gives the lead what is stored of it, or says what cannot be read.
fn show(
    lead: &mut ListedLead,
    (created_at, Attempt(status), Attempt(reason), Attempt(proposal_id)): StoredState,
) -> Result<(), String> {
    lead.created_at = Timestamp::from_millis(created_at);
    lead.status = status.map_err(|why| format!("status cannot be read: {why}"))?.0;
    let reason = reason.map_err(|why| format!("reason cannot be read: {why}"))?;
    lead.reason = reason.map(|reason| reason.0);
    let proposal_id = proposal_id.map_err(|why| format!("proposal_id cannot be read: {why}"))?;
    lead.proposal_id = proposal_id.map(|id| id.0);
    Ok(())
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
    let Some(served) = ServedCampaign::of(conn, quarantine, &range.campaign).await? else {
        return Ok(None);
    };
    let page = listed_jobs(conn, range, &served).await?;
    let FoundPage { page, mut new, .. } = look_up_leads(conn, quarantine, None, range, page).await?;
    // Requests that show overlapping pages insert in one order, so there is no deadlock.
    new.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    if insert_new_leads(conn, &new).await? == new.len() {
        return Ok(Some(page));
    }
    // Another request was first, and a bid on one of its leads may be accepted already.
    let found = look_up_leads(conn, quarantine, None, range, page).await?;
    Ok(Some(found.page))
}
