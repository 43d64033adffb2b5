//! Backfills that are due, and the stored jobs that they read. Serving a backfill's result is in
//! [`lists::switch`](super::lists::switch).

use std::sync::Arc;

use async_trait::async_trait;
use bidloop_domain::model::{CampaignId, OrganizationId, Timestamp};
use bidloop_domain::port::{
    Backfill, DueBackfills, MatchStore, StoreError, StoredJob, StoredSignature, SwitchMatches,
};
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::lists::switch::switch;
use super::locks::last_job_seq;
use super::{Conn, Store, VALUES_AT_ONCE, put_job_signatures};
use crate::columns::{number, read};
use crate::failure::Failure;
use crate::rows::{JobSignatureRow, StoredFilterRow, StoredJobRow};
use crate::schema::{campaigns, filters, job_signatures, jobs};

/// With due campaigns of more organizations, going through all filters costs less than asking for each organization's.
const ORGANIZATIONS_ASKED_FOR: usize = 10;

/// A campaign by its organization and its id, and its revision.
type DueCampaign = (String, String, i64);

#[async_trait]
impl MatchStore for Store {
    async fn due_backfills(&self) -> Result<DueBackfills, StoreError> {
        self.snapshot(async |conn: &mut Conn| due_backfills(conn).await)
            .await
    }

