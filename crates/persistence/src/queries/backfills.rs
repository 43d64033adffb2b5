//! Backfills that are due, and the stored jobs that they read. Serving a backfill's result is in
//! [`lists::switch`](super::lists::switch).

use std::sync::Arc;

use async_trait::async_trait;
use bidloop_domain::matching::JobSignature;
use bidloop_domain::model::{CampaignId, OrganizationId, Timestamp};
use bidloop_domain::port::{
    Backfill, DueBackfills, MatchStore, StoreError, StoredFilter, StoredJob, StoredSignature, SwitchMatches,
};

use super::lists::arrivals::put_signatures;
use super::lists::switch::switch;
use super::locks::last_job_seq;
use super::prelude::*;

/// With due campaigns of more organizations, reading all filters in one go costs less than asking for those of each
/// organization.
const ORGANIZATIONS_ASKED_FOR: usize = 10;

#[async_trait]
impl MatchStore for Store {
    async fn due_backfills(&self) -> Result<DueBackfills, StoreError> {
        let quarantine = self.quarantine.clone();
        self.snapshot(async move |conn: &mut Conn| due_backfills(conn, &quarantine).await)
            .await
    }

    async fn stored_jobs(
        &self,
        watermark: i64,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredJob>, StoreError> {
        let newest = before.map_or(watermark, |before| watermark.min(before.saturating_sub(1)));
        let quarantine = self.quarantine.clone();
        self.read(async move |conn: &mut Conn| {
            let newest_first = jobs::table
                .filter(jobs::seq.le(newest))
                .order(jobs::seq.desc())
                .limit(i64::from(limit));
            Ok(load_records!(conn, &quarantine, StoredJob, newest_first))
        })
        .await
    }

    async fn signatures(&self, first: i64, last: i64) -> Result<Vec<StoredSignature>, StoreError> {
        self.read(async move |conn: &mut Conn| {
            let rows: Vec<(i64, Vec<u8>)> = job_signatures::table
                .filter(job_signatures::seq.between(first, last))
                .order(job_signatures::seq)
                .load(conn)
                .await?;
            // Signatures of another version count as missing.
            let current = |(seq, bytes): (i64, Vec<u8>)| {
                JobSignature::from_bytes(&bytes).map(|signature| StoredSignature { seq, signature })
            };
            Ok(rows.into_iter().filter_map(current).collect())
        })
        .await
    }

    async fn job_seqs(&self, first: i64, last: i64) -> Result<Vec<i64>, StoreError> {
        self.read(async move |conn: &mut Conn| {
            let seqs = jobs::table
                .filter(jobs::seq.between(first, last))
                .order(jobs::seq);
            Ok(seqs.select(jobs::seq).load(conn).await?)
        })
        .await
    }

    async fn store_signatures(&self, signatures: &[StoredSignature]) -> Result<(), StoreError> {
        let signatures: Arc<[StoredSignature]> = signatures.into();
        self.write(async move |conn: &mut Conn| {
            let signatures = signatures.iter().map(|stored| (stored.seq, &stored.signature));
            put_signatures(conn, &signatures.collect::<Vec<_>>()).await
        })
        .await
    }

    async fn jobs_at(&self, seqs: &[i64]) -> Result<Vec<StoredJob>, StoreError> {
        let seqs: Arc<[i64]> = seqs.into();
        let quarantine = self.quarantine.clone();
        self.read(async move |conn: &mut Conn| {
            let rows: Vec<Tried<StoredJob>> = jobs::table
                .filter(one_of!(jobs::seq, seqs.iter()))
                .select(Tried::<StoredJob>::as_select())
                .load(conn)
                .await?;
            Ok(rows
                .into_iter()
                .filter_map(|row| row.or_aside(&quarantine))
                .collect())
        })
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

    async fn is_backfill_due(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<bool, StoreError> {
        let (organization, campaign) = (organization.to_string(), campaign.to_string());
        self.read(async move |conn: &mut Conn| {
            let due = campaigns::table
                .find((&organization, &campaign))
                .filter(campaigns::revision.ne(campaigns::matched_revision));
            Ok(exists!(conn, due))
        })
        .await
    }

    async fn due_count(&self) -> Result<u64, StoreError> {
        self.read(async |conn: &mut Conn| {
            count!(
                conn,
                campaigns::table.filter(campaigns::revision.ne(campaigns::matched_revision))
            )
        })
        .await
    }
}

async fn due_backfills(conn: &mut Conn, quarantine: &Quarantine) -> Result<DueBackfills, Failure> {
    let watermark = last_job_seq(conn).await?;
    let due = campaigns::table
        .filter(campaigns::revision.ne(campaigns::matched_revision))
        .order((campaigns::organization_id, campaigns::id));
    let mut campaigns = load_records!(conn, quarantine, Backfill, due);
    // Both are in the order of the campaigns.
    let mut filters = filters_of(conn, quarantine, &campaigns)
        .await?
        .into_iter()
        .peekable();
    for backfill in &mut campaigns {
        while let Some(filter) = filters.next_if(|filter| {
            filter.organization_id == backfill.organization_id && filter.campaign_id == backfill.campaign_id
        }) {
            backfill.filters.push(filter);
        }
    }
    Ok(DueBackfills { watermark, campaigns })
}

/// The filters of all due campaigns, in the order of the campaigns.
///
/// Mostly one filter was edited and its author waits for the result. Then only that campaign's filters are read.
async fn filters_of(
    conn: &mut Conn,
    quarantine: &Quarantine,
    due: &[Backfill],
) -> Result<Vec<StoredFilter>, Failure> {
    let organizations = || due.chunk_by(|a, b| a.organization_id == b.organization_id);
    if organizations().count() > ORGANIZATIONS_ASKED_FOR {
        let of_due = campaigns::organization_id
            .eq(filters::organization_id)
            .and(campaigns::id.eq(filters::campaign_id));
        let filters = filters::table
            .inner_join(campaigns::table.on(of_due))
            .filter(campaigns::revision.ne(campaigns::matched_revision))
            .order((filters::organization_id, filters::campaign_id, filters::id));
        return Ok(load_records!(conn, quarantine, StoredFilter, filters));
    }
    let mut found = Vec::new();
    for campaigns in organizations() {
        let ids: Vec<&str> = campaigns.iter().map(|due| due.campaign_id.as_str()).collect();
        let filters = filters::table
            .filter(filters::organization_id.eq(campaigns[0].organization_id.as_str()))
            .filter(one_of!(filters::campaign_id, ids))
            .order((filters::campaign_id, filters::id));
        found.append(&mut load_records!(conn, quarantine, StoredFilter, filters));
    }
    Ok(found)
}
