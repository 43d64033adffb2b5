//! What is new in campaigns' Feeds since a person's last look, or since a page was read (decision E9).

use std::collections::HashMap;

use bidloop_domain::model::{CampaignId, EmailKey, LeadId, LeadStatus, OrganizationId, Timestamp};
use bidloop_domain::port::FeedNews;

use super::super::lists::match_list::{CampaignKey, matches_of};
use super::super::lists::served::ServedList;
use super::super::prelude::*;

/// A lead's organization, campaign, id and status.
type StatusRow = (String, String, Attempt<Col<LeadId>>, Attempt<Col<LeadStatus>>);

/// A list is in the order of `createdAt`, so the newest places are all that is looked at.
pub(super) async fn new_matches(
    conn: &mut Conn,
    organization: &OrganizationId,
    person: &EmailKey,
    at_most: i64,
) -> Result<Vec<(CampaignId, u64)>, Failure> {
    let looks: Vec<(String, i64)> = feed_looks::table
        .filter(feed_looks::organization_id.eq(organization.as_str()))
        .filter(feed_looks::email_key.eq(Col(person.as_str().to_owned())))
        .select((feed_looks::campaign_id, feed_looks::looked_at))
        .load(conn)
        .await?;
    let looks: HashMap<String, i64> = looks.into_iter().collect();
    let lists: Vec<(Attempt<Col<CampaignId>>, ServedList)> = campaigns::table
        .filter(campaigns::organization_id.eq(organization.as_str()))
        .order(campaigns::id)
        .select((campaigns::id, ServedList::as_select()))
        .load(conn)
        .await?;
    let mut counts = Vec::with_capacity(lists.len());
    for (Attempt(id), list) in lists {
        let Ok(Col(id)) = id else {
            // The inspection of campaigns reports it.
            continue;
        };
        let looked_at = looks.get(id.as_str()).copied();
        let key = (organization.clone(), id);
        let new = newer(conn, &key, &list, looked_at, at_most).await?;
        counts.push((key.1, new));
    }
    Ok(counts)
}

/// How many of a list's newest `at_most` matches are newer than `since`; without it, all are.
async fn newer(
    conn: &mut Conn,
    key: &CampaignKey,
    list: &ServedList,
    since: Option<i64>,
    at_most: i64,
) -> Result<u64, Failure> {
    let new = match (since, list.last_at) {
        (None, _) => list.total.min(at_most),
        (Some(since), Some(last_at)) if since < last_at => {
            let oldest = (list.total - at_most + 1).max(1);
            let mut new = 0;
            for (first, last) in list.gap.ranges(oldest, list.total) {
                let newer = matches_of(key, list.generation)
                    .filter(dense_range!(matches::seq, first, last))
                    .filter(matches::created_at.gt(since));
                let count: i64 = newer.count().get_result(conn).await?;
                new += count;
            }
            new
        }
        _ => 0,
    };
    Ok(u64::try_from(new).unwrap_or(0))
}

pub(super) async fn feed_news(
    conn: &mut Conn,
    key: &CampaignKey,
    since: Option<Timestamp>,
    shown: &[LeadId],
    at_most: i64,
) -> Result<Option<FeedNews>, Failure> {
    let (organization, campaign) = key;
    let Some(list) = ServedList::of(conn, key).await? else {
        return Ok(None);
    };
    let since = since.map(Timestamp::as_millis);
    let newer = newer(conn, key, &list, since, at_most).await?;
    // By their ids alone: with a condition on the campaign, SQLite reads all leads of it.
    let rows: Vec<StatusRow> = leads::table
        .filter(one_of!(leads::id, shown.iter().map(LeadId::as_str)))
        .select((
            leads::organization_id,
            leads::campaign_id,
            leads::id,
            leads::status,
        ))
        .load(conn)
        .await?;
    // The inspection of leads reports one that cannot be read.
    let decided = rows
        .into_iter()
        .filter(|(of, within, ..)| of == organization.as_str() && within == campaign.as_str())
        .filter_map(|(_, _, lead, status)| Some((lead.0.ok()?.0, status.0.ok()?.0)))
        .filter(|(_, status)| *status != LeadStatus::New);
    Ok(Some(FeedNews {
        newer,
        decided: decided.collect(),
    }))
}

/// The lock on the campaign keeps it from being removed, with all looks at it, until this transaction ends.
pub(super) async fn looked_at(
    conn: &mut Conn,
    (organization, campaign): &CampaignKey,
    person: &EmailKey,
    at: Timestamp,
) -> Result<bool, Failure> {
    let row = campaigns::table
        .find((organization.as_str(), campaign.as_str()))
        .select(campaigns::id);
    let known: Option<String> = for_key_share!(row).first(conn).await.optional()?;
    if known.is_none() {
        return Ok(false);
    }
    let person = Col(person.as_str().to_owned());
    diesel::insert_into(feed_looks::table)
        .values((
            feed_looks::organization_id.eq(organization.as_str()),
            feed_looks::email_key.eq(&person),
            feed_looks::campaign_id.eq(campaign.as_str()),
            feed_looks::looked_at.eq(at.as_millis()),
        ))
        .on_conflict_do_nothing()
        .execute(conn)
        .await?;
    let look = feed_looks::table
        .filter(feed_looks::organization_id.eq(organization.as_str()))
        .filter(feed_looks::email_key.eq(&person))
        .filter(feed_looks::campaign_id.eq(campaign.as_str()));
    diesel::update(look.filter(feed_looks::looked_at.lt(at.as_millis())))
        .set(feed_looks::looked_at.eq(at.as_millis()))
        .execute(conn)
        .await?;
    Ok(true)
}
