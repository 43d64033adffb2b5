//! `"state": "absent"`.

use serde_json::{Value, json};

use super::world::World;
use super::{change, example, ids, organization};
use crate::port::{ProvisioningChange, UnreadableEntity};
use crate::provisioning::EntityKind;

#[test]
fn absent_removes_each_kind_of_entity() {
    let mut world = World::with(&example());
    let file = json!({"organizations": [{"id": "org_acme",
        "users": [{"email": "OPS@acme.test", "state": "absent"}],
        "apiKeys": [{"id": "key_ci", "state": "absent"}],
        "webhooks": [{"id": "wh_org", "state": "absent"}],
        "bidderAccounts": [{"id": "acct_1", "state": "absent"}],
        "campaigns": [{"id": "camp_ext", "state": "absent"}]}]});
    let report = world.apply(&file).unwrap();
    assert_eq!(
        ids(&report.removed),
        [
            "user ops@acme.test",
            "api_key key_ci",
            "bidder_account acct_1",
            "webhook wh_org",
            "campaign camp_ext",
            "webhook wh_camp",
            "filter f1"
        ]
    );
    let o = &world.organizations[0];
    assert!(o.users.is_empty() && o.api_keys.is_empty() && o.webhooks.is_empty());
    assert!(o.accounts.is_empty() && o.campaigns.is_empty());

    let again = world.apply(&file).unwrap();
    assert_eq!(
        (again.removed.len(), again.unchanged),
        (0, 6),
        "removing what is absent is no fault"
    );
}

#[test]
fn absent_removes_what_cannot_be_read() {
    let mut world = World::with(&example());
    let acme = &mut world.organizations[0];
    let campaign = acme.campaigns[0].clone();
    (acme.users, acme.accounts, acme.webhooks) = Default::default();
    acme.campaigns[0].filters.clear();
    let organization_id = acme.id.clone();
    for (kind, id) in [
        (EntityKind::User, "ops@acme.test"),
        (EntityKind::BidderAccount, "acct_1"),
        (EntityKind::Webhook, "wh_org"),
        (EntityKind::Filter, "f1"),
    ] {
        world.unreadable.push(UnreadableEntity {
            organization_id: organization_id.clone(),
            kind,
            id: id.to_owned(),
        });
    }
    let file = json!({"organizations": [{"id": "org_acme",
        "users": [{"email": "OPS@acme.test", "state": "absent"}],
        "webhooks": [{"id": "wh_org", "state": "absent"}, {"id": "wh_none", "state": "absent"}],
        "bidderAccounts": [{"id": "acct_1", "state": "absent"}],
        "campaigns": [{"id": "camp_ext", "state": "paused", "filters": [{"id": "f1", "state": "absent"}]}]}]});
    let report = world.apply(&file).unwrap();
    assert_eq!(
        ids(&report.removed),
        [
            "user OPS@acme.test",
            "bidder_account acct_1",
            "webhook wh_org",
            "filter f1"
        ]
    );
    let filter = ProvisioningChange::RemoveFilter(
        organization_id,
        campaign.id.clone(),
        campaign.filters[0].id.clone(),
    );
    assert!(world.changes.contains(&filter), "{:?}", world.changes);
}

#[test]
fn absent_removes_an_organization_that_cannot_be_read() {
    let mut world = World::with(&example());
    let organization_id = world.organizations.remove(0).id;
    let file = json!({"organizations": [{"id": "org_acme", "state": "absent"}]});
    assert_eq!(world.apply(&file).unwrap().unchanged, 1, "there is none");
    world.unreadable.push(UnreadableEntity {
        organization_id: organization_id.clone(),
        kind: EntityKind::Organization,
        id: organization_id.to_string(),
    });
    let report = world.apply(&file).unwrap();
    assert_eq!(ids(&report.removed), ["organization org_acme"]);
    assert_eq!(
        world.changes,
        [ProvisioningChange::RemoveOrganization(organization_id)]
    );
}

