//! Stripe's webhook: a subscription that begins, lapses, goes on, ends and begins again, and what is not Stripe's.

use std::time::SystemTime;

use acceptance::api::Answer;
use acceptance::document::{EXTERNAL, ORGANIZATION, campaign, document, organization};
use acceptance::world::{bid, id, path};
use acceptance::{Api, Installation, Kind, World, posts};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;

on_both_databases!(
    keys_work_while_the_subscription_is_paid_and_are_refused_on_the_very_next_call,
    every_process_refuses_a_key_once_the_end_was_answered,
    the_limit_of_the_price_is_the_quota,
    what_is_not_stripes_is_refused_and_what_means_nothing_is_ignored,
    an_event_for_an_organization_that_comes_later_is_asked_for_again,
    an_organization_without_a_subscription_in_its_file_works_without_a_limit,
);

const SECRET: &str = "whsec_5f4dcc3b5aa765d61d8327deb882cf99";

/// A period around the present.
const START: i64 = 1_700_000_000;
const END: i64 = 4_000_000_000;

/// A world whose service takes what Stripe sends.
fn world(kind: Kind) -> World {
    let mut world = World::new(kind);
    world.installation.set("billing.stripe_webhook_secret", SECRET);
    world
}

#[expect(
    clippy::disallowed_methods,
    reason = "a signature is made now, by the clock that the program reads"
)]
fn now() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    i64::try_from(now.as_secs()).unwrap()
}

/// The value of `Stripe-Signature` for a body signed at this second.
fn signature(body: &str, second: i64) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    let mac = mac.chain_update(format!("{second}.{body}")).finalize();
    format!("t={second},v1={}", hex::encode(mac.into_bytes()))
}

fn post(api: &Api, body: &str, signature: Option<&str>) -> Answer {
    let mut headers = vec![("Content-Type", "application/json")];
    headers.extend(signature.map(|signature| ("Stripe-Signature", signature)));
    api.try_call("POST", "/billing/stripe", &headers, body.as_bytes())
        .unwrap()
}

fn send(api: &Api, event: &Value) -> Answer {
    let body = event.to_string();
    post(api, &body, Some(&signature(&body, now())))
}

/// A subscription of Stripe that allows so many proposals, in the shape of API version 2025-03-31 and later.
fn subscription(id: &str, status: &str, limit: &str) -> Value {
    json!({
        "id": id, "object": "subscription", "created": START, "customer": "cus_acme", "status": status,
        "metadata": {"organization_id": ORGANIZATION}, "pause_collection": null, "latest_invoice": "in_1",
        "items": {"object": "list", "has_more": false, "data": [{
            "id": "si_1", "quantity": 1, "current_period_start": START, "current_period_end": END,
            "price": {"id": "price_1", "metadata": {"proposal_limit": limit}},
        }]},
    })
}

/// An event about `object`, the number of which is its second.
fn event(kind: &str, number: i64, object: &Value) -> Value {
    json!({"id": format!("evt_{number}"), "object": "event", "type": kind, "created": START + number,
        "data": {"object": object}})
}

fn leads() -> String {
    format!("/v1/campaigns/{EXTERNAL}/leads")
}

/// An organization that has not paid yet.
fn unpaid() -> Value {
    let mut organization = organization();
    organization["subscription"]["status"] = "unpaid".into();
    organization["campaigns"] = json!([campaign(EXTERNAL, "rust")]);
    organization
}

