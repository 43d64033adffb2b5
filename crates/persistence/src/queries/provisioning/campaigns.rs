//! Changes of campaigns and their filters.
//!
//! `campaigns.revision` is the revision of the commit that last changed the campaign's filters, or that made the
//! campaign. So no two campaigns that bore one id after each other share a value of it, and a backfill begun for
//! the one never ends in the other.

use bidloop_domain::model::{CampaignId, FilterId, OrganizationId};
use bidloop_domain::port::{CampaignRecord, FilterRecord};
use diesel::dsl::max;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;
use serde_json::Value;

use super::super::Conn;
use crate::columns::Json;
use crate::failure::Failure;
use crate::rows::{CampaignRow, FilterRow};
use crate::schema::{automatic_bids, bidder_accounts, campaigns, filters, matches, webhook_endpoints};

/// Stands in `matched_revision` while a backfill is due: no commit has this revision.
const NEVER: i64 = 0;

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
            return Err(Failure::Fault(format!(
                "{organization} has no bidder account {account}"
            )));
        }
    }
    let row = CampaignRow::new(organization, campaign);
    let known = campaigns::table.find((organization.as_str(), campaign.id.as_str()));
    if diesel::update(known).set(&row).execute(conn).await? == 1 {
        return Ok(());
    }
    let left_over: Option<i64> = matches::table
        .filter(matches::organization_id.eq(organization.as_str()))
        .filter(matches::campaign_id.eq(campaign.id.as_str()))
        .select(max(matches::generation))
        .first(conn)
        .await?;
    let generation = left_over.unwrap_or(0) + 1;
    diesel::insert_into(campaigns::table)
        .values((
            row,
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
    let matches = matches::table
        .filter(matches::organization_id.eq(organization))
        .filter(matches::campaign_id.eq(id));
    diesel::delete(matches).execute(conn).await?;
    Ok(())
}

pub(super) async fn put_filter(
    conn: &mut Conn,
    organization: &OrganizationId,
    campaign: &CampaignId,
    filter: &FilterRecord,
    revision: i64,
) -> Result<(), Failure> {
    let row = FilterRow::new(organization, campaign, filter);
    let known: Option<(String, Json<Value>)> = filters::table
        .find((organization.as_str(), filter.id.as_str()))
        .select((filters::campaign_id, filters::body))
        .first(conn)
        .await
        .optional()?;
    diesel::insert_into(filters::table)
        .values(&row)
        .on_conflict((filters::organization_id, filters::id))
        .do_update()
        .set(&row)
        .execute(conn)
        .await?;
    match known {
        Some((before, body)) if before == row.campaign_id && body == row.body => return Ok(()),
        Some((before, _)) if before != row.campaign_id => {
            make_backfill_due(conn, organization, &before, revision).await?;
        }
        _ => {}
    }
    if make_backfill_due(conn, organization, campaign.as_str(), revision).await? {
        Ok(())
    } else {
        Err(no_campaign(organization, campaign))
    }
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
        make_backfill_due(conn, organization, campaign.as_str(), revision).await?;
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

fn no_campaign(organization: &OrganizationId, id: &CampaignId) -> Failure {
    Failure::Fault(format!("{organization} has no campaign {id}"))
}

/// Whether there is such a campaign.
async fn make_backfill_due(
    conn: &mut Conn,
    organization: &OrganizationId,
    id: &str,
    revision: i64,
) -> Result<bool, Failure> {
    let updated = diesel::update(campaigns::table.find((organization.as_str(), id)))
        .set((
            campaigns::revision.eq(revision),
            campaigns::matched_revision.eq(NEVER),
        ))
        .execute(conn)
        .await?;
    Ok(updated == 1)
}
