//! What holds for every file on every store.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::current_state::CurrentState;
use super::super::requirements::missing_requirements;
use super::organization;
use super::world::World;

/// One of these under `name`, or nothing.
fn maybe(name: &'static str, values: Vec<Value>) -> BoxedStrategy<Map<String, Value>> {
    prop::option::of(prop::sample::select(values))
        .prop_map(move |value| value.map(|value| (name.to_owned(), value)).into_iter().collect())
        .boxed()
}

fn object(
    id: &'static [&'static str],
    fields: Vec<BoxedStrategy<Map<String, Value>>>,
) -> BoxedStrategy<Value> {
    (prop::sample::select(id), fields)
        .prop_map(|(id, fields)| {
            let mut object = json!({"id": id});
            for (name, value) in fields.into_iter().flatten() {
                object[name] = value;
            }
            object
        })
        .boxed()
}

/// Up to `most` entities, each id once.
fn list(entity: BoxedStrategy<Value>, most: usize) -> BoxedStrategy<Value> {
    prop::collection::vec(entity, 0..=most)
        .prop_map(|mut entities| {
            let mut seen = HashSet::new();
            entities.retain(|entity| seen.insert(entity["id"].to_string()));
            Value::Array(entities)
        })
        .boxed()
}

fn under(name: &'static str, value: BoxedStrategy<Value>) -> BoxedStrategy<Map<String, Value>> {
    prop::option::weighted(0.7, value)
        .prop_map(move |value| value.map(|value| (name.to_owned(), value)).into_iter().collect())
        .boxed()
}

fn webhook() -> BoxedStrategy<Value> {
    let fixed = json!({"url": "https://h.test", "events": ["job.new"]});
    let fields = vec![
        Just(fixed.as_object().unwrap().clone()).boxed(),
        maybe("active", vec![json!(true), json!(false), json!(null)]),
        maybe(
            "events",
            vec![json!(["bid_complete"]), json!(["bid_complete", "job.new"])],
        ),
        maybe(
            "secret",
            vec![json!("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), json!(null)],
        ),
        maybe("state", vec![json!("absent")]),
    ];
    object(&["w1", "w2", "w3"], fields)
}

fn filter() -> BoxedStrategy<Value> {
    let fields = vec![
        maybe("name", vec![json!("F"), json!(null)]),
        maybe("keywords", vec![json!("rust"), json!("a OR b"), json!(null)]),
        maybe(
            "client",
            vec![
                json!({"minRating": 4}),
                json!({"minRating": null, "minHires": 1}),
                json!({}),
            ],
        ),
        maybe("state", vec![json!("absent")]),
    ];
    object(&["f1", "f2", "f3"], fields)
}

fn campaign() -> BoxedStrategy<Value> {
    let fields = vec![
        Just(json!({"name": "C"}).as_object().unwrap().clone()).boxed(),
        prop::sample::select(vec!["automatic", "external"])
            .prop_map(|mode| Map::from_iter([("mode".to_owned(), json!(mode))]))
            .boxed(),
        maybe(
            "state",
            vec![json!("active"), json!("paused"), json!("absent"), json!(null)],
        ),
        maybe("bidderAccountId", vec![json!("a1"), json!(null)]),
        maybe(
            "biddingConfig",
            vec![json!({"minBoost": 1}), json!({"minBoost": null}), json!(null)],
        ),
        maybe(
            "proposal",
            vec![json!({"coverLetter": "Hi"}), json!({"answers": []}), json!(null)],
        ),
        under("filters", list(filter(), 2)),
        under("webhooks", list(webhook(), 2)),
    ];
    object(&["c1", "c2", "c3"], fields)
}

fn file() -> impl Strategy<Value = Value> {
    let user = object(
        &["u"],
        vec![maybe(
            "password",
            vec![json!("a first password"), json!("another password"), json!(null)],
        )],
    )
    .prop_map(|mut user| {
        user["email"] = json!("u@b.test");
        user.as_object_mut().unwrap().remove("id");
        json!([user])
    });
    let key = object(
        &["k1", "k2"],
        vec![
            maybe(
                "key",
                vec![
                    json!(format!("lk_{}", "a".repeat(64))),
                    json!(format!("lk_{}", "b".repeat(64))),
                ],
            ),
            maybe("state", vec![json!("absent")]),
        ],
    );
    let account = object(
        &["a1", "a2"],
        vec![
            Just(json!({"token": "t"}).as_object().unwrap().clone()).boxed(),
            maybe("name", vec![json!("A"), json!(null)]),
            maybe("state", vec![json!("absent")]),
        ],
    );
    let fields = vec![
        under("users", user.boxed()),
        under("apiKeys", list(key, 2)),
        under("bidderAccounts", list(account, 2)),
        under("webhooks", list(webhook(), 1)),
        under("campaigns", list(campaign(), 3)),
    ];
    fields.prop_map(|fields| organization(&Value::Object(fields.into_iter().flatten().collect())))
}

/// Decision D1 for every campaign.
fn every_active_campaign_has_what_it_needs(world: &World) -> bool {
    world.organizations.iter().all(|organization| {
        let state = CurrentState::from(organization.clone());
        let missing = missing_requirements(&state, &HashSet::new());
        missing.values().all(Vec::is_empty)
    })
}

fn references_hold(world: &World) -> bool {
    world.organizations.iter().all(|o| {
        let accounts = || {
            o.campaigns
                .iter()
                .filter_map(|campaign| campaign.account_id.as_ref())
        };
        let scopes = || {
            o.webhooks
                .iter()
                .filter_map(|webhook| webhook.endpoint.campaign_id.as_ref())
        };
        accounts().all(|id| o.accounts.iter().any(|account| account.id == *id))
            && scopes().all(|id| o.campaigns.iter().any(|campaign| campaign.id == *id))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_file_applied_twice_changes_nothing_the_second_time(files in prop::collection::vec(file(), 1..5)) {
        let mut world = World::default();
        for file in files {
            let before = world.organizations.clone();
            match world.apply(&file) {
                Err(lines) => {
                    prop_assert!(!lines.is_empty());
                    prop_assert_eq!(&world.organizations, &before, "a faulty file changes nothing");
                }
                Ok(first) => {
                    let after = world.organizations.clone();
                    let second = world.apply(&file).unwrap();
                    prop_assert_eq!(&world.organizations, &after);
                    prop_assert!(second.created.is_empty() && second.changed.is_empty(), "{:?} after {:?}", second, first);
                    prop_assert!(second.removed.is_empty() && second.secrets.is_empty());
                }
            }
            prop_assert!(every_active_campaign_has_what_it_needs(&world));
            prop_assert!(references_hold(&world));
        }
    }

    #[test]
    fn whatever_json_a_file_holds_it_is_read_without_a_panic(file in json_value()) {
        let mut world = World::with(&super::example());
        let _ = world.apply(&json!({"organizations": [file]}));
        let _ = world.apply(&file);
        prop_assert!(every_active_campaign_has_what_it_needs(&world));
    }
}

/// JSON that is made of the format's own names, so that it comes past the first check now and then.
fn json_value() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "id",
        "name",
        "state",
        "organizations",
        "campaigns",
        "filters",
        "webhooks",
        "keywords",
        "biddingConfig",
        "attachments",
        "proposal",
        "answers",
        "subscription",
        "users",
        "apiKeys",
        "events",
        "x",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        prop::sample::select(vec![
            "org_acme", "camp_ext", "f1", "absent", "active", "external", ""
        ])
        .prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(names.clone(), inner, 0..6).prop_map(|fields| {
                Value::Object(
                    fields
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect(),
                )
            }),
        ]
    })
}