fn keys_work_while_the_subscription_is_paid_and_are_refused_on_the_very_next_call(kind: Kind) {
    let world = world(kind);
    world.installation.apply(&document(unpaid()));
    let service = world.installation.serve();
    let (api, stripe) = (service.api(), service.api_with(None));
    api.get(&leads()).expect(401);

    let active = subscription("sub_1", "active", "50");
    let created = event("customer.subscription.created", 1, &active);
    let answer = send(&stripe, &created).expect(200).json();
    assert_eq!(answer, json!({"received": true, "outcome": "followed"}));
    api.get(&leads()).expect(200);

    let mut paused = active.clone();
    paused["pause_collection"] = json!({"behavior": "void", "resumes_at": null});
    send(&stripe, &event("customer.subscription.updated", 2, &paused)).expect(200);
    api.get(&leads()).expect(401);
    send(&stripe, &event("customer.subscription.updated", 3, &active)).expect(200);
    api.get(&leads()).expect(200);

    let suspended = subscription("sub_1", "paused", "50");
    send(&stripe, &event("customer.subscription.paused", 4, &suspended)).expect(200);
    api.get(&leads()).expect(401);
    send(&stripe, &event("customer.subscription.resumed", 5, &active)).expect(200);
    api.get(&leads()).expect(200);

    let invoice = json!({"id": "in_1", "object": "invoice", "customer": "cus_acme", "parent": {
        "subscription_details": {"subscription": "sub_1", "metadata": {"organization_id": ORGANIZATION}}}});
    send(&stripe, &event("invoice.payment_failed", 6, &invoice)).expect(200);
    api.get(&leads()).expect(401);
    send(&stripe, &event("invoice.paid", 7, &invoice)).expect(200);
    api.get(&leads()).expect(200);

    let ended = subscription("sub_1", "canceled", "50");
    send(&stripe, &event("customer.subscription.deleted", 8, &ended)).expect(200);
    api.get(&leads()).expect(401);
    send(&stripe, &created).expect(200);
    send(&stripe, &event("customer.subscription.updated", 9, &active)).expect(200);
    api.get(&leads()).expect(401);

    let again = subscription("sub_2", "active", "70");
    send(&stripe, &event("customer.subscription.created", 10, &again)).expect(200);
    api.get(&leads()).expect(200);

    let recorded = world.installation.activity(&["--organization", ORGANIZATION]);
    let changes: Vec<&Value> = recorded.iter().filter(|line| line["kind"] == "change").collect();
    assert_eq!(changes.len(), 9, "{changes:#?}");
    assert!(
        changes
            .iter()
            .all(|line| line["actor"] == json!({"type": "service", "id": null, "name": "billing"}))
    );
    assert_eq!(
        changes[0]["message"],
        "Billing changed the subscription: status from canceled to active, proposalLimit from 50 to 70."
    );
}

/// Decision D7, for a process that accepted the key a moment ago.
fn every_process_refuses_a_key_once_the_end_was_answered(kind: Kind) {
    let mut world = world(kind);
    world.installation.apply(&document(unpaid()));
    let service = world.installation.serve();
    let second = world.installation.serve_api_beside();
    let (other, stripe) = (second.api(), service.api_with(None));
    for round in 0..3 {
        let active = subscription("sub_1", "active", "50");
        send(
            &stripe,
            &event("customer.subscription.updated", 2 * round, &active),
        )
        .expect(200);
        other.get(&leads()).expect(200);
        let late = subscription("sub_1", "past_due", "50");
        send(
            &stripe,
            &event("customer.subscription.updated", 2 * round + 1, &late),
        )
        .expect(200);
        other.get(&leads()).expect(401);
    }
}

