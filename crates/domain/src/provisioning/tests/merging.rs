//! What is not mentioned is left alone; null unsets.

use serde_json::{Value, json};

use super::world::World;
use super::{change, example, ids, organization};
use crate::model::{CustomerId, Renewal, Subscription, Timestamp};

fn campaign_after(first: &Value, second: &Value) -> crate::port::CampaignRecord {
    let mut world = World::with(&organization(
        &json!({"bidderAccounts": [{"id": "a", "token": "t"}],
        "campaigns": [first]}),
    ));
    world.apply(&change(&json!({"campaigns": [second]}))).unwrap();
    world.organizations[0].campaigns[0].clone()
}

#[test]
fn entities_and_fields_that_the_file_does_not_mention_are_left_alone() {
    let mut world = World::with(&example());
    let mut expected = world.organizations.clone();
    let report = world
        .apply(&json!({"organizations": [{"id": "org_acme", "subscription": {"proposalLimit": 60}}]}))
        .unwrap();
    expected[0].subscription.proposal_limit = Some(60);
    assert_eq!(world.organizations, expected);
    assert_eq!(ids(&report.changed), ["organization org_acme"]);
    assert_eq!(report.unchanged, 0);
}

#[test]
fn another_organization_is_left_alone() {
    let mut world = World::with(&example());
    let before = world.organizations[0].clone();
    world
        .apply(&organization(
            &json!({"campaigns": [{"id": "camp_ext", "name": "x", "mode": "external"}]}),
        ))
        .unwrap();
    assert_eq!(world.organizations[0], before);
    assert_eq!(world.organizations.len(), 2);
}

#[test]
fn a_nested_entity_is_reported_itself() {
    let mut world = World::with(&example());
    let report = world
        .apply(
            &json!({"organizations": [{"id": "org_acme", "campaigns": [{"id": "camp_ext",
            "filters": [{"id": "f1", "maxQuestions": 2}, {"id": "f2"}]}]}]}),
        )
        .unwrap();
    assert_eq!(ids(&report.changed), ["filter f1"]);
    assert_eq!(ids(&report.created), ["filter f2"]);
    assert_eq!(report.unchanged, 2, "the organization and the campaign");
}

#[test]
fn objects_merge_field_by_field_and_plain_lists_are_replaced() {
    let first = json!({"id": "c", "name": "C", "mode": "automatic", "filters": [{"id": "f", "keywords": "rust",
        "categories": ["A", "B"], "client": {"minRating": 4, "countries": {"exclude": ["X"]}}}]});
    let second = json!({"id": "c", "filters": [{"id": "f", "keywords": null, "categories": ["C"],
        "client": {"minHires": 1, "countries": {"include": ["Y"]}}}]});
    assert_eq!(
        campaign_after(&first, &second).filters[0].body,
        json!({"categories": ["C"],
            "client": {"minRating": 4, "minHires": 1, "countries": {"exclude": ["X"], "include": ["Y"]}}})
    );
}

#[test]
fn a_bidding_configuration_merges_and_null_unsets_a_field_or_all() {
    let first = json!({"id": "c", "name": "C", "mode": "automatic",
        "biddingConfig": {"minBoost": 1, "bidWithWarning": "bid"}});
    let merged = |config: Value| {
        let after = campaign_after(&first, &json!({"id": "c", "biddingConfig": config}));
        serde_json::to_value(after.bidding_config).unwrap()
    };
    assert_eq!(
        merged(json!({"maximumBoost": 3})),
        json!({"minBoost": 1, "maximumBoost": 3, "bidWithWarning": "bid"})
    );
    assert_eq!(merged(json!({"bidWithWarning": null})), json!({"minBoost": 1}));
    assert_eq!(merged(json!(null)), json!({}));
}

