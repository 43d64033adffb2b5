//! The explanation of a decision, step by step, for people and for programs.
//!
//! Owns a step's shape and how money reads in its sentence. Does not own any rule.

use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Connects;

/// One step of a decision: what was considered, the result, and the figures (decision B5,
/// `docs/rules.md#b5`). A submission's Activity record holds the steps in order.
///
/// ```
/// use bidloop_domain::model::ExplanationStep;
///
/// let step = ExplanationStep::new("job_connects", "The job asks for 12 connects.").with("requiredConnects", 12);
/// assert_eq!(
///     serde_json::to_string(&step).unwrap(),
///     r#"{"step":"job_connects","says":"The job asks for 12 connects.","figures":{"requiredConnects":12}}"#
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExplanationStep {
    /// What was considered: a stable word for programs.
    pub step: String,
    /// A sentence for people.
    pub says: String,
    /// The figures of the sentence, by name; dollars and percentages as numbers.
    pub figures: Map<String, Value>,
}

impl ExplanationStep {
    /// A step without figures.
    pub fn new(step: impl Into<String>, says: impl Into<String>) -> Self {
        Self {
            step: step.into(),
            says: says.into(),
            figures: Map::new(),
        }
    }

    /// Adds a figure.
    #[must_use]
    pub fn with(mut self, name: &str, figure: impl Into<Value>) -> Self {
        self.figures.insert(name.to_owned(), figure.into());
        self
    }
}

/// Dollars in a sentence: two decimal places, or more if the amount has more.
pub(crate) fn usd(dollars: Decimal) -> String {
    let dollars = dollars.normalize();
    if dollars.scale() <= 2 {
        format!("USD {dollars:.2}")
    } else {
        format!("USD {dollars}")
    }
}

/// "1 connect", "2 connects".
pub(crate) fn count_connects(connects: Connects) -> String {
    if connects.get() == 1 {
        "1 connect".to_owned()
    } else {
        format!("{connects} connects")
    }
}
