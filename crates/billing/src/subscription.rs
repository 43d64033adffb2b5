//! A subscription of Stripe: status, paused collection, period, and the limit of its prices.

use bidloop_domain::model::{
    BilledState, BilledSubscriptionId, CustomerId, InvoiceId, OrganizationId, SubscriptionStatus, Timestamp,
};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::stripe_json::{EventFault, List, Metadata, Reference, read};

/// The key of a subscription's metadata that names the organization.
pub(crate) const ORGANIZATION: &str = "organization_id";

/// The key of a price's metadata that has the limit of a period.
const LIMIT: &str = "proposal_limit";

/// The value of a limit that is none.
const UNLIMITED: &str = "unlimited";

#[derive(Debug, Deserialize)]
struct Subscription {
    id: String,
    status: String,
    customer: Reference,
    created: i64,
    #[serde(default)]
    metadata: Metadata,
    pause_collection: Option<IgnoredAny>,
    /// Until the API version 2025-03-31; since then items have it.
    current_period_start: Option<i64>,
    current_period_end: Option<i64>,
    items: List<Item>,
    latest_invoice: Option<Reference>,
}

#[derive(Debug, Deserialize)]
struct Item {
    current_period_start: Option<i64>,
    current_period_end: Option<i64>,
    quantity: Option<u32>,
    price: Price,
}

#[derive(Debug, Deserialize)]
struct Price {
    id: String,
    #[serde(default)]
    metadata: Metadata,
}

/// The id and the state of the subscription that stands at `place` of an event.
pub(crate) fn subscription(
    place: &str,
    object: &Value,
) -> Result<(BilledSubscriptionId, BilledState), EventFault> {
    let read: Subscription = read(place, object)?;
    let invalid = |field: &str| EventFault::new(&format!("{place}.{field}"), "is not an id of Stripe");
    let (period_start, period_end) = read.period().ok_or_else(|| {
        let message = "neither the subscription nor an item has a period that ends after it starts";
        EventFault::new(&format!("{place}.items"), message)
    })?;
    let state = BilledState {
        status: status(&read.status),
        collection_paused: read.pause_collection.is_some(),
        period_start,
        period_end,
        proposal_limit: read.limit(),
        organization: organization(&read.metadata),
        customer: CustomerId::parse(read.customer.id()).map_err(|_| invalid("customer"))?,
        created_at: Timestamp::from_seconds(read.created),
        latest_invoice: read
            .latest_invoice
            .as_ref()
            .and_then(|invoice| InvoiceId::parse(invoice.id()).ok()),
    };
    let id = BilledSubscriptionId::parse(&read.id).map_err(|_| invalid("id"))?;
    Ok((id, state))
}

/// The organization that metadata name.
pub(crate) fn organization(metadata: &Metadata) -> Option<OrganizationId> {
    let named = metadata.get(ORGANIZATION)?;
    let id = OrganizationId::parse(named);
    if id.is_err() {
        tracing::warn!(
            organization_id = named,
            "the metadata of a subscription name what is no organization's id"
        );
    }
    id.ok()
}

/// A status that is not known yet does not make keys work.
fn status(status: &str) -> SubscriptionStatus {
    match status {
        "active" => SubscriptionStatus::Active,
        "trialing" => SubscriptionStatus::Trialing,
        "past_due" => SubscriptionStatus::PastDue,
        "canceled" | "incomplete_expired" => SubscriptionStatus::Canceled,
        "paused" => SubscriptionStatus::Paused,
        // The first payment is outstanding.
        "unpaid" | "incomplete" => SubscriptionStatus::Unpaid,
        unknown => {
            tracing::warn!(
                status = unknown,
                "Stripe reports a status that this version does not know: it counts as unpaid"
            );
            SubscriptionStatus::Unpaid
        }
    }
}

impl Subscription {
    /// The subscription's period; if items have it, that of those with a limit which ends first.
    fn period(&self) -> Option<(Timestamp, Timestamp)> {
        let period = |start: Option<i64>, end: Option<i64>| {
            let period = (Timestamp::from_seconds(start?), Timestamp::from_seconds(end?));
            (period.0 < period.1).then_some(period)
        };
        period(self.current_period_start, self.current_period_end).or_else(|| {
            let items = self.items.data.iter().filter_map(|item| {
                let (start, end) = period(item.current_period_start, item.current_period_end)?;
                let has_no_limit = item.price.metadata.get(LIMIT).is_none();
                Some((has_no_limit, end, start))
            });
            items.min().map(|(_, end, start)| (start, end))
        })
    }

    /// The sum of what the prices allow, each times its quantity. Prices without a limit add nothing. No limit if none has
    /// one, or one is unlimited.
    fn limit(&self) -> Option<u32> {
        if self.items.has_more {
            tracing::warn!(
                subscription = self.id,
                "an event has only some items of a subscription: limits may be missing"
            );
        }
        let mut sum = None;
        for item in &self.items.data {
            let Some(limit) = item.price.metadata.get(LIMIT) else {
                continue;
            };
            if limit == UNLIMITED {
                return None;
            }
            let limit: u32 = limit.parse().unwrap_or_else(|_| {
                let price = &item.price.id;
                tracing::error!(
                    price,
                    limit,
                    "the proposal_limit of a price is neither a whole number nor `unlimited`: it counts as 0"
                );
                0
            });
            let allowed = limit.saturating_mul(item.quantity.unwrap_or(1));
            sum = Some(sum.unwrap_or(0_u32).saturating_add(allowed));
        }
        sum
    }
}
