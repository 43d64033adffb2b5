//! Keys and subscriptions that end: for requests on their way too, and for good (decisions D5 and D6).

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use acceptance::api::{Upload, form_data};
use acceptance::document::{EXTERNAL, KEY, ORGANIZATION, campaign, document};
use acceptance::world::{STEP, all_leads, bid, id, path};
use acceptance::{Api, Kind, World, posts, until};
use serde_json::{Value, json};

on_both_databases!(
    of_100_bodies_on_their_way_none_is_accepted_once_the_key_is_revoked,
    of_100_bodies_on_their_way_none_is_accepted_once_the_key_is_removed,
    of_100_bodies_on_their_way_none_is_accepted_once_the_subscription_has_ended,
    no_process_serves_a_key_once_its_end_was_reported,
    a_removed_key_is_never_provisioned_again,
);

const BODIES: usize = 100;
/// Callers of processes, and how often each calls once an end was reported.
const CALLERS: usize = 4;
const LATE_CALLS: usize = 20;

fn of_100_bodies_on_their_way_none_is_accepted_once_the_key_is_revoked(kind: Kind) {
    none_is_accepted_after(kind, |world| {
        let arguments = ["keys", "revoke", "--organization", ORGANIZATION, "--id", "key_ci"];
        world.installation.run(&arguments).expect(0);
    });
}

fn of_100_bodies_on_their_way_none_is_accepted_once_the_key_is_removed(kind: Kind) {
    none_is_accepted_after(kind, |world| {
        let absent = json!([{"id": "key_ci", "state": "absent"}]);
        world
            .installation
            .apply(&document(json!({"id": ORGANIZATION, "apiKeys": absent})));
    });
}

fn of_100_bodies_on_their_way_none_is_accepted_once_the_subscription_has_ended(kind: Kind) {
    none_is_accepted_after(kind, |world| {
        let paused = json!({"collectionPaused": true});
        world
            .installation
            .apply(&document(json!({"id": ORGANIZATION, "subscription": paused})));
    });
}

/// Sends half of 100 bids, dry runs, rejections and uploads, and the rest once `end` was reported as done.
fn none_is_accepted_after(kind: Kind, end: impl FnOnce(&World)) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let api = service.api();
    world.publish(&service, EXTERNAL, posts::many("rust", BODIES), BODIES as u64);
    let mut dry_run = bid();
    dry_run["dryRun"] = true.into();
    let text = Upload {
        name: "sample.txt",
        content_type: "text/plain",
        content: b"A sample of my work, which is on its way.",
    };
    let (form, file) = form_data(&[text]);
    let json_body = |value: &Value| ("application/json".to_owned(), value.to_string().into_bytes());
    let requests = [
        ("bid", json_body(&bid())),
        ("bid", json_body(&dry_run)),
        ("reject", json_body(&json!({"reason": "Not our field of work."}))),
        ("attachments", (form, file)),
    ];
    let under_way: Vec<_> = all_leads(&api, EXTERNAL)
        .iter()
        .zip(requests.iter().cycle())
        .map(|(lead, (operation, (kind, body)))| {
            api.half_send(&path(EXTERNAL, id(lead), operation), kind, body)
        })
        .collect();
    assert_eq!(under_way.len(), BODIES);
    // Nothing tells when the service has let the requests in. Those that it has not by then are refused at the door.
    pause(Duration::from_secs(1));
    end(&world);
    let statuses: Vec<u16> = under_way
        .into_iter()
        .map(|request| request.finish().status)
        .collect();
    let accepted = statuses.iter().filter(|status| **status != 401).count();
    let mut entries = world.installation.activity(&["--organization", ORGANIZATION]);
    entries.retain(|entry| entry["outcome"] == "refused" && entry["httpStatus"] == 401);
    eprintln!(
        "{BODIES} bodies on their way: {} refused when they were to be accepted, {accepted} accepted",
        entries.len()
    );
    assert_eq!(accepted, 0, "{statuses:?}");
    assert!(!entries.is_empty(), "none was let in before the end");
    for lead in entries.iter().map(|entry| entry["leadId"].as_str().unwrap()) {
        let shown = world.installation.show(lead);
        assert_eq!((&shown["status"], &shown["bid"]), (&json!("new"), &Value::Null));
        if entries.len() > 3 {
            // A command each: enough of them for a sample.
            break;
        }
    }
    assert!(world.simulator.proposals().is_empty());
    assert!(world.receiver.deliveries().is_empty(), "no dry run was told");
}

