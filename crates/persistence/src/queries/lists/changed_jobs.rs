//! Jobs that come again with other content: matched as a changed filter would match them; nothing is sent or bid
//! (decision D4).

use std::collections::{BTreeMap, HashMap, HashSet};

use bidloop_domain::model::{CampaignId, LeadId, OrganizationId, Timestamp};
use bidloop_domain::port::PageCounts;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::{Conn, VALUES_AT_ONCE};
use super::arrivals::Arrival;
use super::campaign_lists::CampaignLists;
use super::match_list::{CampaignKey, Entry};
use crate::columns::read;
use crate::failure::Failure;
use crate::schema::{leads, matches};

/// Matches that one page numbers anew: some 100 ms. What a list needs beyond that is left to a backfill of its campaign,
/// which reads the stored jobs as they are now and holds up nobody.
const RENUMBERED_AT_ONCE: i64 = 10_000;

/// A row of `matches`: of the list that is served, or of one that is not.
pub(super) struct KnownMatch {
    job_id: String,
    pub(super) campaign: CampaignKey,
    generation: i64,
}

/// The campaigns that list a job, by its id.
type Listed<'k> = HashMap<&'k str, HashSet<&'k CampaignKey>>;

/// What a campaign's list loses and gains.
#[derive(Default)]
struct Edit<'p> {
    lost: Vec<&'p str>,
    gained: Vec<(LeadId, &'p Arrival<'p>)>,
}

/// The matches of the jobs so far, of all generations. Campaigns, which know the one that is served, are not joined: a
/// database that thinks them few would read all their matches.
pub(super) async fn known_matches(
    conn: &mut Conn,
    changed: &[Arrival<'_>],
) -> Result<Vec<KnownMatch>, Failure> {
    let mut known = Vec::new();
    for chunk in changed.chunks(VALUES_AT_ONCE) {
        let ids: Vec<&str> = chunk.iter().map(Arrival::id).collect();
        let rows: Vec<(String, String, String, i64)> = matches::table
            .filter(matches::job_id.eq_any(ids))
            .select((
                matches::job_id,
                matches::organization_id,
                matches::campaign_id,
                matches::generation,
            ))
            .load(conn)
            .await?;
        for (job_id, organization, campaign, generation) in rows {
            let organization_id = OrganizationId::parse(&organization);
            let organization_id = read("matches.organization_id", &organization, organization_id)?;
            let campaign_id = read("matches.campaign_id", &campaign, CampaignId::parse(&campaign))?;
            known.push(KnownMatch {
                job_id,
                campaign: (organization_id, campaign_id),
                generation,
            });
        }
    }
    Ok(known)
}

/// Takes the jobs out of the lists of campaigns that they match no longer, and puts them into those of campaigns
/// that they newly match: with the lead's `createdAt` if there is a lead, else `at`. Where they remain, they keep their
/// `createdAt` and their place. Of lists with too much to number anew, the campaigns are backfilled.
pub(super) async fn match_anew(
    conn: &mut Conn,
    lists: &mut CampaignLists,
    changed: &[Arrival<'_>],
    known: &[KnownMatch],
    at: Timestamp,
    counts: &mut PageCounts,
) -> Result<(), Failure> {
    let mut listed = Listed::new();
    for known in known {
        if lists.serves(&known.campaign, known.generation) {
            listed.entry(&known.job_id).or_default().insert(&known.campaign);
        }
    }
    let edits = edits(lists, changed, &listed);
    let lead_ids: Vec<&LeadId> = edits
        .values()
        .flat_map(|edit| edit.gained.iter().map(|(lead, _)| lead))
        .collect();
    let moments = created_at_of_leads(conn, &lead_ids).await?;
    let mut left = RENUMBERED_AT_ONCE;
    let newest = changed
        .iter()
        .map(|arrival| arrival.seq)
        .max()
        .unwrap_or_default();
    for (campaign, edit) in &edits {
        let Some(campaign) = lists.change(campaign) else {
            continue;
        };
        let mut gained = Vec::with_capacity(edit.gained.len());
        for (lead, arrival) in &edit.gained {
            gained.push(Entry {
                created_at: moments.get(lead.as_str()).copied().unwrap_or(at.as_millis()),
                posted_at: arrival.job.posted_at.as_millis(),
                job_seq: arrival.seq,
                job_id: arrival.id().to_owned(),
            });
        }
        match campaign.list.edit_up_to(conn, left, &edit.lost, gained).await? {
            Some(renumbered) => {
                left -= renumbered;
                counts.matches += edit.gained.len() as u64;
            }
            None => campaign.match_anew_since(newest),
        }
    }
    Ok(())
}

fn edits<'p>(
    lists: &CampaignLists,
    changed: &'p [Arrival<'p>],
    listed: &Listed<'p>,
) -> BTreeMap<&'p CampaignKey, Edit<'p>> {
    let mut edits: BTreeMap<&CampaignKey, Edit<'_>> = BTreeMap::new();
    for arrival in changed {
        let held = listed.get(arrival.id());
        let wanted = arrival.campaigns();
        for &campaign in held.into_iter().flatten() {
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
