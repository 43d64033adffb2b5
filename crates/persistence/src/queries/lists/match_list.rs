//! A list of matches: numbers in the order of `createdAt`, posting time and storing (decision A5), dense but for one gap,
//! which pruning leaves ([ADR 16](../../../../../docs/adr/0016-pruned-lists-stay-dense.md)).
//!
//! It owns how a list grows at its end, and how jobs are taken out of it and put into it. The callers choose the jobs
//! and take the locks: see [`locks`](super::super::locks).

use std::collections::{HashMap, HashSet};

use bidloop_domain::model::{CampaignId, LeadStatus, OrganizationId};
use diesel::dsl::auto_type;

use super::super::prelude::*;
use super::lead_statuses::decided_on;

/// A campaign of an organization.
pub(crate) type CampaignKey = (OrganizationId, CampaignId);

/// The matches of one of a campaign's generations.
#[auto_type]
pub(crate) fn matches_of<'q>(campaign: &'q CampaignKey, generation: i64) -> _ {
    let organization_id: &'q str = campaign.0.as_str();
    let campaign_id: &'q str = campaign.1.as_str();
    matches::table
        .filter(matches::organization_id.eq(organization_id))
        .filter(matches::campaign_id.eq(campaign_id))
        .filter(matches::generation.eq(generation))
}

/// Where the places of a list, from 1 for the oldest match, lie among the numbers: from 1 to `settled`, and behind a gap
/// of `gap` numbers. The default is a list without one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = campaigns)]
pub(crate) struct Gap {
    /// Pruning has looked at this many places and will not look at them again.
    #[diesel(column_name = match_settled)]
    pub(crate) settled: i64,
    #[diesel(column_name = match_gap)]
    pub(crate) gap: i64,
}

impl Gap {
    /// The number of a place.
    pub(crate) fn seq_of(self, place: i64) -> i64 {
        if place <= self.settled {
            place
        } else {
            place + self.gap
        }
    }

    /// The place of a number that a match has.
    pub(crate) fn place_of(self, seq: i64) -> i64 {
        if seq <= self.settled { seq } else { seq - self.gap }
    }

    /// The numbers of the places from `oldest` to `newest`, as ranges, the newest first.
    pub(crate) fn ranges(self, oldest: i64, newest: i64) -> impl Iterator<Item = (i64, i64)> {
        let open = (self.seq_of(oldest.max(self.settled + 1)), self.seq_of(newest));
        let settled = (oldest, newest.min(self.settled));
        let is_open = newest > self.settled;
        [is_open.then_some(open), Some(settled)]
            .into_iter()
            .flatten()
            .filter(|(first, last)| first <= last)
    }
}

/// One generation of a campaign's matches.
#[derive(Debug, Clone)]
pub(super) struct MatchList {
    pub(super) campaign: CampaignKey,
    pub(super) generation: i64,
    /// How many matches it has, which is the place of the last one.
    pub(super) total: i64,
    pub(super) gap: Gap,
    /// The last match's `createdAt`.
    pub(super) last_at: Option<i64>,
}

/// A job with what its place in a list depends on.
#[derive(Debug, Clone, PartialEq, Eq, Queryable, Selectable)]
#[diesel(table_name = jobs)]
pub(super) struct JobPlace {
    pub(super) id: String,
    pub(super) posted_at: i64,
    pub(super) seq: i64,
}

/// A job in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) created_at: i64,
    pub(super) job: JobPlace,
}

impl Entry {
    fn place(&self) -> (i64, i64, i64) {
        (self.created_at, self.job.posted_at, self.job.seq)
    }
}

/// A row of `matches`.
pub(super) struct NewMatch<'a> {
    pub(super) campaign: &'a CampaignKey,
    pub(super) generation: i64,
    pub(super) seq: i64,
    pub(super) job_id: &'a str,
    pub(super) created_at: i64,
    /// The status of its lead: see [`lead_statuses`](super::lead_statuses).
    pub(super) lead_status: &'a str,
}

