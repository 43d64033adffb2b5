//! Deliveries: once each, failed for good on anything but a 200, and no receiver delays another.

use std::time::{Duration, Instant};

use acceptance::document::{EXTERNAL, ORGANIZATION, SECRET, campaign, document};
use acceptance::world::{STEP, stays};
use acceptance::{Kind, World, eventually, posts, until};
use bidloop_domain::model::WebhookSecret;
use bidloop_simulator::caller::{Answer, ReceiverOptions, Signature};
use serde_json::{Value, json};

on_both_databases!(
    a_delivery_that_is_not_answered_200_is_failed_and_never_sent_again,
    a_receiver_that_does_not_answer_within_ten_seconds_fails_its_delivery_and_delays_no_other,
    an_event_goes_to_each_distinct_url_of_campaign_and_organization_once,
    a_rotated_secret_signs_from_then_on,
    insecure_targets_are_refused_unless_permitted,
    apply_the_check_and_serve_warn_of_targets_that_will_be_refused,
);

/// The delivery lines of Activity, oldest first, once there are so many.
fn delivered(world: &World, count: usize) -> Vec<Value> {
    eventually(&format!("{count} deliveries stand in Activity"), STEP, || {
        let mut lines = world.installation.activity(&["--organization", ORGANIZATION]);
        lines.retain(|line| line["kind"] == "delivery");
        lines.reverse();
        (lines.len() >= count).then_some(lines)
    })
}

fn a_delivery_that_is_not_answered_200_is_failed_and_never_sent_again(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    for (number, status) in [201, 204, 302, 400, 500, 200].into_iter().enumerate() {
        let body = format!("body {status} {}", "x".repeat(5_000));
        let answer = if status == 204 {
            Answer::status(204)
        } else {
            Answer::status(status).with_body(body)
        };
        world.receiver.answer_next(answer);
        world.publish(
            &service,
            EXTERNAL,
            vec![posts::hourly(&format!("rust {number}"))],
            number as u64 + 1,
        );
        let line = delivered(&world, number + 1).pop().unwrap();
        let details = &line["details"];
        assert_eq!(
            line["outcome"],
            if status == 200 { "delivered" } else { "failed" },
            "{line}"
        );
        assert_eq!(details["responseStatus"], status, "{line}");
        assert_eq!(
            (&details["event"], &details["endpointId"]),
            (&json!("job.new"), &json!("wh_camp_ext"))
        );
        assert_eq!(details["url"], world.receiver.url("/jobs"));
        assert!(details["durationMs"].is_i64());
        if status != 204 {
            let body = details["responseBody"].as_str().unwrap();
            assert!(
                body.starts_with(&format!("body {status}")) && body.len() == 2_048,
                "{}",
                body.len()
            );
        }
    }
    stays("six deliveries, none again", Duration::from_millis(500), || {
        world.receiver.deliveries().len() == 6
    });
    let ids: std::collections::BTreeSet<String> = delivered(&world, 6)
        .iter()
        .map(|l| l["details"]["deliveryId"].to_string())
        .collect();
    assert_eq!(ids.len(), 6);
}

