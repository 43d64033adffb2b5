//! Intents to bid by template: queued when a job comes in, settled once.

use async_trait::async_trait;
use bidloop_domain::model::{Activity, CampaignId, LeadId, OrganizationId, Timestamp};
use bidloop_domain::port::{AutomaticBidIntent, AutomaticBidStore, LeaseOwner, StoreError};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::activities::insert_activity;
use super::{Conn, Store};
use crate::columns::read;
use crate::failure::Failure;
use crate::schema::automatic_bids;

#[async_trait]
impl AutomaticBidStore for Store {
    async fn claim(
        &self,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<AutomaticBidIntent>, StoreError> {
        let free = self
            .read(async move |conn: &mut Conn| free(conn, now, limit).await)
            .await?;
        if free.is_empty() {
            return Ok(Vec::new());
        }
        let owner = owner.clone();
        self.write(async move |conn: &mut Conn| claim(conn, &free, &owner, now, lease_until).await)
            .await
    }

    async fn complete(
        &self,
        intent: &AutomaticBidIntent,
        activity: Option<&Activity>,
    ) -> Result<(), StoreError> {
        let (intent, activity) = (intent.clone(), activity.cloned());
        self.write(async move |conn: &mut Conn| {
            let key = (intent.organization_id.as_str(), intent.lead_id.as_str());
            let removed = diesel::delete(automatic_bids::table.find(key))
                .execute(conn)
                .await?;
            match &activity {
                Some(activity) if removed == 1 => insert_activity(conn, activity).await,
                _ => Ok(()),
            }
        })
        .await
    }

    async fn automatic_count(&self) -> Result<u64, StoreError> {
        self.read(async move |conn: &mut Conn| {
            let count: i64 = automatic_bids::table.count().get_result(conn).await?;
            Ok(u64::try_from(count).unwrap_or(0))
        })
        .await
    }
}

/// Organization, lead and campaign of an intent.
type Intent = (String, String, String);

/// The oldest without a live lease. A hint: claiming decides.
async fn free(conn: &mut Conn, now: Timestamp, limit: u32) -> Result<Vec<Intent>, Failure> {
    let without_lease = automatic_bids::lease_until
        .is_null()
        .or(automatic_bids::lease_until.le(now.as_millis()));
    Ok(automatic_bids::table
        .filter(without_lease)
        .order((
            automatic_bids::queued_at,
            automatic_bids::organization_id,
            automatic_bids::lead_id,
        ))
        .limit(i64::from(limit))
        .select((
            automatic_bids::organization_id,
            automatic_bids::lead_id,
            automatic_bids::campaign_id,
        ))
        .load(conn)
        .await?)
}

async fn claim(
    conn: &mut Conn,
    free: &[Intent],
    owner: &LeaseOwner,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Vec<AutomaticBidIntent>, Failure> {
    let mut in_lock_order: Vec<&Intent> = free.iter().collect();
    in_lock_order.sort_unstable();
    let mut claimed = Vec::with_capacity(free.len());
    for intent in in_lock_order {
        let (organization, lead, _) = intent;
        let without_lease = automatic_bids::lease_until
            .is_null()
            .or(automatic_bids::lease_until.le(now.as_millis()));
        let leased = diesel::update(automatic_bids::table.find((organization.as_str(), lead.as_str())))
            .filter(without_lease)
            .set((
                automatic_bids::lease_owner.eq(owner.as_str()),
                automatic_bids::lease_until.eq(lease_until.as_millis()),
            ))
            .execute(conn)
            .await?;
        if leased == 1 {
            claimed.push(intent);
        }
    }
    claimed.sort_by_key(|intent| free.iter().position(|one| one == *intent));
    claimed.into_iter().map(into_automatic_bid).collect()
}

fn into_automatic_bid((organization, lead, campaign): &Intent) -> Result<AutomaticBidIntent, Failure> {
    Ok(AutomaticBidIntent {
        organization_id: read(
            "automatic_bids.organization_id",
            organization,
            OrganizationId::parse(organization),
        )?,
        campaign_id: read(
            "automatic_bids.campaign_id",
            campaign,
            CampaignId::parse(campaign),
        )?,
        lead_id: LeadId::from_caller(lead),
    })
}
