//! Removing an organization: what it is configured with goes at once, what else it has is
//! [erased](super::super::erasure) afterwards.

use std::collections::BTreeSet;

use bidloop_domain::model::{FilterId, OrganizationId, Timestamp};
use diesel::dsl::{count_star, sql};
use diesel::sql_types::Bool;

use super::super::filter_changes::FilterKey;
use super::super::people::remove_members;
use super::super::prelude::*;

/// How many of the organization's bids have no outcome yet. The organization is locked, so no bid is accepted until this
/// transaction ends.
pub(super) async fn outstanding_bids(conn: &mut Conn, organization: &OrganizationId) -> Result<u64, Failure> {
    let queued = bids::table
        // Queued bids are few, and have an index of their own. The organization may have many others, so its own index
        // must not be used.
        .filter(sql::<Bool>("bids.status = 'queued'"))
        .filter(bids::organization_id.concat("").eq(organization.as_str()));
    let queued: i64 = queued.select(count_star()).first(conn).await?;
    Ok(u64::try_from(queued).unwrap_or(0))
}

/// Deletes rows of the organization from tables.
macro_rules! delete_all {
    ($conn:expr, $organization:expr, $($table:ident),+) => {$(
        diesel::delete($table::table.filter($table::organization_id.eq($organization.as_str())))
            .execute($conn)
            .await?;
    )+};
}

/// Removes the organization, also what of it cannot be read. The caller has locked it and the revision.
pub(super) async fn remove(
    conn: &mut Conn,
    organization: &OrganizationId,
    at: Timestamp,
    changed_filters: &mut BTreeSet<FilterKey>,
) -> Result<(), Failure> {
    let filters: Vec<String> = filters::table
        .filter(filters::organization_id.eq(organization.as_str()))
        .select(filters::id)
        .load(conn)
        .await?;
    let filters = filters.iter().filter_map(|id| FilterId::parse(id).ok());
    changed_filters.extend(filters.map(|id| (organization.clone(), id)));
    let keys: Vec<String> = api_keys::table
        .filter(api_keys::organization_id.eq(organization.as_str()))
        .select(api_keys::key_hash)
        .load(conn)
        .await?;
    Batch::of("removed_api_keys", &keys)
        .with(removed_api_keys::key_hash, String::as_str)
        .run(conn, Write::InsertNew)
        .await?;
    delete_all!(
        conn,
        organization,
        api_keys,
        campaigns,
        filters,
        webhook_endpoints,
        bidder_accounts,
        feed_looks
    );
    remove_members(conn, organization).await?;
    let removed = diesel::delete(organizations::table.find(organization.as_str()))
        .execute(conn)
        .await?;
    if removed == 1 {
        diesel::insert_into(removed_organizations::table)
            .values((
                removed_organizations::id.eq(organization.as_str()),
                removed_organizations::removed_at.eq(at.as_millis()),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}
