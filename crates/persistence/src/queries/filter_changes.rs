//! The log of changed filters, which brings the filters in a process's memory up to date.
//!
//! A filter is in it once, under the revision of its last change. The transaction that changes a filter writes the log;
//! any process reads it. The log keeps the last 50,000 filters that changed. Where it does not reach back far enough, or
//! where a program without the log has written, it says so, and all filters are read again.

use std::collections::BTreeSet;

use bidloop_domain::model::{FilterId, OrganizationId};
use bidloop_domain::port::{FilterChanges, Revision, StoredFilter};

use diesel::dsl::{max, sql};
use diesel::sql_types::{BigInt, Bool, Text};

use super::locks::ONLY_ROW;
use super::prelude::*;

/// How many filters the log keeps, those that changed last. It may keep fewer, since a revision is dropped whole.
/// Reading all filters again is no slower than applying more changes.
const KEPT: usize = 50_000;
/// The log is pruned with each revision that this number divides, and with commits of at least as many changes. Between
/// two prunings it grows by fewer changes than this number's square.
const PRUNED_EVERY: i64 = 64;

/// A filter of an organization.
pub(super) type FilterKey = (OrganizationId, FilterId);

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
    /// Whether the log has all changes since a revision.
    fn reaches(self, since: i64) -> bool {
        self.filters_logged_to == self.value && (self.filters_logged_since..=self.value).contains(&since)
    }
}

/// A changed filter, by its key and as it is now.
type Change = (
    Attempt<Col<OrganizationId>>,
    Attempt<Col<FilterId>>,
    Option<Tried<StoredFilter>>,
);

/// How the filters changed since a revision. One that cannot be read any more counts as removed. If a change does not
/// tell which filter it is of, the filters are to be read anew.
pub(super) async fn filters_since(
    conn: &mut Conn,
    quarantine: &Quarantine,
    since: Revision,
) -> Result<FilterChanges, Failure> {
    let counter = revision_counter::table.find(ONLY_ROW);
    let state: LogState = counter.select(LogState::as_select()).first(conn).await?;
    let mut put = Vec::new();
    let mut removed = Vec::new();
    if state.value != since.0 {
        if !state.reaches(since.0) {
            return Ok(FilterChanges::Forgotten);
        }
        let stored = filters::organization_id
            .eq(filter_changes::organization_id)
            .and(filters::id.eq(filter_changes::filter_id));
        let changes: Vec<Change> = filter_changes::table
            .left_join(filters::table.on(stored))
            .filter(filter_changes::revision.gt(since.0))
            .select((
                filter_changes::organization_id,
                filter_changes::filter_id,
                Option::<Tried<StoredFilter>>::as_select(),
            ))
            .load(conn)
            .await?;
        for (Attempt(organization), Attempt(id), filter) in changes {
            let (Ok(organization), Ok(id)) = (organization, id) else {
                return Ok(FilterChanges::Forgotten);
            };
            // The filter is another one than before, or none.
            quarantine.release("filters", &format!("{}/{}", organization.0, id.0));
            match filter.and_then(|filter| filter.or_aside(quarantine)) {
                Some(filter) => put.push(filter),
                None => removed.push((organization.0, id.0)),
            }
        }
    }
    Ok(FilterChanges::Known {
        revision: Revision(state.value),
        put,
        removed,
    })
}

/// Moves the counter to the revision under which the transaction changed the filters. The transaction has locked the
/// counter when it read `before`.
pub(super) async fn move_revision(
    conn: &mut Conn,
    before: LogState,
    revision: i64,
    changed: &BTreeSet<FilterKey>,
) -> Result<(), Failure> {
    let mut since = before.filters_logged_since;
    if before.filters_logged_to != before.value {
        since = before.value;
    }
    if changed.len() > KEPT {
        since = revision;
    } else {
        let changed: Vec<&FilterKey> = changed.iter().collect();
        Batch::of("filter_changes", &changed)
            .with(filter_changes::organization_id, |(organization, _)| {
                organization.as_str()
            })
            .with(filter_changes::filter_id, |(_, filter)| filter.as_str())
            .with(filter_changes::revision, |_| revision)
            .run(conn, Write::Put(2))
            .await?;
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

/// Drops the changes that are not kept. Returns the last revision that was dropped, or 0 if none was.
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

/// Drops up to `limit` changes of an organization's filters, and returns how many. Filters in memory that are as old as
/// that are read again.
pub(super) async fn forget_organization(
    conn: &mut Conn,
    organization: &OrganizationId,
    limit: i64,
) -> Result<u64, Failure> {
    let latest: Option<i64> = filter_changes::table
        .filter(filter_changes::organization_id.eq(organization.as_str()))
        .select(max(filter_changes::revision))
        .first(conn)
        .await?;
    let Some(latest) = latest else {
        return Ok(0);
    };
    diesel::update(revision_counter::table.find(ONLY_ROW))
        .filter(revision_counter::filters_logged_since.lt(latest))
        .set(revision_counter::filters_logged_since.eq(latest))
        .execute(conn)
        .await?;
    let some = sql::<Bool>(
        "(organization_id, filter_id) IN (SELECT organization_id, filter_id FROM filter_changes \
         WHERE organization_id = ",
    )
    .bind::<Text, _>(organization.as_str())
    .sql(" ORDER BY organization_id, filter_id LIMIT ")
    .bind::<BigInt, _>(limit)
    .sql(")");
    Ok(diesel::delete(filter_changes::table.filter(some))
        .execute(conn)
        .await? as u64)
}
