//! The form of a saved filter: reads its fields, and shows a filter in them.
//!
//! `filter_conditions` says only how a condition is typed. What it means, and what is wrong with a value, the domain says: a
//! value that cannot be read is passed on as it was typed, and its fault comes back with its path.

use serde_json::{Map, Value};

use super::filter_conditions::{Condition, GROUPS, Input};
use crate::form::{self, Fields};

/// What a job does not say.
const WHEN_UNKNOWN: &str = "whenUnknown";

/// The conditions that a form has.
pub(crate) fn read(fields: &Fields) -> Map<String, Value> {
    let mut filter = Map::new();
    for condition in GROUPS.iter().flat_map(|(_, conditions)| *conditions) {
        if let Some(value) = typed(fields, condition) {
            put(&mut filter, condition.path, value);
        }
    }
    if fields.text(WHEN_UNKNOWN) == "match" {
        put(&mut filter, WHEN_UNKNOWN, "match".into());
    }
    filter
}

fn typed(fields: &Fields, condition: &Condition) -> Option<Value> {
    let path = condition.path;
    let list = |name: &str| {
        let values: Vec<Value> = fields
            .all(name)
            .flat_map(str::lines)
            .map(str::trim)
            .filter(|value| !value.is_empty())
            .map(Value::from)
            .collect();
        (!values.is_empty()).then_some(Value::Array(values))
    };
    let number = |name: &str| fields.filled(name).map(form::number);
    match condition.input {
        Input::Expression => fields.filled(path).map(Value::from),
        Input::Choices(_) | Input::Lines(_) => list(path),
        Input::Number(_) => number(path),
        Input::Flag => match fields.text(path) {
            "true" => Some(true.into()),
            "false" => Some(false.into()),
            _ => None,
        },
        Input::Range(_) => object([
            ("min", number(&format!("{path}.min"))),
            ("max", number(&format!("{path}.max"))),
        ]),
        Input::AtLeast => object([
            ("count", number(&format!("{path}.count"))),
            ("of", list(&format!("{path}.of"))),
        ]),
    }
}

fn object<const N: usize>(members: [(&str, Option<Value>); N]) -> Option<Value> {
    let members: Map<String, Value> = members
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
    (!members.is_empty()).then_some(Value::Object(members))
}

fn put(filter: &mut Map<String, Value>, path: &str, value: Value) {
    match path.split_once('.') {
        None => drop(filter.insert(path.to_owned(), value)),
        Some((section, rest)) => {
            let section = filter.entry(section).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(section) = section {
                put(section, rest, value);
            }
        }
    }
}

/// The value at a path of a filter.
fn at<'a>(filter: &'a Value, path: &str) -> Option<&'a Value> {
    let found = path.split('.').try_fold(filter, |value, name| value.get(name))?;
    (!found.is_null()).then_some(found)
}

/// A condition as its field shows it.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) condition: Condition,
    /// The text of a field; the first of two.
    pub(crate) text: String,
    /// The text of the second field: the upper bound, or the list.
    pub(crate) second: String,
    /// The choices, with those that are made; a value that is no choice is one of its own.
    pub(crate) choices: Vec<(String, String, bool)>,
    pub(crate) fault: Option<String>,
}

impl Shown {
    /// The field of a condition of the filter. `fault` finds what is wrong at a path.
    pub(crate) fn of(condition: Condition, filter: &Value, fault: impl Fn(&str) -> Option<String>) -> Self {
        let value = at(filter, condition.path);
        let within = |name: &str| {
            value
                .and_then(|value| value.get(name))
                .map(text)
                .unwrap_or_default()
        };
        let whole = || value.map(text).unwrap_or_default();
        let (text, second, choices) = match condition.input {
            Input::Range(_) => (within("min"), within("max"), Vec::new()),
            Input::AtLeast => (within("count"), within("of"), Vec::new()),
            Input::Choices(known) => (String::new(), String::new(), choices(known, value)),
            Input::Flag => {
                let made = whole();
                let options = [("", "Either"), ("true", "Yes"), ("false", "No")];
                let options = options.map(|(word, label)| (word.to_owned(), label.to_owned(), word == made));
                (String::new(), String::new(), options.into())
            }
            Input::Expression | Input::Lines(_) | Input::Number(_) => (whole(), String::new(), Vec::new()),
        };
        Self {
            fault: fault(condition.path),
            condition,
            text,
            second,
            choices,
        }
    }

