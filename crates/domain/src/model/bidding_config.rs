//! The bidding configuration: the layers that a campaign, a lead and a single bid may carry, and the configuration in
//! force for a bid.
//!
//! Owns the fields with their defaults, the reading of a layer from JSON (decision A7, `docs/rules.md#a7`), the merging
//! of a provisioning file's changes, and which layer each value in force comes from. Does not own the bounds of the
//! values (`bidding_values`, `money`) or their use ([`bidding`](crate::bidding)).

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use bidloop_matching::json::{Faults, Fields, Null, Path, flag};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::VariantArray;

use super::FieldError;
use super::bidding_values::{
    AlreadyHiredAction, BidWithWarning, BoostedPlace, HourlyRateStrategy, InsufficientBoostConnectsAction,
};
use super::money::{Connects, HourlyRate, JsonNumber, Percentage};

/// Defines [`BiddingConfig`] and [`EffectiveConfig`] from one list of fields.
///
/// Each line holds a field, its name in JSON, the function that reads its value, its type, and its default. A field
/// without a default is optional in the effective configuration, too.
macro_rules! bidding_config {
    ($($(#[$doc:meta])* $field:ident, $name:literal: $read:ident $type:ty $(= $default:expr)?;)*) => {
        /// One layer of bidding configuration (the specification's `BiddingConfigOverride`). A field that is `None`
        /// falls back to the next layer.
        ///
        /// [`BiddingConfig::from_value`] reads a caller's JSON and reports every fault. The serde implementations
        /// are for JSON that the program itself wrote; fields that are `None` are left out.
        ///
        /// ```
        /// use bidloop_domain::model::BiddingConfig;
        /// use serde_json::json;
        ///
        /// let config = BiddingConfig::from_value(&json!({"minBoost": 2.0, "maximumBoost": null}), &["biddingConfig"]).unwrap();
        /// assert_eq!(serde_json::to_value(&config).unwrap(), json!({"minBoost": 2}));
        ///
        /// let faults = BiddingConfig::from_value(&json!({"minBoost": 2.5, "boost": 1}), &["biddingConfig"]).unwrap_err();
        /// assert_eq!(faults[0].path, ["biddingConfig", "minBoost"]);
        /// assert_eq!(faults[1].path, ["biddingConfig", "boost"]);
        /// ```
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct BiddingConfig {
            $(
                $(#[$doc])*
                #[serde(rename = $name, skip_serializing_if = "Option::is_none")]
                pub $field: Option<$type>,
            )*
        }

        /// The configuration in force for one bid; frozen when the bid is accepted (decision B4).
        ///
        /// In JSON, fields without a value are null, and `sources` holds the layer of each field that a layer sets.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        pub struct EffectiveConfig {
            $(
                $(#[$doc])*
                #[serde(rename = $name)]
                pub $field: in_force!($type $(, $default)?),
            )*
            #[serde(default)]
            sources: BTreeMap<String, ConfigSource>,
        }

        /// The names of the configuration's fields in JSON, in the specification's order.
        pub const BIDDING_CONFIG_FIELDS: [&str; [$($name),*].len()] = [$($name),*];

        impl BiddingConfig {
            fn read_fields(&mut self, fields: &mut Fields<'_, '_>, words_may_be_null: Null) {
                $(self.$field = fields.field($name, may_be_null!($read, words_may_be_null), $read).over(self.$field);)*
            }
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
                $($field: layers.pick($name, |layer| layer.$field)$(.unwrap_or($default))?,)*
                sources: layers.sources,
            }
        }
    };
}

/// The type of a field in the effective configuration.
macro_rules! in_force {
    ($type:ty) => { Option<$type> };
    ($type:ty, $default:expr) => { $type };
}

/// Whether a field may be null. In the API numbers and flags may, as the specification's types say "or null".
macro_rules! may_be_null {
    (word, $words_may_be_null:ident) => {
        $words_may_be_null
    };
    ($read:ident, $words_may_be_null:ident) => {
        Null::Allowed
    };
}

bidding_config! {
    /// What to do on a warning. The default is `skip`.
    bid_with_warning, "bidWithWarning": word BidWithWarning = BidWithWarning::Skip;
    /// How the hourly rate is chosen. The default is `smart_bidding`.
    bidding_hourly_rate_strategy, "biddingHourlyRateStrategy": word HourlyRateStrategy = HourlyRateStrategy::SmartBidding;
    /// Percent of the reference rate; needed by the two strategies that match a rate.
    bidding_hourly_rate_percentage, "biddingHourlyRatePercentage": number Percentage;
    /// USD per hour; needed by `fixed_rate`.
    bidding_fixed_hourly_rate, "biddingFixedHourlyRate": number HourlyRate;
    /// USD per hour below which `smart_bidding` never goes.
    bidding_min_hourly_rate, "biddingMinHourlyRate": number HourlyRate;
    /// Whether to boost. The default is not to.
    boosting_enabled, "boostingEnabled": flag bool = false;
    /// The lowest place worth boosting for. The default is 4.
    boost_down_to_nth_place, "boostDownToNthPlace": number BoostedPlace = BoostedPlace::LAST;
    /// By how many connects to outbid the holder of a place. The default is 1.
    connects_above_previous, "connectsAbovePrevious": number Connects = Connects::new(1);
    /// The smallest boost, in connects.
    min_boost, "minBoost": number Connects;
    /// The largest boost, in connects.
    maximum_boost, "maximumBoost": number Connects;
    /// What to do when connects do not suffice for the boost. The default is `bid_without_boost`.
    insufficient_boost_connects_action, "insufficientBoostConnectsAction":
        word InsufficientBoostConnectsAction = InsufficientBoostConnectsAction::BidWithoutBoost;
    /// What to do when the client already hired. The default is `skip`.
    already_hired_action, "alreadyHiredAction": word AlreadyHiredAction = AlreadyHiredAction::Skip;
}

impl BiddingConfig {
    /// Reads a request's `biddingConfig` or the file of `bidloop leads configure`.
    ///
    /// `null` is accepted where the specification's type says "or null", and means "not set here".
    ///
    /// # Errors
    /// Every fault at once, up to 50, each path starting with `path_prefix`: the fields in the specification's order,
    /// then unknown fields.
    pub fn from_value<S: AsRef<str>>(value: &Value, path_prefix: &[S]) -> Result<Self, Vec<FieldError>> {
        Self::default().patched(value, Null::Refused, path_prefix)
    }

    /// This configuration with a provisioning file's changes: fields that the file does not mention stay,
    /// and an explicit `null` unsets any field.
    ///
    /// ```
    /// use bidloop_domain::model::BiddingConfig;
    /// use serde_json::json;
    ///
    /// let before = BiddingConfig::from_value(&json!({"minBoost": 2, "bidWithWarning": "bid"}), &[""; 0]).unwrap();
    /// let after = before.merge_patch(&json!({"bidWithWarning": null, "maximumBoost": 9}), &[""; 0]).unwrap();
    /// assert_eq!(serde_json::to_value(&after).unwrap(), json!({"minBoost": 2, "maximumBoost": 9}));
    /// ```
    ///
    /// # Errors
    /// As [`BiddingConfig::from_value`].
    pub fn merge_patch<S: AsRef<str>>(
        &self,
        patch: &Value,
        path_prefix: &[S],
    ) -> Result<Self, Vec<FieldError>> {
        self.patched(patch, Null::Allowed, path_prefix)
    }

    fn patched<S: AsRef<str>>(
        &self,
        value: &Value,
        words_may_be_null: Null,
        path_prefix: &[S],
    ) -> Result<Self, Vec<FieldError>> {
        let path: Vec<String> = path_prefix.iter().map(|part| part.as_ref().to_owned()).collect();
        let mut faults = Faults::with_limit(MOST_FAULTS);
        let mut config = self.clone();
        Fields::read(value, Path::At(&path), &mut faults, |fields| {
            config.read_fields(fields, words_may_be_null);
        });
        faults.into_result(config)
    }
}

/// How many faults are reported, so that the answer to a body of unknown fields stays small.
const MOST_FAULTS: usize = 50;

fn word<T: FromStr + Display + VariantArray>(value: &Value) -> Result<T, String> {
    value.as_str().and_then(|word| word.parse().ok()).ok_or_else(|| {
        let words: Vec<String> = T::VARIANTS.iter().map(|word| format!("\"{word}\"")).collect();
        format!("must be one of {}", words.join(", "))
    })
}

fn number<T: JsonNumber>(value: &Value) -> Result<T, String> {
    let number = value
        .as_number()
        .and_then(|number| T::try_from(number.clone()).ok());
    number.ok_or_else(|| format!("must be {}, or null", T::ACCEPTED))
}

/// The layer that a value of an [`EffectiveConfig`] comes from. Its text reads after "set by" or "from".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
pub enum ConfigSource {
    /// The bid's own override.
    #[strum(to_string = "the request")]
    Request,
    /// The lead's configuration.
    #[strum(to_string = "the lead")]
    Lead,
    /// The campaign's configuration.
    #[strum(to_string = "the campaign")]
    Campaign,
    /// No layer sets the field.
    #[strum(to_string = "the default")]
    Default,
}

struct Layers<'a> {
    layers: [(ConfigSource, &'a BiddingConfig); 3],
    sources: BTreeMap<String, ConfigSource>,
}

impl Layers<'_> {
    fn pick<T>(&mut self, name: &str, field: fn(&BiddingConfig) -> Option<T>) -> Option<T> {
        let mut layers = self.layers.iter();
        let (source, value) = layers.find_map(|(source, layer)| Some((*source, field(layer)?)))?;
        self.sources.insert(name.to_owned(), source);
        Some(value)
    }
}

impl EffectiveConfig {
    /// Which layer sets `field`, named as in JSON; [`ConfigSource::Default`] if none does.
    pub fn source_of(&self, field: &str) -> ConfigSource {
        self.sources.get(field).copied().unwrap_or(ConfigSource::Default)
    }

    /// The fault of a `minBoost` above `maximumBoost`, whichever layers they come from (decision A2,
    /// `docs/rules.md#a2`). The message names both layers.
    ///
    /// `is_written` returns whether the request or file holds a field itself. The path leads to the written field,
    /// and to `minBoost` if both or neither are written.
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
    pub fn shape_fault(&self, is_written: impl Fn(&str) -> bool) -> Option<FieldError> {
        let (min, max) = (self.min_boost?, self.maximum_boost?);
        if min <= max {
            return None;
        }
        let set_by = |field| match self.source_of(field) {
            layer @ (ConfigSource::Lead | ConfigSource::Campaign) => format!("{layer}'s configuration"),
            layer => layer.to_string(),
        };
        let (min, max) = (("minBoost", min), ("maximumBoost", max));
        let (bound, (field, value), (other, other_value)) =
            if is_written("maximumBoost") && !is_written("minBoost") {
                ("at least", max, min)
            } else {
                ("at most", min, max)
            };
        let message = format!(
            "must be {bound} {other} in the effective configuration; it is {value} (set by {}), {other} is {other_value} (set by {})",
            set_by(field),
            set_by(other),
        );
        Some(FieldError::new(&["biddingConfig", field], message))
    }
}

#[cfg(test)]
#[path = "bidding_config_tests.rs"]
mod tests;
