//! `"state": "absent"`.

use serde_json::json;

use super::world::World;
use super::{change, example, ids, organization};

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
