//! Removing what is old, some rows a transaction.
//!
//! What is to be removed is looked for outside the transaction and checked again inside it, so that on SQLite the one
//! writer does nothing but remove. Events are queued once, so a delivery that is removed is never queued again: a job with
//! a lead stays, and a bid ends once.

use std::collections::HashSet;

use async_trait::async_trait;
use bidloop_domain::model::{CampaignId, OrganizationId, SESSION_IDLE, Timestamp};
use bidloop_domain::port::{Backfill, Prunable, PruneCursor, PruneStep, RetentionStore, StoreError};
use diesel::dsl::{max, sql};
use diesel::sql_types::{BigInt, Bool, Text};

use super::lists::match_list::CampaignKey;
use super::lists::old_end::take_off;
use super::locks::{ONLY_ROW, last_job_seq, locked_position, shared_revision};
use super::prelude::*;
use super::sign_ins::forget_tries;

/// The table's name in the quarantine.
const CAMPAIGNS: &str = "campaigns";

/// No note of the stored jobs is made sooner than this after the last one.
const BETWEEN_NOTES: i64 = 60 * 60 * 1000;
/// How many campaigns or jobs one step looks at, to find some to prune.
const LOOKED_AT: i64 = 1000;

#[async_trait]
impl RetentionStore for Store {
    async fn note_stored_jobs(&self, now: Timestamp, before: Timestamp) -> Result<(), StoreError> {
        self.write(async move |conn: &mut Conn| {
            note_stored_jobs(conn, now.as_millis(), before.as_millis()).await
        })
        .await
    }

    async fn prune(
        &self,
        kind: Prunable,
        before: Timestamp,
        from: &PruneCursor,
        limit: u32,
    ) -> Result<PruneStep, StoreError> {
        let (before, limit) = (before.as_millis(), i64::from(limit));
        let removed = match kind {
            Prunable::Matches => return prune_matches(self, before, from, limit).await,
            Prunable::Jobs => return prune_jobs(self, before, from, limit).await,
            Prunable::Activity => {
                self.write(async move |conn: &mut Conn| activity(conn, before, limit).await)
                    .await
            }
            Prunable::Deliveries => {
                self.write(async move |conn: &mut Conn| ended_deliveries(conn, before, limit).await)
                    .await
            }
            Prunable::Statistics => {
                self.write(async move |conn: &mut Conn| statistics(conn, before, limit).await)
                    .await
            }
            Prunable::Letters => {
                self.write(async move |conn: &mut Conn| letters(conn, before, limit).await)
                    .await
            }
            Prunable::SignIns => {
                self.write(async move |conn: &mut Conn| sign_ins(conn, before, limit).await)
                    .await
            }
        }?;
        Ok(PruneStep {
            removed,
            next: (stored(removed) >= limit).then_some(PruneCursor::Start),
        })
    }