#[test]
fn absent_removes_a_filter_and_an_endpoint_of_a_campaign_alone() {
    let mut world = World::with(&example());
    let report = world
        .apply(&json!({"organizations": [{"id": "org_acme", "campaigns": [{"id": "camp_ext", "state": "paused",
            "filters": [{"id": "f1", "state": "absent"}], "webhooks": [{"id": "wh_camp", "state": "absent"}]}]}]}))
        .unwrap();
    assert_eq!(ids(&report.removed), ["webhook wh_camp", "filter f1"]);
    assert_eq!(world.organizations[0].webhooks.len(), 1);
}

#[test]
fn an_entity_is_removed_only_where_it_stands() {
    let mut world = World::with(&example());
    let before = world.organizations.clone();
    let elsewhere =
        json!({"organizations": [{"id": "org_acme", "webhooks": [{"id": "wh_camp", "state": "absent"}]}]});
    assert_eq!(world.apply(&elsewhere).unwrap().removed, []);
    assert_eq!(world.organizations, before);
}

#[test]
fn campaigns_whose_account_is_removed_are_then_without_one() {
    let campaign = |id: &str| json!({"id": id, "name": id, "mode": "automatic", "bidderAccountId": "a"});
    let mut world = World::with(&organization(
        &json!({"bidderAccounts": [{"id": "a", "token": "t"}],
        "campaigns": [campaign("c"), campaign("d")]}),
    ));
    let removed = json!([{"id": "a", "state": "absent"}]);
    let refused = world.apply(&change(
        &json!({"bidderAccounts": removed, "campaigns": [campaign("c")]}),
    ));
    assert_eq!(
        refused.unwrap_err(),
        [
            "organizations[0].campaigns[0].bidderAccountId: the organization has no bidder account \"a\": add it to \"bidderAccounts\""
        ]
    );
    let report = world
        .apply(&change(
            &json!({"bidderAccounts": removed, "campaigns": [{"id": "c"}]}),
        ))
        .unwrap();
    assert_eq!(ids(&report.changed), ["campaign c", "campaign d"]);
    assert!(
        world.organizations[0]
            .campaigns
            .iter()
            .all(|campaign| campaign.account_id.is_none())
    );
}

#[test]
fn a_filter_and_an_endpoint_move_by_leaving_one_campaign_for_another() {
    let hook = json!({"id": "w", "url": "https://h.test", "events": ["job.new"]});
    let mut world = World::with(&organization(&json!({"campaigns": [
        {"id": "c", "name": "C", "mode": "external", "filters": [{"id": "f"}], "webhooks": [hook]},
        {"id": "d", "name": "D", "mode": "external"}]})));
    let gone = |id: &str| json!([{"id": id, "state": "absent"}]);
    let moved = change(&json!({"campaigns": [
        {"id": "d", "filters": [{"id": "f"}], "webhooks": [hook]},
        {"id": "c", "filters": gone("f"), "webhooks": gone("w")}]}));
    world.apply(&moved).unwrap();
    let o = &world.organizations[0];
    assert_eq!(
        (o.campaigns[0].filters.len(), o.campaigns[1].filters.len()),
        (0, 1)
    );
    assert_eq!(
        o.webhooks[0]
            .endpoint
            .campaign_id
            .as_ref()
            .map(crate::model::CampaignId::as_str),
        Some("d")
    );
    let again = world.apply(&moved).unwrap();
    assert!(again.created.is_empty() && again.changed.is_empty() && again.removed.is_empty());
}

#[test]
fn what_hung_on_a_removed_campaign_can_come_back_elsewhere_at_once() {
    let mut world = World::with(&example());
    let report = world
        .apply(&json!({"organizations": [{"id": "org_acme", "campaigns": [
            {"id": "camp_ext", "state": "absent", "filters": [{"id": "f1"}]},
            {"id": "new", "name": "New", "mode": "automatic", "filters": [{"id": "f1"}]}]}]}))
        .unwrap();
    assert_eq!(ids(&report.created), ["campaign new", "filter f1"]);
    assert_eq!(world.organizations[0].campaigns.len(), 1);
}

