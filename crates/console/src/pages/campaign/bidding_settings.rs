//! The settings of a bid as the Bidding page words them.

use serde_json::Value;

use crate::words;

/// A setting: a row of the page, and its form.
#[derive(Debug)]
pub(crate) struct Setting {
    /// Its name in addresses.
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    pub(crate) note: &'static str,
    /// The first decides where the value comes from.
    pub(crate) inputs: &'static [Input],
}

/// A field of the bidding configuration in a form.
#[derive(Debug)]
pub(crate) struct Input {
    /// Its name in the configuration.
    pub(crate) field: &'static str,
    pub(crate) label: &'static str,
    pub(crate) hint: &'static str,
    /// The values to choose among, with their words; none for a number.
    pub(crate) choices: &'static [(&'static str, &'static str)],
}

const fn number(field: &'static str, label: &'static str, hint: &'static str) -> Input {
    Input {
        field,
        label,
        hint,
        choices: &[],
    }
}

const fn choice(
    field: &'static str,
    label: &'static str,
    choices: &'static [(&'static str, &'static str)],
) -> Input {
    Input {
        field,
        label,
        hint: "",
        choices,
    }
}

const STRATEGIES: &[(&str, &str)] = &[
    ("smart_bidding", "Smart bidding"),
    ("match_job_budget", "A percentage of the job’s budget"),
    ("match_profile_rate", "A percentage of the profile rate"),
    ("fixed_rate", "A fixed rate"),
];
const SKIP_OR_BID: &[(&str, &str)] = &[("skip", "Skip"), ("bid", "Bid all the same")];
const ON_OFF: &[(&str, &str)] = &[("true", "On"), ("false", "Off")];
const TOO_FEW: &[(&str, &str)] = &[("bid_without_boost", "Bid without boost"), ("skip", "Skip")];

macro_rules! setting {
    ($key:literal, $name:literal, $note:literal, $($input:expr),+) => {
        Setting { key: $key, name: $name, note: $note, inputs: &[$($input),+] }
    };
}

/// In the order of the page.
pub(crate) static SETTINGS: &[Setting] = &[
    setting!(
        "rate",
        "Rate",
        "Of an hourly job; a fixed-price job takes its price, or the percentage of it",
        choice("biddingHourlyRateStrategy", "How the rate is chosen", STRATEGIES),
        number(
            "biddingHourlyRatePercentage",
            "Percentage",
            "0 to 100, for the two that match a rate."
        ),
        number(
            "biddingFixedHourlyRate",
            "Fixed rate, USD per hour",
            "For a fixed rate."
        )
    ),
    setting!(
        "lowest-rate",
        "Lowest rate",
        "Only smart bidding reads it",
        number("biddingMinHourlyRate", "USD per hour", "")
    ),
    setting!(
        "boost",
        "Boost",
        "Bid for one of the four boosted places",
        choice("boostingEnabled", "Boost", ON_OFF)
    ),
    setting!(
        "place",
        "Boost down to place",
        "Takes the best place within the maximum",
        number("boostDownToNthPlace", "Place", "1 to 4.")
    ),
    setting!(
        "above",
        "Above the bid before",
        "Outbids the place’s present holder",
        number("connectsAbovePrevious", "Connects", "")
    ),
    setting!(
        "most",
        "Most connects for a boost",
        "Without a maximum, the lowest place at any price",
        number("maximumBoost", "Connects", "")
    ),
    setting!(
        "least",
        "Least connects for a boost",
        "",
        number("minBoost", "Connects", "")
    ),
    setting!(
        "too-few",
        "Too few connects to boost",
        "",
        choice("insufficientBoostConnectsAction", "What then", TOO_FEW)
    ),
    setting!(
        "warning",
        "The marketplace warns",
        "For example that more than 50 proposals were sent",
        choice("bidWithWarning", "What then", SKIP_OR_BID)
    ),
    setting!(
        "hired",
        "Client already hired",
        "",
        choice("alreadyHiredAction", "What then", SKIP_OR_BID)
    ),
];

impl Setting {
    /// The value in force in words.
    pub(crate) fn worded(&self, values: &Value) -> String {
        let input = &self.inputs[0];
        let value = &values[input.field];
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
            ("lowest-rate", _) => format!("{}/h", amount(input.field)),
            ("above" | "most" | "least", value) => {
                words::counted(value.as_u64().unwrap_or_default(), "connect", "connects")
            }
            (_, value) => {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let known = input.choices.iter().find(|(choice, _)| *choice == text);
                known.map_or(text.clone(), |(_, words)| (*words).to_owned())
            }
        }
    }
}
