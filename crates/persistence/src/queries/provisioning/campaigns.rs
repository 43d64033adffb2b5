//! Changes of campaigns and their filters.

use bidloop_domain::model::{CampaignId, FilterId, OrganizationId};
use bidloop_domain::port::CampaignRecord;
use diesel::dsl::max;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::Conn;
use super::super::lists::due::make_backfill_due;
use super::super::lists::former_matches::remove_some_matches;
use crate::columns::Col;
use crate::failure::Failure;
use crate::records::Columns as _;
use crate::schema::{automatic_bids, bidder_accounts, campaigns, filters, matches, webhook_endpoints};

pub(super) async fn put(
    conn: &mut Conn,
    organization: &OrganizationId,
    campaign: &CampaignRecord,
    revision: i64,
) -> Result<(), Failure> {
    if let Some(account) = &campaign.account_id {
        let found = bidder_accounts::table.find((organization.as_str(), account.as_str()));
        if !diesel::select(diesel::dsl::exists(found))
            .get_result(conn)
            .await?
        {
            return Err(Failure::fault(format!(
                "{organization} has no bidder account {account}"
            )));
        }
    }
    let fields = campaign.columns()?;
    let known = campaigns::table.find((organization.as_str(), campaign.id.as_str()));
    if diesel::update(known).set(fields.clone()).execute(conn).await? == 1 {
        return Ok(());
    }
    // Those of a campaign that bore the id before are removed little by little: its generations end below this one's.
    let left_over: Option<i64> = matches::table
        .filter(matches::organization_id.eq(organization.as_str()))
        .filter(matches::campaign_id.eq(campaign.id.as_str()))
        .select(max(matches::generation))
        .first(conn)
        .await?;
    let generation = left_over.unwrap_or(0) + 1;
    diesel::insert_into(campaigns::table)
        .values((
            campaigns::organization_id.eq(organization.as_str()),
            fields,
            campaigns::revision.eq(revision),
            campaigns::matched_revision.eq(revision),
            campaigns::generation.eq(generation),
            campaigns::last_generation.eq(generation),
            campaigns::match_total.eq(0_i64),
        ))
        .execute(conn)
        .await?;
    Ok(())
}

pub(super) async fn remove(
    conn: &mut Conn,
    organization: &OrganizationId,
    id: &CampaignId,
) -> Result<(), Failure> {
    let key = (organization.clone(), id.clone());
    let (organization, id) = (organization.as_str(), id.as_str());
    // Its own row first: whoever changes its matches holds that.
    diesel::delete(campaigns::table.find((organization, id)))
        .execute(conn)
        .await?;
    let filters = filters::table
        .filter(filters::organization_id.eq(organization))
        .filter(filters::campaign_id.eq(id));
    diesel::delete(filters).execute(conn).await?;
    let endpoints = webhook_endpoints::table
        .filter(webhook_endpoints::organization_id.eq(organization))
        .filter(webhook_endpoints::campaign_id.eq(id));
    diesel::delete(endpoints).execute(conn).await?;
    let intents = automatic_bids::table
        .filter(automatic_bids::organization_id.eq(organization))
        .filter(automatic_bids::campaign_id.eq(id));
    diesel::delete(intents).execute(conn).await?;
    remove_some_matches(conn, &key, i64::MAX).await?;
    Ok(())
}

/// The ids of the campaign's filters.
pub(super) async fn filters_of(
    conn: &mut Conn,
    organization: &OrganizationId,
    id: &CampaignId,
) -> Result<Vec<FilterId>, Failure> {
    let ids: Vec<Col<FilterId>> = filters::table
        .filter(filters::organization_id.eq(organization.as_str()))
        .filter(filters::campaign_id.eq(id.as_str()))
        .select(filters::id)
        .load(conn)
        .await?;
    Ok(ids.into_iter().map(|id| id.0).collect())
}

pub(super) async fn remove_filter(
    conn: &mut Conn,
    organization: &OrganizationId,
    campaign: &CampaignId,
    id: &FilterId,
    revision: i64,
) -> Result<(), Failure> {
    let filter = filters::table
        .filter(filters::organization_id.eq(organization.as_str()))
        .filter(filters::id.eq(id.as_str()))
        .filter(filters::campaign_id.eq(campaign.as_str()));
    if diesel::delete(filter).execute(conn).await? == 1 {
        make_backfill_due(conn, organization.as_str(), campaign.as_str(), revision).await?;
    }
    Ok(())
}

/// Fails unless the organization has the campaign.
pub(super) async fn require_campaign(
    conn: &mut Conn,
    organization: &OrganizationId,
    id: &CampaignId,
) -> Result<(), Failure> {
    let found = campaigns::table.find((organization.as_str(), id.as_str()));
    if diesel::select(diesel::dsl::exists(found))
        .get_result(conn)
        .await?
    {
        Ok(())
    } else {
        Err(no_campaign(organization, id))
    }
}

pub(super) fn no_campaign(organization: &OrganizationId, id: &CampaignId) -> Failure {
    Failure::fault(format!("{organization} has no campaign {id}"))
}
