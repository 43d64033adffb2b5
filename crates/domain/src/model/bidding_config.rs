//! The bidding configuration that a campaign, a lead or a single bid may carry: the specification's
//! `BiddingConfigOverride`.
//!
//! Owns its fields, their bounds (decision A7, `docs/rules.md#a7`), reading it from JSON with all faults at
//! once, and merging a provisioning file's changes. Does not own what the three layers and the defaults
//! amount to: that is [`EffectiveConfig`](super::EffectiveConfig).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::ShapeFault;
use super::money::{Connects, HourlyRate, Percentage};

/// What to do when the marketplace shows a warning on the job before submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BidWithWarning {
    /// Bid all the same.
    Bid,
    /// Do not bid: the bid ends as skipped with `job_warning`.
    Skip,
}

/// How the rate offered on an hourly job is chosen (decision B5, `docs/rules.md#b5`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HourlyRateStrategy {
    /// A percentage of the job's budget.
    MatchJobBudget,
    /// A percentage of the bidder account's profile rate.
    MatchProfileRate,
    /// The configured rate.
    FixedRate,
    /// From the profile rate, towards what job and client suggest, above a floor.
    SmartBidding,
}

impl HourlyRateStrategy {
    /// The strategy's name in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MatchJobBudget => "match_job_budget",
            Self::MatchProfileRate => "match_profile_rate",
            Self::FixedRate => "fixed_rate",
            Self::SmartBidding => "smart_bidding",
        }
    }
}

/// What to do when the account cannot pay the job's connects and the boost together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InsufficientBoostConnectsAction {
    /// Do not bid: the bid ends as skipped with `insufficient_boost_connects`.
    Skip,
    /// Bid without a boost.
    BidWithoutBoost,
}

/// What to do when the client already hired someone for the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlreadyHiredAction {
    /// Do not bid: the bid ends as skipped with `already_hired`.
    Skip,
    /// Bid all the same.
    Bid,
}

/// A boosted position in the marketplace's ranking of proposals: 1 (best) to 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "u8", try_from = "Number")]
pub struct BoostedPlace(u8);

impl BoostedPlace {
    /// The last place that a boost can hold.
    pub const LAST: Self = Self(4);

    /// The place of that number, from 1 to 4.
    pub const fn new(place: u8) -> Option<Self> {
        if place >= 1 && place <= Self::LAST.0 {
            Some(Self(place))
        } else {
            None
        }
    }

    /// From a JSON number without a fraction.
    pub fn from_number(number: &Number) -> Option<Self> {
        let place = Connects::from_number(number)?.get();
        u8::try_from(place).ok().and_then(Self::new)
    }

    /// 1 to 4.
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The places from the best down to this one.
    pub fn from_best(self) -> impl Iterator<Item = Self> {
        (1..=self.0).map(Self)
    }
}

impl From<BoostedPlace> for u8 {
    fn from(place: BoostedPlace) -> Self {
        place.0
    }
}

impl TryFrom<Number> for BoostedPlace {
    type Error = &'static str;

    fn try_from(number: Number) -> Result<Self, Self::Error> {
        Self::from_number(&number).ok_or("expected a place, an integer from 1 to 4")
    }
}

/// One layer of bidding configuration. A field that is not set falls back to the next layer.
///
/// Reading a caller's JSON goes through [`BiddingConfig::from_value`], which reports every fault. The serde
/// implementations are for what the program itself wrote; unset fields are left out.
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
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BiddingConfig {
    /// On a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bid_with_warning: Option<BidWithWarning>,
    /// How the hourly rate is chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bidding_hourly_rate_strategy: Option<HourlyRateStrategy>,
    /// Percent of the reference rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bidding_hourly_rate_percentage: Option<Percentage>,
    /// USD per hour under `fixed_rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bidding_fixed_hourly_rate: Option<HourlyRate>,
    /// USD per hour below which `smart_bidding` never goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bidding_min_hourly_rate: Option<HourlyRate>,
    /// Whether to boost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boosting_enabled: Option<bool>,
    /// The lowest place worth boosting for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boost_down_to_nth_place: Option<BoostedPlace>,
    /// By how many connects the holder of a place is outbid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connects_above_previous: Option<Connects>,
    /// The least a boost may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_boost: Option<Connects>,
    /// The most a boost may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_boost: Option<Connects>,
    /// When connects do not suffice for the boost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub insufficient_boost_connects_action: Option<InsufficientBoostConnectsAction>,
    /// When the client already hired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub already_hired_action: Option<AlreadyHiredAction>,
}

/// The names of the configuration's fields, in the specification's order.
pub const BIDDING_CONFIG_FIELDS: [&str; 12] = [
    "bidWithWarning",
    "biddingHourlyRateStrategy",
    "biddingHourlyRatePercentage",
    "biddingFixedHourlyRate",
    "biddingMinHourlyRate",
    "boostingEnabled",
    "boostDownToNthPlace",
    "connectsAbovePrevious",
    "minBoost",
    "maximumBoost",
    "insufficientBoostConnectsAction",
    "alreadyHiredAction",
];

impl BiddingConfig {
    /// Reads a request's `biddingConfig` or the file of `bidloop leads configure`.
    ///
    /// `null` is accepted where the specification's type says "or null", and means "not set here".
    ///
    /// # Errors
    /// Every fault at once, each path starting with `path_prefix`: unknown fields first, then the fields in
    /// the specification's order.
    pub fn from_value<S: AsRef<str>>(value: &Value, path_prefix: &[S]) -> Result<Self, Vec<ShapeFault>> {
        Self::default()
            .patched(value, NullPolicy::WhereSpecified)
            .map_err(|faults| under(faults, path_prefix))
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
    ) -> Result<Self, Vec<ShapeFault>> {
        self.patched(patch, NullPolicy::Everywhere)
            .map_err(|faults| under(faults, path_prefix))
    }

