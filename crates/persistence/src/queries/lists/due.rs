//! Campaigns whose lists are due to be matched anew. The backfills that do so are in
//! [`backfills`](super::super::backfills).
//!
//! `campaigns.revision` is the revision of the commit that last changed the campaign's filters or created the campaign,
//! or the negated number of a job, if ingesting made a backfill due. So no two campaigns that have the same id one after
//! the other share a value, and a backfill begun for one never ends in the other.

use diesel::dsl::auto_type;

use super::super::prelude::*;

/// Stands in `campaigns.matched_revision` while a backfill is due: no campaign has this revision.
const NEVER: i64 = 0;

/// What makes a backfill due.
#[auto_type]
pub(crate) fn due_at(revision: i64) -> _ {
    let never: i64 = NEVER;
    (
        campaigns::revision.eq(revision),
        campaigns::matched_revision.eq(never),
    )
}

/// Makes a backfill of the campaign due, under a revision that it never had. One that is running is superseded.
pub(crate) async fn make_backfill_due(
    conn: &mut Conn,
    organization: &str,
    campaign: &str,
    revision: i64,
) -> Result<(), Failure> {
    diesel::update(campaigns::table.find((organization, campaign)))
        .set(due_at(revision))
        .execute(conn)
        .await?;
    Ok(())
}
