//! Reads and checks the JSON of a saved filter along the [table of conditions](crate::conditions).
//!
//! [`evaluate`](crate::evaluate) decides what a filter matches.

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::PaymentKind;
use crate::condition::{Bound, Condition};
use crate::conditions::{AMOUNT, COUNT, FILTER_FIELDS, FieldKind, FilterField, Limits};
use crate::json::{self, Faults, Field, FieldError, Fields, Null, Path, flag, read_json, whole_value};
use crate::keywords::Expression;
use crate::text::list_key;

/// The maximum number of values in a list of a filter.
pub const MAX_LIST_VALUES: usize = 1_000;
/// The maximum number of characters of a value in a list.
pub const MAX_VALUE_CHARS: usize = 1_000;

/// A checked saved filter: conditions that must all hold. A filter without conditions matches every job.
///
/// It is read from JSON. `docs/saved-filters.md` documents the fields. Money is in USD, bounds are inclusive, texts are
/// compared without case, and `null` means the same as a missing field.
///
/// ```
/// use bidloop_matching::{JobFacts, PreparedJob, SavedFilter};
/// use serde_json::json;
///
/// let filter = SavedFilter::from_value(&json!({
///     "keywords": "rust OR \"actix web\"",
///     "client": {"countries": {"exclude": ["Atlantis"]}},
///     "whenUnknown": "match",
/// }))
/// .expect("no fault");
/// let job = JobFacts { title: "Actix-Web service", ..JobFacts::default() };
/// assert!(filter.matches(&PreparedJob::new(&job)));
///
/// let faults = SavedFilter::from_value(&json!({"client": {"minRating": "4"}, "keyword": "x"})).unwrap_err();
/// assert_eq!(faults[0].to_string(), "client.minRating: must be a number, not a string");
/// assert_eq!(faults[1].to_string(), "keyword: unknown field; did you mean `keywords`?");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SavedFilter {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) unknown_holds: bool,
}

impl SavedFilter {
    /// Reads and checks a filter.
    ///
    /// # Errors
    /// Every fault, with its path.
    pub fn from_value(value: &Value) -> Result<Self, Vec<FieldError>> {
        let mut faults = Faults::new();
        let filter = Fields::read(value, Path::Document, &mut faults, Self::read);
        faults.into_result(()).map(|()| filter.unwrap_or(Self::EMPTY))
    }

    /// Reads and checks a filter from JSON text. Of a field that occurs twice the last value counts.
    ///
    /// ```
    /// use bidloop_matching::SavedFilter;
    ///
    /// let filter = SavedFilter::parse(r#"{"keywords": "rust OR go", "hourlyRate": {"min": 50}}"#);
    /// assert_eq!(filter.expect("no fault").conditions().len(), 2);
    ///
    /// let faults = SavedFilter::parse(r#"{"keywords": 5}"#).unwrap_err();
    /// assert_eq!(faults[0].to_string(), "keywords: must be a string, not a number");
    /// ```
    ///
    /// # Errors
    /// Every fault, with its path. Malformed JSON is one fault with an empty path.
    pub fn parse(json: &str) -> Result<Self, Vec<FieldError>> {
        let value: Value = serde_json::from_str(json)
            .map_err(|error| vec![FieldError::new::<&str>(&[], error.to_string())])?;
        Self::from_value(&value)
    }

    /// The conditions, in the order in which the fields are documented.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// Whether an unknown condition counts as held.
    pub const fn unknown_holds(&self) -> bool {
        self.unknown_holds
    }

    const EMPTY: Self = Self {
        conditions: Vec::new(),
        unknown_holds: false,
    };

    /// Reads the filter's fields among those of an object, and adds faults to those of the object.
    pub fn read(fields: &mut Fields<'_, '_>) -> Self {
        let mut conditions = Vec::new();
        read_fields(FILTER_FIELDS, fields, &mut conditions);
        Self {
            conditions,
            unknown_holds: fields.optional("whenUnknown", when_unknown).unwrap_or(false),
        }
    }
}

/// A saved filter in a file, with an optional id and name.
#[derive(Debug, Clone, PartialEq)]
pub struct FilterFile {
    /// The filter's id.
    pub id: Option<String>,
    /// The filter's name.
    pub name: Option<String>,
    /// The filter.
    pub filter: SavedFilter,
}

