//! An invoice of Stripe: which subscription it is of, and who pays.

use bidloop_domain::model::{BilledSubscriptionId, CustomerId, InvoiceId, OrganizationId};
use serde::Deserialize;
use serde_json::Value;

use crate::stripe_json::{EventFault, Metadata, Reference, read};
use crate::subscription::organization;

#[derive(Debug, Deserialize)]
struct Object {
    id: String,
    customer: Option<Reference>,
    collection_method: Option<String>,
    /// Until the API version 2025-03-31; since then under `parent`.
    subscription: Option<Reference>,
    subscription_details: Option<Details>,
    parent: Option<Parent>,
}

#[derive(Debug, Deserialize)]
struct Parent {
    subscription_details: Option<Details>,
}

#[derive(Debug, Deserialize)]
struct Details {
    subscription: Option<Reference>,
    metadata: Option<Metadata>,
}

/// An invoice of a subscription.
#[derive(Debug)]
pub(crate) struct Invoice {
    pub(crate) id: InvoiceId,
    pub(crate) subscription: BilledSubscriptionId,
    pub(crate) organization: Option<OrganizationId>,
    pub(crate) customer: CustomerId,
    /// Whether Stripe takes the money by itself. If customers pay on their own, a failed try does not make it late.
    pub(crate) is_charged: bool,
}

/// The invoice that stands at `place` of an event; `None` if it is of no subscription.
pub(crate) fn invoice(place: &str, object: &Value) -> Result<Option<Invoice>, EventFault> {
    let read: Object = read(place, object)?;
    let details = read.parent.and_then(|parent| parent.subscription_details);
    let details = details.or(read.subscription_details);
    let subscription = details
        .as_ref()
        .and_then(|details| details.subscription.as_ref())
        .or(read.subscription.as_ref());
    let (Some(subscription), Some(customer)) = (subscription, &read.customer) else {
        return Ok(None);
    };
    let invalid = |field: &str| EventFault::new(&format!("{place}.{field}"), "is not an id of Stripe");
    Ok(Some(Invoice {
        id: InvoiceId::parse(&read.id).map_err(|_| invalid("id"))?,
        subscription: BilledSubscriptionId::parse(subscription.id()).map_err(|_| invalid("subscription"))?,
        customer: CustomerId::parse(customer.id()).map_err(|_| invalid("customer"))?,
        organization: details
            .as_ref()
            .and_then(|details| organization(details.metadata.as_ref()?)),
        is_charged: read.collection_method.as_deref() != Some("send_invoice"),
    }))
}
