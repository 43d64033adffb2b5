//! The log of changed filters, from which whoever keeps filters in memory catches up.
//!
//! A filter is in it once, under the revision of its last change: written by the transaction that changes it, read by
//! any process. The log reaches back over the last 50,000 filters that changed. Where it does not, or a program wrote
//! that knows no log, it says so, and the filters are read anew.

use std::collections::BTreeSet;

use bidloop_domain::model::{FilterId, OrganizationId};
use bidloop_domain::port::{FilterChanges, Revision};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::locks::ONLY_ROW;
use super::{Conn, upsert_filter_changes};
use crate::columns::{read, stored};
use crate::failure::Failure;
use crate::rows::{FilterChangeRow, StoredFilterRow};
use crate::schema::{filter_changes, filters, revision_counter};

/// The filters that pruning leaves, the last that changed: at most so many, and fewer where the oldest of them changed
/// together with others, since a revision is dropped whole. Reading all filters anew is no slower than applying more.
const KEPT: usize = 50_000;
/// The log is pruned with every so many-th revision, and with commits of at least as many changes: between two
/// prunings it grows by fewer changes than this number's square.
const PRUNED_EVERY: i64 = 64;

/// A filter of an organization.
pub(super) type FilterName = (OrganizationId, FilterId);

/// How far the log reaches.
#[derive(Debug, Clone, Copy, Queryable, Selectable)]
#[diesel(table_name = revision_counter)]
pub(super) struct LogState {
    /// The current revision.
    pub(super) value: i64,
    filters_logged_since: i64,
    filters_logged_to: i64,
}

impl LogState {
    /// Whether the log holds all changes since a revision.
    fn reaches(self, since: i64) -> bool {
        self.filters_logged_to == self.value && (self.filters_logged_since..=self.value).contains(&since)
    }
}

/// How the filters changed since a revision.
pub(super) async fn filters_since(conn: &mut Conn, since: Revision) -> Result<FilterChanges, Failure> {
    let state: LogState = revision_counter::table
        .find(ONLY_ROW)
        .select(LogState::as_select())
        .first(conn)
        .await?;
    let mut put = Vec::new();
    let mut removed = Vec::new();
    if state.value != since.0 {
        if !state.reaches(since.0) {
            return Ok(FilterChanges::Forgotten);
        }
        let stored = filters::organization_id
            .eq(filter_changes::organization_id)
            .and(filters::id.eq(filter_changes::filter_id));
        let rows: Vec<(String, String, Option<StoredFilterRow>)> = filter_changes::table
            .left_join(filters::table.on(stored))
            .filter(filter_changes::revision.gt(since.0))
            .select((
                filter_changes::organization_id,
                filter_changes::filter_id,
                Option::<StoredFilterRow>::as_select(),
            ))
            .load(conn)
            .await?;
        for (organization, id, row) in rows {
            match row {
                Some(row) => put.push(row.into_stored_filter()?),
                None => removed.push((
                    read(
                        "filter_changes.organization_id",
                        &organization,
                        OrganizationId::parse(&organization),
                    )?,
                    read("filter_changes.filter_id", &id, FilterId::parse(&id))?,
                )),
            }
        }
    }
    Ok(FilterChanges::Known {
        revision: Revision(state.value),
        put,
        removed,
    })
}

/// Moves the counter to `revision`, which the transaction changed the filters under. The transaction holds the
/// counter, as `before` has it.
pub(super) async fn move_revision(
    conn: &mut Conn,
    before: LogState,
    revision: i64,
    changed: &BTreeSet<FilterName>,
) -> Result<(), Failure> {
    let mut since = before.filters_logged_since;
    if before.filters_logged_to != before.value {
        since = before.value;
    }
    if changed.len() > KEPT {
        since = revision;
    } else {
        let mut rows = Vec::with_capacity(changed.len());
        for (organization, id) in changed {
            rows.push(FilterChangeRow {
                organization_id: organization.as_str(),
                filter_id: id.as_str(),
                revision,
            });
        }
        upsert_filter_changes(conn, &rows).await?;
    }
    if stored(changed.len()) >= PRUNED_EVERY || revision % PRUNED_EVERY == 0 {
        since = since.max(prune(conn).await?);
    }
    diesel::update(revision_counter::table.find(ONLY_ROW))
        .set((
            revision_counter::value.eq(revision),
            revision_counter::filters_logged_since.eq(since),
            revision_counter::filters_logged_to.eq(revision),
        ))
        .execute(conn)
        .await?;
    Ok(())
}

/// Drops what is older than the changes that are kept; tells up to which revision that is, 0 if there is nothing.
async fn prune(conn: &mut Conn) -> Result<i64, Failure> {
    let oldest: Option<i64> = filter_changes::table
        .order(filter_changes::revision.desc())
        .offset(stored(KEPT))
        .select(filter_changes::revision)
        .first(conn)
        .await
        .optional()?;
    let Some(oldest) = oldest else {
        return Ok(0);
    };
    diesel::delete(filter_changes::table.filter(filter_changes::revision.le(oldest)))
        .execute(conn)
        .await?;
    Ok(oldest)
}