    async fn stored_jobs(
        &self,
        watermark: i64,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredJob>, StoreError> {
        let newest = before.map_or(watermark, |before| watermark.min(before.saturating_sub(1)));
        self.read(async move |conn: &mut Conn| stored_jobs(conn, newest, limit).await)
            .await
    }

    async fn signatures(&self, first: i64, last: i64) -> Result<Vec<StoredSignature>, StoreError> {
        self.read(async move |conn: &mut Conn| signatures(conn, first, last).await)
            .await
    }

    async fn job_seqs(&self, first: i64, last: i64) -> Result<Vec<i64>, StoreError> {
        self.read(async move |conn: &mut Conn| job_seqs(conn, first, last).await)
            .await
    }

    async fn store_signatures(&self, signatures: &[StoredSignature]) -> Result<(), StoreError> {
        let rows = signatures
            .iter()
            .map(|stored| JobSignatureRow::new(stored.seq, &stored.signature));
        let rows: Arc<[JobSignatureRow]> = rows.collect();
        self.write(async move |conn: &mut Conn| put_job_signatures(conn, &rows).await)
            .await
    }

    async fn jobs_at(&self, seqs: &[i64]) -> Result<Vec<StoredJob>, StoreError> {
        let seqs: Arc<[i64]> = seqs.into();
        self.read(async move |conn: &mut Conn| jobs_at(conn, &seqs).await)
            .await
    }

    async fn switch(
        &self,
        backfill: &Backfill,
        watermark: i64,
        matched: &[i64],
        at: Timestamp,
    ) -> Result<SwitchMatches, StoreError> {
        switch(self, backfill, watermark, matched, at).await
    }

    async fn due_count(&self) -> Result<u64, StoreError> {
        self.read(async |conn: &mut Conn| due_count(conn).await).await
    }
}

async fn due_backfills(conn: &mut Conn) -> Result<DueBackfills, Failure> {
    let watermark = last_job_seq(conn).await?;
    let due: Vec<DueCampaign> = campaigns::table
        .filter(campaigns::revision.ne(campaigns::matched_revision))
        .order((campaigns::organization_id, campaigns::id))
        .select((campaigns::organization_id, campaigns::id, campaigns::revision))
        .load(conn)
        .await?;
    if due.is_empty() {
        return Ok(DueBackfills {
            watermark,
            campaigns: Vec::new(),
        });
    }
    let rows = filters_of(conn, &due).await?;
    let mut filters = rows
        .into_iter()
        .map(StoredFilterRow::into_stored_filter)
        .peekable();
    let mut campaigns = Vec::with_capacity(due.len());
    for (organization, campaign, campaign_revision) in due {
        let mut backfill = Backfill {
            organization_id: read(
                "campaigns.organization_id",
                &organization,
                OrganizationId::parse(&organization),
            )?,
            campaign_id: read("campaigns.id", &campaign, CampaignId::parse(&campaign))?,
            campaign_revision,
            filters: Vec::new(),
        };
        // Both are in the campaigns' order. A fault is nobody's filter, and comes out at once.
        while let Some(filter) = filters.next_if(|filter| {
            filter.as_ref().map_or(true, |filter| {
                filter.organization_id == backfill.organization_id
                    && filter.campaign_id == backfill.campaign_id
            })
        }) {
            backfill.filters.push(filter?);
        }
        campaigns.push(backfill);
    }
    Ok(DueBackfills { watermark, campaigns })
}

/// The filters of all due campaigns, in the campaigns' order.
///
/// Mostly one filter was edited: then whoever did it waits for as little as there is to read.
async fn filters_of(conn: &mut Conn, due: &[DueCampaign]) -> Result<Vec<StoredFilterRow>, Failure> {
    if due.chunk_by(|a, b| a.0 == b.0).count() > ORGANIZATIONS_ASKED_FOR {
        return filters_of_all_due(conn).await;
    }
    let mut all = Vec::new();
    for of_one in due.chunk_by(|a, b| a.0 == b.0) {
        for some in of_one.chunks(VALUES_AT_ONCE) {
            let organization = some
                .first()
                .map_or("", |(organization, ..)| organization.as_str());
            let campaigns = some.iter().map(|(_, campaign, _)| campaign.as_str());
            let rows: Vec<StoredFilterRow> = filters::table
                .filter(filters::organization_id.eq(organization))
                .filter(filters::campaign_id.eq_any(campaigns))
                .order((filters::campaign_id, filters::id))
                .select(StoredFilterRow::as_select())
                .load(conn)
                .await?;
            all.extend(rows);
        }
    }
    Ok(all)
}

async fn filters_of_all_due(conn: &mut Conn) -> Result<Vec<StoredFilterRow>, Failure> {
    let of_due = campaigns::organization_id
        .eq(filters::organization_id)
        .and(campaigns::id.eq(filters::campaign_id));
    let rows = filters::table
        .inner_join(campaigns::table.on(of_due))
        .filter(campaigns::revision.ne(campaigns::matched_revision))
        .order((filters::organization_id, filters::campaign_id, filters::id))
        .select(StoredFilterRow::as_select());
    Ok(rows.load(conn).await?)
}

async fn stored_jobs(conn: &mut Conn, newest: i64, limit: u32) -> Result<Vec<StoredJob>, Failure> {
    let rows: Vec<StoredJobRow> = jobs::table
        .filter(jobs::seq.le(newest))
        .order(jobs::seq.desc())
        .limit(i64::from(limit))
        .select(StoredJobRow::as_select())
        .load(conn)
        .await?;
    rows.into_iter().map(StoredJobRow::into_stored_job).collect()
}

/// Those of the jobs with the numbers from `first` to `last`.
async fn signatures(conn: &mut Conn, first: i64, last: i64) -> Result<Vec<StoredSignature>, Failure> {
    let rows: Vec<JobSignatureRow> = job_signatures::table
        .filter(job_signatures::seq.between(first, last))
        .order(job_signatures::seq)
        .select(JobSignatureRow::as_select())
        .load(conn)
        .await?;
    let signatures = rows.into_iter();
    Ok(signatures
        .filter_map(JobSignatureRow::into_stored_signature)
        .collect())
}

async fn job_seqs(conn: &mut Conn, first: i64, last: i64) -> Result<Vec<i64>, Failure> {
    let seqs = jobs::table
        .filter(jobs::seq.between(first, last))
        .order(jobs::seq);
    Ok(seqs.select(jobs::seq).load(conn).await?)
}

async fn jobs_at(conn: &mut Conn, seqs: &[i64]) -> Result<Vec<StoredJob>, Failure> {
    let mut found = Vec::with_capacity(seqs.len());
    for seqs in seqs.chunks(VALUES_AT_ONCE) {
        let rows: Vec<StoredJobRow> = jobs::table
            .filter(jobs::seq.eq_any(seqs.iter().copied()))
            .select(StoredJobRow::as_select())
            .load(conn)
            .await?;
        for row in rows {
            found.push(row.into_stored_job()?);
        }
    }
    Ok(found)
}

async fn due_count(conn: &mut Conn) -> Result<u64, Failure> {
    let due: i64 = campaigns::table
        .filter(campaigns::revision.ne(campaigns::matched_revision))
        .select(count_star())
        .first(conn)
        .await?;
    number("the number of due campaigns", due)
}