/// Decision D7, for processes that accept a key for a moment without looking it up.
fn no_process_serves_a_key_once_its_end_was_reported(kind: Kind) {
    let mut world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    world.publish(&service, EXTERNAL, posts::many("rust", 5), 5);
    let second = world.installation.serve_api_beside();
    let addresses = [service.address(), second.address()];
    let set_collection_paused = |paused: bool| {
        let subscription = json!({"collectionPaused": paused});
        world.installation.apply(&document(
            json!({"id": ORGANIZATION, "subscription": subscription}),
        ));
    };
    let revoke = || {
        let arguments = ["keys", "revoke", "--organization", ORGANIZATION, "--id", "key_ci"];
        world.installation.run(&arguments).expect(0);
    };
    let ends: [&dyn Fn(); 2] = [&|| set_collection_paused(true), &revoke];
    for end in ends {
        let (calling, is_reported) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|threads| {
            let callers: Vec<_> = addresses
                .iter()
                .cycle()
                .take(CALLERS)
                .map(|address| threads.spawn(|| lists_across_an_end(*address, &calling, &is_reported)))
                .collect();
            until("all call", STEP, || calling.load(Ordering::SeqCst) == CALLERS);
            pause(Duration::from_millis(500));
            end();
            is_reported.store(true, Ordering::SeqCst);
            for caller in callers {
                assert_eq!(caller.join().unwrap(), (200, vec![401; LATE_CALLS]));
            }
        });
        set_collection_paused(false);
    }
}

/// Lists leads again and again. Returns the first status, and those of some lists that were asked for after the end was
/// reported.
fn lists_across_an_end(
    address: SocketAddr,
    calling: &AtomicUsize,
    is_reported: &AtomicBool,
) -> (u16, Vec<u16>) {
    let api = Api::new(address, Some(KEY));
    let list = || api.get(&format!("/v1/campaigns/{EXTERNAL}/leads")).status;
    let (began, first) = (Instant::now(), list());
    calling.fetch_add(1, Ordering::SeqCst);
    let mut late = Vec::new();
    while late.len() < LATE_CALLS && began.elapsed() < STEP * 2 {
        let is_late = is_reported.load(Ordering::SeqCst);
        let status = list();
        if is_late {
            late.push(status);
        }
    }
    (first, late)
}

fn pause(duration: Duration) {
    let over = Instant::now() + duration;
    until("some time has passed", STEP, || Instant::now() >= over);
}

fn a_removed_key_is_never_provisioned_again(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let apply = |keys: Value| {
        let keys = document(json!({"id": ORGANIZATION, "apiKeys": keys}));
        world.installation.try_apply(&keys)
    };
    apply(json!([{"id": "key_ci", "state": "absent"}])).expect(0);
    for name in ["key_ci", "key_other"] {
        let refused = apply(json!([{"id": name, "key": KEY}])).expect(1);
        assert!(
            refused
                .err
                .contains("organizations[0].apiKeys[0].key: was removed or replaced, and never works again"),
            "{}",
            refused.err
        );
    }
    let service = world.installation.serve();
    let leads = format!("/v1/campaigns/{EXTERNAL}/leads");
    service.api().get(&leads).expect(401);
    let made = apply(json!([{"id": "key_ci"}])).expect(0).json();
    let new = made["secrets"][0]["value"].as_str().unwrap();
    service.api_with(Some(new)).get(&leads).expect(200);
}
