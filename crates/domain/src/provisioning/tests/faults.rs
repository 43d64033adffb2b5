//! Every fault, with its path and its words.

use serde_json::{Value, json};

use super::world::World;
use super::{change, example, organization};
use crate::model::OrganizationId;
use crate::port::UnreadableEntity;
use crate::provisioning::EntityKind;

fn lines(file: &Value) -> Vec<String> {
    let mut world = World::with(&example());
    let before = world.organizations.clone();
    let lines = world.apply(file).unwrap_err();
    assert_eq!(world.organizations, before, "a faulty file changes nothing");
    lines
}

#[test]
fn a_document_of_another_shape_is_refused() {
    for (file, line) in [
        (json!([]), "document: must be an object, not a list"),
        (json!(null), "document: must be an object, not null"),
        (json!("x"), "document: must be an object, not a string"),
        (
            json!({"organizations": {}}),
            "organizations: must be a list, not an object",
        ),
        (
            json!({"organizations": null}),
            "organizations: must be a list, not null",
        ),
        (
            json!({"organizations": [7]}),
            "organizations[0]: must be an object, not a number",
        ),
        (
            json!({"organisations": []}),
            "organisations: unknown field; did you mean `organizations`?",
        ),
        (json!({"organizations": [{}]}), "organizations[0].id: is required"),
    ] {
        assert_eq!(lines(&file), [line]);
    }
}

#[test]
fn a_new_organization_needs_its_required_fields() {
    assert_eq!(
        lines(&json!({"organizations": [{"id": "new"}, {"id": "other", "name": "x", "subscription": {}}]})),
        [
            "organizations[0].name: is required: this entry is new",
            "organizations[1].subscription.currentPeriodEnd: is required: this entry is new",
            "organizations[1].subscription.currentPeriodStart: is required: this entry is new",
            "organizations[1].subscription.proposalLimit: is required: this entry is new",
            "organizations[1].subscription.status: is required: this entry is new",
        ]
    );
}

#[test]
fn new_entities_need_their_required_fields() {
    let file = organization(&json!({
        "users": [{}], "apiKeys": [{}],
        "webhooks": [{"id": "w"}],
        "bidderAccounts": [{"id": "a"}],
        "campaigns": [{"id": "c", "filters": [{}]}]
    }));
    assert_eq!(
        lines(&file),
        [
            "organizations[0].apiKeys[0].id: is required",
            "organizations[0].bidderAccounts[0].token: is required: this entry is new",
            "organizations[0].campaigns[0].filters[0].id: is required",
            "organizations[0].campaigns[0].mode: is required: this entry is new",
            "organizations[0].campaigns[0].name: is required: this entry is new",
            "organizations[0].users[0].email: is required",
            "organizations[0].webhooks[0].events: is required: this entry is new",
            "organizations[0].webhooks[0].url: is required: this entry is new",
        ]
    );
}

#[test]
fn every_fault_of_shape_is_reported_at_once_with_its_path() {
    let file = organization(&json!({
        "id": "o r g", "nam": 1, "name": "  ",
        "subscription": {"status": "paid", "collectionPaused": "no", "currentPeriodStart": 1_790_000_000_000_i64,
            "currentPeriodEnd": 1.5, "proposalLimit": -1},
        "users": [{"email": "nobody", "password": ""}, {"email": "a@b.test", "state": "gone"}],
        "apiKeys": [{"id": "k", "key": "lk_short", "name": 7}],
        "webhooks": [{"id": "w", "url": "ftp://x", "events": ["job.old", 1], "active": 1, "secret": "hunter2"},
            {"id": "w2", "url": "hooks", "events": [], "secret": "whsec_AAAA"}],
        "bidderAccounts": [{"id": "a", "token": "a\nb"}],
    }));
    assert_eq!(
        lines(&file),
        [
            "organizations[0].apiKeys[0].key: must be `lk_` followed by 64 hexadecimal characters; leave it out to have one generated",
            "organizations[0].apiKeys[0].name: must be a string, not a number",
            "organizations[0].bidderAccounts[0].token: must be printable ASCII without leading or trailing spaces: it is sent in a header",
            "organizations[0].id: must be an id: 1 to 64 characters of A-Z a-z 0-9 _ -",
            "organizations[0].nam: unknown field; did you mean `name`?",
            "organizations[0].name: must not be blank",
            "organizations[0].subscription.collectionPaused: must be true or false, not a string",
            "organizations[0].subscription.currentPeriodEnd: must be a time in UNIX seconds, a whole number from 0 to 253402300799, not 1.5",
            "organizations[0].subscription.currentPeriodStart: must be a time in UNIX seconds, a whole number from 0 to 253402300799, not 1790000000000",
            "organizations[0].subscription.proposalLimit: must be a whole number from 0 to 4294967295, not -1",
            "organizations[0].subscription.status: must be one of \"active\", \"past_due\", \"canceled\", \"unpaid\", \"trialing\", \"paused\", not \"paid\"",
            "organizations[0].users[0].email: must be an email address such as ops@example.com, not \"nobody\"",
            "organizations[0].users[0].password: must have at least 12 characters; leave it out for a user who cannot sign in",
            "organizations[0].users[1].state: must be \"absent\", not \"gone\"",
            "organizations[0].webhooks[0].active: must be true or false, not a number",
            "organizations[0].webhooks[0].events[0]: must be one of \"job.new\", \"bid_complete\", not \"job.old\"",
            "organizations[0].webhooks[0].events[1]: must be a string, not a number",
            "organizations[0].webhooks[0].secret: must begin with `whsec_`; leave it out to have one generated",
            "organizations[0].webhooks[0].url: must begin with https://, not \"ftp:\"",
            "organizations[0].webhooks[1].events: must name at least one event: \"job.new\", \"bid_complete\"",
            "organizations[0].webhooks[1].secret: must hold 24 to 64 bytes, this one holds 3; leave it out to have one generated",
            "organizations[0].webhooks[1].url: is not a URL: relative URL without a base",
        ]
    );
}

