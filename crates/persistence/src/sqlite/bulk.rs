//! Many rows, one statement each: there is no way to a server to save, and the statements stay prepared.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::Conn;
use crate::failure::Failure;
use crate::rows::{
    FilterChangeRow, FilterRow, JobSignatureRow, LeadRow, ListEndRow, NewAutomaticBidRow, NewDeliveryRow,
    NewJobRow, NewMatchRow,
};
use crate::schema::{
    automatic_bids, campaigns, deliveries, filter_changes, filters, job_signatures, jobs, leads, matches,
};

/// Stores those of the jobs whose ids are not taken, and says how many those are.
pub(super) async fn insert_jobs(conn: &mut Conn, rows: &[NewJobRow<'_>]) -> Result<usize, Failure> {
    let inserted: usize = insert_new!(conn, jobs::table, rows);
    Ok(inserted)
}

/// Stores matches none of which is there yet.
pub(super) async fn insert_matches(conn: &mut Conn, rows: &[NewMatchRow<'_>]) -> Result<(), Failure> {
    for row in rows {
        diesel::insert_into(matches::table)
            .values(row)
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Stores signatures, in place of what is there.
pub(super) async fn put_job_signatures(conn: &mut Conn, rows: &[JobSignatureRow]) -> Result<(), Failure> {
    for row in rows {
        diesel::insert_into(job_signatures::table)
            .values(row)
            .on_conflict(job_signatures::seq)
            .do_update()
            .set(job_signatures::signature.eq(&row.signature))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Writes how lists end into their campaigns' rows.
pub(super) async fn update_list_ends(conn: &mut Conn, rows: &[ListEndRow<'_>]) -> Result<(), Failure> {
    for row in rows {
        diesel::update(campaigns::table.find((row.organization_id, row.campaign_id)))
            .set((
                campaigns::match_total.eq(row.match_total),
                campaigns::last_match_at.eq(row.last_match_at),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Stores filters of different ids, in the places of those that are there.
pub(super) async fn upsert_filters(conn: &mut Conn, rows: &[FilterRow]) -> Result<(), Failure> {
    for row in rows {
        diesel::insert_into(filters::table)
            .values(row)
            .on_conflict((filters::organization_id, filters::id))
            .do_update()
            .set(row)
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Notes the revision of filters' last changes.
pub(super) async fn upsert_filter_changes(
    conn: &mut Conn,
    rows: &[FilterChangeRow<'_>],
) -> Result<(), Failure> {
    for row in rows {
        diesel::insert_into(filter_changes::table)
            .values(row)
            .on_conflict((filter_changes::organization_id, filter_changes::filter_id))
            .do_update()
            .set(filter_changes::revision.eq(row.revision))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Stores leads that are as new as [`LeadRow::new`] makes them; those that are there stay as they are.
pub(super) async fn insert_new_leads(conn: &mut Conn, rows: &[LeadRow]) -> Result<(), Failure> {
    let _inserted: usize = insert_new!(conn, leads::table, rows);
    Ok(())
}

/// Queues those of the deliveries that were not queued before, and says how many those are.
pub(super) async fn insert_deliveries(conn: &mut Conn, rows: &[NewDeliveryRow]) -> Result<usize, Failure> {
    let inserted: usize = insert_new!(conn, deliveries::table, rows);
    Ok(inserted)
}

/// Queues those of the intents to bid that were not queued before, and says how many those are.
pub(super) async fn insert_automatic_bids(
    conn: &mut Conn,
    rows: &[NewAutomaticBidRow],
) -> Result<usize, Failure> {
    let inserted: usize = insert_new!(conn, automatic_bids::table, rows);
    Ok(inserted)
}