#[test]
fn a_proposal_merges_while_its_answers_are_replaced_as_a_whole() {
    let first = json!({"id": "c", "name": "C", "mode": "automatic", "proposal":
        {"coverLetter": "Hello", "answers": [{"question": "1", "answer": "a"}, {"question": "2", "answer": "b"}]}});
    let merged = |proposal: Value| {
        let after = campaign_after(&first, &json!({"id": "c", "proposal": proposal}));
        serde_json::to_value(after.proposal).unwrap()
    };
    assert_eq!(
        merged(json!({"answers": [{"question": "3", "answer": "c"}]})),
        json!({"coverLetter": "Hello", "answers": [{"question": "3", "answer": "c"}]})
    );
    assert_eq!(merged(json!({"answers": null})), json!({"coverLetter": "Hello"}));
    assert_eq!(merged(json!({"coverLetter": null, "answers": []})), json!({}));
    assert_eq!(merged(json!(null)), json!({}));
}

#[test]
fn attachments_are_replaced_as_a_whole() {
    let file = |name: &str| json!({"name": name, "contentType": "Application/PDF; q=1", "path": name});
    let first =
        json!({"id": "c", "name": "C", "mode": "automatic", "attachments": [file("a.pdf"), file("b.pdf")]});
    let after = campaign_after(&first, &json!({"id": "c", "attachments": [file("c.pdf")]}));
    let names: Vec<&str> = after.attachments.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["c.pdf"]);
    assert_eq!(after.attachments[0].content_type, "application/pdf");
    assert_eq!(campaign_after(&first, &json!({"id": "c"})).attachments.len(), 2);
    assert_eq!(
        campaign_after(&first, &json!({"id": "c", "attachments": null})).attachments,
        []
    );
}

#[test]
fn null_sets_an_optional_field_to_what_it_is_without_one() {
    let first = json!({"id": "c", "name": "C", "mode": "automatic", "state": "active", "bidderAccountId": "a",
        "filters": [{"id": "f", "name": "F"}]});
    let after = campaign_after(
        &first,
        &json!({"id": "c", "state": null, "bidderAccountId": null, "filters": [{"id": "f", "name": null}]}),
    );
    assert_eq!((after.state.as_str(), after.account_id), ("paused", None));
    assert_eq!(after.filters[0].name, "f");
}

#[test]
fn a_user_keeps_the_password_until_another_is_given_or_it_is_unset() {
    let mut world = World::with(&organization(
        &json!({"users": [{"email": "a@b.test", "password": "the first one"}]}),
    ));
    let mut after = |user: Value| {
        let report = world.apply(&change(&json!({"users": [user]}))).unwrap();
        (
            world.organizations[0].users[0].password_hash.clone(),
            report.changed.len(),
        )
    };
    let first = after(json!({"email": "a@b.test", "password": "the first one"}));
    assert_eq!(first.1, 0, "the same password is no change, whatever its salt");
    assert_eq!(after(json!({"email": "A@B.test"})), first);
    let second = after(json!({"email": "a@b.test", "password": "the second one"}));
    assert!(second.0 != first.0 && second.1 == 1);
    assert_eq!(after(json!({"email": "a@b.test", "password": null})), (None, 1));
}

#[test]
fn a_person_is_merged_across_organizations() {
    let mut world = World::with(&organization(
        &json!({"users": [{"email": "a@b.test", "name": "Ann", "password": "the first one"}]}),
    ));
    let mut other = organization(&json!({"users": [{"email": "A@B.test", "role": "member"}]}));
    other["organizations"][0]["id"] = json!("another");
    let report = world.apply(&other).unwrap();
    assert_eq!(report.created.len(), 2);
    let users: Vec<_> = world.organizations.iter().map(|o| o.users[0].clone()).collect();
    assert_eq!(
        (users[1].name.as_str(), users[1].role.as_str()),
        ("Ann", "member")
    );
    assert_eq!(
        users[1].password_hash, users[0].password_hash,
        "what a file does not mention stays"
    );
    assert_eq!(
        world.apply(&other).unwrap().unchanged,
        2,
        "the role was left alone"
    );
}

