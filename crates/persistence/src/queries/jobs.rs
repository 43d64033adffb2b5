//! What the feed's reader needs: the position, the filters to match with, and recording a page, which is in
//! [`lists::page`](super::lists::page).

use async_trait::async_trait;
use bidloop_domain::port::{
    FilterChanges, JobStore, MatchedPage, RecordPage, Revision, StoreError, StoredFilter,
};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use diesel_async::RunQueryDsl;

use super::filter_changes::{FilterName, filters_since};
use super::lists::page::record_page;
use super::locks::ONLY_ROW;
use super::{Conn, PAGE_SIZE, Store};
use crate::columns::FreeText;
use crate::failure::Failure;
use crate::rows::StoredFilterRow;
use crate::schema::{feed_position, filters, jobs, revision_counter};

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
