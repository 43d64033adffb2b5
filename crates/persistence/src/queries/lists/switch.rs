//! The switch to matches computed anew (decision A5): atomic for readers, in short transactions for everybody else.
//!
//! The new list is planned on a snapshot of the served one. A long one is written ahead, some rows a transaction,
//! under a generation of its own that nobody reads. The last transaction carries over what ingesting has stored since
//! the snapshot and makes the generation the served one. The former generation's rows go afterwards, some a
//! transaction. What a crash or a supersession leaves behind is of a generation that is never served, and goes with
//! the campaign's next switch.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bidloop_domain::model::Timestamp;
use bidloop_domain::port::{Backfill, StoreError, SwitchMatches};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::locks::{last_job_seq, locked_position, shared_revision};
use super::super::{Conn, Store, VALUES_AT_ONCE};
use super::match_list::{CampaignKey, Entry, MatchList, with_gained};
use crate::columns::{number, stored};
use crate::failure::Failure;
use crate::rows::{CampaignGenerationRow, JobPlaceRow};
use crate::schema::{campaigns, jobs, leads, matches};

/// Rows of `matches` that one transaction writes and that it removes: some 10 ms on SQLite.
const ROWS_AT_ONCE: usize = 1000;

/// The backfill whose result is to be served.
#[derive(Debug, Clone)]
struct Switch {
    campaign: CampaignKey,
    campaign_revision: i64,
    watermark: i64,
    matched: Arc<[i64]>,
    at: Timestamp,
}

/// The new list as of a snapshot.
#[derive(Debug)]
struct Plan {
    switch: Switch,
    /// The generation that was served then.
    served: i64,
    /// The highest `jobs.seq` then: what was stored later, the served list knows alone.
    last_job_seq: i64,
    entries: Vec<Entry>,
}

/// How the last transaction ended.
enum Served {
    Superseded,
    Switched { total: i64, rows_left: bool },
}

pub(crate) async fn switch(
    store: &Store,
    backfill: &Backfill,
    watermark: i64,
    matched: &[i64],
    at: Timestamp,
) -> Result<SwitchMatches, StoreError> {
    let switch = Switch {
        campaign: (backfill.organization_id.clone(), backfill.campaign_id.clone()),
        campaign_revision: backfill.campaign_revision,
        watermark,
        matched: matched.into(),
        at,
    };
    let campaign = switch.campaign.clone();
    let planned = store
        .snapshot(async move |conn: &mut Conn| plan(conn, switch).await)
        .await?;
    let Some(plan) = planned.map(Arc::new) else {
        return Ok(SwitchMatches::Superseded);
    };
    let mut ahead = None;
    if plan.entries.len() > ROWS_AT_ONCE {
        ahead = write_ahead(store, &plan).await?;
        if ahead.is_none() {
            return Ok(SwitchMatches::Superseded);
        }
    }
    let served = store
        .write(async move |conn: &mut Conn| serve(conn, &plan, ahead).await)
        .await?;
    match served {
        Served::Superseded => Ok(SwitchMatches::Superseded),
        Served::Switched { total, rows_left } => {
            if rows_left {
                remove_former(store, &campaign).await;
            }
            Ok(SwitchMatches::Switched {
                total: number("campaigns.match_total", total)?,
            })
        }
    }
}

