//! What is read of an event.

use bidloop_billing::read_event;
use bidloop_domain::model::{
    BilledState, CustomerId, InvoiceId, OrganizationId, SubscriptionReport, SubscriptionStatus, Timestamp,
};
use bidloop_domain::use_case::BillingEvent;
use serde_json::{Value, json};

use crate::payloads::{
    FEBRUARY, JANUARY, MARCH, SHAPES, Shape, event, invoice, item, renewed, subscription, updated, with,
};

fn read(event: &Value) -> Option<BillingEvent> {
    read_event(event.to_string().as_bytes()).unwrap().report
}

fn report(event: &Value) -> SubscriptionReport {
    match read(event) {
        Some(BillingEvent::Subscription(_, report)) => report,
        other => panic!("{other:?}"),
    }
}

fn state(object: Value) -> BilledState {
    report(&event("evt_1", "customer.subscription.updated", JANUARY, object)).state
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_seconds(seconds)
}

#[test]
fn a_subscription_is_read_in_the_shapes_of_both_api_versions() {
    for shape in SHAPES {
        let event = event(
            "evt_1",
            "customer.subscription.created",
            JANUARY + 2,
            subscription(shape),
        );
        let Some(BillingEvent::Subscription(id, report)) = read(&event) else {
            panic!("a report")
        };
        assert_eq!(id.as_str(), "sub_1QAcme00000000000000001");
        let expected = SubscriptionReport {
            event: "evt_1".to_owned(),
            at: at(JANUARY + 2),
            state: BilledState {
                status: SubscriptionStatus::Active,
                collection_paused: false,
                period_start: at(JANUARY),
                period_end: at(FEBRUARY),
                proposal_limit: Some(50),
                organization: OrganizationId::parse("org_acme").ok(),
                customer: CustomerId::parse("cus_Acme0000000001").unwrap(),
                created_at: at(JANUARY),
                latest_invoice: InvoiceId::parse("in_1QAcme1").ok(),
            },
            before: None,
            begins: true,
        };
        assert_eq!(report, expected, "{shape:?}");
    }
}

#[test]
fn every_status_of_stripe_has_one_of_ours() {
    use SubscriptionStatus::{Active, Canceled, PastDue, Paused, Trialing, Unpaid};
    for (stripes, ours) in [
        ("active", Active),
        ("trialing", Trialing),
        ("past_due", PastDue),
        ("canceled", Canceled),
        ("incomplete_expired", Canceled),
        ("paused", Paused),
        ("unpaid", Unpaid),
        ("incomplete", Unpaid),
        ("of_next_year", Unpaid),
    ] {
        let object = with(subscription(Shape::Current), json!({ "status": stripes }));
        assert_eq!(state(object).status, ours, "{stripes}");
    }
    let deleted = event(
        "evt_1",
        "customer.subscription.deleted",
        JANUARY,
        subscription(Shape::Current),
    );
    assert_eq!(report(&deleted).state.status, Canceled);
}

#[test]
fn collection_is_paused_while_there_is_a_pause_collection() {
    let paused = with(
        subscription(Shape::Current),
        json!({"pause_collection": {"behavior": "void", "resumes_at": null}}),
    );
    assert!(state(paused).collection_paused);
    assert!(!state(subscription(Shape::Current)).collection_paused);
}

#[test]
fn limits_of_items_add_up_by_quantity() {
    let limit = |items: Vec<Value>| {
        let mut object = subscription(Shape::Current);
        object["items"]["data"] = items.into();
        state(object).proposal_limit
    };
    let item = |quantity, limit| item(Shape::Current, "price_x", quantity, limit);
    assert_eq!(limit(vec![item(1, Some("50")), item(2, Some("100"))]), Some(250));
    assert_eq!(
        limit(vec![item(1, Some("50")), item(7, None)]),
        Some(50),
        "support"
    );
    assert_eq!(limit(vec![item(3, None)]), None, "no price limits");
    assert_eq!(limit(vec![item(1, Some("50")), item(1, Some("unlimited"))]), None);
    assert_eq!(
        limit(vec![item(1, Some("fifty"))]),
        Some(0),
        "a mistake allows nothing"
    );
    assert_eq!(limit(vec![item(1, Some("0"))]), Some(0));
    assert_eq!(limit(vec![item(4, Some("4294967295"))]), Some(u32::MAX));
}

