//! What the layers of bidding configuration amount to for one bid (decision A7, `docs/rules.md#a7`).
//!
//! Owns the order of fallback, the defaults, and where each value came from. Does not own the layers' own
//! bounds ([`BiddingConfig`]) nor what is done with the values ([`bidding`](crate::bidding)).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ShapeFault;
use super::bidding_config::{
    AlreadyHiredAction, BidWithWarning, BiddingConfig, BoostedPlace, HourlyRateStrategy,
    InsufficientBoostConnectsAction,
};
use super::money::{Connects, HourlyRate, Percentage};

/// The layer that a value of an [`EffectiveConfig`] came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConfigSource {
    /// The bid's own override.
    Request,
    /// The lead's configuration.
    Lead,
    /// The campaign's configuration.
    Campaign,
    /// No layer sets it.
    Default,
}

impl ConfigSource {
    /// In words, after "set by" or "from".
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Request => "the request",
            Self::Lead => "the lead",
            Self::Campaign => "the campaign",
            Self::Default => "the default",
        }
    }
}

/// The configuration in force for one bid; frozen when the bid is accepted (decision B4).
///
/// In JSON the fields bear the names of [`BiddingConfig`], those without a value are null, and `sources` says
/// for each field that a layer sets which layer that is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EffectiveConfig {
    /// On a warning; `skip` by default.
    pub bid_with_warning: BidWithWarning,
    /// How the hourly rate is chosen; `smart_bidding` by default.
    pub bidding_hourly_rate_strategy: HourlyRateStrategy,
    /// Percent of the reference rate.
    pub bidding_hourly_rate_percentage: Option<Percentage>,
    /// USD per hour under `fixed_rate`.
    pub bidding_fixed_hourly_rate: Option<HourlyRate>,
    /// USD per hour below which `smart_bidding` never goes.
    pub bidding_min_hourly_rate: Option<HourlyRate>,
    /// Whether to boost; not by default.
    pub boosting_enabled: bool,
    /// The lowest place worth boosting for; 4 by default.
    pub boost_down_to_nth_place: BoostedPlace,
    /// By how many connects the holder of a place is outbid; 1 by default.
    pub connects_above_previous: Connects,
    /// The least a boost may be.
    pub min_boost: Option<Connects>,
    /// The most a boost may be.
    pub maximum_boost: Option<Connects>,
    /// When connects do not suffice for the boost; `bid_without_boost` by default.
    pub insufficient_boost_connects_action: InsufficientBoostConnectsAction,
    /// When the client already hired; `skip` by default.
    pub already_hired_action: AlreadyHiredAction,
    #[serde(default)]
    sources: BTreeMap<String, ConfigSource>,
}

/// The configuration in force: the request's override, then the lead's, then the campaign's, then the
/// defaults, field by field (decision A7, `docs/rules.md#a7`).
///
/// ```
/// use bidloop_domain::model::{BiddingConfig, ConfigSource, Connects, effective};
/// use serde_json::json;
///
/// let layer = |value| BiddingConfig::from_value(&value, &["biddingConfig"]).unwrap();
/// let config = effective(
///     &layer(json!({"minBoost": 3})),
///     &layer(json!({"minBoost": 2, "maximumBoost": 8})),
///     &layer(json!({"maximumBoost": 9, "boostingEnabled": true})),
/// );
/// assert_eq!(config.min_boost, Some(Connects::new(3)));
/// assert_eq!(config.maximum_boost, Some(Connects::new(8)));
/// assert!(config.boosting_enabled);
/// assert_eq!(config.source_of("maximumBoost"), ConfigSource::Lead);
/// assert_eq!(config.source_of("bidWithWarning"), ConfigSource::Default);
/// ```
pub fn effective(request: &BiddingConfig, lead: &BiddingConfig, campaign: &BiddingConfig) -> EffectiveConfig {
    let mut layers = Layers {
        layers: [
            (ConfigSource::Request, request),
            (ConfigSource::Lead, lead),
            (ConfigSource::Campaign, campaign),
        ],
        sources: BTreeMap::new(),
    };
    EffectiveConfig {
        bid_with_warning: layers
            .pick("bidWithWarning", |c| c.bid_with_warning)
            .unwrap_or(BidWithWarning::Skip),
        bidding_hourly_rate_strategy: layers
            .pick("biddingHourlyRateStrategy", |c| c.bidding_hourly_rate_strategy)
            .unwrap_or(HourlyRateStrategy::SmartBidding),
        bidding_hourly_rate_percentage: layers.pick("biddingHourlyRatePercentage", |c| {
            c.bidding_hourly_rate_percentage
        }),
        bidding_fixed_hourly_rate: layers.pick("biddingFixedHourlyRate", |c| c.bidding_fixed_hourly_rate),
        bidding_min_hourly_rate: layers.pick("biddingMinHourlyRate", |c| c.bidding_min_hourly_rate),
        boosting_enabled: layers
            .pick("boostingEnabled", |c| c.boosting_enabled)
            .unwrap_or(false),
        boost_down_to_nth_place: layers
            .pick("boostDownToNthPlace", |c| c.boost_down_to_nth_place)
            .unwrap_or(BoostedPlace::LAST),
        connects_above_previous: layers
            .pick("connectsAbovePrevious", |c| c.connects_above_previous)
            .unwrap_or(Connects::new(1)),
        min_boost: layers.pick("minBoost", |c| c.min_boost),
        maximum_boost: layers.pick("maximumBoost", |c| c.maximum_boost),
        insufficient_boost_connects_action: layers
            .pick("insufficientBoostConnectsAction", |c| {
                c.insufficient_boost_connects_action
            })
            .unwrap_or(InsufficientBoostConnectsAction::BidWithoutBoost),
        already_hired_action: layers
            .pick("alreadyHiredAction", |c| c.already_hired_action)
            .unwrap_or(AlreadyHiredAction::Skip),
        sources: layers.sources,
    }
}

