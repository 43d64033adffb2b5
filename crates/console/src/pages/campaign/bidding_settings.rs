//! The settings of a bid as the Bidding page words them.

use serde_json::Value;

use crate::bidding_fields::{self, BiddingField};
use crate::words;

/// A setting: a row of the page, and its form.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Its name in addresses.
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    pub(crate) note: &'static str,
    /// The fields of the configuration; the first decides where the value comes from.
    fields: &'static [&'static str],
}

const fn setting(
    key: &'static str,
    name: &'static str,
    note: &'static str,
    fields: &'static [&'static str],
) -> Setting {
    Setting {
        key,
        name,
        note,
        fields,
    }
}

/// In the order of the page.
pub(crate) static SETTINGS: &[Setting] = &[
    setting(
        "rate",
        "Rate",
        "Of an hourly job; a fixed-price job takes its price, or the percentage of it",
        &[
            "biddingHourlyRateStrategy",
            "biddingHourlyRatePercentage",
            "biddingFixedHourlyRate",
        ],
    ),
    setting(
        "lowest-rate",
        "Lowest rate",
        "Only smart bidding reads it",
        &["biddingMinHourlyRate"],
    ),
    setting(
        "boost",
        "Boost",
        "Bid for one of the four boosted places",
        &["boostingEnabled"],
    ),
    setting(
        "place",
        "Boost down to place",
        "Takes the best place within the maximum",
        &["boostDownToNthPlace"],
    ),
    setting(
        "above",
        "Above the bid before",
        "Outbids the place’s present holder",
        &["connectsAbovePrevious"],
    ),
    setting(
        "most",
        "Most connects for a boost",
        "Without a maximum, the lowest place at any price",
        &["maximumBoost"],
    ),
    setting("least", "Least connects for a boost", "", &["minBoost"]),
    setting(
        "too-few",
        "Too few connects to boost",
        "",
        &["insufficientBoostConnectsAction"],
    ),
    setting(
        "warning",
        "The marketplace warns",
        "For example that more than 50 proposals were sent",
        &["bidWithWarning"],
    ),
    setting("hired", "Client already hired", "", &["alreadyHiredAction"]),
];

impl Setting {
    /// The fields of its form.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &'static BiddingField> {
        self.fields.iter().filter_map(|name| bidding_fields::field(name))
    }

    /// The field that decides where the value comes from.
    pub(crate) const fn first(&self) -> &'static str {
        self.fields[0]
    }

    /// The value in force in words.
    pub(crate) fn worded(&self, values: &Value) -> String {
        let name = self.first();
        let value = &values[name];
        let amount = |field: &str| values[field].as_f64().map_or("?".to_owned(), words::usd);
        match (self.key, value) {
            (_, Value::Null) => "none".to_owned(),
            ("rate", strategy) => {
                let percent = &values["biddingHourlyRatePercentage"];
                match strategy.as_str().unwrap_or_default() {
                    "match_job_budget" => format!("{percent} % of the job’s budget"),
                    "match_profile_rate" => format!("{percent} % of the profile rate"),
                    "fixed_rate" => format!("{}/h", amount("biddingFixedHourlyRate")),
                    _ => "Smart bidding".to_owned(),
                }
            }
            ("lowest-rate", _) => format!("{}/h", amount(name)),
            ("above" | "most" | "least", value) => {
                words::counted(value.as_u64().unwrap_or_default(), "connect", "connects")
            }
            (_, value) => bidding_fields::field(name).map_or(String::new(), |field| field.worded(value)),
        }
    }
}