fn a_receiver_that_does_not_answer_within_ten_seconds_fails_its_delivery_and_delays_no_other(kind: Kind) {
    let world = World::new(kind);
    let slow = world.another_receiver(ReceiverOptions::default());
    for _ in 0..100 {
        slow.answer_next(Answer::status(200).after(Duration::from_secs(14)));
    }
    let mut dead = campaign("camp_slow", "rust");
    dead = acceptance::document::active(dead, &slow.url("/slow"));
    world.provision(&[dead, world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let started = Instant::now();
    world.publish(&service, EXTERNAL, posts::many("rust", 40), 40);
    world.deliveries("job.new", 40);
    assert!(
        started.elapsed() < Duration::from_secs(8),
        "the others waited: {:?}",
        started.elapsed()
    );
    let failed = eventually("a delivery to the slow receiver fails", STEP, || {
        let lines = world.installation.activity(&["--campaign", "camp_slow"]);
        lines.into_iter().find(|line| line["kind"] == "delivery")
    });
    assert_eq!(failed["outcome"], "failed", "{failed}");
    assert_eq!(failed["details"]["responseStatus"], Value::Null);
    let took = failed["details"]["durationMs"].as_i64().unwrap();
    assert!((9_500..12_500).contains(&took), "{took} ms");
}

fn an_event_goes_to_each_distinct_url_of_campaign_and_organization_once(kind: Kind) {
    let world = World::new(kind);
    let mut document = world.document(&[world.external(EXTERNAL, "rust")]);
    let webhook = |id: &str, path: &str, events: Value, active: bool| json!({"id": id, "url": world.receiver.url(path), "events": events, "active": active, "secret": SECRET});
    document["organizations"][0]["webhooks"] = json!([
        webhook("wh_same", "/jobs", json!(["job.new", "bid_complete"]), true),
        webhook("wh_other", "/other", json!(["job.new"]), true),
        webhook("wh_off", "/off", json!(["job.new"]), false),
        webhook("wh_bids", "/bids", json!(["bid_complete"]), true),
    ]);
    world.installation.apply(&document);
    let service = world.installation.serve();
    world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    let told = world.deliveries("job.new", 2);
    let mut paths: Vec<&str> = told.iter().map(|delivery| delivery.path()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/jobs", "/other"]);
    stays("two deliveries", Duration::from_millis(300), || {
        world.receiver.deliveries().len() == 2
    });
    let lines = delivered(&world, 2);
    assert!(
        lines
            .iter()
            .any(|line| line["details"]["endpointId"] == "wh_camp_ext"),
        "the campaign's is used: {lines:?}"
    );
}

fn a_rotated_secret_signs_from_then_on(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    world.publish(&service, EXTERNAL, vec![posts::hourly("rust one")], 1);
    assert_eq!(world.deliveries("job.new", 1)[0].signature(), Signature::Valid);
    let secret = WebhookSecret::generate([9; 32]);
    let options = ReceiverOptions {
        secrets: vec![secret.clone()],
        ..ReceiverOptions::default()
    };
    let other = world.another_receiver(options);
    let webhook = json!({"id": "wh_camp_ext", "url": other.url("/new"), "secret": secret.expose()});
    world.installation.apply(&document(
        json!({"id": ORGANIZATION, "campaigns": [{"id": EXTERNAL, "webhooks": [webhook]}]}),
    ));
    world.publish(&service, EXTERNAL, vec![posts::hourly("rust two")], 2);
    let come = eventually("the new endpoint hears", STEP, || {
        other.deliveries().first().cloned()
    });
    assert_eq!(come.signature(), Signature::Valid);
    assert_eq!(come.path(), "/new");
    assert_eq!(world.receiver.deliveries().len(), 1);
}

fn insecure_targets_are_refused_unless_permitted(kind: Kind) {
    let mut world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    world.installation.unset("webhooks.allow_insecure_targets");
    let service = world.installation.serve();
    world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    let line = delivered(&world, 1).pop().unwrap();
    assert_eq!(line["outcome"], "failed", "{line}");
    assert_eq!(line["details"]["responseStatus"], Value::Null);
    assert!(line["details"]["reason"].is_string(), "{line}");
    assert!(world.receiver.deliveries().is_empty());
}

fn apply_the_check_and_serve_warn_of_targets_that_will_be_refused(kind: Kind) {
    let mut world = World::new(kind);
    world.installation.set("webhooks.allow_insecure_targets", "false");
    let document = world.document(&[world.external(EXTERNAL, "rust")]);
    let warning =
        "webhooks to the endpoint wh_camp_ext of org_acme will fail: the URL must begin with https://";
    let applied = world.installation.try_apply(&document).expect(0);
    assert!(applied.err.contains(warning), "{}", applied.err);
    let checked = world.installation.run(&["config", "check"]).expect(0);
    assert!(checked.out.contains(warning), "{}", checked.out);
    let service = world.installation.serve();
    until("serve warns", STEP, || service.log().contains(warning));
    drop(service);

    world.installation.set("webhooks.allow_insecure_targets", "true");
    let checked = world.installation.run(&["config", "check"]).expect(0);
    assert!(!checked.out.contains("will fail"), "{}", checked.out);
    world
        .installation
        .set("webhooks.denied_networks", "10.0.0.0/8, 127.0.0.0/8");
    let checked = world.installation.run(&["config", "check"]).expect(0);
    assert!(
        checked.out.contains("webhooks.denied_networks excludes"),
        "{}",
        checked.out
    );
    world.installation.set("webhooks.denied_networks", "10.0.0.0/33");
    let refused = world.installation.run(&["config", "check"]).expect(2);
    assert!(
        refused.err.contains("`10.0.0.0/33` is not a network"),
        "{}",
        refused.err
    );
}
