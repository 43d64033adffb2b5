//! Pages of a campaign's Feed. They count and choose matches by the status beside each match, and read leads, bids and
//! jobs of one page only.

use std::collections::{HashMap, HashSet};

use bidloop_domain::matching::JobSignature;
use bidloop_domain::model::{Actor, JobId, Lead, LeadId, LeadStatus, Timestamp, VariantArray as _};
use bidloop_domain::port::{
    BidSummary, FeedCounts, FeedQuery, ListedMatch, ListedMatches, SignedMatch, SignedMatches,
};
use diesel::dsl::sql;
use diesel::sql_types::Bool;

use super::super::leads::rows::new_lead;
use super::super::lists::match_list::{CampaignKey, matches_of};
use super::super::lists::served::{ServedCampaign, ServedList};
use super::super::prelude::*;

/// A match with its job.
type MatchRow = (i64, Attempt<Col<JobId>>, i64, Attempt<String>);

/// A match with the signature of its job.
type SignedRow = (
    i64,
    Attempt<Col<JobId>>,
    Attempt<Col<LeadStatus>>,
    Option<Vec<u8>>,
);

pub(super) async fn page(
    conn: &mut Conn,
    quarantine: &Quarantine,
    key: &CampaignKey,
    query: FeedQuery,
) -> Result<Option<ListedMatches>, Failure> {
    let Some(ServedCampaign { name, list, .. }) = ServedCampaign::of(conn, quarantine, key).await? else {
        return Ok(None);
    };
    let counts = counts(conn, key, &list).await?;
    let (offset, limit) = (stored(query.offset).min(i64::MAX / 2), i64::from(query.limit));
    let rows = match query.status {
        None => {
            let newest = list.total - offset;
            rows_at_places(conn, key, &list, (newest - limit + 1).max(1), newest).await?
        }
        Some(status) if counts.of(status) <= query.offset => Vec::new(),
        Some(status) => {
            let count = stored(counts.of(status));
            let seqs = seqs_of_status(conn, key, &list, (status, count), offset, limit).await?;
            rows_of(conn, key, &list, &seqs).await?
        }
    };
    let (entries, unreadable) = entries(conn, quarantine, key, rows).await?;
    Ok(Some(ListedMatches {
        newest_at: list
            .last_at
            .filter(|_| list.total > 0)
            .map(Timestamp::from_millis),
        campaign_name: name,
        counts,
        entries,
        unreadable,
    }))
}

pub(super) async fn of_jobs(
    conn: &mut Conn,
    quarantine: &Quarantine,
    key: &CampaignKey,
    jobs: &[JobId],
) -> Result<Option<Vec<ListedMatch>>, Failure> {
    let Some(ServedCampaign { list, .. }) = ServedCampaign::of(conn, quarantine, key).await? else {
        return Ok(None);
    };
    let jobs: Vec<&str> = jobs.iter().map(JobId::as_str).collect();
    let seqs: Vec<i64> = matches_of(key, list.generation)
        .filter(one_of!(matches::job_id, jobs))
        .select(matches::seq)
        .load(conn)
        .await?;
    let rows = rows_of(conn, key, &list, &seqs).await?;
    let (entries, _) = entries(conn, quarantine, key, rows).await?;
    Ok(Some(entries))
}

/// The matches of each status. Those that are decided on have an index of their own, which holds nothing else, so this
/// reads no row of the others. One status at a time is one range of it: for groups, SQLite takes twice as long.
async fn counts(conn: &mut Conn, key: &CampaignKey, list: &ServedList) -> Result<FeedCounts, Failure> {
    let number = |count: i64| u64::try_from(count).unwrap_or(0);
    let mut counts = Vec::new();
    for status in decided_statuses() {
        let of_status: i64 = matches_of(key, list.generation)
            .filter(sql::<Bool>("matches.lead_status <> 'new'"))
            .filter(matches::lead_status.eq(status.as_str()))
            .count()
            .get_result(conn)
            .await?;
        counts.push((status, number(of_status)));
    }
    // A status of another version is counted as new: the row of the lead is reported.
    Ok(FeedCounts::from_decided(number(list.total), counts))
}

fn decided_statuses() -> impl Iterator<Item = LeadStatus> {
    let all = LeadStatus::VARIANTS.iter().copied();
    all.filter(|status| *status != LeadStatus::New)
}

/// How many new matches a page walks past at most, if those that are decided on are spread evenly.
const WALKED_PAST: i64 = 64;

/// How often a place is looked for from which a page has less to walk past.
const LOOKS: u32 = 8;

