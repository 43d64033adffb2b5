//! The fields of a bidding configuration as forms show them. What a value means, and what is wrong with one, the domain
//! says.

use bidloop_domain::model::{
    BIDDING_CONFIG_FIELDS, BiddingConfig, ConfigSource, EffectiveConfig, FieldError,
};
use serde_json::{Map, Value};

use crate::form::{Fields, number};

/// How a field is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// One of these words, each with its label.
    Word(&'static [(&'static str, &'static str)]),
    /// Yes or no.
    Flag,
    /// A number, with its unit.
    Number(&'static str),
}

/// A field.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BiddingField {
    /// Its name in the configuration.
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) input: Input,
    /// What it needs to be known for.
    pub(crate) hint: &'static str,
}

const fn new(name: &'static str, label: &'static str, input: Input, hint: &'static str) -> BiddingField {
    BiddingField {
        name,
        label,
        input,
        hint,
    }
}

const BID_OR_SKIP: Input = Input::Word(&[("skip", "Do not bid"), ("bid", "Bid all the same")]);

/// The fields, those that a bid most often changes first.
pub(crate) static FIELDS: [BiddingField; 12] = [
    new(
        "biddingHourlyRateStrategy",
        "Rate",
        Input::Word(&[
            ("match_job_budget", "Percentage of the budget"),
            ("match_profile_rate", "Percentage of the profile rate"),
            ("fixed_rate", "Fixed rate"),
            ("smart_bidding", "Smart bidding"),
        ]),
        "of hourly jobs",
    ),
    new(
        "biddingHourlyRatePercentage",
        "Percentage",
        Input::Number("%"),
        "for the two strategies that match",
    ),
    new(
        "biddingFixedHourlyRate",
        "Fixed rate",
        Input::Number("$/h"),
        "for the fixed rate",
    ),
    new(
        "biddingMinHourlyRate",
        "Lowest rate",
        Input::Number("$/h"),
        "for smart bidding",
    ),
    new("boostingEnabled", "Boost", Input::Flag, ""),
    new(
        "boostDownToNthPlace",
        "Boost down to place",
        Input::Number(""),
        "1 to 4: the lowest place worth boosting for",
    ),
    new(
        "maximumBoost",
        "Most connects",
        Input::Number("connects"),
        "of a boost",
    ),
    new(
        "minBoost",
        "Least connects",
        Input::Number("connects"),
        "of a boost",
    ),
    new(
        "connectsAbovePrevious",
        "Outbid a place by",
        Input::Number("connects"),
        "",
    ),
    new(
        "insufficientBoostConnectsAction",
        "If connects do not suffice for the boost",
        Input::Word(&[
            ("bid_without_boost", "Bid without a boost"),
            ("skip", "Do not bid"),
        ]),
        "",
    ),
    new("bidWithWarning", "If the marketplace warns", BID_OR_SKIP, ""),
    new(
        "alreadyHiredAction",
        "If the client already hired",
        BID_OR_SKIP,
        "",
    ),
];

/// The field with this name.
pub(crate) fn field(name: &str) -> Option<&'static BiddingField> {
    FIELDS.iter().find(|field| field.name == name)
}

impl BiddingField {
    /// The words to choose from, with their labels; none for a number.
    pub(crate) const fn words(&self) -> &'static [(&'static str, &'static str)] {
        match self.input {
            Input::Word(words) => words,
            Input::Flag => &[("true", "Yes"), ("false", "No")],
            Input::Number(_) => &[],
        }
    }

    /// A number's unit; empty for others and where the label says it.
    pub(crate) fn unit(&self) -> &'static str {
        match self.input {
            Input::Number(unit) if !self.label.contains(unit) => unit,
            Input::Number(_) | Input::Word(_) | Input::Flag => "",
        }
    }

    /// What was typed, for the domain to judge; null if nothing was.
    pub(crate) fn typed(&self, text: &str) -> Value {
        match (self.input, text.trim()) {
            (_, "") => Value::Null,
            (Input::Number(_), text) => number(text),
            (Input::Flag, "true") => Value::Bool(true),
            (Input::Flag, "false") => Value::Bool(false),
            (Input::Flag | Input::Word(_), text) => text.into(),
        }
    }

    /// A value in words.
    pub(crate) fn worded(&self, value: &Value) -> String {
        let text = match value {
            Value::Null => return "not set".to_owned(),
            Value::String(word) => word.clone(),
            other => other.to_string(),
        };
        match self.input {
            Input::Word(_) | Input::Flag => {
                let known = self.words().iter().find(|(word, _)| *word == text);
                known.map_or(text, |(_, label)| (*label).to_owned())
            }
            Input::Number(unit) => match unit {
                "%" => format!("{text} %"),
                "$/h" => format!("${text}/h"),
                "connects" => format!("{text} connects"),
                _ => text,
            },
        }
    }
}

