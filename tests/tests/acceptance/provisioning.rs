//! `bidloop apply`: reports, faults, and all or nothing.

use acceptance::document::{EXTERNAL, KEY, ORGANIZATION, campaign, document, organization};
use acceptance::world::{bid, id, lead_with_status, path};
use acceptance::{Installation, Kind, World, posts, until};
use serde_json::{Value, json};

on_both_databases!(
    apply_warns_of_external_campaigns_whose_bids_will_be_refused,
    the_same_file_twice_changes_nothing,
    generated_keys_and_secrets_are_reported_once_and_work,
    toml_and_standard_input_say_the_same_as_json,
    every_fault_is_told_with_its_path_and_nothing_changes,
    what_a_file_does_not_mention_is_left_alone_and_null_unsets,
    what_is_absent_is_removed,
    a_campaign_cannot_be_active_without_a_filter_or_an_endpoint,
    a_campaigns_attachments_go_with_its_proposals,
);

/// An organization with everything that can be generated left out.
fn whole() -> Value {
    let mut organization = organization();
    organization["apiKeys"]
        .as_array_mut()
        .unwrap()
        .push(json!({"id": "key_made", "name": "Made"}));
    organization["users"] =
        json!([{"email": "ops@acme.test", "password": "correct horse battery", "name": "Ops"}]);
    organization["webhooks"] = json!([{"id": "wh_org", "url": "https://hooks.acme.test/x", "events": ["bid_complete"], "active": true}]);
    let mut campaign = campaign(EXTERNAL, "rust");
    campaign["webhooks"] =
        json!([{"id": "wh_camp", "url": "https://hooks.acme.test/y", "events": ["job.new"], "active": true}]);
    organization["campaigns"] = json!([campaign]);
    document(organization)
}

