//! Erasing what removed organizations had, some rows a transaction.
//!
//! Nothing is stored for a removed organization but what its own rows cause, and those go first. A transaction that makes
//! something new for an organization shares a lock on its row, on a campaign of it or on the revision, and the removal
//! waits for it: bids, dry runs, uploads and recorded refusals; leads of a page; matches, deliveries and intents of the
//! feed; switches to a backfill's matches. What goes on afterwards changes a delivery, an intent or a lead of the
//! organization and adds an Activity entry in the same transaction. Until that ends, others see the row as it was. So
//! once those tables are seen empty, entries of the Activity record are the last to be found, and none is added.

use async_trait::async_trait;
use bidloop_domain::model::{OrganizationId, Timestamp};
use bidloop_domain::port::{ErasureStore, LeaseOwner, StoreError};
use diesel::dsl::sql;
use diesel::sql_types::{BigInt, Bool, Text};

use super::filter_changes::forget_organization;
use super::prelude::*;
use super::statistics::adding_up::add_lowest_up;
use crate::count_list;

/// The table's name in the quarantine.
const REMOVED: &str = "removed_organizations";

#[async_trait]
impl ErasureStore for Store {
    async fn removed(&self, limit: u32) -> Result<Vec<OrganizationId>, StoreError> {
        let quarantine = self.quarantine.clone();
        self.read(async move |conn: &mut Conn| {
            let oldest_first = removed_organizations::table
                .order((removed_organizations::removed_at, removed_organizations::id))
                .limit(i64::from(limit));
            let rows: Vec<String> = oldest_first.select(removed_organizations::id).load(conn).await?;
            let mut removed = Vec::with_capacity(rows.len());
            for id in rows {
                match OrganizationId::parse(&id) {
                    Ok(id) => removed.push(id),
                    Err(why) => quarantine.set_aside(&UnreadableRow::new(REMOVED, id, why)),
                }
            }
            Ok(removed)
        })
        .await
    }

