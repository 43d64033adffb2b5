//! Bounds, nulls and faults of a layer; the fallback between layers.

use super::*;
use proptest::prelude::*;
use serde_json::{Map, json};

fn read(value: &Value) -> Result<BiddingConfig, Vec<FieldError>> {
    BiddingConfig::from_value(value, &["biddingConfig"])
}

#[test]
fn every_field_is_read_and_written_back() {
    let full = json!({
        "bidWithWarning": "bid", "biddingHourlyRateStrategy": "match_profile_rate",
        "biddingHourlyRatePercentage": 92.5, "biddingFixedHourlyRate": 45.005, "biddingMinHourlyRate": 30,
        "boostingEnabled": true, "boostDownToNthPlace": 3, "connectsAbovePrevious": 2, "minBoost": 5,
        "maximumBoost": 20, "insufficientBoostConnectsAction": "skip", "alreadyHiredAction": "bid"
    });
    let config = read(&full).unwrap();
    assert_eq!(serde_json::to_value(&config).unwrap(), full);
    assert_eq!(serde_json::from_value::<BiddingConfig>(full).unwrap(), config);
    assert_eq!(read(&json!({})).unwrap(), BiddingConfig::default());
}

#[test]
fn values_out_of_bounds_are_refused_at_their_path() {
    let cases = [
        ("biddingHourlyRatePercentage", json!(100.5)),
        ("biddingHourlyRatePercentage", json!(-1)),
        ("biddingHourlyRatePercentage", json!("90")),
        ("biddingFixedHourlyRate", json!(0)),
        ("biddingFixedHourlyRate", json!(-5)),
        ("biddingFixedHourlyRate", json!(1e300)),
        ("biddingMinHourlyRate", json!(0.0)),
        ("boostDownToNthPlace", json!(0)),
        ("boostDownToNthPlace", json!(5)),
        ("boostDownToNthPlace", json!(2.5)),
        ("boostDownToNthPlace", json!(257)),
        ("connectsAbovePrevious", json!(-1)),
        ("connectsAbovePrevious", json!(0.5)),
        ("minBoost", json!(2.5)),
        ("minBoost", json!(true)),
        ("maximumBoost", json!(-0.5)),
        ("boostingEnabled", json!("yes")),
        ("bidWithWarning", json!("Bid")),
        ("biddingHourlyRateStrategy", json!("cheap")),
        ("insufficientBoostConnectsAction", json!("bid")),
        ("alreadyHiredAction", json!(["skip"])),
    ];
    for (name, value) in cases {
        let faults = read(&json!({ name: value })).unwrap_err();
        assert_eq!(faults.len(), 1, "{name}");
        assert_eq!(faults[0].path, ["biddingConfig", name]);
        assert!(faults[0].message.starts_with("must be "), "{}", faults[0].message);
    }
}

#[test]
fn values_on_their_bounds_are_accepted() {
    for (name, value) in [
        ("biddingHourlyRatePercentage", json!(0)),
        ("biddingHourlyRatePercentage", json!(100)),
        ("biddingFixedHourlyRate", json!(0.01)),
        ("boostDownToNthPlace", json!(1)),
        ("boostDownToNthPlace", json!(4)),
        ("connectsAbovePrevious", json!(0)),
        ("minBoost", json!(0)),
        ("maximumBoost", json!(0)),
    ] {
        assert!(read(&json!({ name: value })).is_ok(), "{name}");
    }
}

#[test]
fn integers_may_be_written_as_floats() {
    let config =
        read(&json!({"boostDownToNthPlace": 2.0, "minBoost": 3.0, "connectsAbovePrevious": 1e1})).unwrap();
    assert_eq!(config.boost_down_to_nth_place, BoostedPlace::new(2));
    assert_eq!(config.min_boost, Some(Connects::new(3)));
    assert_eq!(config.connects_above_previous, Some(Connects::new(10)));
}

