//! Deliveries that people send at once: stored as being sent, and counted as tries of their endpoints (decision E6).

use std::time::Duration;

use bidloop_domain::model::{
    Actor, Authorization, DeliveryState, EndpointId, JobId, Lead, NewEvent, Timestamp, WebhookEndpoint,
    receivers,
};
use bidloop_domain::port::{BeginTry, Clock, LeaseOwner, MAX_TRIES, MAX_TRIGGERED, TRIES_WITHIN};

use super::authorization::active_subscription;
use super::deliveries::claim::Context;
use super::deliveries::delivery_of;
use super::leads::acted_on::ActedOn;
use super::leads::rows::locked_lead;
use super::prelude::*;
use crate::records::Delivery;
use crate::sealing::Sealer;

/// What a person sends.
#[derive(Clone)]
pub(super) struct Try {
    pub(super) authorization: Authorization,
    pub(super) event: NewEvent,
    /// The job of the event's lead.
    pub(super) job: JobId,
    /// The tested endpoint; `None` for all receivers.
    pub(super) only: Option<EndpointId>,
    pub(super) by: Actor,
    pub(super) owner: LeaseOwner,
    pub(super) lasts: Duration,
}

/// The lead is locked, then the organization, then the endpoints in the order of their ids. While the organization is
/// locked, provisioning changes no endpoint.
pub(super) async fn begin_try(
    conn: &mut Conn,
    quarantine: &Quarantine,
    sealer: &Sealer,
    wanted: &Try,
    clock: &dyn Clock,
) -> Result<BeginTry, Failure> {
    let event = &wanted.event;
    let organization = &event.organization_id;
    let lead = locked_lead(conn, organization, &event.lead_id).await?;
    let authorized = active_subscription(conn, &wanted.authorization, organization, clock.now()).await?;
    if let Err(why) = authorized {
        return Ok(BeginTry::NotAuthorized(why));
    }
    let key = (organization.clone(), event.campaign_id.clone());
    let Some(acted_on) = ActedOn::of(conn, lead, &key, &event.lead_id, &wanted.job).await? else {
        return Ok(BeginTry::LeadUnknown);
    };
    let begun = begin_on(conn, quarantine, sealer, wanted, &acted_on.lead, clock).await?;
    if !matches!(&begun, BeginTry::Begun(deliveries) if !deliveries.is_empty()) {
        acted_on.forget(conn).await?;
    }
    Ok(begun)
}

/// The lead and the organization are locked.
async fn begin_on(
    conn: &mut Conn,
    quarantine: &Quarantine,
    sealer: &Sealer,
    wanted: &Try,
    lead: &Lead,
    clock: &dyn Clock,
) -> Result<BeginTry, Failure> {
    if wanted.only.is_none() && !lead.status.is_open() {
        return Ok(BeginTry::LeadNotNew(lead.status));
    }
    let Some(to) = endpoints(conn, quarantine, wanted).await? else {
        return Ok(BeginTry::EndpointUnknown);
    };
    if to.len() > MAX_TRIGGERED {
        return Ok(BeginTry::TooManyReceivers);
    }
    lock(conn, wanted, &to).await?;
    // Waiting for the locks may have taken long. The marks begin when sending can.
    let now = clock.now();
    for endpoint in &to {
        if let Some(again_at) = wait(conn, wanted, endpoint, now).await? {
            let endpoint = endpoint.clone();
            return Ok(BeginTry::TooManyTries { endpoint, again_at });
        }
    }
    let new: Vec<Delivery> = to
        .iter()
        .map(|endpoint| delivery(wanted, endpoint, now))
        .collect();
    let context = Context::load(conn, quarantine, sealer, &new).await?;
    let mut begun = Vec::with_capacity(new.len());
    for delivery in &new {
        let Some(endpoint) = context.endpoint(delivery) else {
            return Ok(BeginTry::EndpointUnknown);
        };
        let claimed = context.claimed(delivery, endpoint, now);
        begun.push(claimed.map_err(|row| {
            quarantine.set_aside(&row);
            Failure::corrupt(row.to_string())
        })?);
    }
    store(conn, wanted, &new, now).await?;
    Ok(BeginTry::Begun(begun))
}