fn the_limit_of_the_price_is_the_quota(kind: Kind) {
    let world = world(kind);
    world.installation.apply(&document(unpaid()));
    let service = world.installation.serve();
    let (api, stripe) = (service.api(), service.api_with(None));
    let active = subscription("sub_1", "active", "1");
    send(&stripe, &event("customer.subscription.created", 1, &active)).expect(200);
    let found = world.publish(&service, EXTERNAL, posts::many("rust", 3), 3);
    let bid_on = |number: usize| api.post_json(&path(EXTERNAL, id(&found[number]), "bid"), &bid());
    bid_on(0).expect(200);
    let refused = bid_on(1).expect(402).json();
    assert_eq!(refused["code"], "proposal_limit_reached");
    assert_eq!(
        (&refused["currentUsage"], &refused["limit"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(refused["currentPeriodEnd"], END);
    let larger = subscription("sub_1", "active", "2");
    send(&stripe, &event("customer.subscription.updated", 2, &larger)).expect(200);
    bid_on(1).expect(200);
    bid_on(2).expect(402);
    let unlimited = subscription("sub_1", "active", "unlimited");
    send(&stripe, &event("customer.subscription.updated", 3, &unlimited)).expect(200);
    bid_on(2).expect(200);
}

fn what_is_not_stripes_is_refused_and_what_means_nothing_is_ignored(kind: Kind) {
    let mut world = world(kind);
    world.installation.apply(&document(unpaid()));
    let service = world.installation.serve();
    let stripe = service.api_with(None);
    let body = event(
        "customer.subscription.created",
        1,
        &subscription("sub_1", "active", "50"),
    )
    .to_string();
    let now = now();
    let good = signature(&body, now);
    for bad in [
        None,
        Some(format!("t={now},v1={}", "0".repeat(64))),
        Some(signature(&format!("{body} "), now)),
        Some(signature(&body, now - 301)),
        Some(signature(&body, now + 400)),
        Some("v1=".to_owned()),
    ] {
        let answer = post(&stripe, &body, bad.as_deref()).expect(400).json();
        assert_eq!(
            (&answer["statusCode"], &answer["error"]),
            (&json!(400), &json!("Bad Request"))
        );
        assert!(
            answer["message"].as_str().unwrap().contains("Stripe-Signature"),
            "{answer}"
        );
    }
    service.api().get(&leads()).expect(401);
    let old_secret = format!("{},v1={}", good.replace("v1=", "v1=00,v1="), "1".repeat(64));
    post(&stripe, &body, Some(&old_secret)).expect(200);
    service.api().get(&leads()).expect(200);

    let unknown = event("radar.early_fraud_warning.created", 2, &json!({"id": "issfr_1"}));
    assert_eq!(send(&stripe, &unknown).expect(200).json()["outcome"], "ignored");
    let mut foreign = subscription("sub_9", "active", "50");
    (
        foreign["metadata"],
        foreign["items"]["data"][0]["price"]["metadata"],
    ) = (json!({}), json!({}));
    let foreign = event("customer.subscription.created", 3, &foreign);
    assert_eq!(send(&stripe, &foreign).expect(200).json()["outcome"], "foreign");
    let broken = event("customer.subscription.updated", 4, &json!({"id": "sub_1"}));
    let answer = send(&stripe, &broken).expect(400).json();
    assert!(
        answer["message"].as_str().unwrap().contains("data.object"),
        "{answer}"
    );
    let refused = stripe.get("/billing/stripe").expect(405);
    assert_eq!(refused.header("allow"), Some("POST"));
    let large = " ".repeat(1_048_577);
    post(&stripe, &large, Some(&signature(&large, now))).expect(413);
    assert_eq!(
        world
            .installation
            .activity(&["--organization", ORGANIZATION])
            .len(),
        1
    );

    drop(service);
    world.installation.unset("billing.stripe_webhook_secret");
    let service = world.installation.serve();
    post(&service.api_with(None), &body, Some(&good)).expect(404);
}

fn an_event_for_an_organization_that_comes_later_is_asked_for_again(kind: Kind) {
    let world = world(kind);
    let service = world.installation.serve();
    let stripe = service.api_with(None);
    let created = event(
        "customer.subscription.created",
        1,
        &subscription("sub_1", "active", "50"),
    );
    let answer = send(&stripe, &created).expect(409).json();
    assert!(
        answer["message"].as_str().unwrap().contains(ORGANIZATION),
        "{answer}"
    );
    let mut organization = unpaid();
    world.installation.apply(&document(organization.clone()));
    send(&stripe, &created).expect(200);
    service.api().get(&leads()).expect(200);

    // By the customer, who pays for one organization.
    organization["id"] = "org_two".into();
    organization["subscription"]["stripeCustomer"] = "cus_two".into();
    organization["apiKeys"] = json!([{"id": "key_two", "key": format!("lk_{}", "2".repeat(64))}]);
    world.installation.apply(&document(organization.clone()));
    let report = world.installation.apply(&document(organization));
    assert_eq!(report["changed"], json!([]));
    let mut second = subscription("sub_2", "active", "50");
    (second["metadata"], second["customer"]) = (json!({}), "cus_two".into());
    send(&stripe, &event("customer.subscription.created", 2, &second)).expect(200);
    let key = format!("lk_{}", "2".repeat(64));
    service.api_with(Some(&key)).get(&leads()).expect(200);
}

fn an_organization_without_a_subscription_in_its_file_works_without_a_limit(kind: Kind) {
    let world = World::new(kind);
    let mut freelancer = organization();
    freelancer.as_object_mut().unwrap().remove("subscription");
    freelancer["campaigns"] = json!([campaign(EXTERNAL, "rust")]);
    let freelancer = document(freelancer);
    world.installation.apply(&freelancer);
    let again = world.installation.apply(&freelancer);
    assert_eq!(
        (&again["created"], &again["changed"]),
        (&json!([]), &json!([])),
        "the same file twice changes nothing"
    );
    let service = world.installation.serve();
    let found = world.publish(&service, EXTERNAL, posts::many("rust", 2), 2);
    let api = service.api();
    let bid_on = |number: usize| api.post_json(&path(EXTERNAL, id(&found[number]), "bid"), &bid());
    bid_on(0).expect(200);
    let limit = |limit: Value| {
        let subscription = json!({ "proposalLimit": limit });
        let changes = json!({"id": ORGANIZATION, "subscription": subscription});
        world.installation.apply(&document(changes));
    };
    limit(1.into());
    let refused = bid_on(1).expect(402).json();
    let end = refused["currentPeriodEnd"].as_i64().unwrap();
    assert!(
        end > now() && end < now() + 32 * 86_400 && end % 86_400 == 0,
        "{end} is a month's end"
    );
    limit(Value::Null);
    bid_on(1).expect(200);
}

#[test]
fn the_secret_may_stand_in_a_file() {
    let mut installation = Installation::new(Kind::Sqlite);
    let file = installation.file("stripe-secret", format!("{SECRET}\n"));
    installation.set("billing.stripe_webhook_secret_file", &file.display().to_string());
    let service = installation.serve();
    let unknown = event("charge.succeeded", 1, &json!({"id": "ch_1"}));
    send(&service.api_with(None), &unknown).expect(200);
}