#[test]
fn null_stands_only_where_the_specification_says_or_null() {
    let refused = [
        "bidWithWarning",
        "biddingHourlyRateStrategy",
        "insufficientBoostConnectsAction",
        "alreadyHiredAction",
    ];
    for name in BIDDING_CONFIG_FIELDS {
        let read = read(&json!({ name: null }));
        if refused.contains(&name) {
            assert_eq!(read.unwrap_err()[0].path, ["biddingConfig", name]);
        } else {
            assert_eq!(
                read.unwrap(),
                BiddingConfig::default(),
                "{name}: null means not set here"
            );
        }
    }
}

#[test]
fn null_in_a_provisioning_file_unsets_any_field() {
    let full = read(&json!({"bidWithWarning": "bid", "minBoost": 1, "alreadyHiredAction": "bid"})).unwrap();
    let patch = json!({"bidWithWarning": null, "minBoost": null});
    let patched = full.merge_patch(&patch, &[""; 0]).unwrap();
    assert_eq!(
        serde_json::to_value(patched).unwrap(),
        json!({"alreadyHiredAction": "bid"})
    );
}

#[test]
fn all_faults_are_reported_at_once() {
    let faults = read(&json!({"nope": 1, "minBoost": -1, "maximumBoost": "x", "alreadyHiredAction": null}))
        .unwrap_err();
    let names: Vec<&str> = faults.iter().map(|fault| fault.path[1].as_str()).collect();
    assert_eq!(names, ["minBoost", "maximumBoost", "alreadyHiredAction", "nope"]);
    assert!(
        faults[3].message.contains("boostDownToNthPlace"),
        "says what is allowed"
    );
}

#[test]
fn what_is_no_object_is_refused_at_the_prefix() {
    for value in [json!(null), json!([]), json!("x"), json!(3)] {
        assert_eq!(read(&value).unwrap_err()[0].path, ["biddingConfig"]);
    }
}

#[test]
fn every_listed_field_is_known_to_the_reader() {
    for name in BIDDING_CONFIG_FIELDS {
        let faults = read(&json!({ name: {} })).unwrap_err();
        assert!(faults[0].message.starts_with("must be "), "{name}");
    }
}

fn layer(value: &Value) -> BiddingConfig {
    BiddingConfig::from_value(value, &["biddingConfig"]).unwrap()
}

fn of(request: &Value, lead: &Value, campaign: &Value) -> EffectiveConfig {
    effective(&layer(request), &layer(lead), &layer(campaign))
}

#[test]
fn the_defaults_are_those_of_decision_a7() {
    assert_eq!(
        serde_json::to_value(of(&json!({}), &json!({}), &json!({}))).unwrap(),
        json!({
            "bidWithWarning": "skip", "biddingHourlyRateStrategy": "smart_bidding",
            "biddingHourlyRatePercentage": null, "biddingFixedHourlyRate": null, "biddingMinHourlyRate": null,
            "boostingEnabled": false, "boostDownToNthPlace": 4, "connectsAbovePrevious": 1,
            "minBoost": null, "maximumBoost": null,
            "insufficientBoostConnectsAction": "bid_without_boost", "alreadyHiredAction": "skip",
            "sources": {}
        })
    );
}

#[test]
fn null_in_a_layer_falls_back_to_the_next() {
    let config = of(
        &json!({"boostingEnabled": null}),
        &json!({}),
        &json!({"boostingEnabled": true}),
    );
    assert!(config.boosting_enabled);
    assert_eq!(config.source_of("boostingEnabled"), ConfigSource::Campaign);
}

#[test]
fn a_value_of_false_or_zero_is_set() {
    let config = of(
        &json!({"boostingEnabled": false, "connectsAbovePrevious": 0}),
        &json!({"boostingEnabled": true, "connectsAbovePrevious": 5}),
        &json!({}),
    );
    assert!(!config.boosting_enabled);
    assert_eq!(config.connects_above_previous, Connects::ZERO);
}

/// What a request with these layers below it is told.
fn told(request: &Value, lead: &Value, campaign: &Value) -> Option<FieldError> {
    let config = of(request, lead, campaign);
    config.shape_fault(|field| config.source_of(field) == ConfigSource::Request)
}

