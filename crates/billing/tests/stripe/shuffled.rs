//! A year of events, shuffled and repeated, ends in the same subscription.

use std::sync::Arc;

use bidloop_billing::read_event;
use bidloop_domain::model::{Subscription, SubscriptionStatus, Timestamp};
use bidloop_domain::use_case::FollowBilling;
use bidloop_fakes::{MemoryStore, SequentialEntropy, SimulatedClock};
use bidloop_port_contracts::Stores;
use bidloop_port_contracts::fixture::{organization, organization_id};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::payloads::{
    FEBRUARY, JANUARY, MARCH, SHAPES, Shape, event, invoice, item, renewed, subscription, updated, with,
};

/// Signed up, paid within a second, paused and resumed, a failed renewal that is paid later, and a larger plan.
fn year(shape: Shape) -> Vec<Value> {
    let active = subscription(shape);
    let status = |object: &Value, status: &str| with(object.clone(), json!({ "status": status }));
    let incomplete = status(&active, "incomplete");
    let paused = with(
        active.clone(),
        json!({"pause_collection": {"behavior": "void", "resumes_at": null}}),
    );
    let second = with(
        renewed(active.clone(), FEBRUARY, MARCH),
        json!({"latest_invoice": "in_1QAcme2"}),
    );
    let late = status(&second, "past_due");
    let mut larger = second.clone();
    larger["items"]["data"][0]["price"] = item(shape, "price_200", 1, Some("200"))["price"].clone();
    let renewal = json!({"latest_invoice": "in_1QAcme1"});
    vec![
        event("evt_9", "customer.subscription.created", JANUARY, incomplete),
        updated("evt_1", JANUARY, active.clone(), json!({"status": "incomplete"})),
        event("evt_8", "invoice.paid", JANUARY, invoice(shape, "in_1QAcme1")),
        updated("evt_4", JANUARY + 900, paused, json!({"pause_collection": null})),
        updated(
            "evt_3",
            JANUARY + 900,
            active,
            json!({"pause_collection": {"behavior": "void", "resumes_at": null}}),
        ),
        updated("evt_2", FEBRUARY, second.clone(), renewal),
        event(
            "evt_5",
            "invoice.payment_failed",
            FEBRUARY + 3_600,
            invoice(shape, "in_1QAcme2"),
        ),
        updated("evt_6", FEBRUARY + 3_600, late, json!({"status": "active"})),
        updated(
            "evt_7",
            FEBRUARY + 7_200,
            larger,
            json!({"items": {"data": second["items"]["data"]}}),
        ),
        event(
            "evt_0",
            "invoice.payment_succeeded",
            FEBRUARY + 9_000,
            invoice(shape, "in_1QAcme2"),
        ),
    ]
}

/// What an organization has after these events, one after the other.
fn followed(events: &[Value]) -> (Subscription, usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let stores = Stores::of(&Arc::new(MemoryStore::new()));
        organization("org_acme").provision(&stores).await;
        let clock = Arc::new(SimulatedClock::at(Timestamp::from_seconds(MARCH)));
        let follow = FollowBilling {
            store: Arc::clone(&stores.billing),
            clock: clock.clone(),
            entropy: Arc::new(SequentialEntropy::new()),
            pause: clock,
        };
        for event in events {
            let report = read_event(event.to_string().as_bytes()).unwrap().report.unwrap();
            follow.execute(&report).await.unwrap();
        }
        let acme = [organization_id("org_acme")];
        let found = stores.billing.billed_organizations(&acme, None).await.unwrap();
        (found[0].subscription.clone(), found[0].paid_by.len())
    })
}

/// The same events in another order, some of them several times, and in the shapes of both API versions.
fn shuffled(events: Vec<Vec<Value>>) -> impl Strategy<Value = Vec<Value>> {
    let count = events[0].len();
    let shapes = prop::collection::vec(prop::sample::select(vec![0_usize, 1]), count);
    let again = prop::collection::vec((0..count, 0..2_usize), 0..20);
    (shapes, again).prop_flat_map(move |(shapes, again)| {
        let once = shapes
            .iter()
            .enumerate()
            .map(|(number, shape)| events[*shape][number].clone());
        let again = again
            .iter()
            .map(|(number, shape)| events[*shape][*number].clone());
        Just(once.chain(again).collect::<Vec<_>>()).prop_shuffle()
    })
}

fn both_shapes() -> Vec<Vec<Value>> {
    SHAPES.map(year).to_vec()
}

/// The year, and the end of the subscription, which says it all over again.
fn ended() -> Vec<Vec<Value>> {
    let ended = |shape| {
        let object = with(
            subscription(shape),
            json!({"status": "canceled", "ended_at": FEBRUARY + 1}),
        );
        event("evt_e", "customer.subscription.deleted", FEBRUARY + 1, object)
    };
    SHAPES
        .map(|shape| [year(shape), vec![ended(shape)]].concat())
        .to_vec()
}

#[test]
fn in_their_order_the_events_of_a_year_end_with_the_larger_plan_paid() {
    for shape in SHAPES {
        let (subscription, paid_by) = followed(&year(shape));
        assert_eq!(subscription.status, SubscriptionStatus::Active, "{shape:?}");
        assert_eq!(subscription.period_end, Timestamp::from_seconds(MARCH));
        assert_eq!((subscription.proposal_limit, paid_by), (Some(200), 1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn shuffled_and_repeated_1000_times_they_end_in_the_same_subscription(events in shuffled(both_shapes())) {
        prop_assert_eq!(followed(&events), followed(&year(Shape::Current)));
    }

    #[test]
    fn a_subscription_that_ended_has_ended_in_any_order(events in shuffled(ended())) {
        let (subscription, _) = followed(&events);
        prop_assert_eq!(subscription.status, SubscriptionStatus::Canceled);
    }
}