#[test]
fn a_campaigns_faults_are_reported_at_once_with_their_paths() {
    let file = organization(&json!({"campaigns": [{
        "id": "c", "name": "C", "mode": "manual", "state": "on", "bidderAccountId": "nobody", "budget": 1,
        "filters": [
            {"id": "f1", "keywords": "rust AND (", "client": {"minRating": "4"}},
            {"id": "f2", "keyword": "x", "state": "paused", "hourlyRate": {"min": 9, "max": 3}},
            {"id": "f 3", "categories": []},
        ],
        "biddingConfig": {"biddingHourlyRatePercentage": 900, "boost": true},
        "attachments": [
            {"name": "a.exe", "contentType": "application/pdf", "path": "a"},
            {"name": "a.pdf", "contentType": "image/png", "path": "a"},
            {"name": "A.PDF", "contentType": "application/pdf", "path": ""},
        ],
        "proposal": {"coverLetter": "Hello {{ title", "answers": [{"question": "q", "answer": 1}, {"question": ""}]}
    }]}));
    assert_eq!(
        lines(&file),
        [
            "organizations[0].campaigns[0].attachments[0].name: \"a.exe\" has no accepted extension: use one of pdf, png, jpg, jpeg, gif, webp, doc, docx, zip, txt",
            "organizations[0].campaigns[0].attachments[1].contentType: \"a.pdf\" is declared as image/png, which goes with the extension .png: correct the type or the name",
            "organizations[0].campaigns[0].attachments[2].name: is the name of another file above: case is ignored",
            "organizations[0].campaigns[0].attachments[2].path: must not be blank",
            "organizations[0].campaigns[0].bidderAccountId: the organization has no bidder account \"nobody\": add it to \"bidderAccounts\"",
            "organizations[0].campaigns[0].biddingConfig.biddingHourlyRatePercentage: must be a number from 0 to 100, or null",
            "organizations[0].campaigns[0].biddingConfig.boost: unknown field; the fields here are bidWithWarning, biddingHourlyRateStrategy, biddingHourlyRatePercentage, biddingFixedHourlyRate, biddingMinHourlyRate, boostingEnabled, boostDownToNthPlace, connectsAbovePrevious, minBoost, maximumBoost, insufficientBoostConnectsAction, alreadyHiredAction",
            "organizations[0].campaigns[0].budget: unknown field; the fields here are id, name, mode, state, bidderAccountId, biddingConfig, attachments, proposal, webhooks, filters",
            "organizations[0].campaigns[0].filters[0].client.minRating: must be a number, not a string",
            "organizations[0].campaigns[0].filters[0].keywords: character 11: the expression ends where a term is expected",
            "organizations[0].campaigns[0].filters[1].hourlyRate.min: must not be above `max`: 9 > 3",
            "organizations[0].campaigns[0].filters[1].keyword: unknown field; did you mean `keywords`?",
            "organizations[0].campaigns[0].filters[1].state: must be \"absent\", not \"paused\"",
            "organizations[0].campaigns[0].filters[2].categories: an empty list would match no job; leave the field out, or set it to null",
            "organizations[0].campaigns[0].filters[2].id: must be an id: 1 to 64 characters of A-Z a-z 0-9 _ -",
            "organizations[0].campaigns[0].mode: must be one of \"automatic\", \"external\", not \"manual\"",
            "organizations[0].campaigns[0].proposal.answers[0].answer: must be a string, not a number",
            "organizations[0].campaigns[0].proposal.answers[1].answer: is required",
            "organizations[0].campaigns[0].proposal.answers[1].question: must not be blank",
            "organizations[0].campaigns[0].proposal.coverLetter: is not a valid template: unclosed tag in line 1",
            "organizations[0].campaigns[0].state: must be one of \"active\", \"paused\", \"absent\", not \"on\"",
        ]
    );
}