impl FilterFile {
    /// Reads and checks the text of a file.
    ///
    /// # Errors
    /// Every fault, with its path. A field that occurs twice is a fault. Malformed JSON is one fault with an empty path.
    pub fn parse(json: &str) -> Result<Self, Vec<FieldError>> {
        let value = read_json(json.as_bytes())?;
        let mut faults = Faults::new();
        let file = Fields::read(&value, Path::Document, &mut faults, |fields| Self {
            id: fields.optional("id", json::text),
            name: fields.optional("name", json::text),
            filter: SavedFilter::read(fields),
        });
        match file {
            Some(file) => faults.into_result(file),
            None => Err(faults.into_errors()),
        }
    }
}

/// Reads the fields of one object along the table, and checks that no minimum is above its maximum.
fn read_fields(table: &'static [FilterField], fields: &mut Fields<'_, '_>, conditions: &mut Vec<Condition>) {
    for field in table {
        if fields.are_all_read() {
            break;
        }
        read_field(field, fields, conditions);
    }
    for (minimum, maximum, low, high) in crossed_bounds(conditions) {
        // An inner object has reported its own.
        if let Some(field) = table.iter().find(|field| field.path == minimum) {
            let maximum = maximum.rsplit('.').next().unwrap_or(maximum);
            fields.fault(
                field.name,
                format!("must not be above `{maximum}`: {low} > {high}"),
            );
        }
    }
}

fn read_field(field: &FilterField, fields: &mut Fields<'_, '_>, conditions: &mut Vec<Condition>) {
    let (name, path) = (field.name, field.path);
    let skills = |count, names| Condition::SkillsAtLeast { path, count, names };
    let within = |field, bound| Condition::Within { path, field, bound };
    let condition = match field.kind {
        FieldKind::Section(table) => {
            fields.object(name, Null::Allowed, |inner| read_fields(table, inner, conditions));
            None
        }
        FieldKind::Keywords => {
            let expression = |value| Expression::parse(json::str(value)?).map_err(|fault| fault.to_string());
            fields.optional(name, expression).map(Condition::Keywords)
        }
        FieldKind::AnySkill => keys(fields, name, Empty::MatchesNothing).map(|names| skills(1, names)),
        FieldKind::AllSkills => {
            keys(fields, name, Empty::AsksNothing).map(|names| skills(names.len(), names))
        }
        FieldKind::SkillsAtLeast => fields
            .object(name, Null::Allowed, skills_at_least)
            .given()
            .flatten()
            .map(|(count, names)| skills(count, names)),
        FieldKind::NoSkill => keys(fields, name, Empty::AsksNothing).map(Condition::NoSkill),
        FieldKind::OneOf(field) => {
            keys(fields, name, Empty::MatchesNothing).map(|values| Condition::OneOf { path, field, values })
        }
        FieldKind::NoneOf(field) => {
            keys(fields, name, Empty::AsksNothing).map(|values| Condition::NoneOf { path, field, values })
        }
        FieldKind::PaymentTypes => {
            values(fields, name, Empty::MatchesNothing, payment_kind).map(Condition::PaymentTypes)
        }
        FieldKind::Pay(kind) => interval(fields, name).map(|(min, max)| match kind {
            PaymentKind::Hourly => Condition::HourlyRate { min, max },
            PaymentKind::Fixed => Condition::FixedPrice { min, max },
        }),
        FieldKind::AtLeast(field, limits) => {
            let least = fields.optional(name, |value| number(value, limits));
            least.map(|least| within(field, Bound::AtLeast(least)))
        }
        FieldKind::AtMost(field, limits) => {
            let most = fields.optional(name, |value| number(value, limits));
            most.map(|most| within(field, Bound::AtMost(most)))
        }
        FieldKind::Is(field) => fields.optional(name, flag).map(|wanted| Condition::Is {
            path,
            flag: field,
            wanted,
        }),
    };
    conditions.extend(condition);
}

/// Reads `{count, of}`. The count is from 1 to the number of different skills.
fn skills_at_least(fields: &mut Fields<'_, '_>) -> Option<(usize, Vec<String>)> {
    let count = fields.required("count", |value| number(value, COUNT));
    if fields.raw("of").is_none_or(Value::is_null) {
        fields.fault("of", "is required");
        return None;
    }
    let names = keys(fields, "of", Empty::MatchesNothing)?;
    let count = whole_value(count?).and_then(|count| usize::try_from(count).ok())?;
    if !(1..=names.len()).contains(&count) {
        let skills = names.len();
        fields.fault(
            "count",
            format!("must be from 1 to {skills}, the number of different skills in `of`"),
        );
        return None;
    }
    Some((count, names))
}

