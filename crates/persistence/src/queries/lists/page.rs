//! Recording a page of the feed: its jobs, their matches and the new position, in one transaction (decisions D2 and D4).

use std::collections::HashSet;

use bidloop_domain::port::{MatchedPage, PageCounts, RecordPage};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::Conn;
use super::super::locks::{ONLY_ROW, locked_position, shared_revision};
use super::arrivals::{
    Arrivals, remove_signatures, replace_jobs, sort_out, store_new_jobs, store_signatures,
};
use super::campaign_lists::CampaignLists;
use super::match_list::CampaignKey;
use super::{changed_jobs, new_jobs};
use crate::columns::FreeText;
use crate::failure::Failure;
use crate::schema::feed_position;

pub(crate) async fn record_page(conn: &mut Conn, page: &MatchedPage) -> Result<RecordPage, Failure> {
    let revision = shared_revision(conn).await?;
    let position = locked_position(conn).await?;
    if position.cursor != page.read_from {
        return Ok(RecordPage::PositionMoved);
    }
    if revision != page.revision.0 {
        return Ok(RecordPage::RevisionMoved);
    }
    let arrivals = sort_out(conn, &page.jobs, position.last_job_seq).await?;
    store_new_jobs(conn, &arrivals.new).await?;
    store_signatures(conn, &arrivals.new).await?;
    remove_signatures(conn, &arrivals.changed).await?;
    replace_jobs(conn, &arrivals.changed).await?;
    store_signatures(conn, &arrivals.changed).await?;
    let mut counts = PageCounts {
        new_jobs: arrivals.new.len() as u64,
        changed_jobs: arrivals.changed.len() as u64,
        ..PageCounts::default()
    };
    let known = changed_jobs::known_matches(conn, &arrivals.changed).await?;
    let listing = known.iter().map(|known| &known.campaign);
    let mut lists = CampaignLists::load(conn, concerned(&arrivals, listing)).await?;
    changed_jobs::match_anew(conn, &mut lists, &arrivals.changed, &known, page.at, &mut counts).await?;
    new_jobs::match_new_jobs(conn, &mut lists, &arrivals.new, page, &mut counts).await?;
    lists.save(conn).await?;
    move_position(conn, page.cursor.as_deref(), arrivals.last_job_seq).await?;
    Ok(RecordPage::Recorded(counts))
}

/// The campaigns whose lists may change: those that the jobs match, and those that may list them so far.
fn concerned<'a>(
    arrivals: &Arrivals<'a>,
    listing: impl Iterator<Item = &'a CampaignKey>,
) -> HashSet<&'a CampaignKey> {
    let arrivals = arrivals.new.iter().chain(&arrivals.changed);
    let matching = arrivals.flat_map(|arrival| &arrival.job.campaigns);
    matching.chain(listing).collect()
}

async fn move_position(conn: &mut Conn, cursor: Option<&str>, last_job_seq: i64) -> Result<(), Failure> {
    diesel::update(feed_position::table.find(ONLY_ROW))
        .set((
            feed_position::position.eq(cursor.map(FreeText::from)),
            feed_position::last_job_seq.eq(last_job_seq),
        ))
        .execute(conn)
        .await?;
    Ok(())
}
