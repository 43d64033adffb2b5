//! Changes of campaigns and their filters.
//!
//! `campaigns.revision` is the revision of the commit that last changed the campaign's filters, or that made the
//! campaign; or a job's negated number, where ingesting made a backfill due. So no two campaigns that bore one id after
//! each other share a value of it, and a backfill begun for the one never ends in the other.

use bidloop_domain::model::{CampaignId, FilterId, OrganizationId};
use bidloop_domain::port::CampaignRecord;
use diesel::dsl::max;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::lists::due::make_backfill_due;
use super::super::locks::shared_revision;
use super::super::{Conn, Store};
use crate::columns::read;
use crate::failure::Failure;
use crate::rows::CampaignRow;
use crate::schema::{automatic_bids, bidder_accounts, campaigns, filters, matches, webhook_endpoints};

/// How many matches one transaction removes: some 10 ms on SQLite.
const MATCHES_AT_ONCE: i64 = 1000;

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
    remove_some_matches(conn, organization, id, i64::MAX).await?;
    Ok(())
}

/// The ids of the campaign's filters.
pub(super) async fn filters_of(
    conn: &mut Conn,
    organization: &OrganizationId,
    id: &CampaignId,
) -> Result<Vec<FilterId>, Failure> {
    let ids: Vec<String> = filters::table
        .filter(filters::organization_id.eq(organization.as_str()))
        .filter(filters::campaign_id.eq(id.as_str()))
        .select(filters::id)
        .load(conn)
        .await?;
    ids.iter()
        .map(|id| read("filters.id", id, FilterId::parse(id)))
        .collect()
}

/// Removes what [`remove`] left of the campaign's matches, some rows a transaction. The campaign is removed whatever
/// becomes of this: the rows are of no use to anybody. One that is made again under the same id meanwhile keeps its
/// own, which are of a later generation.
pub(super) async fn remove_left_over_matches(store: &Store, organization: &OrganizationId, id: &CampaignId) {
    loop {
        let (organization, id) = (organization.clone(), id.clone());
        let removed = store
            .write(async move |conn: &mut Conn| {
                // Nobody makes the campaign again while the revision is shared.
                shared_revision(conn).await?;
                let made_again = campaigns::table
                    .find((organization.as_str(), id.as_str()))
                    .select(campaigns::generation);
                let served: Option<i64> = made_again.first(conn).await.optional()?;
                let former = served.unwrap_or(i64::MAX);
                remove_some_matches(conn, organization.as_str(), id.as_str(), former).await
            })
            .await;
        match removed {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, "matches of a removed campaign stay");
                return;
            }
        }
    }
}

/// Removes rows of a generation before `served`, and says whether there may be more.
async fn remove_some_matches(
    conn: &mut Conn,
    organization: &str,
    campaign: &str,
    served: i64,
) -> Result<bool, Failure> {
    let of_campaign = || {
        matches::table
            .filter(matches::organization_id.eq(organization))
            .filter(matches::campaign_id.eq(campaign))
    };
    let first: Option<(i64, i64)> = of_campaign()
        .filter(matches::generation.lt(served))
        .order((matches::generation, matches::seq))
        .select((matches::generation, matches::seq))
        .first(conn)
        .await
        .optional()?;
    let Some((generation, seq)) = first else {
        return Ok(false);
    };
    let some = matches::generation
        .eq(generation)
        .and(matches::seq.lt(seq + MATCHES_AT_ONCE));
    diesel::delete(of_campaign().filter(some)).execute(conn).await?;
    Ok(true)
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
    Failure::Fault(format!("{organization} has no campaign {id}"))
}