/// Returns the minimums that are above the maximum of the same number: the paths of both, and both values.
fn crossed_bounds(conditions: &[Condition]) -> Vec<(&'static str, &'static str, f64, f64)> {
    let bounds = conditions.iter().filter_map(|condition| match condition {
        Condition::Within { path, field, bound } => Some((*path, *field, *bound)),
        _ => None,
    });
    let mut crossed = Vec::new();
    for (minimum, field, least) in bounds.clone() {
        for (maximum, other, most) in bounds.clone() {
            if let (Bound::AtLeast(low), Bound::AtMost(high)) = (least, most)
                && field == other
                && low > high
            {
                crossed.push((minimum, maximum, low, high));
            }
        }
    }
    crossed
}

/// The meaning of an empty list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Empty {
    /// No job would match, which is a fault.
    MatchesNothing,
    /// There is no condition.
    AsksNothing,
}

/// Reads a list of texts. They are folded, sorted and without duplicates.
fn keys(fields: &mut Fields<'_, '_>, name: &'static str, empty: Empty) -> Option<Vec<String>> {
    let mut keys = values(fields, name, empty, |value| {
        listed_text(value).map(|text| list_key(text).into_owned())
    })?;
    keys.sort_unstable();
    keys.dedup();
    Some(keys)
}

fn values<T>(
    fields: &mut Fields<'_, '_>,
    name: &'static str,
    empty: Empty,
    parse: impl FnMut(&Value) -> Result<T, String>,
) -> Option<Vec<T>> {
    let length = fields.raw(name).and_then(Value::as_array).map(Vec::len);
    if let Some(length) = length.filter(|length| *length > MAX_LIST_VALUES) {
        fields.fault(name, format!("has {length} values, more than {MAX_LIST_VALUES}"));
        return None;
    }
    let Field::Given(values) = fields.list(name, Null::Allowed, parse) else {
        return None;
    };
    if values.is_empty() {
        if empty == Empty::MatchesNothing {
            fields.fault(
                name,
                "an empty list would match no job; leave the field out, or set it to null",
            );
        }
        return None;
    }
    Some(values)
}

fn listed_text(value: &Value) -> Result<&str, String> {
    let text = json::str(value)?;
    if text.trim().is_empty() {
        return Err("must not be blank".to_owned());
    }
    if text.len() > MAX_VALUE_CHARS && text.chars().nth(MAX_VALUE_CHARS).is_some() {
        return Err(format!("has more than {MAX_VALUE_CHARS} characters"));
    }
    Ok(text)
}

fn payment_kind(value: &Value) -> Result<PaymentKind, String> {
    PaymentKind::from_text(json::str(value)?).ok_or_else(|| "must be `hourly` or `fixed`".to_owned())
}

/// Reads whether unknown conditions count as held.
fn when_unknown(value: &Value) -> Result<bool, String> {
    match json::str(value)? {
        "match" => Ok(true),
        "reject" => Ok(false),
        _ => Err("must be `match` or `reject`".to_owned()),
    }
}

fn number(value: &Value, limits: Limits) -> Result<f64, String> {
    let number = json::number(value)?;
    if number < 0.0 {
        return Err("must not be negative".to_owned());
    }
    if limits.is_whole && whole_value(number).is_none() {
        return Err("must be a whole number".to_owned());
    }
    match limits.max {
        Some(max) if number > max => Err(format!("must be at most {max}")),
        _ => Ok(number),
    }
}

/// Reads `{min, max}`. A missing end is infinite. Returns `None` if both ends are missing: there is no condition.
fn interval(fields: &mut Fields<'_, '_>, name: &'static str) -> Option<(f64, f64)> {
    let ends = fields.object(name, Null::Allowed, |fields| {
        let [min, max] = ["min", "max"].map(|end| fields.optional(end, |value| number(value, AMOUNT)));
        if let (Some(low), Some(high)) = (min, max)
            && low > high
        {
            fields.fault("min", format!("must not be above `max`: {low} > {high}"));
        }
        (min, max)
    });
    match ends.given()? {
        (None, None) => None,
        (min, max) => Some((min.unwrap_or(f64::NEG_INFINITY), max.unwrap_or(f64::INFINITY))),
    }
}
