//! The bidding configuration: the layers that a campaign, a lead and a single bid may carry, and the configuration in
//! force for a bid.
//!
//! Owns the fields with their defaults, reading a layer from JSON with all faults at once (decision A7,
//! `docs/rules.md#a7`), merging a provisioning file's changes, and which layer each value in force comes from. Does
//! not own the values' bounds (`bidding_values`, `money`) nor what is done with them ([`bidding`](crate::bidding)).

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::VariantArray;

use super::FieldError;
use super::bidding_values::{
    AlreadyHiredAction, BidWithWarning, BoostedPlace, HourlyRateStrategy, InsufficientBoostConnectsAction,
};
use super::money::{Connects, HourlyRate, JsonNumber, Percentage};

/// Defines [`BiddingConfig`] and [`EffectiveConfig`] from one list of fields.
///
/// Each line holds a field, its name in JSON, how it is read (a method of [`Reader`]), its type, and its default. A
/// field without a default is optional in the effective configuration, too.
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
        /// assert_eq!(faults[0].path, ["biddingConfig", "boost"]);
        /// assert_eq!(faults[1].path, ["biddingConfig", "minBoost"]);
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
            fn read_fields(&mut self, reader: &mut Reader<'_>) {
                $(reader.$read($name, &mut self.$field);)*
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

bidding_config! {
    /// What to do on a warning. The default is `skip`.
    bid_with_warning, "bidWithWarning": words BidWithWarning = BidWithWarning::Skip;
    /// How the hourly rate is chosen. The default is `smart_bidding`.
    bidding_hourly_rate_strategy, "biddingHourlyRateStrategy": words HourlyRateStrategy = HourlyRateStrategy::SmartBidding;
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
        words InsufficientBoostConnectsAction = InsufficientBoostConnectsAction::BidWithoutBoost;
    /// What to do when the client already hired. The default is `skip`.
    already_hired_action, "alreadyHiredAction": words AlreadyHiredAction = AlreadyHiredAction::Skip;
}

impl BiddingConfig {
    /// Reads a request's `biddingConfig` or the file of `bidloop leads configure`.
    ///
    /// `null` is accepted where the specification's type says "or null", and means "not set here".
    ///
    /// # Errors
    /// Every fault at once, each path starting with `path_prefix`: unknown fields first, then the fields in
    /// the specification's order.
    pub fn from_value<S: AsRef<str>>(value: &Value, path_prefix: &[S]) -> Result<Self, Vec<FieldError>> {
        Self::default().patched(value, false, path_prefix)
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
        self.patched(patch, true, path_prefix)
    }

    fn patched<S: AsRef<str>>(
        &self,
        value: &Value,
        null_unsets_any: bool,
        path_prefix: &[S],
    ) -> Result<Self, Vec<FieldError>> {
        let Value::Object(object) = value else {
            return Err(vec![FieldError::new(path_prefix, "must be an object")]);
        };
        let mut reader = Reader {
            object,
            null_unsets_any,
            faults: unknown_fields(object),
        };
        let mut config = self.clone();
        config.read_fields(&mut reader);
        if reader.faults.is_empty() {
            return Ok(config);
        }
        Err(reader
            .faults
            .into_iter()
            .map(|fault| fault.under(path_prefix))
            .collect())
    }
}

/// How many unknown fields are reported, so that the answer to a body of nothing else stays small.
const MOST_UNKNOWN_FIELDS: usize = 50;

fn unknown_fields(object: &Map<String, Value>) -> Vec<FieldError> {
    let names = object
        .keys()
        .filter(|name| !BIDDING_CONFIG_FIELDS.contains(&name.as_str()));
    names
        .take(MOST_UNKNOWN_FIELDS)
        .map(|name| {
            let allowed = BIDDING_CONFIG_FIELDS.join(", ");
            let message = format!("is not a field of the bidding configuration, which has {allowed}");
            FieldError::new(&[name], message)
        })
        .collect()
}

/// Reads the fields of one layer and collects their faults.
struct Reader<'a> {
    object: &'a Map<String, Value>,
    /// In a provisioning file `null` unsets any field. In the API it is accepted only where the specification's
    /// type says "or null": for numbers and flags.
    null_unsets_any: bool,
    faults: Vec<FieldError>,
}

impl Reader<'_> {
    fn words<T: FromStr + Display + VariantArray>(&mut self, name: &str, field: &mut Option<T>) {
        let words: Vec<String> = T::VARIANTS.iter().map(|word| format!("\"{word}\"")).collect();
        let accepted = format!("one of {}", words.join(", "));
        let word = |value: &Value| value.as_str()?.parse().ok();
        self.read(name, &accepted, self.null_unsets_any, word, field);
    }

    fn number<T: JsonNumber>(&mut self, name: &str, field: &mut Option<T>) {
        let number = |value: &Value| T::try_from(value.as_number()?.clone()).ok();
        self.read(name, T::ACCEPTED, true, number, field);
    }

    fn flag(&mut self, name: &str, field: &mut Option<bool>) {
        self.read(name, "true or false", true, Value::as_bool, field);
    }

    fn read<T>(
        &mut self,
        name: &str,
        accepted: &str,
        null_allowed: bool,
        parse: impl Fn(&Value) -> Option<T>,
        field: &mut Option<T>,
    ) {
        match self.object.get(name) {
            None => {}
            Some(Value::Null) if null_allowed => *field = None,
            Some(value) => {
                *field = parse(value);
                if field.is_none() {
                    let or_null = if null_allowed { ", or null" } else { "" };
                    let message = format!("must be {accepted}{or_null}");
                    self.faults.push(FieldError::new(&[name], message));
                }
            }
        }
    }
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