fn the_same_file_twice_changes_nothing(kind: Kind) {
    let installation = Installation::new(kind);
    let first = installation.apply(&whole());
    let fields: Vec<&String> = first.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["changed", "created", "removed", "secrets", "unchanged"]);
    let created: Vec<(String, String)> = first["created"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entity| {
            (
                entity["type"].as_str().unwrap().to_owned(),
                entity["id"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    for entity in [
        ("organization", ORGANIZATION),
        ("user", "ops@acme.test"),
        ("api_key", "key_ci"),
        ("api_key", "key_made"),
        ("webhook", "wh_org"),
        ("webhook", "wh_camp"),
        ("bidder_account", "acct_1"),
        ("campaign", EXTERNAL),
        ("filter", "f_camp_ext"),
    ] {
        assert!(
            created.contains(&(entity.0.to_owned(), entity.1.to_owned())),
            "{entity:?} in {created:?}"
        );
    }
    assert_eq!(created.len(), 9);
    let second = installation.apply(&whole());
    assert_eq!(
        second,
        json!({"created": [], "changed": [], "removed": [], "unchanged": 9, "secrets": []})
    );
    let mut changed = whole();
    changed["organizations"][0]["campaigns"][0]["name"] = "Renamed".into();
    let third = installation.apply(&changed);
    assert_eq!(
        third,
        json!({"created": [], "changed": [{"type": "campaign", "id": EXTERNAL, "organizationId": ORGANIZATION}], "removed": [], "unchanged": 8, "secrets": []})
    );
}

fn generated_keys_and_secrets_are_reported_once_and_work(kind: Kind) {
    let installation = Installation::new(kind);
    let secrets = installation.apply(&whole())["secrets"]
        .as_array()
        .unwrap()
        .clone();
    let of = |kind: &str, id: &str| {
        let found = secrets
            .iter()
            .find(|s| s["type"] == kind && s["id"] == id && s["organizationId"] == ORGANIZATION);
        found.unwrap_or_else(|| panic!("{kind} {id} in {secrets:?}"))["value"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(secrets.len(), 3, "what the file names is no news: {secrets:?}");
    assert!(of("webhook", "wh_org").starts_with("whsec_") && of("webhook", "wh_camp").starts_with("whsec_"));
    let key = of("api_key", "key_made");
    let service = installation.serve();
    let leads = format!("/v1/campaigns/{EXTERNAL}/leads");
    service.api_with(Some(&key)).get(&leads).expect(200);
    service.api_with(Some(KEY)).get(&leads).expect(200);
}

fn toml_and_standard_input_say_the_same_as_json(kind: Kind) {
    let installation = Installation::new(kind);
    let toml = format!(
        r#"
[[organizations]]
id = "org_acme"
name = "Acme"
subscription = {{ status = "active", collectionPaused = false, currentPeriodStart = 1700000000, currentPeriodEnd = 4000000000, proposalLimit = 100000 }}

[[organizations.apiKeys]]
id = "key_ci"
name = "CI"
key = "{KEY}"

[[organizations.bidderAccounts]]
id = "acct_1"
name = "Jane's profile"
token = "token-1"
"#
    );
    let file = installation.file("acme.toml", toml);
    let first = installation
        .run(&["apply", &file.display().to_string()])
        .expect(0)
        .json();
    assert_eq!(first["created"].as_array().unwrap().len(), 3);
    let second = installation
        .run_with(&["apply", "-"], &document(organization()).to_string())
        .expect(0)
        .json();
    assert_eq!(
        second,
        json!({"created": [], "changed": [], "removed": [], "unchanged": 3, "secrets": []})
    );
    for broken in [
        "{",
        "",
        "[1, 2",
        "{\"organizations\": []} x",
        "{\"organizations\": [], \"organizations\": []}",
    ] {
        let finished = installation.run_with(&["apply", "-"], broken).expect(1);
        assert!(!finished.err.is_empty() && finished.out.is_empty());
    }
    installation.file("broken.toml", "[[organizations]]\nid = \"a\"\nname = Acme\n");
    let finished = installation.run(&["apply", "broken.toml"]).expect(1);
    let lines: Vec<_> = finished.err.lines().collect();
    assert!(
        matches!(lines[..], [line] if line.starts_with("broken.toml: ") && line.ends_with("line 3 column 8")),
        "{lines:?}"
    );
    installation.run(&["apply", "missing.json"]).expect(1);
    installation.run(&["apply"]).expect(2);
}

fn every_fault_is_told_with_its_path_and_nothing_changes(kind: Kind) {
    let installation = Installation::new(kind);
    installation.apply(&whole());
    let faulty = json!({"organizations": [{
        "id": "org_acme", "name": "Renamed", "colour": "red",
        "subscription": {"status": "lively", "proposalLimit": -1},
        "apiKeys": [{"id": "key 1", "name": "K"}, {"id": "key_2", "key": "lk_short"}],
        "campaigns": [
            {"id": "camp_new", "name": 7, "mode": "sometimes"},
            {"id": EXTERNAL, "bidderAccountId": "acct_nobody", "filters": [
                {"id": "f_camp_ext", "keywords": "rust AND (go"},
                {"id": "f2", "name": "F", "keywords": "rust OR OR go"},
                {"id": "f3", "name": "F", "client": {"minRating": "five"}},
            ], "biddingConfig": {"boostDownToNthPlace": 7, "boost": true},
             "webhooks": [{"id": "wh_x", "url": "not a url", "events": ["job.old"]}]},
        ],
    }]});
    let finished = installation.try_apply(&faulty).expect(1);
    assert!(finished.out.is_empty());
    let lines: Vec<&str> = finished.err.lines().collect();
    for path in [
        "organizations[0].colour",
        "organizations[0].subscription.status",
        "organizations[0].subscription.proposalLimit",
        "organizations[0].apiKeys[0].id",
        "organizations[0].apiKeys[1].key",
        "organizations[0].campaigns[0].name",
        "organizations[0].campaigns[0].mode",
        "organizations[0].campaigns[1].bidderAccountId",
        "organizations[0].campaigns[1].filters[0].keywords",
        "organizations[0].campaigns[1].filters[1].keywords",
        "organizations[0].campaigns[1].filters[2].client.minRating",
        "organizations[0].campaigns[1].biddingConfig.boostDownToNthPlace",
        "organizations[0].campaigns[1].biddingConfig.boost",
        "organizations[0].campaigns[1].webhooks[0].url",
        "organizations[0].campaigns[1].webhooks[0].events[0]",
    ] {
        let begins = format!("{path}: ");
        assert!(
            lines.iter().any(|line| line.starts_with(&begins)),
            "{path} is missing in:\n{}",
            finished.err
        );
    }
    let keywords = |index: usize| {
        let begins = format!("organizations[0].campaigns[1].filters[{index}].keywords: ");
        *lines.iter().find(|line| line.starts_with(&begins)).unwrap()
    };
    // The missing end is told at the length plus one, the second OR at its own place.
    assert!(keywords(0).contains("13"), "{}", keywords(0));
    assert!(keywords(1).contains('9'), "{}", keywords(1));
    let after = installation.apply(&whole());
    assert_eq!(after["changed"], json!([]), "nothing was changed");
    assert_eq!(after["unchanged"], 9);
}

fn what_a_file_does_not_mention_is_left_alone_and_null_unsets(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    let apply = |campaign: Value| {
        world
            .installation
            .apply(&document(json!({"id": ORGANIZATION, "campaigns": [campaign]})))
    };
    let report = apply(json!({"id": EXTERNAL, "biddingConfig": {"biddingMinHourlyRate": 20}}));
    assert_eq!(
        report["changed"],
        json!([{"type": "campaign", "id": EXTERNAL, "organizationId": ORGANIZATION}])
    );
    let effective = world.installation.show(id(&leads[0]))["effectiveBiddingConfig"].clone();
    assert_eq!(
        effective["biddingHourlyRateStrategy"], "fixed_rate",
        "merged field by field"
    );
    assert!((effective["biddingMinHourlyRate"].as_f64().unwrap() - 20.0).abs() < 1e-9);
    apply(json!({"id": EXTERNAL, "biddingConfig": {"biddingHourlyRateStrategy": null}}));
    let effective = world.installation.show(id(&leads[0]))["effectiveBiddingConfig"].clone();
    assert_eq!(
        effective["biddingHourlyRateStrategy"], "smart_bidding",
        "the default"
    );
    apply(json!({"id": EXTERNAL, "bidderAccountId": null}));
    service
        .api()
        .post_json(&path(EXTERNAL, id(&leads[0]), "bid"), &bid())
        .expect(400);
    apply(json!({"id": EXTERNAL, "bidderAccountId": "acct_1"}));
    service
        .api()
        .post_json(&path(EXTERNAL, id(&leads[0]), "bid"), &bid())
        .expect(200);
}

fn what_is_absent_is_removed(kind: Kind) {
    let installation = Installation::new(kind);
    installation.apply(&whole());
    let removal = json!({
        "id": ORGANIZATION,
        "apiKeys": [{"id": "key_made", "state": "absent"}, {"id": "key_never", "state": "absent"}],
        "webhooks": [{"id": "wh_org", "state": "absent"}],
        "bidderAccounts": [{"id": "acct_1", "state": "absent"}],
        "campaigns": [{"id": EXTERNAL, "webhooks": [{"id": "wh_camp", "state": "absent"}], "filters": [{"id": "f_camp_ext", "state": "absent"}]}],
    });
    let report = installation.apply(&document(removal.clone()));
    let removed: Vec<(&str, &str)> = report["removed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entity| (entity["type"].as_str().unwrap(), entity["id"].as_str().unwrap()))
        .collect();
    for entity in [
        ("api_key", "key_made"),
        ("webhook", "wh_org"),
        ("webhook", "wh_camp"),
        ("bidder_account", "acct_1"),
        ("filter", "f_camp_ext"),
    ] {
        assert!(removed.contains(&entity), "{entity:?} in {removed:?}");
    }
    assert_eq!(removed.len(), 5);
    assert_eq!(
        installation.apply(&document(removal))["removed"],
        json!([]),
        "removing what is absent is no fault"
    );
    let service = installation.serve();
    let leads = format!("/v1/campaigns/{EXTERNAL}/leads");
    service.api().get(&leads).expect(200);
    installation.apply(&document(
        json!({"id": ORGANIZATION, "campaigns": [{"id": EXTERNAL, "state": "absent"}]}),
    ));
    service.api().get(&leads).expect(404);
}

fn a_campaign_cannot_be_active_without_a_filter_or_an_endpoint(kind: Kind) {
    let world = World::new(kind);
    let mut bare = world.external(EXTERNAL, "rust");
    bare["filters"] = json!([]);
    let refused = world.installation.try_apply(&world.document(&[bare])).expect(1);
    assert!(
        refused.err.contains("organizations[0].campaigns[0]"),
        "{}",
        refused.err
    );
    let mut silent = world.external(EXTERNAL, "rust");
    silent["webhooks"] = json!([]);
    world.installation.try_apply(&world.document(&[silent])).expect(1);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    for removal in [
        json!({"filters": [{"id": "f_camp_ext", "state": "absent"}]}),
        json!({"webhooks": [{"id": "wh_camp_ext", "state": "absent"}]}),
        json!({"webhooks": [{"id": "wh_camp_ext", "active": false}]}),
    ] {
        let mut campaign = removal;
        campaign["id"] = EXTERNAL.into();
        world
            .installation
            .try_apply(&document(json!({"id": ORGANIZATION, "campaigns": [campaign]})))
            .expect(1);
    }
}

fn a_campaigns_attachments_go_with_its_proposals(kind: Kind) {
    let world = World::new(kind);
    world.installation.file(
        "files/portfolio.pdf",
        b"%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n",
    );
    let mut with_file = campaign(EXTERNAL, "rust");
    with_file["attachments"] =
        json!([{"name": "portfolio.pdf", "contentType": "application/pdf", "path": "files/portfolio.pdf"}]);
    world.provision(&[with_file.clone()]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    service
        .api()
        .post_json(&path(EXTERNAL, id(&leads[0]), "bid"), &bid())
        .expect(200);
    until("the proposal arrives", acceptance::world::STEP, || {
        !world.accepted().is_empty()
    });
    assert_eq!(world.accepted()[0]["attachments"].as_array().unwrap().len(), 1);
    with_file["attachments"] =
        json!([{"name": "gone.pdf", "contentType": "application/pdf", "path": "files/gone.pdf"}]);
    let refused = world
        .installation
        .try_apply(&world.document(&[with_file]))
        .expect(1);
    assert!(
        refused
            .err
            .contains("organizations[0].campaigns[0].attachments[0]"),
        "{}",
        refused.err
    );
}

fn apply_warns_of_external_campaigns_whose_bids_will_be_refused(kind: Kind) {
    let world = World::new(kind);
    let mut campaign = world.external(EXTERNAL, "rust");
    let account = campaign.as_object_mut().unwrap().remove("bidderAccountId");
    let applied = world
        .installation
        .try_apply(&world.document(&[campaign.clone()]))
        .expect(0);
    let warning = "bids of the campaign camp_ext of org_acme will be refused: it has no bidder account";
    assert!(applied.err.contains(warning), "{}", applied.err);

    campaign["bidderAccountId"] = account.unwrap();
    let applied = world
        .installation
        .try_apply(&world.document(&[campaign.clone()]))
        .expect(0);
    assert!(!applied.err.contains("will be refused"), "{}", applied.err);

    let mut unknown = world.document(&[campaign]);
    unknown["organizations"][0]["bidderAccounts"][0]["token"] = "unknown".into();
    world.installation.apply(&unknown);
    let service = world.installation.serve();
    let lead = world
        .publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1)
        .remove(0);
    service
        .api()
        .post_json(&path(EXTERNAL, id(&lead), "bid"), &bid())
        .expect(200);
    lead_with_status(&service.api(), EXTERNAL, id(&lead), "failed");
    let applied = world.installation.try_apply(&unknown).expect(0);
    let warning = "will be refused: the marketplace refused the token of its bidder account acct_1";
    assert!(applied.err.contains(warning), "{}", applied.err);
}
