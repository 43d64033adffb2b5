//! Webhook deliveries: marked before they are sent, ended once (decision C5).
//!
//! | file | owns |
//! |---|---|
//! | [`pending`] | which deliveries may be sent next |
//! | [`others_from`] | from where on its second look searches |
//! | [`claim`] | marking them, and what is written into them |
//! | [`ends`] | recording their ends |

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bidloop_domain::model::{
    Authorization, DeliveryId, EndpointId, EventKind, EventPayload, NewEvent, OrganizationId, Timestamp,
};
use bidloop_domain::port::{
    BeginTry, ClaimedDelivery, Clock, DeliveryEnd, DeliveryStore, LeaseOwner, NewTry, PendingDelivery,
    StoreError, TriedReceivers,
};
use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::sql_types::Bool;

use self::claim::claim;
use self::ends::{EndCommand, Ends, overdue, sweep};
use self::pending::pending;
use super::delivery_tries::{Try, begin_try};
use super::prelude::*;
use crate::grouping::Locks;
use crate::low_water::LowWater;
use crate::records::Delivery;

pub(super) mod claim;
pub(super) mod ends;
mod others_from;
pub(super) mod pending;

/// The tables' names in the quarantine.
const DELIVERIES: &str = "deliveries";
const ENDPOINTS: &str = "webhook_endpoints";

#[async_trait]
impl DeliveryStore for Store {
    async fn pending(
        &self,
        busy: &[(OrganizationId, EndpointId)],
        per_endpoint: u32,
        limit: u32,
    ) -> Result<Vec<PendingDelivery>, StoreError> {
        let (busy, quarantine) = (busy.to_vec(), self.quarantine.clone());
        let marks = Arc::clone(&self.pending_from);
        self.snapshot_by_keys(async move |conn: &mut Conn| {
            pending(conn, &quarantine, &marks, &busy, per_endpoint, limit).await
        })
        .await
    }

    async fn claim(
        &self,
        deliveries: &[PendingDelivery],
        owner: &LeaseOwner,
        clock: &Arc<dyn Clock>,
        lasts: Duration,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        let (deliveries, owner, clock) = (deliveries.to_vec(), owner.clone(), clock.clone());
        let (quarantine, sealer) = (self.quarantine.clone(), self.sealer.clone());
        let work = async move |conn: &mut Conn| {
            claim(conn, &quarantine, &sealer, &deliveries, &owner, &*clock, lasts).await
        };
        let claimed = self.write_by_keys(Locks::Patiently, work).await?;
        Ok(claimed.unwrap_or_default())
    }

    async fn begin_try(
        &self,
        authorization: &Authorization,
        wanted: NewTry<'_>,
        owner: &LeaseOwner,
        clock: &Arc<dyn Clock>,
        lasts: Duration,
    ) -> Result<BeginTry, StoreError> {
        let of = wanted.event.organization_id.clone();
        let begun = Try {
            authorization: authorization.clone(),
            event: wanted.event.clone(),
            job: wanted.job.clone(),
            only: match wanted.to {
                TriedReceivers::All => None,
                TriedReceivers::One(endpoint) => Some(endpoint.clone()),
            },
            by: wanted.by.clone(),
            owner: owner.clone(),
            lasts,
        };
        let clock = clock.clone();
        let (quarantine, sealer) = (self.quarantine.clone(), self.sealer.clone());
        self.write_for(&of, async move |conn: &mut Conn| {
            begin_try(conn, &quarantine, &sealer, &begun, &*clock).await
        })
        .await
    }

    async fn finish(&self, end: &Arc<DeliveryEnd>, owner: &LeaseOwner) -> Result<bool, StoreError> {
        // Deliveries of one lead share a lane: that the lead was told is noted once, which others would wait for.
        let mut lane = DefaultHasher::new();
        end.delivery.lead_id.hash(&mut lane);
        let command = EndCommand {
            end: Arc::clone(end),
            owner: owner.clone(),
        };
        self.ends
            .carry_out(&Ends(self.clone()), lane.finish(), Arc::new(command))
            .await
    }

    async fn interrupt_overdue(&self, now: Timestamp) -> Result<u64, StoreError> {
        let low = &self.overdue_from;
        let from = if low.is_dear() {
            low.from()
        } else {
            LowWater::START
        };
        let began = Instant::now();
        let overdue: u64 = self
            .read(async move |conn: &mut Conn| count!(conn, overdue(from, now.as_millis())))
            .await?;
        // What is overdue is ended now, and what is marked from now on has time.
        low.note(from, began, Some(now.as_millis()).filter(|_| overdue == 0));
        let mut interrupted = 0;
        // In short transactions, and without one if there is nothing to do.
        while interrupted < overdue {
            let quarantine = self.quarantine.clone();
            let swept = self
                .write(async move |conn: &mut Conn| sweep(conn, &quarantine, from, now).await)
                .await?;
            if swept == 0 {
                break;
            }
            interrupted += swept;
        }
        Ok(interrupted)
    }

    async fn pending_count(&self) -> Result<u64, StoreError> {
        self.read(async move |conn: &mut Conn| count!(conn, deliveries::table.filter(is_pending())))
            .await
    }
}

/// In the words of the partial index on pending deliveries by endpoint.
pub(super) fn is_pending() -> SqlLiteral<Bool> {
    sql("deliveries.state = 'pending'")
}

/// In the words of the partial index on pending deliveries by age.
fn is_oldest_pending() -> SqlLiteral<Bool> {
    sql("deliveries.state = 'pending' AND deliveries.ended_at IS NULL")
}

/// In the words of the partial index on deliveries that are being sent.
fn is_sending() -> SqlLiteral<Bool> {
    sql("deliveries.state = 'sending'")
}

/// The name of a row in the quarantine.
fn key(organization: &OrganizationId, id: impl std::fmt::Display) -> String {
    format!("{organization}/{id}")
}

/// An event's delivery to an endpoint, by the service.
pub(super) fn delivery_of(event: &NewEvent, endpoint: &EndpointId, at: Timestamp) -> Delivery {
    Delivery {
        organization_id: event.organization_id.clone(),
        id: DeliveryId::derive(event.id, &event.organization_id, endpoint),
        endpoint_id: endpoint.clone(),
        campaign_id: event.campaign_id.clone(),
        lead_id: event.lead_id.clone(),
        event: event.payload.kind(),
        data: data_of(&event.payload).map(str::to_owned),
        created_at: at,
        is_test: false,
        sent_by: None,
        trace_parent: event.trace_parent,
    }
}

/// What is stored of an event's payload: that of a `job.new` comes from its lead.
pub(super) fn data_of(payload: &EventPayload) -> Option<&str> {
    match payload {
        EventPayload::JobNew => None,
        EventPayload::BidComplete { data, .. } => Some(data),
    }
}

/// `None` if the delivery lacks data that its event has.
pub(super) fn payload(delivery: &Delivery) -> Option<EventPayload> {
    match (delivery.event, &delivery.data) {
        (EventKind::JobNew, _) => Some(EventPayload::JobNew),
        (EventKind::BidComplete, Some(data)) => EventPayload::stored_bid_complete(data.clone()),
        (EventKind::BidComplete, None) => None,
    }
}
