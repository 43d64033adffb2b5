//! Changes of an organization and of what belongs to it, campaigns apart.

use bidloop_domain::model::{
    AccountId, ApiKeyHash, ApiKeyId, ApiKeyRecord, EndpointId, OrganizationId, Subscription, Timestamp,
};
use bidloop_domain::port::{AccountRecord, UserRecord, WebhookRecord};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;

use super::super::Conn;
use super::campaigns::require_campaign;
use crate::columns::Col;
use crate::failure::Failure;
use crate::records::Columns as _;
use crate::schema::{
    api_keys, bidder_accounts, bids, campaigns, organizations, quota_usage, users, webhook_endpoints,
};

pub(super) async fn put(
    conn: &mut Conn,
    id: &OrganizationId,
    name: &str,
    subscription: &Subscription,
) -> Result<(), Failure> {
    let known: Option<(i64, i64)> = organizations::table
        .find(id.as_str())
        .select((organizations::period_start, organizations::period_end))
        .first(conn)
        .await
        .optional()?;
    let period = (
        subscription.period_start.as_millis(),
        subscription.period_end.as_millis(),
    );
    if known.is_some_and(|known| known != period) {
        // What was counted was counted for periods that follow from the one reported before (decision B3).
        diesel::delete(quota_usage::table.filter(quota_usage::organization_id.eq(id.as_str())))
            .execute(conn)
            .await?;
    }
    let fields = (
        organizations::name.eq(Col(name.to_owned())),
        subscription.columns()?,
    );
    diesel::insert_into(organizations::table)
        .values((organizations::id.eq(id.as_str()), fields.clone()))
        .on_conflict(organizations::id)
        .do_update()
        .set(fields)
        .execute(conn)
        .await?;
    Ok(())
}

pub(super) async fn put_user(
    conn: &mut Conn,
    organization: &OrganizationId,
    user: &UserRecord,
) -> Result<(), Failure> {
    let fields = user.columns()?;
    diesel::insert_into(users::table)
        .values((
            users::organization_id.eq(organization.as_str()),
            users::email_key.eq(email_key(&user.email)),
            fields.clone(),
        ))
        .on_conflict((users::organization_id, users::email_key))
        .do_update()
        .set(fields)
        .execute(conn)
        .await?;
    Ok(())
}

/// The same for two spellings of one address: emails are compared without regard to case.
fn email_key(email: &str) -> Col<String> {
    Col(email.to_lowercase())
}

pub(super) async fn remove_user(
    conn: &mut Conn,
    organization: &OrganizationId,
    email: &str,
) -> Result<(), Failure> {
    let user = users::table
        .filter(users::organization_id.eq(organization.as_str()))
        .filter(users::email_key.eq(email_key(email)));
    diesel::delete(user).execute(conn).await?;
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
    let key = api_keys::table.find((organization.as_str(), id.as_str()));
    let known: Option<(Col<ApiKeyHash>, Option<Col<Timestamp>>)> =
        for_update!(key.select((api_keys::key_hash, api_keys::revoked_at)))
            .first(conn)
            .await
            .optional()?;
    // Revoking raises no revision, so the plan may not know of it; a key that was revoked stays so (decision D7).
    let revoked_at = known
        .filter(|(known_hash, _)| known_hash.0 == *hash)
        .and_then(|(_, revoked_at)| revoked_at);
    record.revoked_at = revoked_at.map(|at| at.0).or(record.revoked_at);
    diesel::insert_into(api_keys::table)
        .values((record.columns()?, api_keys::key_hash.eq(hash.as_str())))
        .on_conflict((api_keys::organization_id, api_keys::id))
        .do_update()
        // All but last_used_at.
        .set((
            api_keys::key_hash.eq(excluded(api_keys::key_hash)),
            api_keys::name.eq(excluded(api_keys::name)),
            api_keys::created_at.eq(excluded(api_keys::created_at)),
            api_keys::expires_at.eq(excluded(api_keys::expires_at)),
            api_keys::revoked_at.eq(excluded(api_keys::revoked_at)),
        ))
        .execute(conn)
        .await?;
    Ok(())
}

pub(super) async fn remove_api_key(
    conn: &mut Conn,
    organization: &OrganizationId,
    id: &ApiKeyId,
) -> Result<(), Failure> {
    let key = api_keys::table.find((organization.as_str(), id.as_str()));
    diesel::delete(key).execute(conn).await?;
    Ok(())
}

pub(super) async fn put_webhook(
    conn: &mut Conn,
    organization: &OrganizationId,
    webhook: &WebhookRecord,
) -> Result<(), Failure> {
    if let Some(campaign) = &webhook.endpoint.campaign_id {
        require_campaign(conn, organization, campaign).await?;
    }
    let (previous_secret, previous_until) = webhook.previous_secret.clone().unzip();
    let fields = (
        webhook.endpoint.columns()?,
        webhook_endpoints::secret.eq(Col(webhook.secret.clone())),
        webhook_endpoints::previous_secret.eq(previous_secret.map(Col)),
        webhook_endpoints::previous_secret_until.eq(previous_until.map(Timestamp::as_millis)),
    );
    diesel::insert_into(webhook_endpoints::table)
        .values((
            webhook_endpoints::organization_id.eq(organization.as_str()),
            fields.clone(),
        ))
        .on_conflict((webhook_endpoints::organization_id, webhook_endpoints::id))
        .do_update()
        .set(fields)
        .execute(conn)
        .await?;
    Ok(())
}

pub(super) async fn remove_webhook(
    conn: &mut Conn,
    organization: &OrganizationId,
    id: &EndpointId,
) -> Result<(), Failure> {
    let endpoint = webhook_endpoints::table.find((organization.as_str(), id.as_str()));
    diesel::delete(endpoint).execute(conn).await?;
    Ok(())
}

pub(super) async fn put_account(
    conn: &mut Conn,
    organization: &OrganizationId,
    account: &AccountRecord,
    at: Timestamp,
) -> Result<(), Failure> {
    let id = account.id.clone();
    let key = bidder_accounts::table.find((organization.as_str(), id.as_str()));
    let known: Option<(Col<String>, bool)> =
        for_update!(key.select((bidder_accounts::token, bidder_accounts::connected)))
            .first(conn)
            .await
            .optional()?;
    // The store knows best whether the token that it holds was refused; one that it does not hold was not.
    let (was_connected, connected) = match &known {
        Some((token, was_connected)) => (*was_connected, *was_connected || token.0 != account.token),
        None => (false, account.connected),
    };
    let account = AccountRecord {
        connected,
        ..account.clone()
    };
    let fields = account.columns()?;
    diesel::insert_into(bidder_accounts::table)
        .values((
            bidder_accounts::organization_id.eq(organization.as_str()),
            fields.clone(),
        ))
        .on_conflict((bidder_accounts::organization_id, bidder_accounts::id))
        .do_update()
        .set(fields)
        .execute(conn)
        .await?;
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
