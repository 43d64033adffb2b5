//! The two rows that order everything that changes lists of matches: the revision counter and the feed's position.
//!
//! A transaction that changes a served list locks the position, so lists change one transaction at a time. Provisioning
//! locks the counter. For a transaction that shares this lock, filters, campaigns, organizations and endpoints do not change
//! until it ends. Both locks are taken before any other, in this order.
//!
//! A transaction that waits for the position must not hold the counter yet: PostgreSQL grants a shared lock although an
//! exclusive one is waited for, so two watchers that wait for each other would keep provisioning waiting without end. For the
//! same reason transactions that write a campaign's new list [take turns](super::lists) before they lock anything.

use super::prelude::*;
use bidloop_domain::port::FeedCursor;

/// The id of each of the two rows.
pub(super) const ONLY_ROW: i64 = 1;

/// The row's name in the quarantine.
const FEED_POSITION: (&str, &str) = ("feed_position", "1");

/// The feed's cursor.
pub(super) type StoredCursor = Attempt<Option<Col<FeedCursor>>>;

/// The cursor; none if it cannot be read. Then the feed is read from the oldest job that the marketplace keeps, as after
/// a position that the marketplace refuses, and known jobs are recognized by id (decision D4).
pub(super) fn readable(cursor: StoredCursor, quarantine: &Quarantine) -> Option<FeedCursor> {
    let (table, row) = FEED_POSITION;
    match cursor.0 {
        Ok(cursor) => {
            quarantine.release(table, row);
            cursor.map(|cursor| cursor.0)
        }
        Err(why) => {
            let why = format_args!("position cannot be read: {why}");
            quarantine.set_aside(&UnreadableRow::new(table, row, why));
            None
        }
    }
}

/// How far the feed was read.
#[derive(Queryable, Selectable)]
#[diesel(table_name = feed_position)]
pub(super) struct Position {
    #[diesel(column_name = position)]
    pub(super) cursor: StoredCursor,
    /// The highest `jobs.seq` ever given.
    pub(super) last_job_seq: i64,
    /// Jobs that were posted by then may have been removed.
    pub(super) pruned_before: Option<i64>,
    /// The highest `jobs.seq` of those that pruning has passed.
    pub(super) pruned_to: i64,
}

/// The current revision.
pub(super) async fn revision(conn: &mut Conn) -> Result<i64, Failure> {
    let counter = revision_counter::table.find(ONLY_ROW);
    Ok(counter.select(revision_counter::value).first(conn).await?)
}

/// The current revision, which stays the current one until the transaction ends. If the position is locked as well, it is
/// locked before.
pub(super) async fn shared_revision(conn: &mut Conn) -> Result<i64, Failure> {
    let counter = revision_counter::table
        .find(ONLY_ROW)
        .select(revision_counter::value);
    Ok(for_share!(counter).first(conn).await?)
}

/// The position, which no other transaction can lock until this one ends.
pub(super) async fn locked_position(conn: &mut Conn) -> Result<Position, Failure> {
    let position = feed_position::table.find(ONLY_ROW).select(Position::as_select());
    Ok(for_update!(position).first(conn).await?)
}

/// The highest `jobs.seq` ever given.
pub(super) async fn last_job_seq(conn: &mut Conn) -> Result<i64, Failure> {
    let position = feed_position::table.find(ONLY_ROW);
    Ok(position.select(feed_position::last_job_seq).first(conn).await?)
}

/// The highest `jobs.seq` of those that pruning has passed.
pub(super) async fn pruned_to(conn: &mut Conn) -> Result<i64, Failure> {
    let position = feed_position::table.find(ONLY_ROW);
    Ok(position.select(feed_position::pruned_to).first(conn).await?)
}
