//! From an event of Stripe to a report.

use bidloop_domain::model::{InvoiceReport, SubscriptionReport, SubscriptionStatus, Timestamp};
use bidloop_domain::use_case::BillingEvent;
use serde::Deserialize;
use serde_json::Value;

use crate::invoice::invoice;
use crate::stripe_json::{EventFault, before};
use crate::subscription::subscription;

const OBJECT: &str = "data.object";

/// An event of Stripe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its id, the same each time that it is sent.
    pub id: String,
    /// Its type, such as `customer.subscription.updated`.
    pub kind: String,
    /// What it reports; `None` if it has nothing to do with subscriptions.
    pub report: Option<BillingEvent>,
}

#[derive(Debug, Deserialize)]
struct Envelope {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    created: i64,
    data: Data,
}

#[derive(Debug, Deserialize)]
struct Data {
    object: Value,
    previous_attributes: Option<Value>,
}

/// Reads an event, in the shapes of the API versions before and since 2025-03-31.
pub fn read_event(body: &[u8]) -> Result<Event, EventFault> {
    let mut json = serde_json::Deserializer::from_slice(body);
    let envelope: Envelope = serde_path_to_error::deserialize(&mut json)
        .map_err(|error| EventFault::new(&error.path().to_string(), &error.inner().to_string()))?;
    let report = match envelope.kind.as_str() {
        kind if kind.starts_with("customer.subscription.") => Some(envelope.subscription()?),
        "invoice.paid" | "invoice.payment_succeeded" => envelope.invoice(true)?,
        "invoice.payment_failed" => envelope.invoice(false)?,
        _ => None,
    };
    Ok(Event {
        id: envelope.id,
        kind: envelope.kind,
        report,
    })
}

impl Envelope {
    fn at(&self) -> Timestamp {
        Timestamp::from_seconds(self.created)
    }

    fn subscription(&self) -> Result<BillingEvent, EventFault> {
        let object = &self.data.object;
        let (id, mut state) = subscription(OBJECT, object)?;
        if self.kind == "customer.subscription.deleted" {
            state.status = SubscriptionStatus::Canceled;
        }
        let before = self.data.previous_attributes.as_ref().and_then(|previous| {
            let mut former = object.clone();
            before(&mut former, previous);
            // It only tells the order within a second; without it the event's id does.
            subscription(OBJECT, &former).ok().map(|(_, state)| state)
        });
        let report = SubscriptionReport {
            event: self.id.clone(),
            at: self.at(),
            state,
            before,
            begins: self.kind == "customer.subscription.created",
        };
        Ok(BillingEvent::Subscription(id, report))
    }

    fn invoice(&self, paid: bool) -> Result<Option<BillingEvent>, EventFault> {
        let invoice = invoice(OBJECT, &self.data.object)?;
        Ok(invoice
            .filter(|invoice| paid || invoice.is_charged)
            .map(|invoice| BillingEvent::Invoice {
                subscription: invoice.subscription,
                organization: invoice.organization,
                customer: invoice.customer,
                report: InvoiceReport {
                    invoice: invoice.id,
                    at: self.at(),
                    paid,
                },
            }))
    }
}