/// What the new list is as of this snapshot; `None` if the filters have changed since they were matched, or if somebody
/// else has switched to their matches already.
async fn plan(conn: &mut Conn, switch: Switch) -> Result<Option<Plan>, Failure> {
    let campaign = generation_row(conn, &switch.campaign).await?;
    let is_due = |row: &CampaignGenerationRow| {
        row.revision == switch.campaign_revision && row.matched_revision != row.revision
    };
    let Some(campaign) = campaign.filter(is_due) else {
        return Ok(None);
    };
    let last_job_seq = last_job_seq(conn).await?;
    let listed = places_of_matches(conn, &switch.campaign, campaign.generation).await?;
    let leads_since = created_at_of_leads(conn, &switch.campaign).await?;
    let mut places = Vec::new();
    let found: Vec<i64> = switch
        .matched
        .iter()
        .copied()
        .filter(|seq| *seq <= switch.watermark)
        .collect();
    for seqs in found.chunks(VALUES_AT_ONCE) {
        let rows: Vec<JobPlaceRow> = jobs::table
            .filter(jobs::seq.eq_any(seqs.iter().copied()))
            .select(JobPlaceRow::as_select())
            .load(conn)
            .await?;
        places.extend(rows);
    }
    let ingested = stored_after(conn, switch.watermark).await?;
    places.extend(ingested.into_iter().filter(|job| listed.contains_key(&job.id)));
    let mut seen = HashSet::new();
    places.retain(|job| seen.insert(job.seq));
    let (mut kept, mut gained) = (Vec::new(), Vec::new());
    for job in places {
        let known = listed.get(&job.id).copied();
        let since = known.map(|(_, since)| since);
        let since = since.or_else(|| leads_since.get(&job.id).copied());
        let entry = Entry {
            created_at: since.unwrap_or(switch.at.as_millis()),
            posted_at: job.posted_at,
            job_seq: job.seq,
            job_id: job.id,
        };
        match known {
            Some((seq, _)) => kept.push((seq, entry)),
            None => gained.push(entry),
        }
    }
    kept.sort_unstable_by_key(|(seq, _)| *seq);
    let kept = kept.into_iter().map(|(_, entry)| entry).collect();
    let entries = with_gained(kept, gained);
    Ok(Some(Plan {
        switch,
        served: campaign.generation,
        last_job_seq,
        entries,
    }))
}

impl Plan {
    /// Whether the campaign is still as it was when this was planned.
    fn holds(&self, campaign: &CampaignGenerationRow) -> bool {
        campaign.revision == self.switch.campaign_revision && campaign.generation == self.served
    }

    fn list(&self, generation: i64) -> MatchList {
        MatchList {
            campaign: self.switch.campaign.clone(),
            generation,
            total: stored(self.entries.len()),
            last_at: self.entries.last().map(|entry| entry.created_at),
        }
    }
}

/// Writes the planned list under a new generation; `None` if it is superseded meanwhile.
async fn write_ahead(store: &Store, plan: &Arc<Plan>) -> Result<Option<i64>, StoreError> {
    let beginning = Arc::clone(plan);
    let begun = store
        .write(async move |conn: &mut Conn| begin_generation(conn, &beginning).await)
        .await?;
    let Some(generation) = begun else {
        return Ok(None);
    };
    for start in (0..plan.entries.len()).step_by(ROWS_AT_ONCE) {
        let plan = Arc::clone(plan);
        let written = store
            .write(async move |conn: &mut Conn| write_some(conn, &plan, generation, start).await)
            .await?;
        if !written {
            return Ok(None);
        }
    }
    Ok(Some(generation))
}

async fn begin_generation(conn: &mut Conn, plan: &Plan) -> Result<Option<i64>, Failure> {
    shared_revision(conn).await?;
    let campaign = locked_generation_row(conn, &plan.switch.campaign).await?;
    let Some(campaign) = campaign.filter(|row| plan.holds(row)) else {
        return Ok(None);
    };
    let generation = campaign.last_generation + 1;
    diesel::update(campaigns::table.find(key(&plan.switch.campaign)))
        .set(campaigns::last_generation.eq(generation))
        .execute(conn)
        .await?;
    Ok(Some(generation))
}

/// Writes a part of the list. While the revision is shared the campaign is not removed, so nothing is left of one.
async fn write_some(conn: &mut Conn, plan: &Plan, generation: i64, start: usize) -> Result<bool, Failure> {
    shared_revision(conn).await?;
    let campaign = generation_row(conn, &plan.switch.campaign).await?;
    if !campaign.is_some_and(|row| plan.holds(&row)) {
        return Ok(false);
    }
    let end = plan.entries.len().min(start + ROWS_AT_ONCE);
    let entries = &plan.entries[start..end];
    plan.list(generation)
        .write(conn, stored(start) + 1, entries)
        .await?;
    Ok(true)
}

