//! Explains why a filter matches a job or does not: the verdict on each condition, with the job's value.

use std::fmt::Write;

use super::condition::{Bound, Condition};
use super::evaluate::Verdict;
use super::job_text::{FieldSet, JobText};
use super::keywords::{Expression, Field};
use super::prepared_job::PreparedJob;
use crate::{PaymentKind, SavedFilter};

/// The maximum number of values or terms that are spelled out. The others are counted.
const SHOWN: usize = 20;

/// The verdicts of a filter's conditions on a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Whether the filter matches, as [`SavedFilter::matches`] returns it.
    pub matches: bool,
    /// All conditions of the filter, in the order in which the fields are documented.
    pub conditions: Vec<ExplainedCondition>,
}

/// The verdict on one condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedCondition {
    /// The path of the filter's field: `keywords`, `client.minRating`, `client.countries.exclude`.
    pub path: &'static str,
    /// Whether the condition held.
    pub result: Verdict,
    /// The job's value and the condition's value, in words. Texts are shown as they are compared: folded.
    pub detail: String,
}

impl SavedFilter {
    /// Evaluates the filter on the job as [`matches`](Self::matches) does, and returns the verdict on each condition.
    ///
    /// ```
    /// use bidloop_matching::{JobFacts, PreparedJob, SavedFilter, Verdict};
    /// use serde_json::json;
    ///
    /// let filter = SavedFilter::from_value(&json!({"keywords": "rust -java", "client": {"minRating": 4}}))
    ///     .expect("no fault");
    /// let job = JobFacts { title: "Rust", ..JobFacts::default() };
    /// let explanation = filter.explain(&PreparedJob::new(&job));
    ///
    /// assert!(!explanation.matches);
    /// assert_eq!(explanation.conditions[0].result, Verdict::Held);
    /// assert_eq!(explanation.conditions[0].detail, "found: rust; not found: java");
    /// assert_eq!(explanation.conditions[1].path, "client.minRating");
    /// assert_eq!(explanation.conditions[1].result, Verdict::Unknown);
    /// ```
    pub fn explain(&self, job: &PreparedJob) -> Explanation {
        let conditions: Vec<ExplainedCondition> = self
            .conditions
            .iter()
            .map(|condition| {
                let result = condition.judge(job);
                let mut detail = condition.detail(job);
                if result == Verdict::Unknown {
                    let counted = if self.unknown_holds { "held" } else { "failed" };
                    let _ = write!(detail, "; unknown counts as {counted}");
                }
                ExplainedCondition {
                    path: condition.path(),
                    result,
                    detail,
                }
            })
            .collect();
        Explanation {
            matches: conditions.iter().all(|condition| self.accepts(condition.result)),
            conditions,
        }
    }
}