    async fn count_prunable(
        &self,
        kind: Prunable,
        before: Timestamp,
        at_most: u32,
    ) -> Result<u64, StoreError> {
        let (before, at_most) = (before.as_millis(), i64::from(at_most));
        self.read(async move |conn: &mut Conn| {
            let oldest = match kind {
                Prunable::Jobs => stored_by(conn, before).await?,
                _ => before,
            };
            let rows = match kind {
                Prunable::Activity => "SELECT 1 FROM activities WHERE at <= ",
                Prunable::Statistics => "SELECT 1 FROM statistics WHERE starts_at <= ",
                Prunable::Deliveries => {
                    "SELECT 1 FROM deliveries WHERE ended_at IS NOT NULL AND ended_at <= "
                }
                Prunable::Letters => {
                    "SELECT 1 FROM bids WHERE ended_at IS NOT NULL AND cover_letter <> '' AND ended_at <= "
                }
                Prunable::Matches => {
                    "SELECT 1 FROM campaigns c JOIN matches m ON m.organization_id = c.organization_id \
                     AND m.campaign_id = c.id AND m.generation = c.generation AND m.seq > c.match_settled \
                     WHERE c.revision = c.matched_revision AND NOT EXISTS (SELECT 1 FROM leads l \
                     WHERE l.organization_id = m.organization_id AND l.campaign_id = m.campaign_id \
                     AND l.job_id = m.job_id) AND m.created_at <= "
                }
                Prunable::SignIns => {
                    "SELECT 1 FROM (SELECT last_used_at + 43200000 AS ended FROM sessions UNION ALL \
                     SELECT expires_at FROM one_time_links UNION ALL SELECT forgotten_at FROM sign_in_tries) \
                     AS all_ends WHERE ended <= "
                }
                Prunable::Jobs => {
                    "SELECT 1 FROM jobs j WHERE NOT EXISTS (SELECT 1 FROM leads l WHERE l.job_id = j.id) \
                     AND j.seq <= "
                }
            };
            let count = sql::<BigInt>("SELECT count(*) FROM (")
                .sql(rows)
                .bind::<BigInt, _>(oldest)
                .sql(" LIMIT ")
                .bind::<BigInt, _>(at_most)
                .sql(") AS counted");
            let count: i64 = count.get_result(conn).await?;
            Ok(u64::try_from(count).unwrap_or(0))
        })
        .await
    }
}