/// The numbers of some matches of a status, the newest first.
async fn seqs_of_status(
    conn: &mut Conn,
    key: &CampaignKey,
    list: &ServedList,
    (status, count): (LeadStatus, i64),
    offset: i64,
    limit: i64,
) -> Result<Vec<i64>, Failure> {
    let of_status = matches_of(key, list.generation).filter(matches::lead_status.eq(status.as_str()));
    let newest_first = of_status.order(matches::seq.desc()).limit(limit);
    if status != LeadStatus::New {
        let decided = newest_first.filter(sql::<Bool>("matches.lead_status <> 'new'"));
        return Ok(decided.offset(offset).select(matches::seq).load(conn).await?);
    }
    let from = shortly_before(conn, key, list, count, offset).await?;
    let page = newest_first
        .filter(matches::seq.le(list.gap.seq_of(from.place)))
        .offset(offset - from.newer);
    Ok(page.select(matches::seq).load(conn).await?)
}

/// A place in a list, and how many new matches are at higher places.
#[derive(Debug, Clone, Copy)]
struct Mark {
    place: i64,
    newer: i64,
}

/// A place shortly before that of the new match which has `offset` newer ones among all `count`. It is found by
/// interpolation: what is decided on between two places has an index that holds nothing else, so no match is read.
async fn shortly_before(
    conn: &mut Conn,
    key: &CampaignKey,
    list: &ServedList,
    count: i64,
    offset: i64,
) -> Result<Mark, Failure> {
    let mut before = Mark {
        place: list.total,
        newer: 0,
    };
    let mut behind = Mark {
        place: 0,
        newer: count,
    };
    for _ in 0..LOOKS {
        let ahead = offset - before.newer;
        if ahead <= WALKED_PAST {
            break;
        }
        let (places, new) = (before.place - behind.place, behind.newer - before.newer);
        // Short of it, as those that are decided on are never spread quite evenly.
        let place = before.place - (ahead - WALKED_PAST / 2) * places / new.max(1);
        if place <= behind.place {
            break;
        }
        let newer = if before.place - place < place - behind.place {
            before.newer + new_between(conn, key, list, place, before.place).await?
        } else {
            behind.newer - new_between(conn, key, list, behind.place, place).await?
        };
        let mark = Mark { place, newer };
        *(if newer <= offset { &mut before } else { &mut behind }) = mark;
    }
    Ok(before)
}

/// How many new matches are above the place `above` and up to the place `to`.
async fn new_between(
    conn: &mut Conn,
    key: &CampaignKey,
    list: &ServedList,
    above: i64,
    to: i64,
) -> Result<i64, Failure> {
    let statuses: Vec<&str> = decided_statuses().map(LeadStatus::as_str).collect();
    let decided: i64 = matches_of(key, list.generation)
        .filter(sql::<Bool>("matches.lead_status <> 'new'"))
        .filter(one_of!(matches::lead_status, statuses))
        .filter(matches::seq.gt(list.gap.seq_of(above)))
        .filter(matches::seq.le(list.gap.seq_of(to)))
        .count()
        .get_result(conn)
        .await?;
    Ok(to - above - decided)
}

async fn rows_at_places(
    conn: &mut Conn,
    key: &CampaignKey,
    list: &ServedList,
    oldest: i64,
    newest: i64,
) -> Result<Vec<MatchRow>, Failure> {
    let mut rows = Vec::new();
    for (first, last) in list.gap.ranges(oldest, newest) {
        let newest_first = matches_of(key, list.generation)
            .inner_join(jobs::table.on(jobs::id.eq(matches::job_id)))
            .filter(dense_range!(matches::seq, first, last))
            .order(matches::seq.desc())
            .select((matches::seq, matches::job_id, matches::created_at, jobs::json));
        rows.append(&mut newest_first.load(conn).await?);
    }
    Ok(rows)
}

async fn rows_of(
    conn: &mut Conn,
    key: &CampaignKey,
    list: &ServedList,
    seqs: &[i64],
) -> Result<Vec<MatchRow>, Failure> {
    let mut rows: Vec<MatchRow> = matches_of(key, list.generation)
        .inner_join(jobs::table.on(jobs::id.eq(matches::job_id)))
        .filter(one_of!(matches::seq, seqs))
        .select((matches::seq, matches::job_id, matches::created_at, jobs::json))
        .load(conn)
        .await?;
    rows.sort_unstable_by_key(|(seq, ..)| std::cmp::Reverse(*seq));
    Ok(rows)
}

/// The matches as entries, and how many cannot be read. Leads are not joined: see [`pages`](super::super::leads).
async fn entries(
    conn: &mut Conn,
    quarantine: &Quarantine,
    key: &CampaignKey,
    rows: Vec<MatchRow>,
) -> Result<(Vec<ListedMatch>, usize), Failure> {
    let places = rows.len();
    let mut entries = Vec::with_capacity(places);
    for (_, Attempt(job_id), created_at, Attempt(job_json)) in rows {
        if let (Ok(Col(job_id)), Ok(job_json)) = (job_id, job_json) {
            entries.push(ListedMatch {
                lead: new_lead(key, &job_id, created_at),
                is_stored: false,
                job_json,
                bid: None,
                rejected_by: None,
            });
        }
    }
    let unreadable = look_up_leads(conn, quarantine, key, &mut entries).await?;
    entries.retain(|entry| !unreadable.contains(&entry.lead.id));
    look_up_rejections(conn, quarantine, &mut entries).await?;
    let unreadable = places - entries.len();
    Ok((entries, unreadable))
}

