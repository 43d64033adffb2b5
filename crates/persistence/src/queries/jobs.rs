//! Jobs: pages of the feed, each recorded in one transaction (decisions D2 and D4).
//!
//! Owns the jobs themselves and the course of recording. What becomes of new jobs is in
//! [`super::new_matches`], of changed ones in [`super::changed_jobs`].

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use bidloop_domain::port::{
    FilterChanges, JobStore, MatchedJob, MatchedPage, PageCounts, RecordPage, Revision, StoreError,
    StoredFilter,
};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use diesel_async::RunQueryDsl;

use super::campaign_lists::CampaignLists;
use super::feed::{ONLY_ROW, locked_position, shared_revision};
use super::filter_changes::{FilterName, filters_since};
use super::job_signatures::{remove_signatures, store_signatures};
use super::match_lists::{CampaignKey, VALUES_AT_ONCE};
use super::{Conn, PAGE_SIZE, Store, changed_jobs, insert_jobs, new_matches};
use crate::columns::FreeText;
use crate::failure::Failure;
use crate::rows::{NewJobRow, StoredFilterRow};
use crate::schema::{feed_position, filters, jobs, revision_counter};

/// A job whose content is stored for the first time, under its number.
pub(super) struct Arrival<'p> {
    pub(super) job: &'p MatchedJob,
    pub(super) seq: i64,
}

impl<'p> Arrival<'p> {
    pub(super) fn id(&self) -> &'p str {
        self.job.id.as_ref()
    }

    /// The campaigns that it matches, each once.
    pub(super) fn campaigns(&self) -> Vec<&'p CampaignKey> {
        let mut seen = HashSet::new();
        let campaigns = self.job.campaigns.iter();
        campaigns.filter(|campaign| seen.insert(*campaign)).collect()
    }
}

/// What a page brings. Jobs that are known as they are do not count.
#[derive(Default)]
struct Arrivals<'p> {
    new: Vec<Arrival<'p>>,
    changed: Vec<Arrival<'p>>,
    last_job_seq: i64,
}

#[async_trait]
impl JobStore for Store {
    async fn feed_position(&self) -> Result<Option<String>, StoreError> {
        self.read(async |conn: &mut Conn| feed_position(conn).await).await
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        self.read(async |conn: &mut Conn| revision(conn).await).await
    }

    async fn filters(&self, after: Option<&FilterName>, limit: u32) -> Result<Vec<StoredFilter>, StoreError> {
        let after = after.cloned();
        self.read(async move |conn: &mut Conn| filters(conn, after.as_ref(), limit).await)
            .await
    }

    async fn filters_since(&self, revision: Revision) -> Result<FilterChanges, StoreError> {
        self.snapshot(async move |conn: &mut Conn| filters_since(conn, revision).await)
            .await
    }

    async fn latest_jobs(&self, limit: u32) -> Result<Vec<String>, StoreError> {
        self.read(async move |conn: &mut Conn| latest_jobs(conn, limit).await)
            .await
    }

    fn page_size(&self) -> u32 {
        PAGE_SIZE
    }

    async fn record_page(&self, page: &MatchedPage) -> Result<RecordPage, StoreError> {
        let page = std::sync::Arc::new(page.clone());
        self.write(async move |conn: &mut Conn| record_page(conn, &page).await)
            .await
    }
}

async fn feed_position(conn: &mut Conn) -> Result<Option<String>, Failure> {
    let position = feed_position::table.find(ONLY_ROW);
    let position: Option<FreeText> = position.select(feed_position::position).first(conn).await?;
    Ok(position.map(|position| position.0))
}

async fn revision(conn: &mut Conn) -> Result<Revision, Failure> {
    let counter = revision_counter::table.find(ONLY_ROW);
    Ok(Revision(
        counter.select(revision_counter::value).first(conn).await?,
    ))
}