#[test]
fn bodies_are_judged_even_where_their_owners_id_is_faulty() {
    let filters = json!([{"id": "f", "keywords": ""}]);
    let campaign = json!({"id": "?", "filters": filters, "biddingConfig": {"minBoost": -1}});
    let file = json!({"organizations": [{"id": "?", "campaigns": [campaign]}]});
    let lines = lines(&file);
    for place in [
        "organizations[0].id: ",
        "campaigns[0].id: ",
        "filters[0].keywords: ",
        "biddingConfig.minBoost: ",
    ] {
        assert_eq!(
            lines.iter().filter(|line| line.contains(place)).count(),
            1,
            "{place} in {lines:#?}"
        );
    }
    assert_eq!(lines.len(), 4, "{lines:#?}");
}

#[test]
fn a_required_field_cannot_be_unset() {
    let file = json!({"organizations": [{"id": "org_acme", "name": null, "subscription": null, "users": null,
        "webhooks": [{"id": "wh_org", "url": null, "events": null}],
        "bidderAccounts": [{"id": "acct_1", "token": null}],
        "campaigns": [{"id": "camp_ext", "mode": null, "name": null}]}]});
    let lines = lines(&file);
    assert_eq!(lines.len(), 8, "{lines:#?}");
    assert!(lines.iter().all(|line| line.contains("not null")), "{lines:#?}");
}

#[test]
fn both_ends_of_a_period_are_unset_or_none() {
    let file = json!({"organizations": [{"id": "org_acme", "subscription": {"currentPeriodEnd": null}}]});
    let lines = lines(&file);
    assert!(
        matches!(&lines[..], [line] if line.starts_with("organizations[0].subscription.currentPeriodEnd: ")),
        "{lines:?}"
    );
}

#[test]
fn an_organization_whose_subscription_cannot_be_read_needs_one() {
    let mut world = World::default();
    world.unreadable.push(UnreadableEntity {
        organization_id: OrganizationId::parse("org_lost").unwrap(),
        kind: EntityKind::Organization,
        id: "org_lost".to_owned(),
    });
    let faults = world
        .apply(&json!({"organizations": [{"id": "org_lost", "name": "Lost"}]}))
        .unwrap_err();
    assert_eq!(
        faults,
        ["organizations[0].subscription: is required: the one that is stored cannot be read"]
    );
}

#[test]
fn a_period_ends_after_it_starts() {
    let twisted = |period: Value| json!({"organizations": [{"id": "org_acme", "subscription": period}]});
    assert_eq!(
        lines(&twisted(json!({"currentPeriodEnd": 1_790_000_000}))),
        [
            "organizations[0].subscription.currentPeriodEnd: the period must end after it starts: it would run from 1790000000 to 1790000000"
        ]
    );
    assert_eq!(
        lines(&twisted(json!({"currentPeriodStart": 1_792_592_001}))),
        [
            "organizations[0].subscription.currentPeriodStart: the period must end after it starts: it would run from 1792592001 to 1792592000"
        ]
    );
}

#[test]
fn an_id_stands_once_in_its_organization() {
    let webhook = json!({"id": "w", "url": "https://h.test", "events": ["job.new"]});
    let campaign = |id: &str| json!({"id": id, "name": id, "mode": "external", "webhooks": [webhook], "filters": [{"id": "f"}]});
    let file = organization(&json!({
        "users": [{"email": "a@b.test"}, {"email": "A@B.test"}],
        "apiKeys": [{"id": "k"}, {"id": "k"}],
        "bidderAccounts": [{"id": "a", "token": "t"}, {"id": "a", "state": "absent"}],
        "webhooks": [webhook],
        "campaigns": [campaign("c"), campaign("d"), {"id": "c"}],
    }));
    assert_eq!(
        lines(&file),
        [
            "organizations[0].apiKeys[1].id: \"k\" appears twice in this list",
            "organizations[0].bidderAccounts[1].id: \"a\" appears twice in this list",
            "organizations[0].campaigns[0].webhooks[0].id: \"w\" is in use by the organization itself: ids are unique within the organization",
            "organizations[0].campaigns[1].filters[0].id: \"f\" is in use by campaign \"c\": ids are unique within the organization",
            "organizations[0].campaigns[1].webhooks[0].id: \"w\" is in use by the organization itself: ids are unique within the organization",
            "organizations[0].campaigns[2].id: \"c\" appears twice in this list",
            "organizations[0].users[1].email: \"a@b.test\" appears twice in this list",
        ]
    );
    let twice = json!({"organizations": [{"id": "org_acme"}, {"id": "org_acme"}]});
    assert_eq!(
        lines(&twice),
        ["organizations[1].id: \"org_acme\" appears twice in this list"]
    );
}