    async fn claim_erasure(
        &self,
        organization: &OrganizationId,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<bool, StoreError> {
        let (organization, owner) = (organization.clone(), owner.clone());
        self.write(async move |conn: &mut Conn| {
            let free = removed_organizations::lease_until
                .is_null()
                .or(removed_organizations::lease_until.le(now.as_millis()))
                .or(removed_organizations::lease_owner.eq(owner.as_str()));
            let claimed = diesel::update(removed_organizations::table.find(organization.as_str()))
                .filter(free)
                .set((
                    removed_organizations::lease_owner.eq(owner.as_str()),
                    removed_organizations::lease_until.eq(lease_until.as_millis()),
                ))
                .execute(conn)
                .await?;
            Ok(claimed == 1)
        })
        .await
    }

    async fn erase(
        &self,
        organization: &OrganizationId,
        owner: &LeaseOwner,
        limit: u32,
    ) -> Result<Option<u64>, StoreError> {
        let (organization, owner, limit) = (organization.clone(), owner.clone(), i64::from(limit));
        self.write(async move |conn: &mut Conn| {
            if !is_claimed(conn, &organization, &owner).await? {
                return Ok(None);
            }
            erase_some(conn, &organization, limit).await.map(Some)
        })
        .await
    }

    async fn finish_erasure(
        &self,
        organization: &OrganizationId,
        owner: &LeaseOwner,
    ) -> Result<bool, StoreError> {
        let (organization, owner) = (organization.clone(), owner.clone());
        self.write(async move |conn: &mut Conn| {
            if !is_claimed(conn, &organization, &owner).await? || is_left(conn, &organization).await? {
                return Ok(false);
            }
            diesel::delete(removed_organizations::table.find(organization.as_str()))
                .execute(conn)
                .await?;
            Ok(true)
        })
        .await
    }
}

/// Whether the organization is removed and the owner's to erase. Nobody else can claim it until this transaction ends.
async fn is_claimed(
    conn: &mut Conn,
    organization: &OrganizationId,
    owner: &LeaseOwner,
) -> Result<bool, Failure> {
    let claimed = removed_organizations::table
        .find(organization.as_str())
        .filter(removed_organizations::lease_owner.eq(owner.as_str()))
        .select(removed_organizations::id);
    let claimed: Option<String> = for_update!(claimed).first(conn).await.optional()?;
    Ok(claimed.is_some())
}

/// Whether a fresh row has counts of the organization. Those of others are in the same row, so it is not erased: its counts are
/// added up, and the organization's are erased with its statistics.
macro_rules! is_freshly_counted {
    ($conn:expr, $organization:expr) => {{
        let mark = count_list::mark_of($organization.as_str());
        exists!($conn, fresh_counts::table.filter(contains!("counts", mark)))
    }};
}

/// Defines what is done with each table that has rows of organizations, in this order, and their primary keys. Those that
/// provisioning has emptied are not among them. Fresh counts are in the place of the semicolon.
macro_rules! tables_to_erase {
    ($($table:ident by $key:literal),+; $($later:ident by $later_key:literal),+ $(,)?) => {
        /// Removes rows of the first table that has some, from the first table on in each step.
        async fn erase_some(
            conn: &mut Conn,
            organization: &OrganizationId,
            limit: i64,
        ) -> Result<u64, Failure> {
            $(erase_from!(conn, organization, limit, $table, $key);)+
            if is_freshly_counted!(conn, organization) {
                let added_up = add_lowest_up(conn, limit).await?;
                if added_up > 0 {
                    return Ok(added_up as u64);
                }
            }
            $(erase_from!(conn, organization, limit, $later, $later_key);)+
            // Last, when most processes have long heard of the change.
            forget_organization(conn, organization, limit).await
        }

        /// Whether a table has a row of the organization.
        async fn is_left(conn: &mut Conn, organization: &OrganizationId) -> Result<bool, Failure> {
            $(return_if_left!(conn, organization, $table);)+
            if is_freshly_counted!(conn, organization) {
                return Ok(true);
            }
            $(return_if_left!(conn, organization, $later);)+
            let changes = filter_changes::table;
            Ok(exists!(
                conn,
                changes.filter(filter_changes::organization_id.eq(organization.as_str()))
            ))
        }
    };
}

/// Removes rows of a table, and returns from the function if there were some.
macro_rules! erase_from {
    ($conn:ident, $organization:ident, $limit:ident, $table:ident, $key:literal) => {
        let some = sql::<Bool>(concat!(
            "(",
            $key,
            ") IN (SELECT ",
            $key,
            " FROM ",
            stringify!($table),
            " WHERE organization_id = "
        ))
        .bind::<Text, _>($organization.as_str())
        // In the key's order, which PostgreSQL reads from the index. Else it may search the whole table for an
        // organization that has a large part of it, past all that was removed before.
        .sql(concat!(" ORDER BY ", $key, " LIMIT "))
        .bind::<BigInt, _>($limit)
        .sql(")");
        let removed = diesel::delete($table::table.filter(some)).execute($conn).await?;
        if removed > 0 {
            return Ok(removed as u64);
        }
    };
}

/// Returns from the function if a table has a row of the organization.
macro_rules! return_if_left {
    ($conn:ident, $organization:ident, $table:ident) => {
        let rows = $table::table.filter($table::organization_id.eq($organization.as_str()));
        if exists!($conn, rows) {
            return Ok(true);
        }
    };
}

tables_to_erase! {
    automatic_bids by "organization_id, lead_id",
    deliveries by "organization_id, id",
    bids by "organization_id, id",
    lead_attachments by "organization_id, lead_id, position",
    told_leads by "organization_id, lead_id",
    leads by "organization_id, id",
    matches by "organization_id, campaign_id, generation, seq",
    quota_usage by "organization_id, period_start",
    activities by "organization_id, id";
    statistics by "organization_id, step, measure, starts_at, campaign_id, subject, bucket",
    billed_subscriptions by "id",
    endpoint_tries by "organization_id, endpoint_id, id",
}
