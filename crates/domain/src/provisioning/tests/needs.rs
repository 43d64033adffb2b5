//! Decision D1 in files: what active campaigns need, and what switching does.

use serde_json::{Value, json};

use super::world::World;
use super::{change, organization};

const STATE: &str = "organizations[0].campaigns[0].state";
const NEEDS_FILTER: &str =
    "an active campaign needs a saved filter: add one to \"filters\", or set the state to \"paused\"";
const NEEDS_ENDPOINT: &str = "an active campaign in External mode needs an active webhook for \"job.new\": add one to the campaign's or the organization's \"webhooks\", or set the state to \"paused\"";
const LAST_FILTER: &str =
    "campaign \"c\" is active and would lose its last saved filter: add another, or pause it in this file";
const LAST_ENDPOINT: &str = "campaign \"c\" is active and would lose its last active webhook for \"job.new\": add another, or pause it in this file";

fn hook(id: &str) -> Value {
    json!({"id": id, "url": "https://h.test", "events": ["job.new"], "active": true})
}

/// An organization with the active campaign `c`.
fn with_active(mode: &str, own: &[Value], of_organization: &[Value]) -> World {
    World::with(&organization(
        &json!({"webhooks": of_organization, "campaigns": [{"id": "c", "name": "C",
        "mode": mode, "state": "active", "filters": [{"id": "f"}], "webhooks": own}]}),
    ))
}

fn state_of(world: &World) -> &'static str {
    world.organizations[0].campaigns[0].state.as_str()
}

#[test]
fn a_new_campaign_can_be_active_only_with_what_it_needs() {
    let create = |campaign: Value| World::default().apply(&organization(&json!({"campaigns": [campaign]})));
    let active = |mode: &str, filters: Value, webhooks: Value| {
        create(
            json!({"id": "c", "name": "C", "mode": mode, "state": "active", "filters": filters, "webhooks": webhooks}),
        )
    };
    let one = json!([{"id": "f"}]);
    assert!(active("automatic", one.clone(), json!([])).is_ok());
    assert!(active("external", one.clone(), json!([hook("w")])).is_ok());
    assert_eq!(
        active("automatic", json!([]), json!([])).unwrap_err(),
        [format!("{STATE}: {NEEDS_FILTER}")]
    );
    assert_eq!(
        active("external", one.clone(), json!([])).unwrap_err(),
        [format!("{STATE}: {NEEDS_ENDPOINT}")]
    );
    assert_eq!(
        active("external", json!([]), json!([])).unwrap_err(),
        [
            format!("{STATE}: {NEEDS_FILTER}"),
            format!("{STATE}: {NEEDS_ENDPOINT}")
        ],
        "all that is lacking is said at once"
    );
    for unfit in [
        json!({"id": "w", "url": "https://h.test", "events": ["bid_complete"]}),
        json!({"id": "w", "url": "https://h.test", "events": ["job.new"], "active": false}),
        json!({"id": "w", "state": "absent"}),
    ] {
        assert_eq!(
            active("external", one.clone(), json!([unfit])).unwrap_err(),
            [format!("{STATE}: {NEEDS_ENDPOINT}")]
        );
    }
}

#[test]
fn an_endpoint_of_the_organization_serves_every_campaign_and_another_campaigns_none() {
    let external = |id: &str, webhooks: Value| {
        json!({"id": id, "name": id, "mode": "external", "state": "active",
            "filters": [{"id": format!("f_{id}")}], "webhooks": webhooks})
    };
    let shared = organization(&json!({"webhooks": [hook("w")], "campaigns": [external("c", json!([]))]}));
    assert!(World::default().apply(&shared).is_ok());
    let foreign =
        organization(&json!({"campaigns": [external("c", json!([])), external("d", json!([hook("w")]))]}));
    assert_eq!(
        World::default().apply(&foreign).unwrap_err(),
        [format!("{STATE}: {NEEDS_ENDPOINT}")]
    );
}

