//! Matches that leave the old end of a list, because they are old and no leads of its campaign.
//!
//! The oldest places that pruning has not looked at lie behind the list's gap. What is kept of them moves to the numbers
//! before the gap, which grows by what is removed. So a step writes no more rows than it looks at, however long the list
//! is, and no match is written twice.

use std::collections::HashSet;

use super::super::locks::{locked_position, shared_revision};
use super::super::prelude::*;
use super::match_list::{CampaignKey, NewMatch, insert_matches, matches_of};
use super::served::ServedList;

/// A row of `matches`.
type Known = (i64, String, i64, String);

/// What a step did to a list.
pub(crate) struct TakenOff {
    pub(crate) removed: u64,
    /// Whether older matches than asked for may be left.
    pub(crate) has_more: bool,
}

/// Looks at up to `limit` of the oldest matches, up to the first one after `before`.
pub(crate) async fn take_off(
    conn: &mut Conn,
    campaign: &CampaignKey,
    before: i64,
    limit: i64,
) -> Result<TakenOff, Failure> {
    locked_position(conn).await?;
    shared_revision(conn).await?;
    let nothing = TakenOff {
        removed: 0,
        has_more: false,
    };
    let row = campaigns::table.find((campaign.0.as_str(), campaign.1.as_str()));
    // Under this lock no page of the list makes leads.
    let row = row.select((
        campaigns::revision,
        campaigns::matched_revision,
        ServedList::as_select(),
    ));
    let row: Option<(i64, i64, ServedList)> = for_update!(row).first(conn).await.optional()?;
    // A backfill that is due has planned a list of these matches, or will.
    let Some((_, _, list)) = row.filter(|(revision, matched, _)| revision == matched) else {
        return Ok(nothing);
    };
    let first = list.gap.seq_of(list.gap.settled + 1);
    let mut old: Vec<Known> = matches_of(campaign, list.generation)
        .filter(dense_range!(matches::seq, first, first + limit - 1))
        .order(matches::seq)
        .select((
            matches::seq,
            matches::job_id,
            matches::created_at,
            matches::lead_status,
        ))
        .load(conn)
        .await?;
    let looked_at = stored(old.len());
    old.retain(|(_, _, created_at, _)| *created_at <= before);
    let Some(&(newest, ..)) = old.last() else {
        return Ok(nothing);
    };
    let leads = leads_among(conn, campaign, &old).await?;
    let kept: Vec<&Known> = old.iter().filter(|(_, job, ..)| leads.contains(job)).collect();
    let removed = stored(old.len() - kept.len());
    // Without a gap, the matches before the first that is removed have their numbers already.
    if removed > 0 || list.gap.gap > 0 {
        let looked_at =
            matches_of(campaign, list.generation).filter(dense_range!(matches::seq, first, newest));
        diesel::delete(looked_at).execute(conn).await?;
        let moved: Vec<NewMatch<'_>> = (list.gap.settled + 1..)
            .zip(kept.iter())
            .map(|(seq, (_, job_id, created_at, lead_status))| NewMatch {
                campaign,
                generation: list.generation,
                seq,
                job_id,
                created_at: *created_at,
                lead_status,
            })
            .collect();
        insert_matches(conn, &moved).await?;
    }
    diesel::update(campaigns::table.find((campaign.0.as_str(), campaign.1.as_str())))
        .set((
            campaigns::match_total.eq(list.total - removed),
            campaigns::match_settled.eq(list.gap.settled + stored(kept.len())),
            campaigns::match_gap.eq(list.gap.gap + removed),
        ))
        .execute(conn)
        .await?;
    Ok(TakenOff {
        removed: u64::try_from(removed).unwrap_or(0),
        has_more: looked_at == limit && stored(old.len()) == limit,
    })
}

/// The jobs among the matches that are leads of the campaign.
async fn leads_among(
    conn: &mut Conn,
    campaign: &CampaignKey,
    old: &[Known],
) -> Result<HashSet<String>, Failure> {
    let jobs: Vec<&str> = old.iter().map(|(_, job, ..)| job.as_str()).collect();
    let leads: Vec<String> = leads::table
        .filter(leads::organization_id.eq(campaign.0.as_str()))
        .filter(leads::campaign_id.eq(campaign.1.as_str()))
        .filter(one_of!(leads::job_id, jobs))
        .select(leads::job_id)
        .load(conn)
        .await?;
    Ok(leads.into_iter().collect())
}
