//! Authentication: keys by command, revocation, expiry, and subscriptions that lapse.

use acceptance::document::{EXTERNAL, KEY, campaign, document, organization};
use acceptance::world::{bid, id, path};
use acceptance::{Kind, World, posts};
use serde_json::{Value, json};

on_both_databases!(
    a_created_key_works_at_once_and_a_revoked_one_is_refused_at_once,
    an_expired_key_is_refused,
    key_commands_say_what_is_wrong,
    a_lapsed_subscription_refuses_every_operation_and_stops_the_campaigns,
);

fn leads() -> String {
    format!("/v1/campaigns/{EXTERNAL}/leads")
}

fn a_created_key_works_at_once_and_a_revoked_one_is_refused_at_once(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let run = |arguments: &[&str]| world.installation.run(arguments);
    let created = run(&[
        "keys",
        "create",
        "--organization",
        "org_acme",
        "--name",
        "Night shift",
        "--json",
    ])
    .expect(0)
    .json();
    let fields: Vec<&String> = created.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["id", "key", "name"]);
    assert_eq!(created["name"], "Night shift");
    let key = created["key"].as_str().unwrap();
    assert!(key.len() == 67 && key.starts_with("lk_"), "{key}");
    let api = service.api_with(Some(key));
    api.get(&leads()).expect(200);

    let listed = run(&["keys", "list", "--organization", "org_acme", "--json"]).expect(0);
    assert!(!listed.out.contains(key), "a key is shown once");
    let listed = listed.json();
    let record = listed
        .as_array()
        .unwrap()
        .iter()
        .find(|record| record["id"] == created["id"])
        .unwrap();
    let fields: Vec<&String> = record.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        ["createdAt", "expiresAt", "id", "lastUsedAt", "name", "revokedAt"]
    );
    assert!(
        record["createdAt"].as_i64().unwrap() > 1_000_000_000_000,
        "UNIX ms"
    );
    assert_eq!(
        (&record["expiresAt"], &record["revokedAt"]),
        (&Value::Null, &Value::Null)
    );
    acceptance::until("its use is recorded", acceptance::world::STEP, || {
        let listed = run(&["keys", "list", "--organization", "org_acme", "--json"])
            .expect(0)
            .json();
        listed
            .as_array()
            .unwrap()
            .iter()
            .any(|r| r["id"] == created["id"] && r["lastUsedAt"].is_i64())
    });

    api.get(&leads()).expect(200);
    let id = created["id"].as_str().unwrap();
    run(&["keys", "revoke", "--organization", "org_acme", "--id", id]).expect(0);
    api.get(&leads()).expect(401);
    service.api().get(&leads()).expect(200);
    let removed = document(json!({"id": "org_acme", "apiKeys": [{"id": "key_ci", "state": "absent"}]}));
    world.installation.apply(&removed);
    service.api().get(&leads()).expect(401);
}

fn an_expired_key_is_refused(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    for (expires, status) in [("2020-01-01T00:00:00Z", 401), ("2099-01-31T12:00:00+02:00", 200)] {
        let created = world.installation.run(&[
            "keys",
            "create",
            "--organization",
            "org_acme",
            "--name",
            "N",
            "--expires-at",
            expires,
            "--json",
        ]);
        // A moment that has passed may be refused right away.
        if created.status == 0 {
            let created = created.json();
            service
                .api_with(created["key"].as_str())
                .get(&leads())
                .expect(status);
        } else {
            assert_eq!(status, 401, "{}", created.err);
        }
    }
}

fn key_commands_say_what_is_wrong(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let run = |arguments: &[&str]| world.installation.run(arguments);
    for wrong in [
        &["keys"][..],
        &["keys", "create", "--name", "N"],
        &[
            "keys",
            "create",
            "--organization",
            "org_acme",
            "--name",
            "N",
            "--expires-at",
            "tomorrow",
        ],
        &["keys", "list", "--organization", "not an id"],
        &["keys", "paint"],
        &["nothing"],
        &["serve", "--role", "cook"],
    ] {
        let finished = run(wrong).expect(2);
        assert!(
            !finished.err.is_empty() && finished.out.is_empty(),
            "{wrong:?}: {}",
            finished.out
        );
    }
    for failing in [
        &["keys", "create", "--organization", "org_nobody", "--name", "N"][..],
        &["keys", "list", "--organization", "org_nobody"],
        &[
            "keys",
            "revoke",
            "--organization",
            "org_acme",
            "--id",
            "key_nobody",
        ],
    ] {
        let finished = run(failing).expect(1);
        assert!(!finished.err.is_empty() && finished.out.is_empty(), "{failing:?}");
    }
    for arguments in [
        &["--help"][..],
        &["keys", "--help"],
        &["keys", "create", "--help"],
        &["serve", "--help"],
    ] {
        run(arguments).expect(0);
    }
}

fn a_lapsed_subscription_refuses_every_operation_and_stops_the_campaigns(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let found = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    world.deliveries("job.new", 1);
    let api = service.api();
    let subscription = |changes: Value| {
        world
            .installation
            .apply(&document(json!({"id": "org_acme", "subscription": changes})));
    };
    for lapsed in ["past_due", "canceled", "unpaid", "trialing", "paused"] {
        subscription(json!({ "status": lapsed }));
        api.get(&leads()).expect(401);
    }
    api.post_json(&path(EXTERNAL, id(&found[0]), "bid"), &bid())
        .expect(401);
    api.post(&path(EXTERNAL, id(&found[0]), "reject")).expect(401);
    api.upload(&path(EXTERNAL, id(&found[0]), "attachments"), &[])
        .expect(401);
    let create = &["keys", "create", "--organization", "org_acme", "--name", "N"];
    world.installation.run(create).expect(1);
    world
        .simulator
        .publish(vec![posts::hourly("rust again")])
        .unwrap();
    subscription(json!({"status": "active", "collectionPaused": true}));
    api.get(&leads()).expect(401);
    // The second job has arrived by the time a later one of another campaign has.
    acceptance::until("the second job is stored", acceptance::world::STEP, || {
        let filter = world.installation.file("filter.json", "{}");
        let filter = filter.display().to_string();
        let tested = world
            .installation
            .run(&["filters", "test", "--filter", &filter, "--json"])
            .expect(0)
            .json();
        tested["jobs"] == 2
    });
    subscription(json!({"collectionPaused": false}));
    assert_eq!(
        acceptance::world::listed(&api, EXTERNAL, 2).len(),
        2,
        "the list is complete"
    );
    assert_eq!(
        world.receiver.deliveries().len(),
        1,
        "a lapsed organization's campaign does not act"
    );
    assert_eq!(organization()["apiKeys"][0]["key"], KEY);
}
