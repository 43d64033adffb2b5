//! Jobs that come again with other content. They are matched as if a filter had changed: nothing is sent or bid
//! (decision D4).

use std::collections::{BTreeMap, HashMap, HashSet};

use bidloop_domain::model::{CampaignId, LeadId, OrganizationId, Timestamp};
use bidloop_domain::port::PageCounts;

use super::super::prelude::*;
use super::arrivals::Arrival;
use super::campaign_lists::CampaignLists;
use super::lead_statuses::lock_campaign;
use super::match_list::{CampaignKey, Entry, JobPlace};

/// How many matches one page may number anew: some 100 ms. Lists that need more are left to a backfill of their
/// campaigns, which reads the stored jobs as they are now and delays no other command.
const RENUMBERED_AT_ONCE: i64 = 10_000;

/// A row of `matches`, of the served list or of another generation.
pub(super) struct KnownMatch {
    job_id: String,
    pub(super) campaign: CampaignKey,
    generation: i64,
}

/// A match as read: job, organization, campaign and generation.
type Known = (
    String,
    Attempt<Col<OrganizationId>>,
    Attempt<Col<CampaignId>>,
    i64,
);

/// The campaigns that list a job, by the job's id.
type Listed<'k> = HashMap<&'k str, HashSet<&'k CampaignKey>>;

/// What a campaign's list loses and gains.
#[derive(Default)]
struct Edit<'p> {
    lost: Vec<&'p str>,
    gained: Vec<(LeadId, &'p Arrival<'p>)>,
}

/// The matches of the jobs so far, of all generations. Campaigns, which know the served generation, are not joined: a
/// database that takes them for few would read all their matches.
pub(super) async fn known_matches(
    conn: &mut Conn,
    changed: &[Arrival<'_>],
) -> Result<Vec<KnownMatch>, Failure> {
    let ids: Vec<&str> = changed.iter().map(Arrival::id).collect();
    let rows: Vec<Known> = matches::table
        .filter(one_of!(matches::job_id, ids))
        .select((
            matches::job_id,
            matches::organization_id,
            matches::campaign_id,
            matches::generation,
        ))
        .load(conn)
        .await?;
    let known = |(job_id, organization, campaign, generation): Known| {
        Some(KnownMatch {
            job_id,
            campaign: (organization.0.ok()?.0, campaign.0.ok()?.0),
            generation,
        })
    };
    Ok(rows.into_iter().filter_map(known).collect())
}

/// Takes the jobs out of the lists of campaigns that they no longer match, and puts them into the lists of campaigns
/// that they newly match, with the `createdAt` of the lead if there is one, else `at`. A job that still matches keeps
/// its `createdAt` and its place. If too many matches of a list would get new numbers, its campaign is backfilled
/// instead.
pub(super) async fn match_changed_jobs(
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
    let gained = edits.values().flat_map(|edit| &edit.gained);
    let leads: Vec<&str> = gained.map(|(lead, _)| lead.as_str()).collect();
    let created_at: Vec<(String, i64)> = leads::table
        .filter(one_of!(leads::id, leads))
        .select((leads::id, leads::created_at))
        .load(conn)
        .await?;
    let created_at: HashMap<String, i64> = created_at.into_iter().collect();
    let newest = changed
        .iter()
        .map(|arrival| arrival.seq)
        .max()
        .unwrap_or_default();
    let mut left = RENUMBERED_AT_ONCE;
    for (campaign, edit) in &edits {
        let Some(campaign) = lists.change(campaign) else {
            continue;
        };
        let entry = |(lead, arrival): &(LeadId, &Arrival<'_>)| Entry {
            created_at: created_at.get(lead.as_str()).copied().unwrap_or(at.as_millis()),
            job: JobPlace {
                id: arrival.id().to_owned(),
                posted_at: arrival.job.posted_at.as_millis(),
                seq: arrival.seq,
            },
        };
        let gained = edit.gained.iter().map(entry).collect();
        lock_campaign(conn, &campaign.list.campaign).await?;
        match campaign.list.edit(conn, &edit.lost, gained, left).await? {
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
