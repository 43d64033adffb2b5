//! Campaigns whose lists are due to be matched anew. Running such a backfill is in [`backfills`](super::super::backfills).

use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::Conn;
use crate::failure::Failure;
use crate::schema::campaigns;

/// Stands in `campaigns.matched_revision` while a backfill is due: no campaign has this revision.
pub(crate) const NEVER: i64 = 0;

/// Makes a backfill of the campaign due under a revision that it never had; one that is under way is superseded.
pub(crate) async fn make_backfill_due(
    conn: &mut Conn,
    organization: &str,
    campaign: &str,
    revision: i64,
) -> Result<(), Failure> {
    diesel::update(campaigns::table.find((organization, campaign)))
        .set((
            campaigns::revision.eq(revision),
            campaigns::matched_revision.eq(NEVER),
        ))
        .execute(conn)
        .await?;
    Ok(())
}