async fn note_stored_jobs(conn: &mut Conn, now: i64, before: i64) -> Result<(), Failure> {
    let latest: Option<i64> = job_ages::table.select(max(job_ages::at)).first(conn).await?;
    if latest.is_none_or(|latest| latest <= now.saturating_sub(BETWEEN_NOTES)) {
        let seq = last_job_seq(conn).await?;
        diesel::insert_into(job_ages::table)
            .values((job_ages::at.eq(now), job_ages::last_job_seq.eq(seq)))
            .on_conflict_do_nothing()
            .execute(conn)
            .await?;
    }
    // The latest of the old ones tells what was stored by then.
    let needed: Option<i64> = job_ages::table
        .filter(job_ages::at.le(before))
        .select(max(job_ages::at))
        .first(conn)
        .await?;
    if let Some(needed) = needed {
        diesel::delete(job_ages::table.filter(job_ages::at.lt(needed)))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// The highest `jobs.seq` that is known to have been given by then; 0 if nothing is known.
async fn stored_by(conn: &mut Conn, before: i64) -> Result<i64, Failure> {
    let noted: Option<i64> = job_ages::table
        .filter(job_ages::at.le(before))
        .select(max(job_ages::last_job_seq))
        .first(conn)
        .await?;
    Ok(noted.unwrap_or(0))
}

/// The rows whose age is known and reached, up to so many of the oldest: a table, the column of the age, and what else
/// must hold, in the words of an index on the age.
macro_rules! oldest {
    ($table:literal by $age:literal $(where $condition:literal)?, $before:expr, $limit:expr) => {
        sql::<Bool>(concat!(
            "(organization_id, id) IN (SELECT organization_id, id FROM ", $table, " WHERE ",
            $($condition, " AND ",)? $age, " <= ",
        ))
        .bind::<BigInt, _>($before)
        .sql(concat!(" ORDER BY ", $age, " LIMIT "))
        .bind::<BigInt, _>($limit)
        .sql(")")
    };
}

async fn activity(conn: &mut Conn, before: i64, limit: i64) -> Result<u64, Failure> {
    let oldest = oldest!("activities" by "at", before, limit);
    let removed = diesel::delete(activities::table.filter(oldest));
    Ok(removed.execute(conn).await? as u64)
}

async fn ended_deliveries(conn: &mut Conn, before: i64, limit: i64) -> Result<u64, Failure> {
    let oldest = oldest!("deliveries" by "ended_at" where "ended_at IS NOT NULL", before, limit);
    let removed = diesel::delete(deliveries::table.filter(oldest));
    Ok(removed.execute(conn).await? as u64)
}

async fn statistics(conn: &mut Conn, before: i64, limit: i64) -> Result<u64, Failure> {
    const KEY: &str = "organization_id, step, measure, starts_at, campaign_id, subject, bucket";
    let oldest = sql::<Bool>(&format!(
        "({KEY}) IN (SELECT {KEY} FROM statistics WHERE starts_at <= "
    ))
    .bind::<BigInt, _>(before)
    .sql(" ORDER BY starts_at LIMIT ")
    .bind::<BigInt, _>(limit)
    .sql(")");
    let removed = diesel::delete(statistics::table.filter(oldest));
    Ok(removed.execute(conn).await? as u64)
}

/// No letter is blank (decision A2), so an empty one is gone. The stored proposal repeats letter and answers.
async fn letters(conn: &mut Conn, before: i64, limit: i64) -> Result<u64, Failure> {
    let oldest =
        oldest!("bids" by "ended_at" where "ended_at IS NOT NULL AND cover_letter <> ''", before, limit);
    let emptied = diesel::update(bids::table.filter(oldest)).set((
        bids::cover_letter.eq(sql::<crate::sql_types::EscapedText>("''")),
        bids::answers.eq(sql::<crate::sql_types::JsonText>("'[]'")),
        bids::proposal.eq(sql::<diesel::sql_types::Nullable<crate::sql_types::JsonText>>(
            "NULL",
        )),
    ));
    Ok(emptied.execute(conn).await? as u64)
}

/// Sessions, then links, then tries. No session is used after its end, so it has been idle for long enough soon.
async fn sign_ins(conn: &mut Conn, before: i64, limit: i64) -> Result<u64, Failure> {
    let idle_since = before.saturating_sub(stored(SESSION_IDLE.as_millis()));
    let idle = sql::<Bool>("token_hash IN (SELECT token_hash FROM sessions WHERE last_used_at <= ")
        .bind::<BigInt, _>(idle_since)
        .sql(" ORDER BY last_used_at LIMIT ")
        .bind::<BigInt, _>(limit)
        .sql(")");
    // Asked of the row itself, too: it may have been used in between.
    let idle = sessions::table
        .filter(idle)
        .filter(sessions::last_used_at.le(idle_since));
    let mut removed = diesel::delete(idle).execute(conn).await?;
    let rest = limit.saturating_sub(stored(removed));
    let oldest = oldest!("one_time_links" by "expires_at", before, rest);
    removed += diesel::delete(one_time_links::table.filter(oldest))
        .execute(conn)
        .await?;
    let rest = limit.saturating_sub(stored(removed));
    removed += forget_tries(conn, Timestamp::from_millis(before), rest).await?;
    Ok(removed as u64)
}

/// One campaign a step: the first one after `from` whose list has an old match. A list that cannot be read is passed
/// over and set aside, and so is one that fails to be shortened for it.
async fn prune_matches(
    store: &Store,
    before: i64,
    from: &PruneCursor,
    limit: i64,
) -> Result<PruneStep, StoreError> {
    let after = match from {
        PruneCursor::AfterCampaign(organization, campaign) => Some((organization.clone(), campaign.clone())),
        _ => None,
    };
    let found = store
        .read(async move |conn: &mut Conn| lists_with_oldest(conn, after).await)
        .await?;
    let is_last = stored(found.len()) < LOOKED_AT;
    let mut passed = from.clone();
    for list in found {
        let after_list = PruneCursor::AfterCampaign(list.organization.clone(), list.campaign.clone());
        let (campaign, oldest) = match list.readable() {
            Ok(readable) => readable,
            Err(row) => {
                store.quarantine.set_aside(&row);
                passed = after_list;
                continue;
            }
        };
        if oldest.is_none_or(|created_at| created_at > before) {
            passed = after_list;
            continue;
        }
        let taking = campaign.clone();
        let taken = store
            .write(async move |conn: &mut Conn| take_off(conn, &taking, before, limit).await)
            .await;
        let taken = match taken {
            Err(StoreError::Corrupt(why)) => {
                let (organization, campaign) = &campaign;
                let why = format_args!("its list cannot be read: {why}");
                let row = UnreadableRow::of_organization(CAMPAIGNS, organization, campaign, why);
                store.quarantine.set_aside(&row);
                passed = after_list;
                continue;
            }
            taken => taken?,
        };
        if !taken.has_more {
            passed = after_list;
        }
        return Ok(PruneStep {
            removed: taken.removed,
            next: Some(passed),
        });
    }
    Ok(PruneStep {
        removed: 0,
        next: (!is_last).then_some(passed),
    })
}

/// A campaign's list, as far as it can be read.
#[derive(Queryable)]
struct ListWithOldest {
    organization: String,
    campaign: String,
    organization_id: Attempt<Col<OrganizationId>>,
    campaign_id: Attempt<Col<CampaignId>>,
    /// The `createdAt` of the oldest match that pruning has not looked at.
    oldest: Attempt<Option<i64>>,
}

impl ListWithOldest {
    fn readable(self) -> Result<(CampaignKey, Option<i64>), UnreadableRow> {
        let (organization, campaign) = (self.organization, self.campaign);
        let unreadable = |what: &str, why: String| {
            let why = format_args!("{what} cannot be read: {why}");
            UnreadableRow::of_organization(CAMPAIGNS, &organization, &campaign, why)
        };
        let of = |column| move |why| unreadable(column, why);
        let oldest = self.oldest.0.map_err(of("its oldest match"))?;
        let organization_id = self.organization_id.0.map_err(of("organization_id"))?;
        let campaign_id = self.campaign_id.0.map_err(of("id"))?;
        Ok(((organization_id.0, campaign_id.0), oldest))
    }
}

/// Some campaigns in their order.
async fn lists_with_oldest(
    conn: &mut Conn,
    after: Option<(String, String)>,
) -> Result<Vec<ListWithOldest>, Failure> {
    let oldest = matches::organization_id
        .eq(campaigns::organization_id)
        .and(matches::campaign_id.eq(campaigns::id))
        .and(matches::generation.eq(campaigns::generation))
        .and(matches::seq.eq(campaigns::match_settled + campaigns::match_gap + 1_i64));
    let mut some = campaigns::table
        .left_join(matches::table.on(oldest))
        .filter(campaigns::revision.eq(campaigns::matched_revision))
        .order((campaigns::organization_id, campaigns::id))
        .limit(LOOKED_AT)
        .select((
            campaigns::organization_id,
            campaigns::id,
            campaigns::organization_id,
            campaigns::id,
            matches::created_at.nullable(),
        ))
        .into_boxed();
    if let Some((organization, campaign)) = after {
        // As a row, which both databases look up in the primary key.
        let behind = sql::<Bool>("(campaigns.organization_id, campaigns.id) > (")
            .bind::<Text, _>(organization)
            .sql(", ")
            .bind::<Text, _>(campaign)
            .sql(")");
        some = some.filter(behind);
    }
    Ok(some.load(conn).await?)
}

/// A job's number and id.
type Candidate = (i64, String);

async fn prune_jobs(
    store: &Store,
    before: i64,
    from: &PruneCursor,
    limit: i64,
) -> Result<PruneStep, StoreError> {
    let after = match from {
        PruneCursor::AfterJob(seq) => *seq,
        _ => 0,
    };
    let (stored_by, candidates, looked_to) = store
        .read(async move |conn: &mut Conn| {
            let stored_by = stored_by(conn, before).await?;
            let looked_at: Vec<Candidate> = jobs::table
                .filter(jobs::seq.gt(after).and(jobs::seq.le(stored_by)))
                .order(jobs::seq)
                .limit(LOOKED_AT)
                .select((jobs::seq, jobs::id))
                .load(conn)
                .await?;
            let is_last = stored(looked_at.len()) < LOOKED_AT;
            let last = looked_at.last().map(|(seq, _)| *seq);
            let mut free = free_jobs(conn, looked_at).await?;
            let is_cut = stored(free.len()) > limit;
            free.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            let looked_to = if is_cut {
                free.last().map(|(seq, _)| *seq)
            } else {
                last.filter(|_| !is_last)
            };
            Ok((stored_by, free, looked_to))
        })
        .await?;
    let mut removed = Some(0);
    // The first step notes how far pruning went, even if leads hold all those jobs.
    if !candidates.is_empty() || (*from == PruneCursor::Start && stored_by > 0) {
        let quarantine = store.quarantine.clone();
        removed = store
            .write(async move |conn: &mut Conn| {
                remove_jobs(conn, &quarantine, candidates.clone(), before, stored_by).await
            })
            .await?;
    }
    // A backfill is due: the rest is left to the next pass.
    let Some(removed) = removed else {
        return Ok(PruneStep {
            removed: 0,
            next: None,
        });
    };
    Ok(PruneStep {
        removed,
        next: looked_to.map(PruneCursor::AfterJob),
    })
}

/// Those of the jobs that no lead and no list holds, of whatever generation.
async fn free_jobs(conn: &mut Conn, mut candidates: Vec<Candidate>) -> Result<Vec<Candidate>, Failure> {
    let ids: Vec<&str> = candidates.iter().map(|(_, id)| id.as_str()).collect();
    let matched: Vec<String> = matches::table
        .filter(one_of!(matches::job_id, &ids))
        .select(matches::job_id)
        .distinct()
        .load(conn)
        .await?;
    let leads: Vec<String> = leads::table
        .filter(one_of!(leads::job_id, &ids))
        .select(leads::job_id)
        .distinct()
        .load(conn)
        .await?;
    let held: HashSet<String> = matched.into_iter().chain(leads).collect();
    candidates.retain(|(_, id)| !held.contains(id));
    Ok(candidates)
}

/// Whether a campaign is to be backfilled. One that cannot be read never is, so it does not count.
async fn is_backfill_due(conn: &mut Conn, quarantine: &Quarantine) -> Result<bool, Failure> {
    let due = campaigns::table
        .filter(campaigns::revision.ne(campaigns::matched_revision))
        .limit(LOOKED_AT);
    let rows: Vec<Tried<Backfill>> = due.select(Tried::<Backfill>::as_select()).load(conn).await?;
    let is_full = stored(rows.len()) == LOOKED_AT;
    let readable = rows.into_iter().filter_map(|row| row.or_aside(quarantine));
    Ok(readable.count() > 0 || is_full)
}

/// Removes those of the jobs that are still free. `None` if a backfill is due: it may have found some of them.
///
/// While the position is locked no page changes a job, and no list gains one.
async fn remove_jobs(
    conn: &mut Conn,
    quarantine: &Quarantine,
    candidates: Vec<Candidate>,
    before: i64,
    stored_by: i64,
) -> Result<Option<u64>, Failure> {
    let position = locked_position(conn).await?;
    shared_revision(conn).await?;
    if is_backfill_due(conn, quarantine).await? {
        return Ok(None);
    }
    let free = free_jobs(conn, candidates).await?;
    if position.pruned_before < Some(before) {
        diesel::update(feed_position::table.find(ONLY_ROW))
            .set((
                feed_position::pruned_before.eq(before),
                feed_position::pruned_to.eq(stored_by.max(position.pruned_to)),
            ))
            .execute(conn)
            .await?;
    }
    let seqs: Vec<i64> = free.iter().map(|(seq, _)| *seq).collect();
    // By the number: a job that changed meanwhile has another.
    let removed = diesel::delete(jobs::table.filter(one_of!(jobs::seq, &seqs)))
        .execute(conn)
        .await?;
    diesel::delete(job_signatures::table.filter(one_of!(job_signatures::seq, &seqs)))
        .execute(conn)
        .await?;
    Ok(Some(removed as u64))
}
