//! Jobs that come again with other content: matched as a changed filter would match them; nothing is sent or bid
//! (decision D4).

use std::collections::{BTreeMap, HashMap, HashSet};

use bidloop_domain::model::{CampaignId, LeadId, OrganizationId, Timestamp};
use bidloop_domain::port::PageCounts;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::Conn;
use super::campaign_lists::CampaignLists;
use super::jobs::Arrival;
use super::match_lists::{CampaignKey, Entry, VALUES_AT_ONCE};
use crate::columns::read;
use crate::failure::Failure;
use crate::schema::{campaigns, leads, matches};

/// The campaigns that list a job, by its id.
pub(super) type Listed = HashMap<String, HashSet<CampaignKey>>;

/// What a campaign's list loses and gains.
#[derive(Default)]
struct Edit<'p> {
    lost: Vec<&'p str>,
    gained: Vec<(LeadId, &'p Arrival<'p>)>,
}

/// Which campaigns list the jobs so far.
pub(super) async fn campaigns_that_list(conn: &mut Conn, changed: &[Arrival<'_>]) -> Result<Listed, Failure> {
    let served = campaigns::organization_id
        .eq(matches::organization_id)
        .and(campaigns::id.eq(matches::campaign_id))
        .and(campaigns::generation.eq(matches::generation));
    let mut listed = Listed::new();
    for chunk in changed.chunks(VALUES_AT_ONCE) {
        let ids: Vec<&str> = chunk.iter().map(Arrival::id).collect();
        let rows: Vec<(String, String, String)> = matches::table
            .inner_join(campaigns::table.on(served))
            .filter(matches::job_id.eq_any(ids))
            .select((matches::job_id, matches::organization_id, matches::campaign_id))
            .load(conn)
            .await?;
        for (job_id, organization, campaign) in rows {
            let organization = read(
                "matches.organization_id",
                &organization,
                OrganizationId::parse(&organization),
            )?;
            let campaign = read("matches.campaign_id", &campaign, CampaignId::parse(&campaign))?;
            listed.entry(job_id).or_default().insert((organization, campaign));
        }
    }
    Ok(listed)
}

/// Takes the jobs out of the lists of campaigns that they match no longer, and puts them into those of campaigns
/// that they newly match: with the lead's `createdAt` if there is a lead, else `at`.
pub(super) async fn match_anew(
    conn: &mut Conn,
    lists: &mut CampaignLists,
    changed: &[Arrival<'_>],
    listed: &Listed,
    at: Timestamp,
    counts: &mut PageCounts,
) -> Result<(), Failure> {
    let edits = edits(lists, changed, listed);
    let lead_ids: Vec<&LeadId> = edits
        .values()
        .flat_map(|edit| edit.gained.iter().map(|(lead, _)| lead))
        .collect();
    let moments = created_at_of_leads(conn, &lead_ids).await?;
    for (campaign, edit) in &edits {
        let Some(campaign) = lists.change(campaign) else {
            continue;
        };
        counts.matches += edit.gained.len() as u64;
        let mut gained = Vec::with_capacity(edit.gained.len());
        for (lead, arrival) in &edit.gained {
            gained.push(Entry {
                created_at: moments.get(lead.as_str()).copied().unwrap_or(at.as_millis()),
                posted_at: arrival.job.posted_at.as_millis(),
                job_seq: arrival.seq,
                job_id: arrival.id().to_owned(),
            });
        }
        campaign.list.edit(conn, &edit.lost, gained).await?;
    }
    Ok(())
}

fn edits<'p>(
    lists: &CampaignLists,
    changed: &'p [Arrival<'p>],
    listed: &'p Listed,
) -> BTreeMap<&'p CampaignKey, Edit<'p>> {
    let mut edits: BTreeMap<&CampaignKey, Edit<'_>> = BTreeMap::new();
    for arrival in changed {
        let held = listed.get(arrival.id());
        let wanted = arrival.campaigns();
        for campaign in held.into_iter().flatten() {
            if !wanted.contains(&campaign) {
                edits.entry(campaign).or_default().lost.push(arrival.id());
            }
        }
        for campaign in wanted {
            if !held.is_some_and(|held| held.contains(campaign)) && lists.contains(campaign) {
                let lead = LeadId::derive(&campaign.0, &campaign.1, &arrival.job.id);
                edits.entry(campaign).or_default().gained.push((lead, arrival));
            }
        }
    }
    edits
}

async fn created_at_of_leads(conn: &mut Conn, ids: &[&LeadId]) -> Result<HashMap<String, i64>, Failure> {
    let mut moments = HashMap::new();
    for chunk in ids.chunks(VALUES_AT_ONCE) {
        let chunk: Vec<&str> = chunk.iter().map(|id| id.as_str()).collect();
        let rows: Vec<(String, i64)> = leads::table
            .filter(leads::id.eq_any(chunk))
            .select((leads::id, leads::created_at))
            .load(conn)
            .await?;
        moments.extend(rows);
    }
    Ok(moments)
}