impl Condition {
    /// The job's value and the condition's value, in words.
    fn detail(&self, job: &PreparedJob) -> String {
        match self {
            Self::Keywords(expression) => terms_detail(expression, job.text()),
            Self::SkillsAtLeast { count, names, .. } => {
                let mut detail = skills_detail(names, job);
                if (2..names.len()).contains(count) {
                    let _ = write!(detail, "; asked for at least {count}");
                }
                detail
            }
            Self::NoSkill(names) => skills_detail(names, job),
            Self::OneOf { field, values, .. } | Self::NoneOf { field, values, .. } => {
                match job.text_field(*field) {
                    None => "the job does not say".to_owned(),
                    Some(value) if values.iter().any(|listed| listed == value) => {
                        format!("the job says `{value}`, which is listed")
                    }
                    Some(value) => format!("the job says `{value}`, which is not listed"),
                }
            }
            Self::PaymentTypes(kinds) => {
                let wanted: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
                format!("{}; asked for {}", kind_detail(job), wanted.join(" or "))
            }
            Self::HourlyRate { min, max } => match (job.payment_kind(), job.hourly_range()) {
                (Some(PaymentKind::Fixed), _) => "a fixed-price job is not asked".to_owned(),
                (_, None) => format!("{}, without a range", kind_detail(job)),
                (_, Some((low, high))) => {
                    let (kind, range, asked) = (kind_detail(job), interval(low, high), interval(*min, *max));
                    format!("{kind}, {range} USD an hour; asked for {asked}")
                }
            },
            Self::FixedPrice { min, max } => match (job.payment_kind(), job.fixed_price()) {
                (Some(PaymentKind::Hourly), _) => "an hourly job is not asked".to_owned(),
                (_, None) => format!("{}, without a price", kind_detail(job)),
                (_, Some(price)) => {
                    let (kind, asked) = (kind_detail(job), interval(*min, *max));
                    format!("{kind}, {price} USD; asked for {asked}")
                }
            },
            Self::Within { field, bound, .. } => {
                let asked = match bound {
                    Bound::AtLeast(least) => format!("at least {least}"),
                    Bound::AtMost(most) => format!("at most {most}"),
                };
                match job.number(*field) {
                    None => format!("the job does not say; asked for {asked}"),
                    Some(value) => format!("the job says {value}; asked for {asked}"),
                }
            }
            Self::Is { flag, wanted, .. } => {
                let word = |yes: bool| if yes { "yes" } else { "no" };
                match job.flag(*flag) {
                    None => format!("the job does not say; asked for {}", word(*wanted)),
                    Some(value) => format!("the job says {}; asked for {}", word(value), word(*wanted)),
                }
            }
        }
    }
}

fn kind_detail(job: &PreparedJob) -> &'static str {
    match job.payment_kind() {
        Some(PaymentKind::Hourly) => "an hourly job",
        Some(PaymentKind::Fixed) => "a fixed-price job",
        None => "a job of unknown kind",
    }
}

fn interval(low: f64, high: f64) -> String {
    match (low.is_finite(), high.is_finite()) {
        (true, true) => format!("{low} to {high}"),
        (true, false) => format!("{low} or more"),
        (false, true) => format!("up to {high}"),
        (false, false) => "any".to_owned(),
    }
}

fn skills_detail(listed: &[String], job: &PreparedJob) -> String {
    let Some(skills) = job.skills() else {
        return "the job does not name its skills".to_owned();
    };
    let (named, missing): (Vec<String>, Vec<String>) =
        listed.iter().cloned().partition(|skill| skills.contains(skill));
    two_lists(("the job names", &named), ("does not name", &missing))
}

/// Which terms of the expression the job contains, excluded terms among them.
fn terms_detail(expression: &Expression, text: &JobText) -> String {
    let mut found = Vec::new();
    let mut missing = Vec::new();
    visit_terms(expression, None, &mut |spelled, field, term| {
        let fields = field.map_or(FieldSet::ALL, FieldSet::of);
        let list = if text.contains(term, fields) {
            &mut found
        } else {
            &mut missing
        };
        if !list.contains(&spelled) {
            list.push(spelled);
        }
    });
    two_lists(("found", &found), ("not found", &missing))
}

fn visit_terms(
    expression: &Expression,
    field: Option<Field>,
    visit: &mut impl FnMut(String, Option<Field>, &super::Term),
) {
    match expression {
        Expression::And(parts) | Expression::Or(parts) => {
            for part in parts {
                visit_terms(part, field, visit);
            }
        }
        Expression::Not(inner) => visit_terms(inner, field, visit),
        Expression::Within(within, inner) => visit_terms(inner, Some(*within), visit),
        Expression::Term(term) => {
            let spelled = match field {
                Some(field) => format!("{}:{term}", field.name()),
                None => term.to_string(),
            };
            visit(spelled, field, term);
        }
    }
}

fn two_lists(first: (&str, &[String]), second: (&str, &[String])) -> String {
    let mut detail = String::new();
    for (label, values) in [first, second] {
        if values.is_empty() {
            continue;
        }
        if !detail.is_empty() {
            detail.push_str("; ");
        }
        let shown = values.len().min(SHOWN);
        let _ = write!(detail, "{label}: {}", values[..shown].join(", "));
        if values.len() > shown {
            let _ = write!(detail, " and {} more", values.len() - shown);
        }
    }
    detail
}