/// Puts what is stored of the entries' leads and their bids into them. Returns the leads that cannot be read.
async fn look_up_leads(
    conn: &mut Conn,
    quarantine: &Quarantine,
    (organization, _): &CampaignKey,
    entries: &mut [ListedMatch],
) -> Result<HashSet<LeadId>, Failure> {
    let ids: Vec<&str> = entries.iter().map(|entry| entry.lead.id.as_str()).collect();
    let rows: Vec<(String, Tried<Lead>, Option<String>)> = leads::table
        .filter(one_of!(leads::id, ids))
        .select((leads::id, Tried::<Lead>::as_select(), leads::bid_id))
        .load(conn)
        .await?;
    let bid_ids: Vec<&str> = rows.iter().filter_map(|(.., bid)| bid.as_deref()).collect();
    let bids: Vec<(String, Tried<BidSummary>)> = bids::table
        .filter(bids::organization_id.eq(organization.as_str()))
        .filter(one_of!(bids::id, bid_ids))
        .select((bids::id, Tried::<BidSummary>::as_select()))
        .load(conn)
        .await?;
    let mut bids: HashMap<String, BidSummary> = bids
        .into_iter()
        .filter_map(|(id, bid)| Some((id, bid.or_aside(quarantine)?)))
        .collect();
    let mut stored: HashMap<String, (Option<Lead>, Option<BidSummary>)> = rows
        .into_iter()
        .map(|(id, lead, bid)| {
            let bid = bid.and_then(|bid| bids.remove(&bid));
            (id, (lead.or_aside(quarantine), bid))
        })
        .collect();
    let mut unreadable = HashSet::new();
    for entry in entries {
        match stored.remove(entry.lead.id.as_str()) {
            Some((Some(lead), bid)) => {
                entry.lead = lead;
                entry.is_stored = true;
                entry.bid = bid;
            }
            Some((None, _)) => {
                unreadable.insert(entry.lead.id.clone());
            }
            None => {}
        }
    }
    Ok(unreadable)
}

/// Who rejected the rejected ones: a rejection is accepted once, and its entry has an index of its own.
async fn look_up_rejections(
    conn: &mut Conn,
    quarantine: &Quarantine,
    entries: &mut [ListedMatch],
) -> Result<(), Failure> {
    let rejected = entries
        .iter()
        .filter(|entry| entry.lead.status == LeadStatus::Rejected);
    let ids: Vec<&str> = rejected.map(|entry| entry.lead.id.as_str()).collect();
    let rows: Vec<(Option<String>, Tried<Actor>)> = activities::table
        .filter(sql::<Bool>(
            "activities.kind = 'rejection' AND activities.outcome = 'accepted'",
        ))
        .filter(one_of!(activities::lead_id, ids))
        .select((activities::lead_id, Tried::<Actor>::as_select()))
        .load(conn)
        .await?;
    let mut actors: HashMap<String, Actor> = rows
        .into_iter()
        .filter_map(|(lead, actor)| Some((lead?, actor.or_aside(quarantine)?)))
        .collect();
    for entry in entries {
        entry.rejected_by = actors.remove(entry.lead.id.as_str());
    }
    Ok(())
}

pub(super) async fn signed_matches(
    conn: &mut Conn,
    key: &CampaignKey,
    below: Option<u64>,
    limit: u32,
) -> Result<Option<SignedMatches>, Failure> {
    let Some(list) = ServedList::of(conn, key).await? else {
        return Ok(None);
    };
    let newest = below.map_or(list.total, |below| list.total.min(stored(below) - 1));
    let oldest = (newest - i64::from(limit) + 1).max(1);
    let mut rows: Vec<SignedRow> = Vec::new();
    for (first, last) in list.gap.ranges(oldest, newest) {
        let newest_first = matches_of(key, list.generation)
            .inner_join(jobs::table.on(jobs::id.eq(matches::job_id)))
            .left_join(job_signatures::table.on(job_signatures::seq.eq(jobs::seq)))
            .filter(dense_range!(matches::seq, first, last))
            .order(matches::seq.desc())
            .select((
                matches::seq,
                matches::job_id,
                matches::lead_status,
                job_signatures::signature.nullable(),
            ));
        rows.append(&mut newest_first.load(conn).await?);
    }
    let signed = |(seq, job_id, status, signature): SignedRow| {
        Some(SignedMatch {
            place: u64::try_from(list.gap.place_of(seq)).ok()?,
            job_id: job_id.0.ok()?.0,
            status: status.0.ok()?.0,
            signature: signature.and_then(|bytes| JobSignature::from_bytes(&bytes)),
        })
    };
    Ok(Some(SignedMatches {
        matches: rows.into_iter().filter_map(signed).collect(),
        older_below: if oldest <= 1 {
            0
        } else {
            u64::try_from(oldest).unwrap_or(0)
        },
    }))
}
