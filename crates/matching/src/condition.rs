//! One condition of a checked filter.

use crate::PaymentKind;
use crate::conditions::{FlagField, NumberField, TextField};
use crate::keywords::Expression;

/// An inclusive bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// The job's number is not below.
    AtLeast(f64),
    /// The job's number is not above.
    AtMost(f64),
}

/// One condition of a filter. Texts are folded as [`list_key`](crate::list_key) does, sorted, and each once.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// The expression holds over title, description and skills.
    Keywords(Expression),
    /// The job names at least `count` of the skills: 1 for any of them, as many as there are for all.
    SkillsAtLeast {
        /// The filter's field.
        path: &'static str,
        /// From 1 to the number of names.
        count: usize,
        /// The skills.
        names: Vec<String>,
    },
    /// The job names none of the skills.
    NoSkill(Vec<String>),
    /// The value is in the list.
    OneOf {
        /// The filter's field.
        path: &'static str,
        /// The job's value.
        field: TextField,
        /// The list.
        values: Vec<String>,
    },
    /// The value is not in the list.
    NoneOf {
        /// The filter's field.
        path: &'static str,
        /// The job's value.
        field: TextField,
        /// The list.
        values: Vec<String>,
    },
    /// The job's kind is in the list.
    PaymentTypes(Vec<PaymentKind>),
    /// The range of an hourly job, or of one of unknown kind, overlaps the interval.
    HourlyRate {
        /// USD per hour; may be infinite.
        min: f64,
        /// USD per hour; may be infinite.
        max: f64,
    },
    /// The price of a fixed-price job, or of one of unknown kind, lies in the interval.
    FixedPrice {
        /// USD; may be infinite.
        min: f64,
        /// USD; may be infinite.
        max: f64,
    },
    /// The number is within the bound.
    Within {
        /// The filter's field.
        path: &'static str,
        /// The job's value.
        field: NumberField,
        /// The bound.
        bound: Bound,
    },
    /// The flag is the wanted one.
    Is {
        /// The filter's field.
        path: &'static str,
        /// The job's value.
        flag: FlagField,
        /// Yes or no.
        wanted: bool,
    },
}

impl Condition {
    /// The path of the filter's field, such as `client.minRating`.
    pub const fn path(&self) -> &'static str {
        match self {
            Self::Keywords(_) => "keywords",
            Self::NoSkill(_) => "skills.none",
            Self::PaymentTypes(_) => "paymentTypes",
            Self::HourlyRate { .. } => "hourlyRate",
            Self::FixedPrice { .. } => "fixedPrice",
            Self::SkillsAtLeast { path, .. }
            | Self::OneOf { path, .. }
            | Self::NoneOf { path, .. }
            | Self::Within { path, .. }
            | Self::Is { path, .. } => path,
        }
    }
}