/// The receivers' ids in ascending order; `None` if the tested endpoint receives nothing of the lead's campaign.
async fn endpoints(
    conn: &mut Conn,
    quarantine: &Quarantine,
    wanted: &Try,
) -> Result<Option<Vec<EndpointId>>, Failure> {
    let event = &wanted.event;
    let all = webhook_endpoints::table
        .filter(webhook_endpoints::organization_id.eq(event.organization_id.as_str()))
        .order(webhook_endpoints::id);
    let Some(only) = &wanted.only else {
        let all = load_records!(conn, quarantine, WebhookEndpoint, all);
        let to = receivers(&all, &event.campaign_id, event.payload.kind());
        let mut to: Vec<EndpointId> = to.into_iter().map(|endpoint| endpoint.id.clone()).collect();
        to.sort();
        return Ok(Some(to));
    };
    let one = all.filter(webhook_endpoints::id.eq(only.as_str()));
    let found = load_records!(conn, quarantine, WebhookEndpoint, one).pop();
    let found = found.filter(|endpoint| {
        let scope = endpoint.campaign_id.as_ref();
        scope.is_none_or(|scope| scope == &event.campaign_id)
    });
    Ok(found.map(|endpoint| vec![endpoint.id]))
}

async fn lock(conn: &mut Conn, wanted: &Try, to: &[EndpointId]) -> Result<(), Failure> {
    let ids: Vec<&str> = to.iter().map(EndpointId::as_str).collect();
    let rows = webhook_endpoints::table
        .filter(webhook_endpoints::organization_id.eq(wanted.event.organization_id.as_str()))
        .filter(one_of!(webhook_endpoints::id, ids))
        .order(webhook_endpoints::id)
        .select(webhook_endpoints::id);
    let _locked: Vec<String> = for_no_key_update!(rows).load(conn).await?;
    Ok(())
}

/// From when on the endpoint can be tried, if it cannot be now. Tries of more than a minute ago are forgotten.
async fn wait(
    conn: &mut Conn,
    wanted: &Try,
    endpoint: &EndpointId,
    now: Timestamp,
) -> Result<Option<Timestamp>, Failure> {
    let within = i64::try_from(TRIES_WITHIN.as_millis()).unwrap_or(i64::MAX);
    let of_endpoint = endpoint_tries::table
        .filter(endpoint_tries::organization_id.eq(wanted.event.organization_id.as_str()))
        .filter(endpoint_tries::endpoint_id.eq(endpoint.as_str()));
    let over = now.as_millis().saturating_sub(within);
    diesel::delete(of_endpoint.filter(endpoint_tries::at.le(over)))
        .execute(conn)
        .await?;
    // The try after which there may be another one.
    let last: Option<i64> = of_endpoint
        .order(endpoint_tries::at.desc())
        .offset(i64::from(MAX_TRIES) - 1)
        .select(endpoint_tries::at)
        .first(conn)
        .await
        .optional()?;
    Ok(last.map(|at| Timestamp::from_millis(at.saturating_add(within))))
}

fn delivery(wanted: &Try, endpoint: &EndpointId, now: Timestamp) -> Delivery {
    Delivery {
        is_test: wanted.only.is_some(),
        sent_by: Some(wanted.by.clone()),
        ..delivery_of(&wanted.event, endpoint, now)
    }
}

async fn store(conn: &mut Conn, wanted: &Try, new: &[Delivery], now: Timestamp) -> Result<(), Failure> {
    let until = now.plus(wanted.lasts).as_millis();
    for delivery in new {
        let organization = delivery.organization_id.as_str();
        let id = delivery.id.to_string();
        diesel::insert_into(endpoint_tries::table)
            .values((
                endpoint_tries::organization_id.eq(organization),
                endpoint_tries::endpoint_id.eq(delivery.endpoint_id.as_str()),
                endpoint_tries::id.eq(&id),
                endpoint_tries::at.eq(now.as_millis()),
            ))
            .execute(conn)
            .await?;
        diesel::insert_into(deliveries::table)
            .values((
                deliveries::organization_id.eq(organization),
                deliveries::id.eq(&id),
                deliveries::endpoint_id.eq(delivery.endpoint_id.as_str()),
                deliveries::campaign_id.eq(delivery.campaign_id.as_str()),
                deliveries::lead_id.eq(delivery.lead_id.as_str()),
                deliveries::event.eq(delivery.event.as_str()),
                deliveries::data.eq(delivery.data.as_deref()),
                deliveries::created_at.eq(now.as_millis()),
                deliveries::state.eq(DeliveryState::Sending.as_str()),
                deliveries::owner.eq(wanted.owner.as_str()),
                deliveries::owner_until.eq(until),
                deliveries::is_test.eq(delivery.is_test),
                deliveries::sent_by.eq(delivery.sent_by.clone().map(Col)),
                deliveries::trace_parent.eq(delivery.trace_parent.map(Col)),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}
