//! The conditions of a checked filter.

use crate::PaymentKind;
use crate::conditions::{FlagField, NumberField, TextField};
use crate::keywords::Expression;

/// An inclusive bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// The job's number is not below this one.
    AtLeast(f64),
    /// The job's number is not above this one.
    AtMost(f64),
}

/// One condition of a filter. Lists of texts are folded ([`list_key`](crate::list_key)), sorted and without duplicates.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// The expression holds over title, description and skills.
    Keywords(Expression),
    /// The job names at least `count` of the skills: one for `skills.any`, all for `skills.all`.
    SkillsAtLeast {
        /// The path of the filter's field.
        path: &'static str,
        /// A number from 1 to the length of `names`.
        count: usize,
        /// The names of the skills.
        names: Vec<String>,
    },
    /// The job names none of the skills.
    NoSkill(Vec<String>),
    /// The job's text is in the list.
    OneOf {
        /// The path of the filter's field.
        path: &'static str,
        /// The field of the job.
        field: TextField,
        /// The list.
        values: Vec<String>,
    },
    /// The job's text is not in the list.
    NoneOf {
        /// The path of the filter's field.
        path: &'static str,
        /// The field of the job.
        field: TextField,
        /// The list.
        values: Vec<String>,
    },
    /// The job's payment kind is in the list.
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
    /// The job's number is within the bound.
    Within {
        /// The path of the filter's field.
        path: &'static str,
        /// The field of the job.
        field: NumberField,
        /// The bound.
        bound: Bound,
    },
    /// The job's flag has the wanted value.
    Is {
        /// The path of the filter's field.
        path: &'static str,
        /// The field of the job.
        flag: FlagField,
        /// The wanted value.
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
