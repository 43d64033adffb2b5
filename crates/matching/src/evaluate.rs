//! Evaluates one filter on one job, in three-valued logic.
//!
//! A condition on a value that the job does not carry is unknown. The filter's `whenUnknown` says whether an unknown
//! condition counts as held (`docs/saved-filters.md`). A keyword expression is never unknown: a missing text is searched
//! as an empty one.

use super::condition::{Bound, Condition};
use super::job_text::{FieldSet, JobText};
use super::keywords::Expression;
use super::prepared_job::PreparedJob;
use crate::{PaymentKind, SavedFilter};

/// The result of a condition on a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The condition holds.
    Held,
    /// The condition does not hold.
    Failed,
    /// The job does not carry the value.
    Unknown,
}

impl Verdict {
    /// The word used in explanations: `held`, `failed` or `unknown`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }

    fn of(holds: Option<bool>) -> Self {
        match holds {
            Some(true) => Self::Held,
            Some(false) => Self::Failed,
            None => Self::Unknown,
        }
    }
}

impl SavedFilter {
    /// Whether every condition holds on the job, or is unknown and [counts as held](Self::unknown_holds).
    pub fn matches(&self, job: &PreparedJob) -> bool {
        // The keywords come first in the list and cost most, so they are evaluated last.
        self.conditions
            .iter()
            .rev()
            .all(|condition| self.accepts(condition.judge(job)))
    }

    /// Whether the filter can match if a condition has this verdict.
    pub(super) fn accepts(&self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Held => true,
            Verdict::Failed => false,
            Verdict::Unknown => self.unknown_holds,
        }
    }
}

impl Condition {
    /// Evaluates the condition on the job.
    pub fn judge(&self, job: &PreparedJob) -> Verdict {
        let in_list = |values: &[String], value: &str| {
            values
                .binary_search_by(|listed| listed.as_str().cmp(value))
                .is_ok()
        };
        Verdict::of(match self {
            Self::Keywords(expression) => Some(expression.holds(job.text())),
            Self::SkillsAtLeast { count, names, .. } => job.skills().map(|skills| {
                let named = names.iter().filter(|name| skills.contains(name));
                named.take(*count).count() == *count
            }),
            Self::NoSkill(unwanted) => job
                .skills()
                .map(|skills| !skills.iter().any(|skill| in_list(unwanted, skill))),
            Self::OneOf { field, values, .. } => job.text_field(*field).map(|value| in_list(values, value)),
            Self::NoneOf { field, values, .. } => job.text_field(*field).map(|value| !in_list(values, value)),
            Self::PaymentTypes(kinds) => job.payment_kind().map(|kind| kinds.contains(&kind)),
            Self::HourlyRate { min, max } => match job.payment_kind() {
                Some(PaymentKind::Fixed) => Some(true),
                Some(PaymentKind::Hourly) | None => job
                    .hourly_range()
                    .map(|(lowest, highest)| lowest <= *max && *min <= highest),
            },
            Self::FixedPrice { min, max } => match job.payment_kind() {
                Some(PaymentKind::Hourly) => Some(true),
                Some(PaymentKind::Fixed) | None => {
                    job.fixed_price().map(|price| *min <= price && price <= *max)
                }
            },
            Self::Within { field, bound, .. } => job.number(*field).map(|value| match bound {
                Bound::AtLeast(least) => value >= *least,
                Bound::AtMost(most) => value <= *most,
            }),
            Self::Is { flag, wanted, .. } => job.flag(*flag).map(|value| value == *wanted),
        })
    }
}

impl Expression {
    /// Whether the expression holds over the words of a job.
    pub fn holds(&self, text: &JobText) -> bool {
        self.holds_within(text, FieldSet::ALL)
    }

    fn holds_within(&self, text: &JobText, fields: FieldSet) -> bool {
        match self {
            Self::And(parts) => parts.iter().all(|part| part.holds_within(text, fields)),
            Self::Or(parts) => parts.iter().any(|part| part.holds_within(text, fields)),
            Self::Not(inner) => !inner.holds_within(text, fields),
            Self::Within(field, inner) => inner.holds_within(text, FieldSet::of(*field)),
            Self::Term(term) => text.contains(term, fields),
        }
    }
}