#[test]
fn a_minimum_boost_above_the_maximum_is_told_of_the_value_that_the_request_holds() {
    let (min, max) = (json!({"minBoost": 5}), json!({"maximumBoost": 3}));
    let (both, neither) = (json!({"minBoost": 5, "maximumBoost": 3}), json!({}));
    for (request, lead, campaign, path, set_by) in [
        (
            &max,
            &neither,
            &min,
            "maximumBoost",
            ["the request", "the campaign's configuration"],
        ),
        (
            &max,
            &min,
            &neither,
            "maximumBoost",
            ["the request", "the lead's configuration"],
        ),
        (
            &min,
            &max,
            &neither,
            "minBoost",
            ["the request", "the lead's configuration"],
        ),
        (
            &both,
            &neither,
            &neither,
            "minBoost",
            ["the request", "the request"],
        ),
        (
            &neither,
            &max,
            &min,
            "minBoost",
            ["the campaign's configuration", "the lead's configuration"],
        ),
    ] {
        let fault = told(request, lead, campaign).unwrap();
        assert_eq!(fault.path, ["biddingConfig", path]);
        let sources: Vec<&str> = fault
            .message
            .split("(set by ")
            .skip(1)
            .filter_map(|rest| Some(rest.split_once(')')?.0))
            .collect();
        assert_eq!(sources, set_by, "{}", fault.message);
    }
    for allowed in [
        json!({"minBoost": 8, "maximumBoost": 8}),
        json!({"minBoost": 8}),
        json!({"maximumBoost": 0}),
    ] {
        assert_eq!(told(&allowed, &neither, &neither), None);
    }
}

#[test]
fn an_effective_configuration_survives_json() {
    let config = of(
        &json!({"biddingHourlyRatePercentage": 87.5}),
        &json!({"biddingMinHourlyRate": 30.005}),
        &json!({"boostDownToNthPlace": 2, "maximumBoost": 12}),
    );
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(serde_json::from_str::<EffectiveConfig>(&json).unwrap(), config);
}

/// Two values a field, so that a value tells which layer it came from.
fn value_of(field: &str, second: bool) -> Value {
    let pair = match field {
        "bidWithWarning" | "alreadyHiredAction" => [json!("bid"), json!("skip")],
        "biddingHourlyRateStrategy" => [json!("fixed_rate"), json!("match_job_budget")],
        "boostingEnabled" => [json!(true), json!(false)],
        "insufficientBoostConnectsAction" => [json!("skip"), json!("bid_without_boost")],
        _ => [json!(1), json!(3)],
    };
    pair[usize::from(second)].clone()
}

proptest! {
    #[test]
    fn fallback_is_field_by_field(choices in prop::collection::vec((0_u8..8, any::<[bool; 3]>()), BIDDING_CONFIG_FIELDS.len())) {
        let mut layers = [Map::new(), Map::new(), Map::new()];
        for (field, (set, values)) in BIDDING_CONFIG_FIELDS.iter().zip(&choices) {
            for (bit, layer) in layers.iter_mut().enumerate() {
                if set & (1 << bit) != 0 {
                    layer.insert((*field).to_owned(), value_of(field, values[bit]));
                }
            }
        }
        let [request, lead, campaign] = layers.map(Value::Object);
        let config = of(&request, &lead, &campaign);
        let json = serde_json::to_value(&config).unwrap();
        let defaults = serde_json::to_value(of(&json!({}), &json!({}), &json!({}))).unwrap();
        for field in BIDDING_CONFIG_FIELDS {
            let layers = [(&request, ConfigSource::Request), (&lead, ConfigSource::Lead), (&campaign, ConfigSource::Campaign)];
            let (expected, source) = layers
                .into_iter()
                .find_map(|(layer, source)| layer.get(field).map(|value| (value, source)))
                .unwrap_or((&defaults[field], ConfigSource::Default));
            prop_assert_eq!(&json[field], expected);
            prop_assert_eq!(config.source_of(field), source);
        }
    }
}
