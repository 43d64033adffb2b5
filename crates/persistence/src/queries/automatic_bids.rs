//! Intents to bid by template: queued when a job comes in, completed once.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use bidloop_domain::model::{Activity, Tally, Timestamp};
use bidloop_domain::port::{AutomaticBidIntent, AutomaticBidStore, LeaseOwner, StoreError};
use diesel::dsl::auto_type;

use super::activities::insert_activity;
use super::prelude::*;
use super::statistics::count;
use crate::low_water::LowWater;

/// The table's name in the quarantine.
const INTENTS: &str = "automatic_bids";

#[async_trait]
impl AutomaticBidStore for Store {
    async fn claim(
        &self,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<AutomaticBidIntent>, StoreError> {
        // This is a hint: claiming decides.
        let (quarantine, low) = (self.quarantine.clone(), Arc::clone(&self.intents_from));
        let free = self
            .read(async move |conn: &mut Conn| free(conn, &quarantine, &low, now, limit as usize).await)
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
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let (intent, activity) = (intent.clone(), activity.cloned());
        self.write(async move |conn: &mut Conn| {
            let key = (intent.organization_id.as_str(), intent.lead_id.as_str());
            let removed = diesel::delete(automatic_bids::table.find(key))
                .execute(conn)
                .await?;
            if removed != 1 {
                return Ok(());
            }
            if let Some(activity) = &activity {
                insert_activity(conn, activity).await?;
            }
            let mut tally = Tally::default();
            tally.handed_over(&intent.organization_id, &intent.campaign_id);
            count(conn, &tally, at).await
        })
        .await
    }

    async fn automatic_count(&self) -> Result<u64, StoreError> {
        self.read(async move |conn: &mut Conn| count!(conn, automatic_bids::table))
            .await
    }
}

/// Queues those of the intents that were not queued before, and returns how many those are.
pub(super) async fn queue_automatic_bids(
    conn: &mut Conn,
    intents: &[AutomaticBidIntent],
    at: Timestamp,
) -> Result<u64, Failure> {
    let queued = Batch::of("automatic_bids", intents)
        .with(automatic_bids::organization_id, |intent| {
            intent.organization_id.as_str()
        })
        .with(automatic_bids::lead_id, |intent| intent.lead_id.as_str())
        .with(automatic_bids::campaign_id, |intent| intent.campaign_id.as_str())
        .with(automatic_bids::queued_at, |_| at.as_millis())
        .run(conn, Write::InsertNew)
        .await?;
    Ok(queued as u64)
}

#[auto_type]
fn without_lease(now: i64) -> _ {
    automatic_bids::lease_until
        .is_null()
        .or(automatic_bids::lease_until.le(now))
}

/// The oldest intents without a lease that can be read.
async fn free(
    conn: &mut Conn,
    quarantine: &Quarantine,
    low: &LowWater,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<AutomaticBidIntent>, Failure> {
    let mut from = low.from();
    loop {
        // The rows that were set aside take no place of others.
        let held = quarantine.count(INTENTS);
        let (looked_at, began) = (limit.saturating_add(held), Instant::now());
        let oldest_first = automatic_bids::table
            .filter(without_lease(now.as_millis()))
            .filter(automatic_bids::queued_at.ge(from))
            .order((
                automatic_bids::queued_at,
                automatic_bids::organization_id,
                automatic_bids::lead_id,
            ))
            .limit(stored(looked_at))
            .select((
                automatic_bids::queued_at,
                Tried::<AutomaticBidIntent>::as_select(),
            ));
        let rows: Vec<(i64, Tried<AutomaticBidIntent>)> = oldest_first.load(conn).await?;
        let is_complete = rows.len() < looked_at;
        let mut free: Vec<(i64, AutomaticBidIntent)> = rows
            .into_iter()
            .filter_map(|(queued_at, row)| Some((queued_at, row.or_aside(quarantine)?)))
            .collect();
        if held > 0 {
            free.retain(|(_, intent)| !quarantine.holds(INTENTS, &intent.organization_id, &intent.lead_id));
        }
        low.note(from, began, free.iter().map(|(queued_at, _)| *queued_at).next());
        free.truncate(limit);
        let is_enough = if is_complete {
            low.suffices(from)
        } else {
            !free.is_empty() || quarantine.count(INTENTS) == held
        };
        if is_enough {
            return Ok(free.into_iter().map(|(_, intent)| intent).collect());
        }
        if is_complete {
            from = LowWater::START;
        }
    }
}

async fn claim(
    conn: &mut Conn,
    free: &[AutomaticBidIntent],
    owner: &LeaseOwner,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Vec<AutomaticBidIntent>, Failure> {
    let mut in_lock_order: Vec<(usize, &AutomaticBidIntent)> = free.iter().enumerate().collect();
    in_lock_order.sort_unstable_by_key(|(_, intent)| (&intent.organization_id, &intent.lead_id));
    let mut claimed = Vec::with_capacity(free.len());
    for (place, intent) in in_lock_order {
        let key = (intent.organization_id.as_str(), intent.lead_id.as_str());
        let leased = diesel::update(automatic_bids::table.find(key))
            .filter(without_lease(now.as_millis()))
            .set((
                automatic_bids::lease_owner.eq(owner.as_str()),
                automatic_bids::lease_until.eq(lease_until.as_millis()),
            ))
            .execute(conn)
            .await?;
        if leased == 1 {
            claimed.push((place, intent));
        }
    }
    claimed.sort_unstable_by_key(|(place, _)| *place);
    Ok(claimed.into_iter().map(|(_, intent)| intent.clone()).collect())
}