async fn filters(
    conn: &mut Conn,
    after: Option<&FilterName>,
    limit: u32,
) -> Result<Vec<StoredFilter>, Failure> {
    let mut some = filters::table
        .order((filters::organization_id, filters::id))
        .limit(i64::from(limit))
        .select(StoredFilterRow::as_select())
        .into_boxed();
    if let Some((organization, id)) = after {
        // As a row, which both databases look up in the primary key.
        let behind = sql::<Bool>("(organization_id, id) > (")
            .bind::<Text, _>(organization.as_str())
            .sql(", ")
            .bind::<Text, _>(id.as_str())
            .sql(")");
        some = some.filter(behind);
    }
    let rows: Vec<StoredFilterRow> = some.load(conn).await?;
    rows.into_iter()
        .map(StoredFilterRow::into_stored_filter)
        .collect()
}

async fn latest_jobs(conn: &mut Conn, limit: u32) -> Result<Vec<String>, Failure> {
    let latest = jobs::table.order(jobs::seq.desc()).limit(i64::from(limit));
    Ok(latest.select(jobs::json).load(conn).await?)
}

async fn record_page(conn: &mut Conn, page: &MatchedPage) -> Result<RecordPage, Failure> {
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
    new_matches::match_new_jobs(conn, &mut lists, &arrivals.new, page, &mut counts).await?;
    lists.save(conn).await?;
    move_position(conn, page.cursor.as_deref(), arrivals.last_job_seq).await?;
    Ok(RecordPage::Recorded(counts))
}

/// Tells new jobs from changed ones and from those known as they are, and numbers what is to be stored in the feed's
/// order. Of an id that occurs twice the later counts.
async fn sort_out<'p>(
    conn: &mut Conn,
    jobs_of_page: &'p [MatchedJob],
    last_job_seq: i64,
) -> Result<Arrivals<'p>, Failure> {
    let mut seen = HashSet::new();
    let mut later_ones: Vec<&MatchedJob> = jobs_of_page
        .iter()
        .rev()
        .filter(|job| seen.insert(&job.id))
        .collect();
    later_ones.reverse();
    let known = known_contents(conn, &later_ones).await?;
    let mut arrivals = Arrivals {
        last_job_seq,
        ..Arrivals::default()
    };
    for job in later_ones {
        let content = known.get(job.id.as_ref());
        if content.is_some_and(|content| *content == job.json) {
            continue;
        }
        arrivals.last_job_seq += 1;
        let arrival = Arrival {
            job,
            seq: arrivals.last_job_seq,
        };
        match content {
            Some(_) => arrivals.changed.push(arrival),
            None => arrivals.new.push(arrival),
        }
    }
    Ok(arrivals)
}

/// The stored JSON of those of the jobs that are known.
async fn known_contents(conn: &mut Conn, of: &[&MatchedJob]) -> Result<HashMap<String, String>, Failure> {
    let mut known = HashMap::new();
    for chunk in of.chunks(VALUES_AT_ONCE) {
        let ids: Vec<&str> = chunk.iter().map(|job| job.id.as_ref()).collect();
        let rows: Vec<(String, String)> = jobs::table
            .filter(jobs::id.eq_any(ids))
            .select((jobs::id, jobs::json))
            .load(conn)
            .await?;
        known.extend(rows);
    }
    Ok(known)
}

async fn store_new_jobs(conn: &mut Conn, new: &[Arrival<'_>]) -> Result<(), Failure> {
    let rows: Vec<NewJobRow<'_>> = new
        .iter()
        .map(|arrival| NewJobRow {
            id: arrival.id(),
            seq: arrival.seq,
            posted_at: arrival.job.posted_at.as_millis(),
            json: &arrival.job.json,
        })
        .collect();
    let inserted = insert_jobs(conn, &rows).await?;
    if inserted == rows.len() {
        Ok(())
    } else {
        // Only the position's holder stores jobs, and it has just looked.
        Err(Failure::Fault("a new job was stored meanwhile".to_owned()))
    }
}

async fn replace_jobs(conn: &mut Conn, changed: &[Arrival<'_>]) -> Result<(), Failure> {
    for arrival in changed {
        diesel::update(jobs::table.find(arrival.id()))
            .set((
                jobs::seq.eq(arrival.seq),
                jobs::posted_at.eq(arrival.job.posted_at.as_millis()),
                jobs::json.eq(arrival.job.json.as_str()),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
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