impl EffectiveConfig {
    /// Which layer set `field`, named as in JSON; [`ConfigSource::Default`] where none did.
    pub fn source_of(&self, field: &str) -> ConfigSource {
        self.sources.get(field).copied().unwrap_or(ConfigSource::Default)
    }

    /// The fault of a `minBoost` above `maximumBoost`, whichever layers they came from (decision A2,
    /// `docs/rules.md#a2`).
    ///
    /// `is_written` says whether what is being judged (a request, a file) holds the field of that name itself: the
    /// path leads to a value that does stand there, to `minBoost` where both or neither do. The message says where
    /// both values come from.
    ///
    /// ```
    /// use bidloop_domain::model::{BiddingConfig, ConfigSource, effective};
    /// use serde_json::json;
    ///
    /// let layer = |value| BiddingConfig::from_value(&value, &["biddingConfig"]).unwrap();
    /// let (request, campaign) = (layer(json!({"maximumBoost": 3})), layer(json!({"minBoost": 5})));
    /// let config = effective(&request, &BiddingConfig::default(), &campaign);
    /// let fault = config.shape_fault(|field| config.source_of(field) == ConfigSource::Request).unwrap();
    /// assert_eq!(fault.path, ["biddingConfig", "maximumBoost"]);
    /// ```
    pub fn shape_fault(&self, is_written: impl Fn(&str) -> bool) -> Option<ShapeFault> {
        let (min, max) = (self.min_boost?, self.maximum_boost?);
        if min <= max {
            return None;
        }
        let set_by = |field: &str| match self.source_of(field) {
            ConfigSource::Lead => "the lead's configuration",
            ConfigSource::Campaign => "the campaign's configuration",
            other => other.as_str(),
        };
        let (min_by, max_by) = (set_by("minBoost"), set_by("maximumBoost"));
        let fault = if is_written("maximumBoost") && !is_written("minBoost") {
            let message = format!(
                "must be at least minBoost in the effective configuration; it is {max} (set by {max_by}), minBoost is {min} (set by {min_by})"
            );
            ShapeFault::new(&["biddingConfig", "maximumBoost"], message)
        } else {
            let message = format!(
                "must be at most maximumBoost in the effective configuration; it is {min} (set by {min_by}), maximumBoost is {max} (set by {max_by})"
            );
            ShapeFault::new(&["biddingConfig", "minBoost"], message)
        };
        Some(fault)
    }
}

struct Layers<'a> {
    layers: [(ConfigSource, &'a BiddingConfig); 3],
    sources: BTreeMap<String, ConfigSource>,
}

impl Layers<'_> {
    fn pick<T>(&mut self, name: &str, field: fn(&BiddingConfig) -> Option<T>) -> Option<T> {
        let (source, value) = self
            .layers
            .iter()
            .find_map(|(source, layer)| Some((*source, field(layer)?)))?;
        self.sources.insert(name.to_owned(), source);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::super::bidding_config::BIDDING_CONFIG_FIELDS;
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

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
    fn told(request: &Value, lead: &Value, campaign: &Value) -> Option<ShapeFault> {
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
}
