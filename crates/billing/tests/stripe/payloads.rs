//! Events as Stripe sends them, with what it adds around the fields that are read.

use serde_json::{Value, json};

/// Which API version renders an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Before 2025-03-31: the subscription has the period, and the invoice the subscription.
    Former,
    /// Since then: items have the period, and the invoice's parent has the subscription.
    Current,
}

pub(crate) const SHAPES: [Shape; 2] = [Shape::Former, Shape::Current];

/// The beginning of the first period, and of the month after.
pub(crate) const JANUARY: i64 = 1_798_761_600;
pub(crate) const FEBRUARY: i64 = 1_801_440_000;
pub(crate) const MARCH: i64 = 1_803_859_200;

/// An active subscription of `org_acme` for 50 proposals a month.
pub(crate) fn subscription(shape: Shape) -> Value {
    let mut subscription = json!({
        "id": "sub_1QAcme00000000000000001", "object": "subscription", "application": null,
        "automatic_tax": {"enabled": false, "liability": null}, "billing_cycle_anchor": JANUARY,
        "cancel_at": null, "cancel_at_period_end": false, "canceled_at": null,
        "collection_method": "charge_automatically", "created": JANUARY, "currency": "usd",
        "customer": "cus_Acme0000000001", "days_until_due": null, "default_payment_method": "pm_1Q",
        "ended_at": null, "latest_invoice": "in_1QAcme1", "livemode": true,
        "metadata": {"organization_id": "org_acme", "seller": "Kim"},
        "pause_collection": null, "schedule": null, "start_date": JANUARY, "status": "active",
        "items": {"object": "list", "has_more": false, "total_count": 1,
            "url": "/v1/subscription_items?subscription=sub_1QAcme00000000000000001",
            "data": [item(shape, "price_50", 1, Some("50"))]},
        "trial_end": null, "trial_start": null,
    });
    if shape == Shape::Former {
        subscription["current_period_start"] = JANUARY.into();
        subscription["current_period_end"] = FEBRUARY.into();
    }
    subscription
}

/// An item of a price with this limit.
pub(crate) fn item(shape: Shape, price: &str, quantity: u32, limit: Option<&str>) -> Value {
    let metadata = limit.map_or_else(|| json!({}), |limit| json!({"proposal_limit": limit}));
    let mut item = json!({
        "id": format!("si_{price}"), "object": "subscription_item", "created": JANUARY, "discounts": [],
        "metadata": {}, "quantity": quantity, "subscription": "sub_1QAcme00000000000000001",
        "plan": {"id": price, "object": "plan", "amount": 4900, "interval": "month"},
        "price": {"id": price, "object": "price", "active": true, "billing_scheme": "per_unit",
            "currency": "usd", "metadata": metadata, "product": "prod_bids",
            "recurring": {"interval": "month", "interval_count": 1, "usage_type": "licensed"},
            "type": "recurring", "unit_amount": 4900},
    });
    if shape == Shape::Current {
        item["current_period_start"] = JANUARY.into();
        item["current_period_end"] = FEBRUARY.into();
    }
    item
}

/// Moves the period.
pub(crate) fn renewed(mut subscription: Value, start: i64, end: i64) -> Value {
    let in_items = subscription["current_period_start"].is_null();
    let place = if in_items {
        &mut subscription["items"]["data"][0]
    } else {
        &mut subscription
    };
    place["current_period_start"] = start.into();
    place["current_period_end"] = end.into();
    subscription
}

/// An invoice of the subscription.
pub(crate) fn invoice(shape: Shape, id: &str) -> Value {
    let mut invoice = json!({
        "id": id, "object": "invoice", "account_country": "US", "amount_due": 4900, "attempt_count": 1,
        "billing_reason": "subscription_cycle", "collection_method": "charge_automatically",
        "currency": "usd", "customer": "cus_Acme0000000001", "livemode": true, "number": "ACME-0001",
        "status": "open", "total": 4900,
    });
    let details = json!({"metadata": {"organization_id": "org_acme"}});
    match shape {
        Shape::Former => {
            invoice["subscription"] = "sub_1QAcme00000000000000001".into();
            invoice["subscription_details"] = details;
        }
        Shape::Current => {
            invoice["parent"] = json!({"type": "subscription_details", "quote_details": null,
                "subscription_details": details});
            invoice["parent"]["subscription_details"]["subscription"] = "sub_1QAcme00000000000000001".into();
        }
    }
    invoice
}

/// An event of this type about `object`.
#[expect(
    clippy::needless_pass_by_value,
    reason = "test code that makes the object in the call"
)]
pub(crate) fn event(id: &str, kind: &str, created: i64, object: Value) -> Value {
    json!({
        "id": id, "object": "event", "api_version": "2025-09-30.clover", "created": created,
        "data": {"object": object}, "livemode": true, "pending_webhooks": 1,
        "request": {"id": null, "idempotency_key": null}, "type": kind,
    })
}

/// The same, and what was before.
pub(crate) fn updated(id: &str, created: i64, object: Value, previous: Value) -> Value {
    let mut event = event(id, "customer.subscription.updated", created, object);
    event["data"]["previous_attributes"] = previous;
    event
}

/// `object` with these members in place of its own.
pub(crate) fn with(mut object: Value, members: Value) -> Value {
    if let Value::Object(members) = members {
        for (name, value) in members {
            object[name] = value;
        }
    }
    object
}
