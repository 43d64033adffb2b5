//! The feed's side of the store: the position, the filters that jobs are matched with, and recording a page, which
//! is in [`lists::page`](super::lists::page).

use std::sync::Arc;

use async_trait::async_trait;
use bidloop_domain::model::Timestamp;
use bidloop_domain::port::{
    ClaimedDelivery, FeedCursor, FilterChanges, JobStore, MatchedPage, RecordPage, Revision, SendAtOnce,
    StoreError, StoredFilter,
};
use diesel::dsl::sql;
use diesel::sql_types::{Bool, Text};

use super::PAGE_SIZE;
use super::filter_changes::{FilterKey, filters_since};
use super::lists::page::record_page;
use super::locks::{ONLY_ROW, StoredCursor, readable, revision};
use super::prelude::*;

#[async_trait]
impl JobStore for Store {
    async fn feed_position(&self) -> Result<Option<FeedCursor>, StoreError> {
        let quarantine = self.quarantine.clone();
        self.read(async move |conn: &mut Conn| {
            let position = feed_position::table.find(ONLY_ROW);
            let cursor: StoredCursor = position.select(feed_position::position).first(conn).await?;
            Ok(readable(cursor, &quarantine))
        })
        .await
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        self.read(async |conn: &mut Conn| Ok(Revision(revision(conn).await?)))
            .await
    }

    async fn filters(&self, after: Option<&FilterKey>, limit: u32) -> Result<Vec<StoredFilter>, StoreError> {
        let after = after.map(|(organization, id)| (organization.to_string(), id.to_string()));
        let (quarantine, limit) = (self.quarantine.clone(), limit as usize);
        self.read(async move |conn: &mut Conn| filters(conn, &quarantine, after, limit).await)
            .await
    }

    async fn filters_since(&self, revision: Revision) -> Result<FilterChanges, StoreError> {
        let quarantine = self.quarantine.clone();
        self.snapshot(async move |conn: &mut Conn| filters_since(conn, &quarantine, revision).await)
            .await
    }

    async fn latest_jobs(&self, limit: u32) -> Result<Vec<String>, StoreError> {
        self.read(async move |conn: &mut Conn| {
            let latest = jobs::table.order(jobs::seq.desc()).limit(i64::from(limit));
            let latest = latest.select(jobs::json).load(conn).await?;
            // The program reads them once, when it starts.
            give_pages_back!(conn);
            Ok(latest)
        })
        .await
    }

    async fn note_feed_read(&self, at: Timestamp) -> Result<(), StoreError> {
        self.write(async move |conn: &mut Conn| {
            let earlier = feed_position::read_at
                .is_null()
                .or(feed_position::read_at.lt(at.as_millis()));
            diesel::update(feed_position::table.find(ONLY_ROW))
                .filter(earlier)
                .set(feed_position::read_at.eq(at.as_millis()))
                .execute(conn)
                .await?;
            Ok(())
        })
        .await
    }

    fn page_size(&self) -> u32 {
        PAGE_SIZE
    }

    async fn record_and_claim(
        &self,
        page: &MatchedPage,
        by: Option<&SendAtOnce>,
    ) -> Result<(RecordPage, Vec<ClaimedDelivery>), StoreError> {
        let (page, by) = (Arc::new(page.clone()), by.cloned());
        let (quarantine, sealer) = (self.quarantine.clone(), self.sealer.clone());
        self.write(async move |conn: &mut Conn| {
            record_page(conn, &quarantine, &sealer, &page, by.as_ref()).await
        })
        .await
    }
}

/// A page of filters. It is full although some rows cannot be read, because a short page is the last one.
async fn filters(
    conn: &mut Conn,
    quarantine: &Quarantine,
    mut after: Option<(String, String)>,
    limit: usize,
) -> Result<Vec<StoredFilter>, Failure> {
    let mut found = Vec::new();
    loop {
        let wanted = limit.saturating_sub(found.len());
        let mut some = filters::table
            .order((filters::organization_id, filters::id))
            .limit(stored(wanted))
            .select(Tried::<StoredFilter>::as_select())
            .into_boxed();
        if let Some((organization, id)) = &after {
            // As a row, which both databases look up in the primary key.
            let behind = sql::<Bool>("(organization_id, id) > (")
                .bind::<Text, _>(organization.as_str())
                .sql(", ")
                .bind::<Text, _>(id.as_str())
                .sql(")");
            some = some.filter(behind);
        }
        let rows: Vec<Tried<StoredFilter>> = some.load(conn).await?;
        let complete = rows.len() < wanted;
        after = match rows.last() {
            Some(Tried(Ok(filter))) => Some((filter.organization_id.to_string(), filter.id.to_string())),
            Some(Tried(Err(row))) => row
                .id
                .split_once('/')
                .map(|(organization, id)| (organization.to_owned(), id.to_owned())),
            None => None,
        };
        found.extend(rows.into_iter().filter_map(|row| row.or_aside(quarantine)));
        if complete || found.len() >= limit {
            return Ok(found);
        }
    }
}
