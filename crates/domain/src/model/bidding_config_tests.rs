//! Bounds, nulls and faults of a layer of bidding configuration.

use super::*;
use serde_json::json;

fn read(value: &Value) -> Result<BiddingConfig, Vec<ShapeFault>> {
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
    assert_eq!(names, ["nope", "minBoost", "maximumBoost", "alreadyHiredAction"]);
    assert!(
        faults[0].message.contains("boostDownToNthPlace"),
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