#[test]
fn switching_to_external_pauses_unless_the_file_names_the_state() {
    let mut world = with_active("automatic", &[hook("w")], &[]);
    world
        .apply(&change(&json!({"campaigns": [{"id": "c", "mode": "external"}]})))
        .unwrap();
    assert_eq!(state_of(&world), "paused");

    let mut world = with_active("automatic", &[hook("w")], &[]);
    world
        .apply(&change(
            &json!({"campaigns": [{"id": "c", "mode": "external", "state": "active"}]}),
        ))
        .unwrap();
    assert_eq!(state_of(&world), "active");

    let mut world = with_active("automatic", &[], &[]);
    world
        .apply(&change(&json!({"campaigns": [{"id": "c", "mode": "external"}]})))
        .unwrap();
    assert_eq!(state_of(&world), "paused");
    let started = world.apply(&change(&json!({"campaigns": [{"id": "c", "state": "active"}]})));
    assert_eq!(started.unwrap_err(), [format!("{STATE}: {NEEDS_ENDPOINT}")]);

    let mut world = with_active("external", &[hook("w")], &[]);
    world
        .apply(&change(&json!({"campaigns": [{"id": "c", "mode": "external"}]})))
        .unwrap();
    assert_eq!(state_of(&world), "active", "it is External already");
    world
        .apply(&change(&json!({"campaigns": [{"id": "c", "mode": "automatic"}]})))
        .unwrap();
    assert_eq!(state_of(&world), "active");
}

#[test]
fn taking_the_last_filter_of_an_active_campaign_is_a_fault() {
    let taken = json!({"id": "c", "filters": [{"id": "f", "state": "absent"}]});
    let with = |more: Value| {
        let mut campaign = taken.clone();
        for (name, value) in more.as_object().unwrap() {
            campaign[name] = value.clone();
        }
        with_active("automatic", &[], &[]).apply(&change(&json!({"campaigns": [campaign]})))
    };
    let line = format!("organizations[0].campaigns[0].filters: {LAST_FILTER}");
    assert_eq!(with(json!({})).unwrap_err(), [line]);
    assert_eq!(
        with(json!({"state": "active"})).unwrap_err(),
        [format!("{STATE}: {NEEDS_FILTER}")]
    );
    assert!(with(json!({"state": "paused"})).is_ok());
    assert!(with(json!({"filters": [{"id": "f", "state": "absent"}, {"id": "g"}]})).is_ok());
}

#[test]
fn taking_the_last_endpoint_of_an_active_external_campaign_is_a_fault_in_every_way() {
    for taken in [
        json!({"id": "w", "state": "absent"}),
        json!({"id": "w", "active": false}),
        json!({"id": "w", "events": ["bid_complete"]}),
    ] {
        let own = change(&json!({"campaigns": [{"id": "c", "webhooks": [taken]}]}));
        assert_eq!(
            with_active("external", &[hook("w")], &[])
                .apply(&own)
                .unwrap_err(),
            [format!("organizations[0].campaigns[0].webhooks: {LAST_ENDPOINT}")]
        );
        let shared = change(&json!({"webhooks": [taken]}));
        assert_eq!(
            with_active("external", &[], &[hook("w")])
                .apply(&shared)
                .unwrap_err(),
            [format!("organizations[0].webhooks: {LAST_ENDPOINT}")],
            "the campaign is not even mentioned"
        );
        assert!(
            with_active("external", &[hook("own")], &[hook("w")])
                .apply(&shared)
                .is_ok()
        );
        assert!(with_active("automatic", &[], &[hook("w")]).apply(&shared).is_ok());
        let paused = change(&json!({"webhooks": [taken], "campaigns": [{"id": "c", "state": "paused"}]}));
        assert!(with_active("external", &[], &[hook("w")]).apply(&paused).is_ok());
        let replaced = change(&json!({"webhooks": [taken, hook("v")]}));
        assert!(
            with_active("external", &[], &[hook("w")])
                .apply(&replaced)
                .is_ok()
        );
    }
}

#[test]
fn a_faulty_filter_or_endpoint_makes_no_further_fault_of_what_is_missing() {
    let file = organization(
        &json!({"campaigns": [{"id": "c", "name": "C", "mode": "external", "state": "active",
        "filters": [{"id": "f", "keywords": "("}], "webhooks": [{"id": "w", "url": 1, "events": ["job.new"]}]}]}),
    );
    let lines = World::default().apply(&file).unwrap_err();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].contains("filters[0].keywords: ") && lines[1].contains("webhooks[0].url: "));
}

#[test]
fn a_lack_that_the_file_did_not_bring_about_is_no_fault_of_it() {
    let mut world = with_active("automatic", &[], &[]);
    world.organizations[0].campaigns[0].filters.clear();
    assert!(world.apply(&change(&json!({"name": "renamed"}))).is_ok());
    assert!(
        world
            .apply(&change(&json!({"campaigns": [{"id": "c", "state": "active"}]})))
            .is_err()
    );
}