/// Stores matches, none of which is there yet.
pub(super) async fn insert_matches(conn: &mut Conn, new: &[NewMatch<'_>]) -> Result<(), Failure> {
    Batch::of("matches", new)
        .with(matches::organization_id, |new| new.campaign.0.as_str())
        .with(matches::campaign_id, |new| new.campaign.1.as_str())
        .with(matches::generation, |new| new.generation)
        .with(matches::seq, |new| new.seq)
        .with(matches::job_id, |new| new.job_id)
        .with(matches::created_at, |new| new.created_at)
        .with(matches::lead_status, |new| new.lead_status)
        .run(conn, Write::Insert)
        .await?;
    Ok(())
}

impl MatchList {
    /// Makes a new job, which has no lead, the last of the list. The caller stores the match.
    pub(super) fn append<'a>(
        &mut self,
        campaign: &'a CampaignKey,
        job_id: &'a str,
        created_at: i64,
    ) -> NewMatch<'a> {
        self.total += 1;
        self.last_at = Some(created_at);
        NewMatch {
            campaign,
            generation: self.generation,
            seq: self.gap.seq_of(self.total),
            job_id,
            created_at,
            lead_status: LeadStatus::New.as_str(),
        }
    }

    /// Takes the jobs `lost` out, as far as the list has them, and puts `gained` into their places. All matches behind
    /// the first change get new numbers; a gap behind it is closed. If these would be more than `most`, nothing is done.
    /// The campaign is locked. Returns how many matches got new numbers, or `None` if nothing was done.
    pub(super) async fn edit(
        &mut self,
        conn: &mut Conn,
        lost: &[&str],
        gained: Vec<Entry>,
        most: i64,
    ) -> Result<Option<i64>, Failure> {
        let first = self.first_change(conn, lost, &gained).await?;
        let renumbered = self.total + 1 - first;
        if renumbered > most {
            return Ok(None);
        }
        // From one earlier on, so that they always contain the list's last match.
        let start = (first - 1).max(1);
        let times: HashSet<i64> = gained.iter().map(|entry| entry.created_at).collect();
        let before = self.tail(conn, self.gap.seq_of(start), &times).await?;
        let lost: HashSet<&str> = lost.iter().copied().collect();
        let after = edited(&before, &lost, gained);
        let kept = before
            .iter()
            .zip(&after)
            .take_while(|(old, new)| (&old.job.id, old.created_at) == (&new.job.id, new.created_at))
            .count();
        let first = start + stored(kept);
        if first <= self.gap.settled {
            self.gap = Gap::default();
        }
        let first = self.gap.seq_of(first);
        let changed = matches_of(&self.campaign, self.generation).filter(matches::seq.ge(first));
        diesel::delete(changed).execute(conn).await?;
        self.total = start - 1 + stored(after.len());
        self.last_at = after.last().map(|entry| entry.created_at);
        self.write(conn, first, &after[kept..]).await?;
        Ok(Some(renumbered))
    }

    /// Stores `entries` under the numbers from `first` on. The campaign is locked, so that the statuses of its leads stay
    /// as they are until this transaction ends.
    pub(super) async fn write(&self, conn: &mut Conn, first: i64, entries: &[Entry]) -> Result<(), Failure> {
        let jobs = entries.iter().map(|entry| entry.job.id.as_str());
        let statuses = decided_on(conn, &self.campaign, jobs).await?;
        let new: Vec<NewMatch<'_>> = (first..)
            .zip(entries)
            .map(|(seq, entry)| NewMatch {
                campaign: &self.campaign,
                generation: self.generation,
                seq,
                job_id: &entry.job.id,
                created_at: entry.created_at,
                lead_status: statuses
                    .get(&entry.job.id)
                    .map_or(LeadStatus::New.as_str(), String::as_str),
            })
            .collect();
        insert_matches(conn, &new).await
    }

    /// The first place that may change.
    async fn first_change(&self, conn: &mut Conn, lost: &[&str], gained: &[Entry]) -> Result<i64, Failure> {
        let seqs: Vec<i64> = matches_of(&self.campaign, self.generation)
            .filter(one_of!(matches::job_id, lost))
            .select(matches::seq)
            .load(conn)
            .await?;
        let places = seqs.into_iter().map(|seq| self.gap.place_of(seq));
        let first = places.fold(self.total + 1, i64::min);
        let earliest = gained.iter().map(|entry| entry.created_at).min();
        match (earliest, self.last_at) {
            (Some(earliest), Some(end)) if earliest <= end => {
                // Reads back from the end, as far as matches get new numbers.
                let before: Option<i64> = matches_of(&self.campaign, self.generation)
                    .filter(matches::created_at.lt(earliest))
                    .order(matches::seq.desc())
                    .select(matches::seq)
                    .first(conn)
                    .await
                    .optional()?;
                Ok(first.min(before.map_or(1, |before| self.gap.place_of(before) + 1)))
            }
            _ => Ok(first),
        }
    }

    /// The list from the number `start` on. Only matches of one of `times` have posting times and job numbers: nothing
    /// else is compared by them. Jobs are not joined, because a database that takes the list for short reads all jobs
    /// for it.
    async fn tail(&self, conn: &mut Conn, start: i64, times: &HashSet<i64>) -> Result<Vec<Entry>, Failure> {
        let rows: Vec<(String, i64)> = matches_of(&self.campaign, self.generation)
            .filter(matches::seq.ge(start))
            .order(matches::seq)
            .select((matches::job_id, matches::created_at))
            .load(conn)
            .await?;
        let compared: Vec<&str> = rows
            .iter()
            .filter(|(_, created_at)| times.contains(created_at))
            .map(|(job_id, _)| job_id.as_str())
            .collect();
        let places: Vec<JobPlace> = jobs::table
            .filter(one_of!(jobs::id, compared))
            .select(JobPlace::as_select())
            .load(conn)
            .await?;
        let mut places: HashMap<String, JobPlace> =
            places.into_iter().map(|job| (job.id.clone(), job)).collect();
        let entry = |(id, created_at)| {
            let job = places.remove(&id);
            Entry {
                created_at,
                job: job.unwrap_or(JobPlace {
                    id,
                    posted_at: 0,
                    seq: 0,
                }),
            }
        };
        Ok(rows.into_iter().map(entry).collect())
    }
}

