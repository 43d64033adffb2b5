//! Changes of an organization and of what belongs to it, campaigns apart.

use bidloop_domain::model::{
    AccountId, ApiKeyHash, ApiKeyId, ApiKeyRecord, OrganizationId, Secret, Subscription, Timestamp,
};
use bidloop_domain::port::{AccountRecord, WebhookRecord};
use diesel::dsl::sql;
use diesel::sql_types::Bool;

use super::super::prelude::*;
use super::campaigns::require_campaign;
use crate::records::{StoredAccount, StoredSecrets};
use crate::sealing::{Place, Sealer};

pub(in super::super) async fn put(
    conn: &mut Conn,
    id: &OrganizationId,
    name: &str,
    subscription: &Subscription,
) -> Result<(), Failure> {
    forget_other_periods(conn, id, subscription).await?;
    let fields = (
        organizations::name.eq(Col(name.to_owned())),
        subscription.columns()?,
    );
    let row = (organizations::id.eq(id.as_str()), fields.clone());
    put!(conn, organizations, row, fields);
    Ok(())
}

/// Replaces the subscription of an organization that is there.
pub(in super::super) async fn put_subscription(
    conn: &mut Conn,
    id: &OrganizationId,
    subscription: &Subscription,
) -> Result<(), Failure> {
    forget_other_periods(conn, id, subscription).await?;
    diesel::update(organizations::table.find(id.as_str()))
        .set(subscription.columns()?)
        .execute(conn)
        .await?;
    Ok(())
}

/// Forgets what was counted if it was counted for other periods: they follow from the one reported last (decision B3).
async fn forget_other_periods(
    conn: &mut Conn,
    id: &OrganizationId,
    subscription: &Subscription,
) -> Result<(), Failure> {
    let known: Option<(i64, i64, String)> = organizations::table
        .find(id.as_str())
        .select((
            organizations::period_start,
            organizations::period_end,
            organizations::renewal,
        ))
        .first(conn)
        .await
        .optional()?;
    let periods = (
        subscription.period_start.as_millis(),
        subscription.period_end.as_millis(),
        subscription.renewal.to_string(),
    );
    if known.is_some_and(|known| known != periods) {
        diesel::delete(quota_usage::table.filter(quota_usage::organization_id.eq(id.as_str())))
            .execute(conn)
            .await?;
    }
    Ok(())
}

pub(super) async fn put_api_key(
    conn: &mut Conn,
    organization: &OrganizationId,
    record: &ApiKeyRecord,
    hash: &ApiKeyHash,
) -> Result<(), Failure> {
    let mut record = ApiKeyRecord {
        organization_id: organization.clone(),
        ..record.clone()
    };
    let id = record.id.clone();
    let known = api_keys::table
        .find((organization.as_str(), id.as_str()))
        .select((api_keys::key_hash, Tried::<ApiKeyRecord>::as_select()));
    let known: Option<(Col<ApiKeyHash>, Tried<ApiKeyRecord>)> =
        for_update!(known).first(conn).await.optional()?;
    if let Some((known_hash, Tried(known))) = known {
        let Ok(known) = known else {
            // It may say that the key was revoked, which must not be lost. It works for nobody as it is.
            return Ok(());
        };
        record.last_used_at = known.last_used_at;
        // Revoking raises no revision, so the plan may not know of it; a key that was revoked stays so (decision D7).
        if known_hash.0 == *hash {
            record.revoked_at = known.revoked_at.or(record.revoked_at);
        } else {
            note_removed(conn, known_hash).await?;
        }
    }
    let row = (record.columns()?, api_keys::key_hash.eq(hash.as_str()));
    put!(conn, api_keys, row.clone(), row);
    Ok(())
}

pub(super) async fn remove_api_key(
    conn: &mut Conn,
    organization: &OrganizationId,
    id: &ApiKeyId,
) -> Result<(), Failure> {
    let key = api_keys::table.find((organization.as_str(), id.as_str()));
    let removed: Option<Col<ApiKeyHash>> = diesel::delete(key)
        .returning(api_keys::key_hash)
        .get_result(conn)
        .await
        .optional()?;
    match removed {
        Some(hash) => note_removed(conn, hash).await,
        None => Ok(()),
    }
}

