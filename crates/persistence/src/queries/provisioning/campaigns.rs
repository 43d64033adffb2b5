//! Changes of campaigns and their filters.

use bidloop_domain::model::{CampaignId, FilterId, OrganizationId};
use bidloop_domain::port::CampaignRecord;
use diesel::dsl::max;

use super::super::lists::due::make_backfill_due;
use super::super::lists::former_matches::remove_some_matches;
use super::super::prelude::*;

/// The rows of a table that belong to a campaign.
macro_rules! of_campaign {
    ($table:ident, $organization:expr, $campaign:expr) => {
        $table::table
            .filter($table::organization_id.eq($organization.as_str()))
            .filter($table::campaign_id.eq($campaign.as_str()))
    };
}

pub(super) async fn put(
    conn: &mut Conn,
    organization: &OrganizationId,
    campaign: &CampaignRecord,
    revision: i64,
) -> Result<(), Failure> {
    if let Some(account) = &campaign.account_id {
        let found = bidder_accounts::table.find((organization.as_str(), account.as_str()));
        if !exists!(conn, found) {
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
    // A removed campaign of the same id may have matches left, which are removed in parts. Generations before this one's
    // are its.
    let left_over: Option<i64> = of_campaign!(matches, organization, campaign.id)
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
    // Its own row first: what changes its matches locks that.
    diesel::delete(campaigns::table.find((organization.as_str(), id.as_str())))
        .execute(conn)
        .await?;
    diesel::delete(of_campaign!(filters, organization, id))
        .execute(conn)
        .await?;
    diesel::delete(of_campaign!(webhook_endpoints, organization, id))
        .execute(conn)
        .await?;
    diesel::delete(of_campaign!(automatic_bids, organization, id))
        .execute(conn)
        .await?;
    diesel::delete(of_campaign!(feed_looks, organization, id))
        .execute(conn)
        .await?;
    remove_some_matches(conn, &(organization.clone(), id.clone()), i64::MAX).await?;
    Ok(())
}

/// The ids of the campaign's filters.
pub(super) async fn filters_of(
    conn: &mut Conn,
    organization: &OrganizationId,
    id: &CampaignId,
) -> Result<Vec<FilterId>, Failure> {
    let ids: Vec<Attempt<Col<FilterId>>> = of_campaign!(filters, organization, id)
        .select(filters::id)
        .load(conn)
        .await?;
    // No process knows a filter by an id that cannot be read.
    Ok(ids.into_iter().filter_map(|id| Some(id.0.ok()?.0)).collect())
}

pub(super) async fn remove_filter(
    conn: &mut Conn,
    organization: &OrganizationId,
    campaign: &CampaignId,
    id: &FilterId,
    revision: i64,
) -> Result<(), Failure> {
    let filter = of_campaign!(filters, organization, campaign).filter(filters::id.eq(id.as_str()));
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
    if exists!(conn, campaigns::table.find((organization.as_str(), id.as_str()))) {
        Ok(())
    } else {
        Err(no_campaign(organization, id))
    }
}

pub(super) fn no_campaign(organization: &OrganizationId, id: &CampaignId) -> Failure {
    Failure::fault(format!("{organization} has no campaign {id}"))
}
