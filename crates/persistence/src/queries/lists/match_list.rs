//! Lists of matches: dense numbers from 1 in the order of `createdAt`, posting time and storing (decision A5).
//!
//! Owns how a list grows at its end and how jobs are taken out of it and put into it. Which jobs those are is the
//! callers' business, and so are the locks: see [`locks`](super::super::locks).

use std::collections::{HashMap, HashSet};

use bidloop_domain::model::{CampaignId, OrganizationId};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::{Conn, VALUES_AT_ONCE, insert_matches};
use crate::columns::stored;
use crate::failure::Failure;
use crate::rows::{JobPlaceRow, NewMatchRow};
use crate::schema::{jobs, matches};

/// A campaign of an organization.
pub(super) type CampaignKey = (OrganizationId, CampaignId);

/// One generation of a campaign's matches.
#[derive(Debug, Clone)]
pub(super) struct MatchList {
    pub(super) campaign: CampaignKey,
    pub(super) generation: i64,
    /// How many matches it has, which is the last one's number.
    pub(super) total: i64,
    /// The last match's `createdAt`.
    pub(super) last_at: Option<i64>,
}

/// A job in a list, with what its place depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) created_at: i64,
    pub(super) posted_at: i64,
    pub(super) job_seq: i64,
    pub(super) job_id: String,
}

impl Entry {
    pub(super) fn place(&self) -> (i64, i64, i64) {
        (self.created_at, self.posted_at, self.job_seq)
    }
}

impl MatchList {
    /// The row of the job that comes next at the list's end.
    pub(super) fn append<'a>(
        &mut self,
        campaign: &'a CampaignKey,
        job_id: &'a str,
        created_at: i64,
    ) -> NewMatchRow<'a> {
        self.total += 1;
        self.last_at = Some(created_at);
        NewMatchRow {
            organization_id: campaign.0.as_str(),
            campaign_id: campaign.1.as_str(),
            generation: self.generation,
            seq: self.total,
            job_id,
            created_at,
        }
    }

    /// Takes the jobs `lost` out, as far as they are in it, and puts `gained` into their places. What stands behind
    /// the first change is numbered anew.
    pub(super) async fn edit(
        &mut self,
        conn: &mut Conn,
        lost: &[&str],
        gained: Vec<Entry>,
    ) -> Result<(), Failure> {
        let first = self.first_change(conn, lost, &gained).await?;
        self.edit_from(conn, first, lost, gained).await
    }

    /// As [`edit`](Self::edit), unless more than `most` matches would be numbered anew; tells how many were, or nothing if
    /// nothing was done.
    pub(super) async fn edit_up_to(
        &mut self,
        conn: &mut Conn,
        most: i64,
        lost: &[&str],
        gained: Vec<Entry>,
    ) -> Result<Option<i64>, Failure> {
        let first = self.first_change(conn, lost, &gained).await?;
        let behind = self.total + 1 - first;
        if behind > most {
            return Ok(None);
        }
        self.edit_from(conn, first, lost, gained).await?;
        Ok(Some(behind))
    }

    async fn edit_from(
        &mut self,
        conn: &mut Conn,
        first: i64,
        lost: &[&str],
        gained: Vec<Entry>,
    ) -> Result<(), Failure> {
        // From one earlier on, so that the last match is among them whatever changes.
        let start = (first - 1).max(1);
        let moments: HashSet<i64> = gained.iter().map(|entry| entry.created_at).collect();
        let before = self.tail(conn, start, &moments).await?;
        let lost: HashSet<&str> = lost.iter().copied().collect();
        let after = edited(&before, &lost, gained);
        let kept = before
            .iter()
            .zip(&after)
            .take_while(|(old, new)| (&old.job_id, old.created_at) == (&new.job_id, new.created_at))
            .count();
        let first = start + stored(kept);
        self.cut(conn, first).await?;
        self.total = start - 1 + stored(after.len());
        self.last_at = after.last().map(|entry| entry.created_at);
        self.write(conn, first, &after[kept..]).await
    }

    /// Stores `entries` under the numbers from `first` on.
    pub(super) async fn write(&self, conn: &mut Conn, first: i64, entries: &[Entry]) -> Result<(), Failure> {
        let mut rows = Vec::with_capacity(entries.len());
        for (seq, entry) in (first..).zip(entries) {
            rows.push(NewMatchRow {
                organization_id: self.campaign.0.as_str(),
                campaign_id: self.campaign.1.as_str(),
                generation: self.generation,
                seq,
                job_id: &entry.job_id,
                created_at: entry.created_at,
            });
        }
        insert_matches(conn, &rows).await
    }

    /// The number of the first place that may change.
    async fn first_change(&self, conn: &mut Conn, lost: &[&str], gained: &[Entry]) -> Result<i64, Failure> {
        let mut first = self.total + 1;
        for ids in lost.chunks(VALUES_AT_ONCE) {
            let seqs: Vec<i64> = matches::table
                .filter(matches::organization_id.eq(self.campaign.0.as_str()))
                .filter(matches::campaign_id.eq(self.campaign.1.as_str()))
                .filter(matches::generation.eq(self.generation))
                .filter(matches::job_id.eq_any(ids.iter().copied()))
                .select(matches::seq)
                .load(conn)
                .await?;
            first = seqs.into_iter().fold(first, i64::min);
        }
        let earliest = gained.iter().map(|entry| entry.created_at).min();
        match (earliest, self.last_at) {
            (Some(earliest), Some(end)) if earliest <= end => {
                // Walks back from the end as far as must be numbered anew.
                let before: Option<i64> = matches::table
                    .filter(matches::organization_id.eq(self.campaign.0.as_str()))
                    .filter(matches::campaign_id.eq(self.campaign.1.as_str()))
                    .filter(matches::generation.eq(self.generation))
                    .filter(matches::created_at.lt(earliest))
                    .order(matches::seq.desc())
                    .select(matches::seq)
                    .first(conn)
                    .await
                    .optional()?;
                Ok(first.min(before.map_or(1, |before| before + 1)))
            }
            _ => Ok(first),
        }
    }

    /// The list from the number `start` on. Only what became a match at one of `moments` is told from others of that
    /// moment, by its posting time and its number: these are not joined, since a database that thinks the list short
    /// would read all jobs for it.
    async fn tail(&self, conn: &mut Conn, start: i64, moments: &HashSet<i64>) -> Result<Vec<Entry>, Failure> {
        let rows: Vec<(String, i64)> = matches::table
            .filter(matches::organization_id.eq(self.campaign.0.as_str()))
            .filter(matches::campaign_id.eq(self.campaign.1.as_str()))
            .filter(matches::generation.eq(self.generation))
            .filter(matches::seq.ge(start))
            .order(matches::seq)
            .select((matches::job_id, matches::created_at))
            .load(conn)
            .await?;
        let of_moments: Vec<&str> = rows
            .iter()
            .filter(|(_, created_at)| moments.contains(created_at))
            .map(|(job_id, _)| job_id.as_str())
            .collect();
        let places = places(conn, &of_moments).await?;
        let entry = |(job_id, created_at)| entry(job_id, created_at, &places);
        Ok(rows.into_iter().map(entry).collect())
    }

    /// Removes what stands at the number `first` and behind it.
    async fn cut(&self, conn: &mut Conn, first: i64) -> Result<(), Failure> {
        let tail = matches::table
            .filter(matches::organization_id.eq(self.campaign.0.as_str()))
            .filter(matches::campaign_id.eq(self.campaign.1.as_str()))
            .filter(matches::generation.eq(self.generation))
            .filter(matches::seq.ge(first));
        diesel::delete(tail).execute(conn).await?;
        Ok(())
    }
}