#[test]
fn the_period_is_that_of_the_item_with_a_limit_which_ends_first() {
    let mut object = subscription(Shape::Current);
    let mut yearly = item(Shape::Current, "price_year", 1, Some("10"));
    yearly["current_period_end"] = (JANUARY + 365 * 86_400).into();
    let mut support = item(Shape::Current, "price_support", 1, None);
    support["current_period_end"] = (JANUARY + 86_400).into();
    object["items"]["data"] = json!([yearly, support, item(Shape::Current, "price_50", 1, Some("50"))]);
    let state = state(object);
    assert_eq!(
        (state.period_start, state.period_end),
        (at(JANUARY), at(FEBRUARY))
    );
}

#[test]
fn what_was_before_is_put_together_from_the_previous_attributes() {
    for shape in SHAPES {
        let former = subscription(shape);
        let now = renewed(
            with(
                former.clone(),
                json!({"status": "past_due", "latest_invoice": "in_1QAcme2", "pause_collection": {"behavior": "void"},
                    "metadata": {"organization_id": "org_acme", "note": "new"}}),
            ),
            FEBRUARY,
            MARCH,
        );
        let mut previous = json!({"status": "active", "latest_invoice": "in_1QAcme1", "pause_collection": null,
            "metadata": {"note": null, "seller": "Kim"}});
        match shape {
            Shape::Former => {
                previous["current_period_start"] = JANUARY.into();
                previous["current_period_end"] = FEBRUARY.into();
            }
            Shape::Current => previous["items"] = json!({"data": former["items"]["data"]}),
        }
        let report = report(&updated("evt_2", FEBRUARY, now, previous));
        assert_eq!(report.state.period_end, at(MARCH));
        assert_eq!(report.before, Some(state(former)), "{shape:?}");
    }
}

#[test]
fn an_invoice_is_read_in_the_shapes_of_both_api_versions() {
    for shape in SHAPES {
        for (kind, paid) in [
            ("invoice.paid", true),
            ("invoice.payment_succeeded", true),
            ("invoice.payment_failed", false),
        ] {
            let Some(BillingEvent::Invoice {
                subscription,
                organization,
                customer,
                report,
            }) = read(&event("evt_1", kind, FEBRUARY, invoice(shape, "in_1QAcme2")))
            else {
                panic!("a report")
            };
            assert_eq!(subscription.as_str(), "sub_1QAcme00000000000000001");
            assert_eq!(organization, OrganizationId::parse("org_acme").ok());
            assert_eq!(customer.as_str(), "cus_Acme0000000001");
            assert_eq!((report.invoice.as_str(), report.paid), ("in_1QAcme2", paid));
        }
    }
}

#[test]
fn what_says_nothing_about_a_subscription_is_no_report() {
    let sent = with(
        invoice(Shape::Current, "in_1"),
        json!({"collection_method": "send_invoice"}),
    );
    let single = with(invoice(Shape::Current, "in_1"), json!({ "parent": null }));
    for event in [
        event(
            "evt_1",
            "invoice.created",
            JANUARY,
            invoice(Shape::Current, "in_1"),
        ),
        event("evt_1", "invoice.payment_failed", JANUARY, sent),
        event("evt_1", "invoice.paid", JANUARY, single),
        event(
            "evt_1",
            "charge.succeeded",
            JANUARY,
            json!({"id": "ch_1", "object": "charge"}),
        ),
        event(
            "evt_1",
            "customer.updated",
            JANUARY,
            json!({"id": "cus_1", "object": "customer"}),
        ),
    ] {
        assert_eq!(read(&event), None, "{event}");
    }
}

#[test]
fn an_organization_that_cannot_be_one_is_not_named() {
    for metadata in [
        json!({}),
        json!({"organization_id": ""}),
        json!({"organization_id": "an org"}),
    ] {
        let object = with(subscription(Shape::Current), json!({ "metadata": metadata }));
        assert_eq!(state(object).organization, None);
    }
}

#[test]
fn a_fault_names_its_place() {
    let broken = |members: Value| {
        let object = with(subscription(Shape::Current), members);
        let event = event("evt_1", "customer.subscription.updated", JANUARY, object);
        read_event(event.to_string().as_bytes()).unwrap_err().to_string()
    };
    for (fault, expected) in [
        (broken(json!({ "status": null })), "data.object.status: "),
        (
            broken(json!({ "customer": "cus acme" })),
            "data.object.customer: is not an id of Stripe",
        ),
        (
            broken(json!({ "items": {"data": []} })),
            "data.object.items: neither the subscription nor",
        ),
        (
            broken(json!({ "items": {"data": [{"price": {"id": 7}}]} })),
            "data.object.items.data[0].price.id: ",
        ),
        (read_event(b"{}").unwrap_err().to_string(), ".: missing field"),
        (read_event(b"nothing").unwrap_err().to_string(), ".: expected"),
    ] {
        assert!(fault.starts_with(expected), "{fault}");
    }
}
