//! Many rows, one statement each: there is no way to a server to save, and the statements stay prepared.

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::Conn;
use crate::failure::Failure;
use crate::rows::{ListEndRow, NewMatchRow};
use crate::schema::{campaigns, matches};

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