/// Posting times and numbers of the jobs, by their ids.
async fn places(conn: &mut Conn, of: &[&str]) -> Result<HashMap<String, (i64, i64)>, Failure> {
    let mut places = HashMap::with_capacity(of.len());
    for ids in of.chunks(VALUES_AT_ONCE) {
        let jobs: Vec<JobPlaceRow> = jobs::table
            .filter(jobs::id.eq_any(ids.iter().copied()))
            .select(JobPlaceRow::as_select())
            .load(conn)
            .await?;
        places.extend(jobs.into_iter().map(|job| (job.id, (job.posted_at, job.seq))));
    }
    Ok(places)
}

fn entry(job_id: String, created_at: i64, places: &HashMap<String, (i64, i64)>) -> Entry {
    let (posted_at, job_seq) = places.get(&job_id).copied().unwrap_or_default();
    Entry {
        created_at,
        posted_at,
        job_seq,
        job_id,
    }
}

/// `before` without `lost` and with `gained` in their places. What stays keeps its order, even where a job's posting
/// time has changed since: a list is stable.
fn edited(before: &[Entry], lost: &HashSet<&str>, gained: Vec<Entry>) -> Vec<Entry> {
    let kept = before
        .iter()
        .filter(|entry| !lost.contains(entry.job_id.as_str()))
        .cloned()
        .collect();
    with_gained(kept, gained)
}

/// `kept` in its order, with each of `gained` behind the last that stands before it by its place.
pub(super) fn with_gained(mut kept: Vec<Entry>, mut gained: Vec<Entry>) -> Vec<Entry> {
    gained.sort_by_key(Entry::place);
    // From the end, so that each is looked at once.
    let mut list = Vec::with_capacity(kept.len() + gained.len());
    while let Some(new) = gained.pop() {
        while kept.last().is_some_and(|known| known.place() > new.place()) {
            list.extend(kept.pop());
        }
        list.push(new);
    }
    list.extend(kept.into_iter().rev());
    list.reverse();
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(created_at: i64, posted_at: i64, job_id: &str) -> Entry {
        Entry {
            created_at,
            posted_at,
            job_seq: 1,
            job_id: job_id.to_owned(),
        }
    }

    fn ids(list: &[Entry]) -> Vec<&str> {
        list.iter().map(|entry| entry.job_id.as_str()).collect()
    }

    #[test]
    fn a_gained_job_stands_by_created_at_then_posting_time() {
        let before = [
            entry(1, 5, "a"),
            entry(2, 3, "b"),
            entry(2, 5, "d"),
            entry(3, 0, "e"),
        ];
        let gained = vec![entry(2, 4, "c"), entry(9, 0, "f"), entry(0, 9, "first")];
        let after = edited(&before, &HashSet::new(), gained);
        assert_eq!(ids(&after), ["first", "a", "b", "c", "d", "e", "f"]);
    }

    #[test]
    fn what_stays_keeps_its_order_whatever_its_posting_time_is_now() {
        let before = [entry(1, 9, "a"), entry(1, 2, "b"), entry(2, 0, "c")];
        let after = edited(
            &before,
            &HashSet::from(["c", "unknown"]),
            vec![entry(1, 3, "new")],
        );
        assert_eq!(ids(&after), ["a", "b", "new"]);
    }
}
