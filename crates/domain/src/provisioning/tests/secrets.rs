//! Keys and webhook secrets: made once, shown once, replaced with an overlap.

use std::time::Duration;

use serde_json::{Value, json};

use super::world::World;
use super::{change, example, organization};
use crate::model::{ApiKey, WebhookSecret};

const ONE: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const TWO: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSx";

fn key(digit: char) -> String {
    format!("lk_{}", digit.to_string().repeat(64))
}

#[test]
fn a_key_and_a_secret_that_are_left_out_are_made_and_shown_once() {
    for unset in [json!({}), json!({"key": null, "secret": null})] {
        let entry = |name: &str, mut fields: Value| {
            if let Some(value) = unset.get(name) {
                fields[name] = value.clone();
            }
            fields
        };
        let hook = json!({"id": "w", "url": "https://h.test", "events": ["job.new"]});
        let file = organization(&json!({"apiKeys": [entry("key", json!({"id": "k"}))],
            "webhooks": [entry("secret", hook)]}));
        let mut world = World::default();
        let report = world.apply(&file).unwrap();
        let values: Vec<&str> = report
            .secrets
            .iter()
            .map(|secret| secret.value.expose().as_str())
            .collect();
        let o = &world.organizations[0];
        assert_eq!(o.api_keys[0].1, ApiKey::parse(values[0]).unwrap().hash());
        assert_eq!(o.webhooks[0].secret, WebhookSecret::parse(values[1]).unwrap());

        let again = world.apply(&file).unwrap();
        assert_eq!((again.secrets.len(), again.changed.len()), (0, 0));
    }
}

#[test]
fn a_key_that_was_removed_or_replaced_is_never_provisioned_again() {
    let with = |keys: Value| organization(&json!({ "apiKeys": keys }));
    let refused = |world: &mut World, keys: Value| {
        let faults = world.apply(&with(keys)).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(
            faults[0].ends_with("choose a new key, or leave it out"),
            "{faults:?}"
        );
    };
    let mut world = World::with(&with(
        json!([{"id": "one", "key": key('1')}, {"id": "two", "key": key('2')}]),
    ));
    // In the file that removes it, too.
    refused(
        &mut world,
        json!([{"id": "one", "state": "absent"}, {"id": "three", "key": key('1')}]),
    );
    world
        .apply(&with(
            json!([{"id": "one", "state": "absent"}, {"id": "two", "key": key('3')}]),
        ))
        .unwrap();
    for removed in ['1', '2'] {
        for id in ["one", "two", "other"] {
            refused(&mut world, json!([{"id": id, "key": key(removed)}]));
        }
    }
    // Removing what is removed is no fault, and other keys are as good as ever.
    world
        .apply(&with(
            json!([{"id": "one", "key": key('1'), "state": "absent"}, {"id": "four", "key": key('4')}]),
        ))
        .unwrap();
}

#[test]
fn a_given_key_and_secret_are_not_shown() {
    assert_eq!(World::default().apply(&example()).unwrap().secrets, []);
}

#[test]
fn a_changed_secret_keeps_the_previous_one_signing_for_a_day() {
    let with = |secret: &str| {
        organization(&json!({"webhooks":
            [{"id": "w", "url": "https://h.test", "events": ["job.new"], "secret": secret}]}))
    };
    let mut world = World::with(&with(ONE));
    assert_eq!(world.organizations[0].webhooks[0].previous_secret, None);
    world.apply(&with(TWO)).unwrap();
    let until = world.now.plus(Duration::from_secs(86_400));
    let expected = Some((WebhookSecret::parse(ONE).unwrap(), until));
    assert_eq!(
        world.organizations[0].webhooks[0].secret,
        WebhookSecret::parse(TWO).unwrap()
    );
    assert_eq!(world.organizations[0].webhooks[0].previous_secret, expected);

    world.now = world.now.plus(Duration::from_secs(60));
    assert_eq!(
        world.apply(&with(TWO)).unwrap().changed,
        [],
        "applying again does not lengthen the overlap"
    );
    assert_eq!(world.organizations[0].webhooks[0].previous_secret, expected);
}

#[test]
fn a_key_that_is_anothers_is_a_fault() {
    let mut world = World::with(&organization(&json!({"apiKeys": [{"id": "k", "key": key('a')}]})));
    let line = "organizations[0].apiKeys[0].key: is in use by another key: every entry needs its own key";
    let same = change(&json!({"apiKeys": [{"id": "l", "key": key('a')}]}));
    assert_eq!(world.apply(&same).unwrap_err(), [line]);

    let mut elsewhere = organization(&json!({"apiKeys": [{"id": "k", "key": key('a')}]}));
    elsewhere["organizations"][0]["id"] = json!("other");
    assert_eq!(world.apply(&elsewhere).unwrap_err(), [line]);

    let twice = change(&json!({"apiKeys": [{"id": "l", "key": key('b')}, {"id": "m", "key": key('b')}]}));
    assert_eq!(
        world.apply(&twice).unwrap_err(),
        [line.replace("apiKeys[0]", "apiKeys[1]")]
    );

    let swapped = change(&json!({"apiKeys": [{"id": "l", "key": key('a')}, {"id": "k", "key": key('b')}]}));
    assert_eq!(world.apply(&swapped).unwrap_err(), [line]);
}

#[test]
fn another_key_under_an_id_replaces_it_and_is_not_revoked() {
    let mut world = World::with(&organization(&json!({"apiKeys": [{"id": "k", "key": key('a')}]})));
    let revoked = Some(world.now);
    world.organizations[0].api_keys[0].0.revoked_at = revoked;
    let same = world
        .apply(&change(&json!({"apiKeys": [{"id": "k", "key": key('a')}]})))
        .unwrap();
    assert_eq!(same.changed, []);
    assert_eq!(
        world.organizations[0].api_keys[0].0.revoked_at, revoked,
        "a revocation is not undone"
    );
    world
        .apply(&change(&json!({"apiKeys": [{"id": "k", "key": key('b')}]})))
        .unwrap();
    let (record, hash) = &world.organizations[0].api_keys[0];
    assert_eq!(*hash, ApiKey::parse(&key('b')).unwrap().hash());
    assert_eq!(record.revoked_at, None);
}
