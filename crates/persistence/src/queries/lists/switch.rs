//! The switch to matches that were computed anew (decision A5): atomic for readers, in short transactions for all
//! others.
//!
//! The new list is planned on a snapshot of the served one. A long list is written in advance, some rows a transaction,
//! under a generation of its own that nobody reads. The last transaction adds what ingesting has stored since the
//! snapshot and serves the new generation. The rows of the former generation are removed afterwards, some a transaction.
//! A crash or a later change of the filters may leave rows of a generation that is never served; the campaign's next
//! switch removes them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bidloop_domain::model::Timestamp;
use bidloop_domain::port::{Backfill, CampaignRevision, StoreError, SwitchMatches};

use super::super::locks::{last_job_seq, locked_position, pruned_to, shared_revision};
use super::super::prelude::*;
use super::former_matches::{ROWS_AT_ONCE, remove_former_matches, remove_some_matches};
use super::match_list::{CampaignKey, Entry, Gap, JobPlace, MatchList, matches_of, with_gained};

/// A campaign's generations, and the revisions that a backfill depends on.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = campaigns)]
struct Generations {
    revision: i64,
    matched_revision: i64,
    generation: i64,
    last_generation: i64,
}

/// The backfill whose result is to be served.
#[derive(Debug, Clone)]
struct Switch {
    campaign: CampaignKey,
    campaign_revision: CampaignRevision,
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
    /// The highest `jobs.seq` then. Only the served list knows which later jobs match.
    last_job_seq: i64,
    entries: Vec<Entry>,
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
    let mut written = None;
    if plan.entries.len() > ROWS_AT_ONCE {
        written = write_in_advance(store, &plan).await?;
        if written.is_none() {
            return Ok(SwitchMatches::Superseded);
        }
    }
    let served = store
        .write(async move |conn: &mut Conn| serve(conn, &plan, written).await)
        .await?;
    let Some((total, rows_left)) = served else {
        return Ok(SwitchMatches::Superseded);
    };
    if rows_left {
        remove_former_matches(store, &campaign).await;
    }
    Ok(SwitchMatches::Switched { total })
}

/// The new list as of this snapshot. `None` if the filters have changed since they were matched, or if another process
/// has switched to their matches already.
async fn plan(conn: &mut Conn, switch: Switch) -> Result<Option<Plan>, Failure> {
    let campaign = generations(conn, &switch.campaign).await?;
    let is_due = |row: &Generations| {
        row.revision == switch.campaign_revision.0 && row.matched_revision != row.revision
    };
    let Some(campaign) = campaign.filter(is_due) else {
        return Ok(None);
    };
    let last_job_seq = last_job_seq(conn).await?;
    let listed: Vec<(String, i64, i64)> = matches_of(&switch.campaign, campaign.generation)
        .select((matches::job_id, matches::seq, matches::created_at))
        .load(conn)
        .await?;
    let listed: HashMap<String, (i64, i64)> = listed
        .into_iter()
        .map(|(id, seq, created_at)| (id, (seq, created_at)))
        .collect();
    let leads: Vec<(String, i64)> = leads::table
        .filter(leads::organization_id.eq(switch.campaign.0.as_str()))
        .filter(leads::campaign_id.eq(switch.campaign.1.as_str()))
        .select((leads::job_id, leads::created_at))
        .load(conn)
        .await?;
    let leads: HashMap<String, i64> = leads.into_iter().collect();

    let mut matched = switch.matched.to_vec();
    matched.retain(|seq| *seq <= switch.watermark);
    let mut jobs: Vec<JobPlace> = jobs::table
        .filter(one_of!(jobs::seq, matched))
        .select(JobPlace::as_select())
        .load(conn)
        .await?;
    let ingested = stored_after(conn, switch.watermark).await?;
    jobs.extend(ingested.into_iter().filter(|job| listed.contains_key(&job.id)));
    let mut seen = HashSet::new();
    jobs.retain(|job| seen.insert(job.seq));

    let pruned_to = pruned_to(conn).await?;
    let (mut kept, mut gained) = (Vec::new(), Vec::new());
    for job in jobs {
        if let Some(&(seq, created_at)) = listed.get(&job.id) {
            kept.push((seq, Entry { created_at, job }));
        } else if let Some(&created_at) = leads.get(&job.id) {
            gained.push(Entry { created_at, job });
        } else if job.seq > pruned_to {
            // Jobs that others hold would come back among the newest.
            let created_at = switch.at.as_millis();
            gained.push(Entry { created_at, job });
        }
    }
    kept.sort_unstable_by_key(|(seq, _)| *seq);
    let kept = kept.into_iter().map(|(_, entry)| entry).collect();
    Ok(Some(Plan {
        entries: with_gained(kept, gained),
        switch,
        served: campaign.generation,
        last_job_seq,
    }))
}

impl Plan {
    /// Whether the campaign is still as it was when this was planned.
    fn holds(&self, campaign: &Generations) -> bool {
        campaign.revision == self.switch.campaign_revision.0 && campaign.generation == self.served
    }

    /// Waits for the switches of the campaign in other processes, before this transaction locks anything: see
    /// [`locks`](super::super::locks).
    async fn take_turn(&self, conn: &mut Conn) -> Result<(), Failure> {
        let (organization, campaign) = key(&self.switch.campaign);
        take_turn!(conn, format!("switch {organization} {campaign}"));
        Ok(())
    }

    /// The campaign's generations, which no other transaction changes until this one ends, if the plan still holds.
    async fn locked_generations(&self, conn: &mut Conn) -> Result<Option<Generations>, Failure> {
        let row = campaigns::table
            .find(key(&self.switch.campaign))
            .select(Generations::as_select());
        let campaign: Option<Generations> = for_update!(row).first(conn).await.optional()?;
        Ok(campaign.filter(|row| self.holds(row)))
    }