/// Makes the planned list the served one: `ahead` is its generation if it was written before.
async fn serve(conn: &mut Conn, plan: &Plan, ahead: Option<i64>) -> Result<Served, Failure> {
    let switch = &plan.switch;
    shared_revision(conn).await?;
    locked_position(conn).await?;
    let campaign = locked_generation_row(conn, &switch.campaign).await?;
    let Some(campaign) = campaign.filter(|row| plan.holds(row)) else {
        return Ok(Served::Superseded);
    };
    let mut list = plan.list(ahead.unwrap_or(campaign.last_generation + 1));
    if ahead.is_none() {
        list.write(conn, 1, &plan.entries).await?;
    }
    carry_over(conn, plan, &mut list).await?;
    diesel::update(campaigns::table.find(key(&switch.campaign)))
        .set((
            campaigns::matched_revision.eq(switch.campaign_revision),
            campaigns::generation.eq(list.generation),
            campaigns::last_generation.eq(list.generation.max(campaign.last_generation)),
            campaigns::match_total.eq(list.total),
            campaigns::last_match_at.eq(list.last_at),
        ))
        .execute(conn)
        .await?;
    Ok(Served::Switched {
        total: list.total,
        rows_left: remove_some(conn, &switch.campaign, list.generation).await?,
    })
}

/// Of the jobs that were stored since the plan, the served list says which match: ingesting matched them with the new
/// filters.
async fn carry_over(conn: &mut Conn, plan: &Plan, list: &mut MatchList) -> Result<(), Failure> {
    let since = stored_after(conn, plan.last_job_seq).await?;
    if since.is_empty() {
        return Ok(());
    }
    let mut gained = Vec::new();
    for chunk in since.chunks(VALUES_AT_ONCE) {
        let ids: Vec<&str> = chunk.iter().map(|job| job.id.as_str()).collect();
        let rows: Vec<(String, i64)> = matches::table
            .filter(matches::organization_id.eq(list.campaign.0.as_str()))
            .filter(matches::campaign_id.eq(list.campaign.1.as_str()))
            .filter(matches::generation.eq(plan.served))
            .filter(matches::job_id.eq_any(ids))
            .select((matches::job_id, matches::created_at))
            .load(conn)
            .await?;
        let created_at: HashMap<String, i64> = rows.into_iter().collect();
        for job in chunk {
            if let Some(created_at) = created_at.get(&job.id) {
                gained.push(Entry {
                    created_at: *created_at,
                    posted_at: job.posted_at,
                    job_seq: job.seq,
                    job_id: job.id.clone(),
                });
            }
        }
    }
    let stored_since: Vec<&str> = since.iter().map(|job| job.id.as_str()).collect();
    list.edit(conn, &stored_since, gained).await
}

/// Removes what is left of former generations. The switch is done whatever becomes of this: the rows are of no use
/// to anybody, and go with the campaign's next switch at the latest.
async fn remove_former(store: &Store, campaign: &CampaignKey) {
    loop {
        let campaign = campaign.clone();
        let removed = store
            .write(async move |conn: &mut Conn| {
                // A campaign that is made anew under the same id meanwhile counts its own generations.
                shared_revision(conn).await?;
                match generation_row(conn, &campaign).await? {
                    Some(row) => remove_some(conn, &campaign, row.generation).await,
                    None => Ok(false),
                }
            })
            .await;
        match removed {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, "former matches stay until the campaign's next switch");
                return;
            }
        }
    }
}

