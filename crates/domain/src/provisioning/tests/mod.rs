//! The provisioning file's rules, on organizations in memory.

mod faults;
mod idempotency;
mod merging;
mod needs;
mod removal;
mod secrets;
pub(crate) mod world;

use serde_json::{Value, json};
use world::World;

/// The contract's example, attachments apart: one entity of each kind.
fn example() -> Value {
    json!({"organizations": [{
        "id": "org_acme", "name": "Acme",
        "subscription": {"status": "active", "collectionPaused": false,
            "currentPeriodStart": 1_790_000_000, "currentPeriodEnd": 1_792_592_000, "proposalLimit": 50},
        "users": [{"email": "ops@acme.test", "password": "correct horse", "name": "Ops"}],
        "apiKeys": [{"id": "key_ci", "name": "CI", "key": format!("lk_{}", "0a".repeat(32))}],
        "webhooks": [{"id": "wh_org", "url": "https://hooks.test/a", "events": ["bid_complete"], "active": true,
            "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}],
        "bidderAccounts": [{"id": "acct_1", "name": "Jane's profile", "token": "marketplace token"}],
        "campaigns": [{
            "id": "camp_ext", "name": "Rust backend", "mode": "external", "state": "active",
            "bidderAccountId": "acct_1",
            "filters": [{"id": "f1", "name": "Rust", "keywords": "rust OR \"actix web\""}],
            "webhooks": [{"id": "wh_camp", "url": "https://hooks.test/b", "events": ["job.new"], "active": true,
                "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx"}],
            "biddingConfig": {"biddingHourlyRateStrategy": "match_job_budget", "biddingHourlyRatePercentage": 90},
            "attachments": [{"name": "portfolio.pdf", "contentType": "application/pdf", "path": "files/portfolio.pdf"}],
            "proposal": {"coverLetter": "Hello, about {{ title }} …", "answers": [{"question": "q", "answer": "a"}]}
        }]
    }]})
}

/// The smallest organization with these further fields.
fn organization(fields: &Value) -> Value {
    let mut organization = json!({"id": "o", "name": "O", "subscription": {"status": "active",
        "currentPeriodStart": 1_790_000_000, "currentPeriodEnd": 1_792_592_000, "proposalLimit": 50}});
    for (name, value) in fields.as_object().unwrap() {
        organization[name] = value.clone();
    }
    json!({"organizations": [organization]})
}

/// A file that names organization `o` and nothing of its own fields.
fn change(fields: &Value) -> Value {
    let mut organization = fields.clone();
    organization["id"] = json!("o");
    json!({"organizations": [organization]})
}

fn ids(reported: &[super::ReportedEntity]) -> Vec<String> {
    reported
        .iter()
        .map(|entity| {
            let kind = serde_json::to_value(entity.kind).unwrap();
            format!("{} {}", kind.as_str().unwrap(), entity.id)
        })
        .collect()
}

#[test]
fn the_contracts_example_creates_every_entity_and_nothing_the_second_time() {
    let mut world = World::default();
    let report = world.apply(&example()).unwrap();
    assert_eq!(
        ids(&report.created),
        [
            "organization org_acme",
            "user ops@acme.test",
            "api_key key_ci",
            "bidder_account acct_1",
            "webhook wh_org",
            "campaign camp_ext",
            "webhook wh_camp",
            "filter f1",
        ]
    );
    assert_eq!((report.unchanged, report.secrets.len()), (0, 0));

    let before = world.organizations.clone();
    let again = world.apply(&example()).unwrap();
    assert_eq!(
        serde_json::to_value(&again).unwrap(),
        json!({"created": [], "changed": [], "removed": [], "unchanged": 8, "secrets": []})
    );
    assert_eq!(world.organizations, before);
}

#[test]
fn what_is_left_out_takes_its_default() {
    let mut world = World::default();
    let file = organization(&json!({
        "users": [{"email": "a@b.test"}],
        "apiKeys": [{"id": "k"}],
        "bidderAccounts": [{"id": "a", "token": "t"}],
        "webhooks": [{"id": "w", "url": "https://h.test", "events": ["bid_complete", "job.new", "job.new"]}],
        "campaigns": [{"id": "c", "name": "C", "mode": "external", "filters": [{"id": "f"}]}]
    }));
    world.apply(&file).unwrap();
    let o = &world.organizations[0];
    assert!(!o.subscription.collection_paused);
    assert_eq!(
        (o.users[0].name.as_str(), &o.users[0].password_hash),
        ("a@b.test", &None)
    );
    assert_eq!(o.api_keys[0].0.name, "k");
    assert_eq!(
        (o.accounts[0].name.as_str(), o.accounts[0].connected),
        ("a", true)
    );
    assert!(o.webhooks[0].endpoint.active);
    assert_eq!(o.webhooks[0].endpoint.events.len(), 2);
    let campaign = &o.campaigns[0];
    assert_eq!(campaign.state.as_str(), "paused");
    assert_eq!(
        (campaign.filters[0].name.as_str(), &campaign.filters[0].body),
        ("f", &json!({}))
    );
}

#[test]
fn a_file_that_says_nothing_changes_nothing() {
    for file in [json!({}), json!({"organizations": []})] {
        let report = World::default().apply(&file).unwrap();
        assert_eq!(report, super::ProvisioningReport::default());
    }
}

#[test]
fn a_report_names_type_id_and_organization() {
    let report = World::default()
        .apply(&organization(&json!({"apiKeys": [{"id": "k"}]})))
        .unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(
        json["created"][1],
        json!({"type": "api_key", "id": "k", "organizationId": "o"})
    );
    assert_eq!(json["secrets"][0]["type"], "api_key");
    assert_eq!(json["secrets"][0]["organizationId"], "o");
    assert!(json["secrets"][0]["value"].as_str().unwrap().starts_with("lk_"));
    assert!(!format!("{report:?}").contains("lk_"));
}

#[test]
fn the_guides_examples_can_be_applied_one_after_the_other() {
    let guide = include_str!("../../../../../docs/provisioning.md");
    let examples: Vec<Value> = guide
        .split("```json\n")
        .skip(1)
        .filter_map(|block| serde_json::from_str(block.split("```").next()?).ok())
        .filter(|example: &Value| example.get("organizations").is_some())
        .collect();
    assert_eq!(examples.len(), 2);
    let mut world = World::default();
    let report = world.apply(&examples[0]).unwrap();
    assert_eq!((report.created.len(), report.secrets.len()), (6, 2));
    let report = world.apply(&examples[1]).unwrap();
    assert_eq!(ids(&report.changed), ["organization org_acme"]);
}