/// `before` without `lost` and with `gained` in their places. The others keep their order, even where a job's posting
/// time has changed since: a list is stable.
fn edited(before: &[Entry], lost: &HashSet<&str>, gained: Vec<Entry>) -> Vec<Entry> {
    let kept = before
        .iter()
        .filter(|entry| !lost.contains(entry.job.id.as_str()));
    with_gained(kept.cloned().collect(), gained)
}

/// `kept` in its order, with each of `gained` behind the last entry that its place comes after.
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
            job: JobPlace {
                id: job_id.to_owned(),
                posted_at,
                seq: 1,
            },
        }
    }

    #[test]
    fn every_place_of_a_list_with_a_gap_has_its_number() {
        let gap = Gap { settled: 3, gap: 5 };
        let numbers: Vec<i64> = (1..=6).map(|place| gap.seq_of(place)).collect();
        assert_eq!(numbers, [1, 2, 3, 9, 10, 11]);
        let places: Vec<i64> = numbers.iter().map(|seq| gap.place_of(*seq)).collect();
        assert_eq!(places, [1, 2, 3, 4, 5, 6]);
        for (places, ranges) in [
            ((1, 3), vec![(1, 3)]),
            ((4, 6), vec![(9, 11)]),
            ((2, 5), vec![(9, 10), (2, 3)]),
            ((3, 4), vec![(9, 9), (3, 3)]),
            ((1, 0), vec![]),
        ] {
            assert_eq!(
                gap.ranges(places.0, places.1).collect::<Vec<_>>(),
                ranges,
                "{places:?}"
            );
        }
        assert_eq!(Gap::default().ranges(2, 5).collect::<Vec<_>>(), [(2, 5)]);
    }

    fn ids(list: &[Entry]) -> Vec<&str> {
        list.iter().map(|entry| entry.job.id.as_str()).collect()
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
