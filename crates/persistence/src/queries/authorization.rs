//! Whether a request may be accepted: checked in the transaction that accepts it (decisions D5 and D6).

use bidloop_domain::model::{
    ApiKeyRecord, Authorization, MemberRole, OrganizationId, PersonalTokenRecord, SessionTimes, Subscription,
    Timestamp, Unauthorized,
};

use super::prelude::*;
use crate::records::StoredMembership;

/// What a request is accepted on.
pub(super) struct Authorized {
    /// Active or not.
    pub(super) subscription: Subscription,
    /// The role of the session's person.
    pub(super) role: Option<MemberRole>,
}

/// The organization's subscription, if a request that acts can be accepted on `authorization` at `at`. It locks as
/// [`authorized`] does.
pub(super) async fn active_subscription(
    conn: &mut Conn,
    authorization: &Authorization,
    organization: &OrganizationId,
    at: Timestamp,
) -> Result<Result<Subscription, Unauthorized>, Failure> {
    let authorized = authorized(conn, authorization, organization, at).await?;
    Ok(authorized.and_then(|authorized| {
        let active = Some(authorized.subscription).filter(Subscription::is_active);
        active.ok_or(Unauthorized::SubscriptionLapsed)
    }))
}

/// Whether a request can be accepted on `authorization` at `at`, the organization's subscription apart.
///
/// Until the transaction ends, the subscription cannot change and the key can be neither removed nor replaced: provisioning
/// locks the organization exclusively. The key can be marked as revoked meanwhile, so that a stream of requests does not
/// delay it; revoking then waits for this transaction before it is reported as done. A session or a membership ends by
/// removing its row, which waits for this transaction, too. So do a change of a role, which locks the organization, and
/// the revocation of a personal token, which locks its row. Several transactions can hold these locks at once. The
/// organization is locked before the key, the session or the token, as provisioning does.
pub(super) async fn authorized(
    conn: &mut Conn,
    authorization: &Authorization,
    organization: &OrganizationId,
    at: Timestamp,
) -> Result<Result<Authorized, Unauthorized>, Failure> {
    let found = match authorization {
        Authorization::ApiKey(hash) => {
            let key = organizations::table
                .inner_join(api_keys::table.on(api_keys::organization_id.eq(organizations::id)))
                .filter(organizations::id.eq(organization.as_str()))
                .filter(api_keys::key_hash.eq(hash.as_str()))
                // A revoked key is not locked, so that revoking does not wait for requests that came later.
                .filter(api_keys::revoked_at.is_null())
                .select((Row::<ApiKeyRecord>::as_select(), Row::<Subscription>::as_select()));
            let found: Option<(Row<ApiKeyRecord>, Row<Subscription>)> =
                for_key_share!(key).first(conn).await.optional()?;
            found
                .filter(|(record, _)| record.0.works_at(at))
                .map(|(_, Row(subscription))| (subscription, None))
        }
        Authorization::Session(hash) => {
            type Found = (Row<SessionTimes>, Row<StoredMembership>, Row<Subscription>);
            let session = organizations::table
                .inner_join(sessions::table.on(sessions::organization_id.eq(organizations::id)))
                .inner_join(
                    memberships::table.on(memberships::organization_id
                        .eq(sessions::organization_id)
                        .and(memberships::email_key.eq(sessions::email_key))),
                )
                .filter(organizations::id.eq(organization.as_str()))
                .filter(sessions::token_hash.eq(hash.as_str()))
                .select((
                    Row::<SessionTimes>::as_select(),
                    Row::<StoredMembership>::as_select(),
                    Row::<Subscription>::as_select(),
                ));
            let found: Option<Found> = for_key_share!(session).first(conn).await.optional()?;
            found
                .filter(|(times, ..)| times.0.is_live_at(at))
                .map(|(_, Row(membership), Row(subscription))| (subscription, Some(membership.role)))
        }
        Authorization::PersonalToken(id) => {
            type Found = (Row<PersonalTokenRecord>, Row<StoredMembership>, Row<Subscription>);
            let token = organizations::table
                .inner_join(personal_tokens::table.on(personal_tokens::organization_id.eq(organizations::id)))
                .inner_join(
                    memberships::table.on(memberships::organization_id
                        .eq(personal_tokens::organization_id)
                        .and(memberships::email_key.eq(personal_tokens::email_key))),
                )
                .filter(organizations::id.eq(organization.as_str()))
                .filter(personal_tokens::id.eq(id.as_str()))
                .select((
                    Row::<PersonalTokenRecord>::as_select(),
                    Row::<StoredMembership>::as_select(),
                    Row::<Subscription>::as_select(),
                ));
            let found: Option<Found> = for_key_share!(token).first(conn).await.optional()?;
            found
                .filter(|(record, ..)| record.0.works_at(at))
                .map(|(_, Row(membership), Row(subscription))| (subscription, Some(membership.role)))
        }
        Authorization::Subscription => {
            let subscription = organizations::table
                .find(organization.as_str())
                .select(Row::<Subscription>::as_select());
            let found: Option<Row<Subscription>> =
                for_key_share!(subscription).first(conn).await.optional()?;
            found.map(|Row(subscription)| (subscription, None))
        }
    };
    let found = found.map(|(subscription, role)| Authorized { subscription, role });
    Ok(found.ok_or(Unauthorized::Ended))
}