/// Removes rows of generations before `served`, and says whether there are more.
async fn remove_some(conn: &mut Conn, campaign: &CampaignKey, served: i64) -> Result<bool, Failure> {
    let Some((generation, seq)) = first_before(conn, campaign, served).await? else {
        return Ok(false);
    };
    let some = matches::table
        .filter(matches::organization_id.eq(campaign.0.as_str()))
        .filter(matches::campaign_id.eq(campaign.1.as_str()))
        .filter(matches::generation.eq(generation))
        .filter(matches::seq.lt(seq + stored(ROWS_AT_ONCE)));
    diesel::delete(some).execute(conn).await?;
    Ok(first_before(conn, campaign, served).await?.is_some())
}

/// The first match, by generation and number, of the generations before `served`.
async fn first_before(
    conn: &mut Conn,
    campaign: &CampaignKey,
    served: i64,
) -> Result<Option<(i64, i64)>, Failure> {
    let first = matches::table
        .filter(matches::organization_id.eq(campaign.0.as_str()))
        .filter(matches::campaign_id.eq(campaign.1.as_str()))
        .filter(matches::generation.lt(served))
        .order((matches::generation, matches::seq))
        .select((matches::generation, matches::seq));
    Ok(first.first(conn).await.optional()?)
}

fn key(campaign: &CampaignKey) -> (&str, &str) {
    (campaign.0.as_str(), campaign.1.as_str())
}

async fn generation_row(
    conn: &mut Conn,
    campaign: &CampaignKey,
) -> Result<Option<CampaignGenerationRow>, Failure> {
    let row = campaigns::table
        .find(key(campaign))
        .select(CampaignGenerationRow::as_select());
    Ok(row.first(conn).await.optional()?)
}

/// The campaign's row, which nobody else changes until the transaction ends.
async fn locked_generation_row(
    conn: &mut Conn,
    campaign: &CampaignKey,
) -> Result<Option<CampaignGenerationRow>, Failure> {
    let row = campaigns::table
        .find(key(campaign))
        .select(CampaignGenerationRow::as_select());
    Ok(for_update!(row).first(conn).await.optional()?)
}

/// The jobs whose content was stored after `seq`, in the order of storing. Read in parts, so that the order is an
/// index's whatever the database thinks of their number.
async fn stored_after(conn: &mut Conn, seq: i64) -> Result<Vec<JobPlaceRow>, Failure> {
    let mut all: Vec<JobPlaceRow> = Vec::new();
    loop {
        let rows: Vec<JobPlaceRow> = jobs::table
            .filter(jobs::seq.gt(all.last().map_or(seq, |last| last.seq)))
            .order(jobs::seq)
            .limit(stored(ROWS_AT_ONCE))
            .select(JobPlaceRow::as_select())
            .load(conn)
            .await?;
        let complete = rows.len() < ROWS_AT_ONCE;
        all.extend(rows);
        if complete {
            return Ok(all);
        }
    }
}

/// Each listed job's number, and since when it is a match, by job.
async fn places_of_matches(
    conn: &mut Conn,
    campaign: &CampaignKey,
    generation: i64,
) -> Result<HashMap<String, (i64, i64)>, Failure> {
    let rows: Vec<(String, i64, i64)> = matches::table
        .filter(matches::organization_id.eq(campaign.0.as_str()))
        .filter(matches::campaign_id.eq(campaign.1.as_str()))
        .filter(matches::generation.eq(generation))
        .select((matches::job_id, matches::seq, matches::created_at))
        .load(conn)
        .await?;
    let places = rows.into_iter();
    Ok(places.map(|(id, seq, since)| (id, (seq, since))).collect())
}

/// Since when the campaign's leads are matches, by job.
async fn created_at_of_leads(
    conn: &mut Conn,
    campaign: &CampaignKey,
) -> Result<HashMap<String, i64>, Failure> {
    let rows: Vec<(String, i64)> = leads::table
        .filter(leads::organization_id.eq(campaign.0.as_str()))
        .filter(leads::campaign_id.eq(campaign.1.as_str()))
        .select((leads::job_id, leads::created_at))
        .load(conn)
        .await?;
    Ok(rows.into_iter().collect())
}