#[test]
fn an_id_that_stands_elsewhere_in_the_store_is_taken() {
    let file = json!({"organizations": [{"id": "org_acme", "campaigns": [{
        "id": "c", "name": "C", "mode": "automatic", "filters": [{"id": "f1"}],
        "webhooks": [{"id": "wh_org"}, {"id": "wh_camp"}]
    }]}]});
    assert_eq!(
        lines(&file),
        [
            "organizations[0].campaigns[0].filters[0].id: \"f1\" is in use by campaign \"camp_ext\": ids are unique within the organization",
            "organizations[0].campaigns[0].webhooks[0].id: \"wh_org\" is in use by the organization itself: ids are unique within the organization",
            "organizations[0].campaigns[0].webhooks[1].id: \"wh_camp\" is in use by campaign \"camp_ext\": ids are unique within the organization",
        ]
    );
}

#[test]
fn a_minimum_boost_above_the_maximum_is_a_fault_across_file_and_store() {
    let mut world = World::with(&organization(&json!({"campaigns":
        [{"id": "c", "name": "C", "mode": "automatic", "biddingConfig": {"maximumBoost": 5}}]})));
    let lines = world
        .apply(&change(
            &json!({"campaigns": [{"id": "c", "biddingConfig": {"minBoost": 6}}]}),
        ))
        .unwrap_err();
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].starts_with(
            "organizations[0].campaigns[0].biddingConfig.minBoost: must be at most maximumBoost"
        )
    );
    let mut world = World::with(&organization(&json!({"campaigns":
        [{"id": "c", "name": "C", "mode": "automatic", "biddingConfig": {"minBoost": 5}}]})));
    let lines = world
        .apply(&change(
            &json!({"campaigns": [{"id": "c", "biddingConfig": {"maximumBoost": 3}}]}),
        ))
        .unwrap_err();
    assert_eq!(lines.len(), 1);
    assert!(
        lines[0].starts_with(
            "organizations[0].campaigns[0].biddingConfig.maximumBoost: must be at least minBoost"
        ),
        "the value that the file holds: {lines:?}"
    );
}

#[test]
fn a_campaign_has_at_most_five_attachments() {
    let files: Vec<Value> = (0..6)
        .map(|n| json!({"name": format!("{n}.pdf"), "contentType": "application/pdf", "path": "x"}))
        .collect();
    let file = organization(&json!({"campaigns":
        [{"id": "c", "name": "C", "mode": "automatic", "attachments": files}]}));
    assert_eq!(
        lines(&file),
        ["organizations[0].campaigns[0].attachments: has 6 files: a campaign has at most 5"]
    );
}

#[test]
fn a_fault_is_one_line_and_repeats_no_secret() {
    let file = organization(&json!({
        "x\ny": 1, "name": "a\u{0}b",
        "users": [{"email": "a b\n@c.test", "password": 1}],
        "apiKeys": [{"id": "k", "key": "lk_topsecret"}],
        "webhooks": [{"id": "w", "url": "https://h.test", "events": ["job.new"], "secret": "whsec_topsecret"}]
    }));
    let lines = lines(&file);
    assert_eq!(lines.len(), 6, "{lines:#?}");
    assert!(
        lines
            .iter()
            .all(|line| !line.contains('\n') && !line.contains("topsecret")),
        "{lines:#?}"
    );
}

#[test]
fn a_deeply_nested_or_large_file_is_read() {
    let mut deep = json!(1);
    for _ in 0..120 {
        deep = json!({"client": deep});
    }
    deep["id"] = json!("f");
    let file = organization(
        &json!({"campaigns": [{"id": "c", "name": "C", "mode": "automatic", "filters": [deep]}]}),
    );
    assert_eq!(lines(&file).len(), 1);

    let filters: Vec<Value> = (0..5_000)
        .map(|n| json!({"id": format!("f{n}"), "keywords": "rust"}))
        .collect();
    let file = organization(
        &json!({"campaigns": [{"id": "c", "name": "C", "mode": "automatic", "filters": filters}]}),
    );
    let report = World::default().apply(&file).unwrap();
    assert_eq!(report.created.len(), 5_002);
}

#[test]
fn what_a_keyword_fault_repeats_of_the_expression_is_cleaned() {
    let file = organization(
        &json!({"campaigns": [{"id": "c", "name": "C", "mode": "automatic",
        "filters": [{"id": "f", "keywords": "a\u{1b}[2J:b"}]}]}),
    );
    let lines = lines(&file);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains(r"`a\u{1b}[2J:` is no field"), "{lines:?}");
}