/// The fields that a form sets: an empty one is left as it is. Names in the form are those of the configuration.
fn read(fields: &Fields) -> Map<String, Value> {
    let typed = FIELDS
        .iter()
        .map(|field| (field.name.to_owned(), field.typed(fields.text(field.name))));
    typed.filter(|(_, value)| !value.is_null()).collect()
}

/// The overrides of a form.
///
/// # Errors
/// Every faulty field.
pub(crate) fn overrides(fields: &Fields) -> Result<BiddingConfig, Vec<FieldError>> {
    BiddingConfig::from_value(&Value::Object(read(fields)), &["biddingConfig"])
}

/// The fields that a configuration sets, with their values in words.
pub(crate) fn set_in(config: &BiddingConfig) -> Vec<(&'static str, String)> {
    let values = serde_json::to_value(config).unwrap_or_default();
    let set = FIELDS.iter().filter(|field| !values[field.name].is_null());
    set.map(|field| (field.label, field.worded(&values[field.name])))
        .collect()
}

/// A field of a form that overrides.
#[derive(Debug)]
pub(crate) struct Override {
    pub(crate) field: &'static BiddingField,
    /// What was typed.
    pub(crate) typed: String,
    /// What holds without an override, and where it comes from.
    pub(crate) otherwise: String,
}

impl Override {
    /// All fields, for a bid with this configuration.
    pub(crate) fn all(fields: &Fields, config: &EffectiveConfig) -> Vec<Self> {
        let values = serde_json::to_value(config).unwrap_or_default();
        let all = FIELDS.iter().map(|field| {
            let value = field.worded(&values[field.name]);
            Self {
                field,
                typed: fields.text(field.name).trim().to_owned(),
                otherwise: match config.source_of(field.name) {
                    ConfigSource::Request => "Not for this bid only".to_owned(),
                    ConfigSource::Lead => format!("{value} (lead)"),
                    ConfigSource::Campaign => format!("{value} (campaign)"),
                    ConfigSource::Default => format!("{value} (default)"),
                },
            }
        });
        all.collect()
    }

    pub(crate) fn is_chosen(&self, word: &str) -> bool {
        self.typed == word
    }
}

/// Every field of the configuration is in the form.
const _: () = assert!(FIELDS.len() == BIDDING_CONFIG_FIELDS.len());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_configuration_can_be_typed() {
        let mut known: Vec<&str> = FIELDS.iter().map(|field| field.name).collect();
        let mut expected = BIDDING_CONFIG_FIELDS.to_vec();
        known.sort_unstable();
        expected.sort_unstable();
        assert_eq!(known, expected);
    }

    #[test]
    fn every_word_and_number_of_the_form_is_read() {
        for field in &FIELDS {
            let words = field.words().iter().map(|(word, _)| *word);
            for value in words.chain((field.words().is_empty()).then_some("2")) {
                let fields = Fields::of(vec![(field.name.to_owned(), value.to_owned())]);
                assert!(overrides(&fields).is_ok(), "{} = {value}", field.name);
            }
        }
        let odd = Fields::of(vec![("minBoost".to_owned(), "many".to_owned())]);
        assert_eq!(
            overrides(&odd).unwrap_err()[0].path,
            ["biddingConfig", "minBoost"]
        );
    }
}