const REMOVED: &str = "org_acme";

/// The file that removes it.
fn removal() -> Value {
    json!({"organizations": [{"id": REMOVED, "state": "absent"}]})
}

#[test]
fn an_absent_organization_is_removed_with_all_its_entities_whatever_else_its_entry_says() {
    let mut world = World::with(&example());
    let mut file = example();
    file["organizations"][0]["state"] = json!("absent");
    let report = world.apply(&file).unwrap();
    assert_eq!(
        ids(&report.removed),
        [
            "user ops@acme.test",
            "api_key key_ci",
            "bidder_account acct_1",
            "webhook wh_camp",
            "webhook wh_org",
            "campaign camp_ext",
            "filter f1",
            "organization org_acme",
        ]
    );
    assert_eq!(
        (report.created.len(), report.changed.len(), report.unchanged),
        (0, 0, 0)
    );
    assert!(world.organizations.is_empty());
}

#[test]
fn removing_an_organization_that_is_not_there_is_no_fault() {
    let mut world = World::default();
    let file = removal();
    for _ in 0..2 {
        let report = world.apply(&file).unwrap();
        assert_eq!((report.removed.len(), report.unchanged), (0, 1));
        world
            .being_erased
            .push(crate::model::OrganizationId::parse(REMOVED).unwrap());
    }
}

#[test]
fn a_faulty_value_in_the_entry_of_an_absent_organization_is_a_fault_all_the_same() {
    let mut world = World::with(&example());
    let file = json!({"organizations": [{"id": REMOVED, "state": "absent", "nam": "x",
        "campaigns": [{"id": "c", "mode": "manual"}], "subscription": {"status": 7}}]});
    let faults = world.apply(&file).unwrap_err();
    assert_eq!(faults.len(), 3, "{faults:?}");
    let unknown = json!({"organizations": [{"id": REMOVED, "state": "paused"}]});
    assert_eq!(
        world.apply(&unknown).unwrap_err(),
        ["organizations[0].state: must be \"absent\", not \"paused\""]
    );
}

#[test]
fn an_organization_cannot_be_removed_and_made_anew_in_one_file() {
    let mut world = World::with(&example());
    let mut file = example();
    let absent = json!({"id": REMOVED, "state": "absent"});
    file["organizations"].as_array_mut().unwrap().insert(0, absent);
    assert_eq!(
        world.apply(&file).unwrap_err(),
        ["organizations[1].id: \"org_acme\" appears twice in this list"]
    );
}

#[test]
fn an_id_cannot_be_used_again_until_what_the_organization_had_is_erased() {
    let mut world = World::with(&example());
    world.apply(&removal()).unwrap();
    let mut again = example();
    again["organizations"][0]["apiKeys"] = json!([]);
    assert_eq!(
        world.apply(&again).unwrap_err(),
        [
            "organizations[0].id: \"org_acme\" was removed, and what it had is still being erased: \
             run `bidloop prune`, then apply again"
        ]
    );
    world.being_erased.clear();
    assert!(world.apply(&again).is_ok());
}

#[test]
fn a_key_of_a_removed_organization_never_works_again() {
    let mut world = World::with(&example());
    let key = format!("lk_{}", "0a".repeat(32));
    let other = json!({"id": "other", "name": "Other", "subscription": example()["organizations"][0]["subscription"],
        "apiKeys": [{"id": "k", "key": key}]});
    let together = json!({"organizations": [other, {"id": REMOVED, "state": "absent"}]});
    let refused = [
        "organizations[0].apiKeys[0].key: was removed or replaced, and never works again: \
                    choose a new key, or leave it out",
    ];
    assert_eq!(world.apply(&together).unwrap_err(), refused);
    world.apply(&removal()).unwrap();
    assert_eq!(
        world.apply(&json!({"organizations": [other]})).unwrap_err(),
        refused
    );
}
