//! The signatures of stored jobs: written with the jobs, read by backfills.

use bidloop_domain::port::StoredSignature;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::jobs::Arrival;
use super::match_lists::VALUES_AT_ONCE;
use super::{Conn, put_job_signatures};
use crate::failure::Failure;
use crate::rows::JobSignatureRow;
use crate::schema::{job_signatures, jobs};

/// Stores the signatures of contents that are stored for the first time.
pub(super) async fn store_signatures(conn: &mut Conn, of: &[Arrival<'_>]) -> Result<(), Failure> {
    let rows: Vec<JobSignatureRow> = of
        .iter()
        .map(|arrival| JobSignatureRow::new(arrival.seq, &arrival.job.signature))
        .collect();
    put_job_signatures(conn, &rows).await
}

/// Removes the signatures of what is stored of the jobs so far.
pub(super) async fn remove_signatures(conn: &mut Conn, of: &[Arrival<'_>]) -> Result<(), Failure> {
    for chunk in of.chunks(VALUES_AT_ONCE) {
        let ids = chunk.iter().map(Arrival::id);
        let seqs: Vec<i64> = jobs::table
            .filter(jobs::id.eq_any(ids))
            .select(jobs::seq)
            .load(conn)
            .await?;
        let signatures = job_signatures::table.filter(job_signatures::seq.eq_any(seqs));
        diesel::delete(signatures).execute(conn).await?;
    }
    Ok(())
}

/// Those of the jobs with the numbers from `first` to `last`.
pub(super) async fn signatures(
    conn: &mut Conn,
    first: i64,
    last: i64,
) -> Result<Vec<StoredSignature>, Failure> {
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
