//! The fields of a bidding configuration as forms show them. What a value means, and what is wrong with one, the domain
//! says.

use bidloop_domain::model::{
    BIDDING_CONFIG_FIELDS, BiddingConfig, ConfigSource, EffectiveConfig, FieldError,
};
use serde_json::{Map, Value};

use crate::form::Fields;
use crate::pages::campaign::filter_form::number;

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

const fn field(name: &'static str, label: &'static str, input: Input, hint: &'static str) -> BiddingField {
    BiddingField {
        name,
        label,
        input,
        hint,
    }
}

const BID_OR_SKIP: Input = Input::Word(&[("skip", "Do not bid"), ("bid", "Bid all the same")]);

/// The fields, those that a bid most often changes first.
pub(crate) const FIELDS: [BiddingField; 12] = [
    field(
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
    field(
        "biddingHourlyRatePercentage",
        "Percentage",
        Input::Number("%"),
        "for the two strategies that match",
    ),
    field(
        "biddingFixedHourlyRate",
        "Fixed rate",
        Input::Number("$/h"),
        "for the fixed rate",
    ),
    field(
        "biddingMinHourlyRate",
        "Lowest rate",
        Input::Number("$/h"),
        "for smart bidding",
    ),
    field("boostingEnabled", "Boost", Input::Flag, ""),
    field(
        "boostDownToNthPlace",
        "Boost down to place",
        Input::Number("1 to 4"),
        "the lowest place worth boosting for",
    ),
    field(
        "maximumBoost",
        "Most connects of a boost",
        Input::Number("connects"),
        "",
    ),
    field(
        "minBoost",
        "Least connects of a boost",
        Input::Number("connects"),
        "",
    ),
    field(
        "connectsAbovePrevious",
        "Outbid a place by",
        Input::Number("connects"),
        "",
    ),
    field(
        "insufficientBoostConnectsAction",
        "If connects do not suffice for the boost",
        Input::Word(&[
            ("bid_without_boost", "Bid without a boost"),
            ("skip", "Do not bid"),
        ]),
        "",
    ),
    field("bidWithWarning", "If the marketplace warns", BID_OR_SKIP, ""),
    field(
        "alreadyHiredAction",
        "If the client already hired",
        BID_OR_SKIP,
        "",
    ),
];

impl BiddingField {
    /// A value in words.
    pub(crate) fn worded(&self, value: &Value) -> String {
        let text = match value {
            Value::Null => return "not set".to_owned(),
            Value::Bool(true) => return "Yes".to_owned(),
            Value::Bool(false) => return "No".to_owned(),
            Value::String(word) => word.clone(),
            other => other.to_string(),
        };
        match self.input {
            Input::Word(words) => words
                .iter()
                .find(|(word, _)| *word == text)
                .map_or(text, |(_, label)| (*label).to_owned()),
            Input::Flag => text,
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
pub(crate) fn read(fields: &Fields) -> Map<String, Value> {
    let typed = FIELDS.iter().filter_map(|field| {
        let text = fields.filled(field.name)?;
        let value = match (field.input, text) {
            (Input::Number(_), text) => number(text),
            (Input::Flag, "true") => Value::Bool(true),
            (Input::Flag, "false") => Value::Bool(false),
            (Input::Flag | Input::Word(_), text) => text.into(),
        };
        Some((field.name.to_owned(), value))
    });
    typed.collect()
}

/// The overrides of a form.
///
/// # Errors
/// Every faulty field.
pub(crate) fn overrides(fields: &Fields) -> Result<BiddingConfig, Vec<FieldError>> {
    BiddingConfig::from_value(&Value::Object(read(fields)), &["biddingConfig"])
}

/// A field of a form that overrides.
#[derive(Debug)]
pub(crate) struct Override {
    pub(crate) field: BiddingField,
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
                field: *field,
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

    /// The words to choose from, with their labels, and whether each is chosen.
    pub(crate) fn words(&self) -> Vec<(&'static str, &'static str, bool)> {
        let words: &[(&'static str, &'static str)] = match self.field.input {
            Input::Word(words) => words,
            Input::Flag => &[("true", "Yes"), ("false", "No")],
            Input::Number(_) => &[],
        };
        let words = words.iter();
        words
            .map(|(word, label)| (*word, *label, *word == self.typed))
            .collect()
    }

    pub(crate) const fn unit(&self) -> &'static str {
        match self.field.input {
            Input::Number(unit) => unit,
            _ => "",
        }
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
        for field in FIELDS {
            let values: Vec<&str> = match field.input {
                Input::Word(words) => words.iter().map(|(word, _)| *word).collect(),
                Input::Flag => vec!["true", "false"],
                Input::Number(_) => vec!["2"],
            };
            for value in values {
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