#[test]
fn a_password_given_twice_for_one_address_must_be_the_same() {
    let twice = |second: &str| {
        let mut file = organization(&json!({"users": [{"email": "a@b.test", "password": "the first one"}]}));
        let mut other = file["organizations"][0].clone();
        other["id"] = json!("another");
        other["users"] = json!([{"email": "A@b.test", "password": second}]);
        file["organizations"].as_array_mut().unwrap().push(other);
        World::default().apply(&file)
    };
    assert!(twice("the first one").is_ok());
    assert_eq!(
        twice("the second one").unwrap_err(),
        [
            "organizations[1].users[0].password: is not the password that another entry has for this address: a person \
          has one"
        ]
    );
}

#[test]
fn a_new_token_connects_an_account_that_was_refused() {
    let mut world = World::with(&organization(
        &json!({"bidderAccounts": [{"id": "a", "token": "t"}]}),
    ));
    world.organizations[0].accounts[0].connected = false;
    world
        .apply(&change(
            &json!({"bidderAccounts": [{"id": "a", "token": "t", "name": "A"}]}),
        ))
        .unwrap();
    assert!(!world.organizations[0].accounts[0].connected);
    world
        .apply(&change(&json!({"bidderAccounts": [{"id": "a", "token": "u"}]})))
        .unwrap();
    assert!(world.organizations[0].accounts[0].connected);
}

#[test]
fn whole_numbers_may_be_written_as_floats() {
    let mut world = World::with(&example());
    let report = world
        .apply(&json!({"organizations": [{"id": "org_acme", "subscription":
            {"currentPeriodStart": 1_790_000_000.0, "proposalLimit": 50.0}}]}))
        .unwrap();
    assert_eq!((report.changed.len(), report.unchanged), (0, 1));
}

/// The example's organization after these changes of its subscription.
fn subscription_after(changes: &[Value]) -> Subscription {
    let mut world = World::with(&example());
    for change in changes {
        let file = json!({"organizations": [{"id": "org_acme", "subscription": change}]});
        world.apply(&file).unwrap();
        let again = world.apply(&file).unwrap();
        assert_eq!((again.changed.len(), again.unchanged), (0, 1), "{change}");
    }
    world.organizations[0].subscription.clone()
}

#[test]
fn a_new_organization_without_a_subscription_is_active_without_a_limit_by_calendar_month() {
    let mut world = World::default();
    let file = json!({"organizations": [{"id": "org_me", "name": "Me"}]});
    world.apply(&file).unwrap();
    let expected = Subscription::unbilled(world.now);
    assert_eq!(world.organizations[0].subscription, expected);
    world.now = Timestamp::from_seconds(1_890_000_000);
    assert_eq!(world.apply(&file).unwrap().unchanged, 1, "the month is no change");
    let limited = json!({"organizations": [{"id": "org_me", "subscription": {"proposalLimit": 5}}]});
    world.apply(&limited).unwrap();
    let limited = Subscription {
        proposal_limit: Some(5),
        ..expected
    };
    assert_eq!(world.organizations[0].subscription, limited);
}

#[test]
fn null_lifts_the_limit_and_makes_periods_calendar_months() {
    let unlimited = subscription_after(&[json!({"proposalLimit": null})]);
    assert_eq!(
        (unlimited.proposal_limit, unlimited.renewal),
        (None, Renewal::SameLength)
    );
    let months = json!({"currentPeriodStart": null, "currentPeriodEnd": null});
    let monthly = subscription_after(&[months.clone(), json!({"proposalLimit": 7})]);
    assert_eq!(monthly.renewal, Renewal::CalendarMonth);
    let month = Timestamp::from_seconds(1_790_000_000).calendar_month();
    assert_eq!((monthly.period_start, monthly.period_end), month);
    let reported = subscription_after(&[months, json!({"currentPeriodEnd": 1_799_999_999})]);
    assert_eq!(reported.renewal, Renewal::SameLength, "a period is given again");
    assert_eq!(reported.period_end, Timestamp::from_seconds(1_799_999_999));
}

#[test]
fn the_customer_at_stripe_is_set_and_unset() {
    let customer = |id: Value| {
        subscription_after(&[json!({"stripeCustomer": "cus_1"}), json!({"stripeCustomer": id})]).customer
    };
    assert_eq!(customer("cus_2".into()), CustomerId::parse("cus_2").ok());
    assert_eq!(customer(Value::Null), None);
}
