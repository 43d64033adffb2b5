//! A campaign's saved filter: which jobs it is meant to match.
//!
//! Owns the fields (`docs/saved-filters.md`), reading them from JSON with every fault found at once, and the
//! rules that a filter must meet. What a filter matches is [`matching`](crate)'s.

mod check;
mod reading;
mod stored;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::CompiledFilter;
use crate::PaymentKind;
use crate::json::{FieldError, read_json};

/// The most values a list of a filter may have.
pub const MAX_LIST_VALUES: usize = 1_000;
/// The most characters one value of a list may have.
pub const MAX_VALUE_CHARS: usize = 1_000;

/// A saved filter: conditions that must all hold. One without any matches every job.
///
/// Money is USD, bounds are inclusive, texts are compared without regard to case. `null` in JSON means the same as a
/// field left out. The fields are documented in `docs/saved-filters.md`.
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
/// let compiled = filter.check().expect("no fault");
///
/// let job = JobFacts { title: "Actix-Web service", ..JobFacts::default() };
/// assert!(compiled.matches(&PreparedJob::new(&job)));
///
/// let faults = SavedFilter::from_value(&json!({"client": {"minRating": "4"}, "keyword": "x"})).unwrap_err();
/// assert_eq!(faults[0].to_string(), "client.minRating: must be a number, not a string");
/// assert_eq!(faults[1].to_string(), "keyword: unknown field; did you mean `keywords`?");
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedFilter {
    /// An expression of the keyword language ([`Expression`](crate::Expression)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keywords: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<SkillLists>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub categories: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub occupations: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_types: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_durations: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experience_levels: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regions: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weekly_hours: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_types: Option<Vec<PaymentKind>>,
    /// USD per hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hourly_rate: Option<Bounds>,
    /// USD.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fixed_price: Option<Bounds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientConditions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor: Option<VendorConditions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_questions: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub featured: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_open_jobs: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_unknown: Option<WhenUnknown>,
}

/// Which skills a job must and must not name.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct SkillLists {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub any: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub none: Option<Vec<String>>,
}

/// An interval, inclusive at both ends and open where an end is left out.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Bounds {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

/// Values that are wanted and values that are not.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct IncludeExclude {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Vec<String>>,
}

/// Conditions on the job's client.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClientConditions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payment_verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone_verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enterprise: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub countries: Option<IncludeExclude>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub industries: Option<IncludeExclude>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub company_sizes: Option<Vec<String>>,
    /// 0 to 5.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rating: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_reviews: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_total_spent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_total_spent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_hires: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_hires: Option<f64>,
    /// Percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_hire_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_jobs_posted: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_avg_hourly_rate_paid: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_avg_hourly_rate_paid: Option<f64>,
}

/// Conditions on what the job demands of the bidder.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VendorConditions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub talent_types: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub english_levels: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_job_success_score: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_minimum_earnings: Option<f64>,
}

/// What a condition on a value that the job does not carry amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WhenUnknown {
    /// It holds.
    Match,
    /// It does not hold.
    #[default]
    Reject,
}

impl SavedFilter {
    /// Reads a filter's body and reports every fault at once, each with its path.
    pub fn from_value(value: &Value) -> Result<Self, Vec<FieldError>> {
        reading::read_body(value)
    }

    /// Checks the filter and makes it ready for matching; reports every fault at once.
    pub fn check(&self) -> Result<CompiledFilter, Vec<FieldError>> {
        let mut faults = check::list_and_bound_faults(self);
        match CompiledFilter::compile(self) {
            Ok(compiled) if faults.is_empty() => Ok(compiled),
            Ok(_) => Err(faults),
            Err(fault) => {
                faults.insert(0, FieldError::new(&["keywords"], fault.to_string()));
                Err(faults)
            }
        }
    }
}

impl<'de> Deserialize<'de> for SavedFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::from_value(&value).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(FieldError::to_string).collect();
            serde::de::Error::custom(faults.join("; "))
        })
    }
}

/// A saved filter in a file of its own, where it may carry its id and its name.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FilterFile {
    pub id: Option<String>,
    pub name: Option<String>,
    pub filter: SavedFilter,
}

impl FilterFile {
    /// Reads the file's text; malformed JSON is one fault with an empty path, and a field named twice is one too.
    pub fn parse(json: &str) -> Result<Self, Vec<FieldError>> {
        reading::read_file(&read_json(json.as_bytes())?)
    }
}
