//! Recording a page of the feed: its jobs, their matches and the new position, in one transaction (decisions D2 and
//! D4).

use std::collections::HashSet;

use bidloop_domain::model::Tally;
use bidloop_domain::port::{ClaimedDelivery, MatchedPage, PageCounts, RecordPage, SendAtOnce};

use super::super::locks::{ONLY_ROW, locked_position, readable, shared_revision};
use super::super::prelude::*;
use super::super::statistics::count;
use super::arrivals::Arrivals;
use super::campaign_lists::CampaignLists;
use super::changed_jobs::{known_matches, match_changed_jobs};
use super::new_jobs::{NewJobs, match_new_jobs};
use crate::sealing::Sealer;

pub(crate) async fn record_page(
    conn: &mut Conn,
    quarantine: &Quarantine,
    sealer: &Sealer,
    page: &MatchedPage,
    by: Option<&SendAtOnce>,
) -> Result<(RecordPage, Vec<ClaimedDelivery>), Failure> {
    let position = locked_position(conn).await?;
    let revision = shared_revision(conn).await?;
    if readable(position.cursor, quarantine) != page.read_from {
        return Ok((RecordPage::PositionMoved, Vec::new()));
    }
    if revision != page.revision.0 {
        return Ok((RecordPage::RevisionMoved, Vec::new()));
    }
    let arrivals = Arrivals::of_page(conn, &page.jobs, position.last_job_seq).await?;
    arrivals.store(conn).await?;
    for changed in &arrivals.changed {
        // What could not be read is replaced.
        quarantine.release("jobs", changed.id());
    }
    let mut counts = PageCounts {
        new_jobs: arrivals.new.len() as u64,
        changed_jobs: arrivals.changed.len() as u64,
        ..PageCounts::default()
    };
    let known = known_matches(conn, &arrivals.changed).await?;
    // The campaigns whose lists may change: the jobs match them now, or their lists may contain the jobs.
    let matching = arrivals.new.iter().chain(&arrivals.changed);
    let matching = matching.flat_map(|arrival| &arrival.job.campaigns);
    let concerned: HashSet<_> = matching
        .chain(known.iter().map(|known| &known.campaign))
        .collect();
    let mut lists = CampaignLists::load(conn, quarantine, concerned).await?;
    match_changed_jobs(conn, &mut lists, &arrivals.changed, &known, page.at, &mut counts).await?;
    let new = NewJobs {
        jobs: &arrivals.new,
        page,
        pruned_before: position.pruned_before,
        sender: by.map(|by| (sealer, by)),
    };
    let mut tally = Tally::default();
    tally.jobs_seen(counts.new_jobs);
    let claimed = match_new_jobs(conn, quarantine, &mut lists, &new, &mut counts, &mut tally).await?;
    lists.save(conn).await?;
    diesel::update(feed_position::table.find(ONLY_ROW))
        .set((
            feed_position::position.eq(page.cursor.clone().map(Col)),
            feed_position::last_job_seq.eq(arrivals.last_job_seq),
            feed_position::read_at.eq(page.at.as_millis()),
        ))
        .execute(conn)
        .await?;
    count(conn, &tally, page.at).await?;
    Ok((RecordPage::Recorded(counts), claimed))
}