    /// The unit before or after the field.
    pub(crate) const fn unit(&self) -> &'static str {
        match self.condition.input {
            Input::Range(unit) | Input::Number(unit) => unit,
            _ => "",
        }
    }

    pub(crate) const fn hint(&self) -> &'static str {
        match self.condition.input {
            Input::Lines(hint) => hint,
            _ => "",
        }
    }

    /// The word that the template chooses the markup by.
    pub(crate) const fn kind(&self) -> &'static str {
        match self.condition.input {
            Input::Expression => "expression",
            Input::Choices(_) => "choices",
            Input::Lines(_) => "lines",
            Input::Range(_) => "range",
            Input::Number(_) => "number",
            Input::Flag => "flag",
            Input::AtLeast => "at_least",
        }
    }

    /// Whether the filter has the condition.
    pub(crate) fn is_used(&self) -> bool {
        !self.text.is_empty()
            || !self.second.is_empty()
            || self
                .choices
                .iter()
                .any(|(value, _, is_made)| *is_made && !value.is_empty())
    }

    pub(crate) fn path(&self) -> &'static str {
        self.condition.path
    }
}

/// Whether what a job does not say counts as held.
pub(crate) fn unknown_holds(filter: &Value) -> bool {
    at(filter, WHEN_UNKNOWN).is_some_and(|word| word == "match")
}

fn choices(known: &[(&str, &str)], value: Option<&Value>) -> Vec<(String, String, bool)> {
    let mut made: Vec<&str> = value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let mut choices: Vec<(String, String, bool)> = known
        .iter()
        .map(|(word, label)| {
            let before = made.len();
            made.retain(|made| !made.trim().eq_ignore_ascii_case(word));
            ((*word).to_owned(), (*label).to_owned(), made.len() < before)
        })
        .collect();
    choices.extend(
        made.into_iter()
            .map(|other| (other.to_owned(), other.to_owned(), true)),
    );
    choices
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use bidloop_domain::matching::{SavedFilter, filter_schema};
    use serde_json::json;

    use super::*;

    fn paths(schema: &Value, prefix: &str, found: &mut Vec<String>) {
        for (name, property) in schema["properties"].as_object().unwrap() {
            let path = format!("{prefix}{name}");
            let inner = property["properties"].as_object();
            let is_section =
                inner.is_some_and(|inner| !inner.contains_key("min") && !inner.contains_key("of"));
            if is_section {
                paths(property, &format!("{path}."), found);
            } else {
                found.push(path);
            }
        }
    }

    #[test]
    fn every_condition_of_a_filter_has_a_field() {
        let mut expected = Vec::new();
        paths(&filter_schema(), "", &mut expected);
        expected.retain(|path| path != WHEN_UNKNOWN);
        expected.sort();
        let conditions = GROUPS.iter().flat_map(|(_, conditions)| *conditions);
        let mut known: Vec<&str> = conditions.map(|condition| condition.path).collect();
        known.sort_unstable();
        assert_eq!(known, expected);
    }

    /// The pairs that the form sends for a filter.
    fn sent(filter: &Value) -> Fields {
        let mut pairs = Vec::new();
        for condition in GROUPS.iter().flat_map(|(_, conditions)| *conditions) {
            let shown = Shown::of(*condition, filter, |_| None);
            let path = shown.path().to_owned();
            match condition.input {
                Input::Range(_) => {
                    pairs.push((format!("{path}.min"), shown.text));
                    pairs.push((format!("{path}.max"), shown.second));
                }
                Input::AtLeast => {
                    pairs.push((format!("{path}.count"), shown.text));
                    pairs.push((format!("{path}.of"), shown.second));
                }
                Input::Choices(_) | Input::Flag => {
                    let made = shown.choices.into_iter().filter(|(_, _, is_made)| *is_made);
                    pairs.extend(made.map(|(value, _, _)| (path.clone(), value)));
                }
                _ => pairs.push((path, shown.text)),
            }
        }
        let unknown = if unknown_holds(filter) { "match" } else { "reject" };
        pairs.push((WHEN_UNKNOWN.to_owned(), unknown.to_owned()));
        Fields::of(pairs)
    }

    #[test]
    fn a_filter_stays_the_same_through_the_form() {
        let filter = json!({
            "keywords": "rust OR \"actix web\"",
            "skills": {"any": ["rust", "c++"], "atLeast": {"count": 2, "of": ["a", "b, c"]}},
            "categories": ["Web, Mobile & Software Dev"],
            "experienceLevels": ["Expert", "Wizard"],
            "paymentTypes": ["hourly"],
            "hourlyRate": {"min": 40.5},
            "fixedPrice": {"max": 9000},
            "client": {"minRating": 4.5, "paymentVerified": false, "countries": {"exclude": ["Atlantis"]}},
            "maxQuestions": 5,
            "featured": true,
            "whenUnknown": "match",
        });
        assert!(SavedFilter::from_value(&filter).is_ok());
        assert_eq!(Value::Object(read(&sent(&filter))), filter);
        assert_eq!(Value::Object(read(&sent(&json!({})))), json!({}));
    }

    #[test]
    fn what_is_no_number_is_passed_on_for_its_fault() {
        let fields = Fields::of(vec![("client.minRating".to_owned(), "four".to_owned())]);
        let filter = Value::Object(read(&fields));
        let faults = SavedFilter::from_value(&filter).unwrap_err();
        assert_eq!(
            faults[0].to_string(),
            "client.minRating: must be a number, not a string"
        );
    }
}