    fn list(&self, generation: i64) -> MatchList {
        MatchList {
            campaign: self.switch.campaign.clone(),
            generation,
            total: stored(self.entries.len()),
            gap: Gap::default(),
            last_at: self.entries.last().map(|entry| entry.created_at),
        }
    }
}

/// Writes the planned list under a new generation, which it returns; `None` if the plan is superseded meanwhile.
async fn write_in_advance(store: &Store, plan: &Arc<Plan>) -> Result<Option<i64>, StoreError> {
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
            .write(async move |conn: &mut Conn| write_part(conn, &plan, generation, start).await)
            .await?;
        if !written {
            return Ok(None);
        }
    }
    Ok(Some(generation))
}

async fn begin_generation(conn: &mut Conn, plan: &Plan) -> Result<Option<i64>, Failure> {
    plan.take_turn(conn).await?;
    shared_revision(conn).await?;
    let Some(campaign) = plan.locked_generations(conn).await? else {
        return Ok(None);
    };
    let generation = campaign.last_generation + 1;
    diesel::update(campaigns::table.find(key(&plan.switch.campaign)))
        .set(campaigns::last_generation.eq(generation))
        .execute(conn)
        .await?;
    Ok(Some(generation))
}

/// Writes a part of the list. While the revision is shared the campaign is not removed, so no rows of a removed one stay
/// behind.
async fn write_part(conn: &mut Conn, plan: &Plan, generation: i64, start: usize) -> Result<bool, Failure> {
    plan.take_turn(conn).await?;
    shared_revision(conn).await?;
    if plan.locked_generations(conn).await?.is_none() {
        return Ok(false);
    }
    let end = plan.entries.len().min(start + ROWS_AT_ONCE);
    let list = plan.list(generation);
    list.write(conn, stored(start) + 1, &plan.entries[start..end])
        .await?;
    Ok(true)
}

/// Serves the planned list, under the generation that it was written under in advance, or else under a new one. Returns
/// how long it is and whether rows of former generations are left; `None` if the plan is superseded.
async fn serve(conn: &mut Conn, plan: &Plan, written: Option<i64>) -> Result<Option<(u64, bool)>, Failure> {
    let switch = &plan.switch;
    plan.take_turn(conn).await?;
    locked_position(conn).await?;
    shared_revision(conn).await?;
    let Some(campaign) = plan.locked_generations(conn).await? else {
        return Ok(None);
    };
    let mut list = plan.list(written.unwrap_or(campaign.last_generation + 1));
    if written.is_none() {
        list.write(conn, 1, &plan.entries).await?;
    }
    carry_over(conn, plan, &mut list).await?;
    diesel::update(campaigns::table.find(key(&switch.campaign)))
        .set((
            campaigns::matched_revision.eq(switch.campaign_revision.0),
            campaigns::generation.eq(list.generation),
            campaigns::last_generation.eq(list.generation.max(campaign.last_generation)),
            campaigns::match_total.eq(list.total),
            campaigns::last_match_at.eq(list.last_at),
            campaigns::match_settled.eq(list.gap.settled),
            campaigns::match_gap.eq(list.gap.gap),
        ))
        .execute(conn)
        .await?;
    let rows_left = remove_some_matches(conn, &switch.campaign, list.generation).await?;
    Ok(Some((u64::try_from(list.total).unwrap_or(0), rows_left)))
}

/// Adds the jobs that were stored since the plan. The served list says which of them match: ingesting matched them with
/// the new filters.
async fn carry_over(conn: &mut Conn, plan: &Plan, list: &mut MatchList) -> Result<(), Failure> {
    let since = stored_after(conn, plan.last_job_seq).await?;
    if since.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = since.iter().map(|job| job.id.as_str()).collect();
    let served: Vec<(String, i64)> = matches_of(&list.campaign, plan.served)
        .filter(one_of!(matches::job_id, &ids))
        .select((matches::job_id, matches::created_at))
        .load(conn)
        .await?;
    let created_at: HashMap<String, i64> = served.into_iter().collect();
    let gained = since.iter().filter_map(|job| {
        let (created_at, job) = (*created_at.get(&job.id)?, job.clone());
        Some(Entry { created_at, job })
    });
    list.edit(conn, &ids, gained.collect(), i64::MAX).await?;
    Ok(())
}

fn key(campaign: &CampaignKey) -> (&str, &str) {
    (campaign.0.as_str(), campaign.1.as_str())
}

async fn generations(conn: &mut Conn, campaign: &CampaignKey) -> Result<Option<Generations>, Failure> {
    let row = campaigns::table
        .find(key(campaign))
        .select(Generations::as_select());
    Ok(row.first(conn).await.optional()?)
}

/// The jobs whose content was stored after `seq`, in the order of storing. They are read in parts, so that both databases
/// use the index for the order, even if they expect many rows.
async fn stored_after(conn: &mut Conn, seq: i64) -> Result<Vec<JobPlace>, Failure> {
    let mut all: Vec<JobPlace> = Vec::new();
    loop {
        let rows: Vec<JobPlace> = jobs::table
            .filter(jobs::seq.gt(all.last().map_or(seq, |last| last.seq)))
            .order(jobs::seq)
            .limit(stored(ROWS_AT_ONCE))
            .select(JobPlace::as_select())
            .load(conn)
            .await?;
        let complete = rows.len() < ROWS_AT_ONCE;
        all.extend(rows);
        if complete {
            return Ok(all);
        }
    }
}