    fn patched(&self, value: &Value, nulls: NullPolicy) -> Result<Self, Vec<ShapeFault>> {
        let Value::Object(object) = value else {
            return Err(vec![ShapeFault::new::<&str>(&[], "must be an object")]);
        };
        let mut reader = Reader {
            object,
            nulls,
            faults: unknown_fields(object),
        };
        let mut config = self.clone();

        reader.choice("bidWithWarning", &["bid", "skip"], &mut config.bid_with_warning);
        reader.choice(
            "biddingHourlyRateStrategy",
            &[
                "match_job_budget",
                "match_profile_rate",
                "fixed_rate",
                "smart_bidding",
            ],
            &mut config.bidding_hourly_rate_strategy,
        );
        reader.number(
            "biddingHourlyRatePercentage",
            "a number from 0 to 100",
            Percentage::from_number,
            &mut config.bidding_hourly_rate_percentage,
        );
        let rate = "a number of US dollars per hour above 0";
        reader.number(
            "biddingFixedHourlyRate",
            rate,
            HourlyRate::from_number,
            &mut config.bidding_fixed_hourly_rate,
        );
        reader.number(
            "biddingMinHourlyRate",
            rate,
            HourlyRate::from_number,
            &mut config.bidding_min_hourly_rate,
        );
        reader.boolean("boostingEnabled", &mut config.boosting_enabled);
        reader.number(
            "boostDownToNthPlace",
            "an integer from 1 to 4",
            BoostedPlace::from_number,
            &mut config.boost_down_to_nth_place,
        );
        let connects = "an integer from 0";
        reader.number(
            "connectsAbovePrevious",
            connects,
            Connects::from_number,
            &mut config.connects_above_previous,
        );
        reader.number("minBoost", connects, Connects::from_number, &mut config.min_boost);
        reader.number(
            "maximumBoost",
            connects,
            Connects::from_number,
            &mut config.maximum_boost,
        );
        reader.choice(
            "insufficientBoostConnectsAction",
            &["skip", "bid_without_boost"],
            &mut config.insufficient_boost_connects_action,
        );
        reader.choice(
            "alreadyHiredAction",
            &["skip", "bid"],
            &mut config.already_hired_action,
        );

        if reader.faults.is_empty() {
            Ok(config)
        } else {
            Err(reader.faults)
        }
    }
}

/// How many unknown fields are reported: a body of nothing else must not make an answer many times its size.
const MOST_UNKNOWN_FIELDS: usize = 50;

/// Where `null` may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NullPolicy {
    /// Where the specification's type says "or null": in the API.
    WhereSpecified,
    /// Everywhere, unsetting the field: in provisioning files.
    Everywhere,
}

struct Reader<'a> {
    object: &'a Map<String, Value>,
    nulls: NullPolicy,
    faults: Vec<ShapeFault>,
}

impl Reader<'_> {
    /// A closed set of words; the specification's type does not say "or null".
    fn choice<T: for<'de> Deserialize<'de>>(&mut self, name: &str, words: &[&str], field: &mut Option<T>) {
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let allowed = format!("one of {}", quoted.join(", "));
        let null_allowed = self.nulls == NullPolicy::Everywhere;
        self.read(
            name,
            &allowed,
            null_allowed,
            |value| T::deserialize(value.as_str().map(Value::from)?).ok(),
            field,
        );
    }

    fn number<T>(
        &mut self,
        name: &str,
        allowed: &str,
        parse: fn(&Number) -> Option<T>,
        field: &mut Option<T>,
    ) {
        self.read(
            name,
            allowed,
            true,
            |value| value.as_number().and_then(parse),
            field,
        );
    }

    fn boolean(&mut self, name: &str, field: &mut Option<bool>) {
        self.read(name, "true or false", true, Value::as_bool, field);
    }

    fn read<T>(
        &mut self,
        name: &str,
        allowed: &str,
        null_allowed: bool,
        parse: impl Fn(&Value) -> Option<T>,
        field: &mut Option<T>,
    ) {
        match self.object.get(name) {
            None => {}
            Some(Value::Null) if null_allowed => *field = None,
            Some(value) => {
                let parsed = parse(value);
                if parsed.is_none() {
                    let or_null = if null_allowed { ", or null" } else { "" };
                    self.faults
                        .push(ShapeFault::new(&[name], format!("must be {allowed}{or_null}")));
                }
                *field = parsed;
            }
        }
    }
}

fn unknown_fields(object: &Map<String, Value>) -> Vec<ShapeFault> {
    object
        .keys()
        .filter(|name| !BIDDING_CONFIG_FIELDS.contains(&name.as_str()))
        .take(MOST_UNKNOWN_FIELDS)
        .map(|name| {
            let allowed = BIDDING_CONFIG_FIELDS.join(", ");
            ShapeFault::new(
                &[name],
                format!("is not a field of the bidding configuration, which has {allowed}"),
            )
        })
        .collect()
}

fn under<S: AsRef<str>>(faults: Vec<ShapeFault>, prefix: &[S]) -> Vec<ShapeFault> {
    faults.into_iter().map(|fault| fault.under(prefix)).collect()
}

#[cfg(test)]
#[path = "bidding_config_tests.rs"]
mod tests;