/// A key that was removed or replaced never works again, whatever is provisioned later (decision D5).
async fn note_removed(conn: &mut Conn, hash: Col<ApiKeyHash>) -> Result<(), Failure> {
    diesel::insert_into(removed_api_keys::table)
        .values(removed_api_keys::key_hash.eq(hash))
        .on_conflict_do_nothing()
        .execute(conn)
        .await?;
    Ok(())
}

pub(super) async fn put_webhook(
    conn: &mut Conn,
    sealer: &Sealer,
    id: &OrganizationId,
    webhook: &WebhookRecord,
) -> Result<(), Failure> {
    if let Some(campaign) = &webhook.endpoint.campaign_id {
        require_campaign(conn, id, campaign).await?;
    }
    let secrets = StoredSecrets::seal(webhook, sealer, id)?;
    let fields = (webhook.endpoint.columns()?, secrets.columns()?);
    let row = (webhook_endpoints::organization_id.eq(id.as_str()), fields.clone());
    put!(conn, webhook_endpoints, row, fields);
    Ok(())
}

pub(super) async fn put_account(
    conn: &mut Conn,
    sealer: &Sealer,
    organization: &OrganizationId,
    account: &AccountRecord,
    at: Timestamp,
) -> Result<(), Failure> {
    let id = account.id.clone();
    let key = bidder_accounts::table.find((organization.as_str(), id.as_str()));
    let known: Option<(Attempt<Col<Secret<String>>>, bool)> =
        for_update!(key.select((bidder_accounts::token, bidder_accounts::connected)))
            .first(conn)
            .await
            .optional()?;
    let known = known.map(|(Attempt(stored), was_connected)| {
        let place = Place::token(organization.as_str(), id.as_str());
        let token = stored.and_then(|Col(stored)| sealer.open_token(place, &stored));
        (token, was_connected)
    });
    // The store knows best whether the token that it holds was refused; one that it does not hold was not.
    let (was_connected, connected) = match &known {
        Some((Ok(token), was_connected)) => (*was_connected, *was_connected || *token != account.token),
        // A token that cannot be read is replaced.
        Some((Err(_), _)) => (false, true),
        None => (false, account.connected),
    };
    let account = AccountRecord {
        connected,
        ..account.clone()
    };
    let stored = StoredAccount::seal(&account, sealer, organization)?;
    let fields = stored.columns()?;
    let row = (
        bidder_accounts::organization_id.eq(organization.as_str()),
        fields.clone(),
    );
    put!(conn, bidder_accounts, row, fields);
    if connected && !was_connected {
        make_waiting_bids_due(conn, organization, &account.id, at).await?;
    }
    Ok(())
}

/// The account's queued bids waited for it to be connected (decision B4).
async fn make_waiting_bids_due(
    conn: &mut Conn,
    organization: &OrganizationId,
    account: &AccountId,
    at: Timestamp,
) -> Result<(), Failure> {
    let waiting = bids::table
        .filter(bids::organization_id.eq(organization.as_str()))
        .filter(bids::account_id.eq(account.as_str()))
        // An index is limited to these very words.
        .filter(sql::<Bool>("bids.status IN ('queued', 'submitted')"))
        .filter(sql::<Bool>("bids.status = 'queued'"))
        .filter(bids::next_attempt_at.gt(at.as_millis()));
    diesel::update(waiting)
        .set(bids::next_attempt_at.eq(at.as_millis()))
        .execute(conn)
        .await?;
    Ok(())
}

pub(super) async fn remove_account(
    conn: &mut Conn,
    organization: &OrganizationId,
    id: &AccountId,
) -> Result<(), Failure> {
    let bidding_with_it = campaigns::table
        .filter(campaigns::organization_id.eq(organization.as_str()))
        .filter(campaigns::account_id.eq(id.as_str()));
    diesel::update(bidding_with_it)
        .set(campaigns::account_id.eq(None::<String>))
        .execute(conn)
        .await?;
    let account = bidder_accounts::table.find((organization.as_str(), id.as_str()));
    diesel::delete(account).execute(conn).await?;
    Ok(())
}
