//! The single conditions that a filter consists of, and the values of a job that they are about.

use super::keywords::Expression;
use crate::PaymentKind;

/// A text of a job that is compared with lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Attribute {
    Category,
    Occupation,
    ProjectType,
    ProjectDuration,
    ExperienceLevel,
    Region,
    WeeklyHours,
    Country,
    Industry,
    CompanySize,
    TalentType,
    EnglishLevel,
}

impl Attribute {
    /// How many there are.
    pub const COUNT: usize = Self::EnglishLevel as usize + 1;

    /// Every one, in the order of their numbers.
    pub(super) const ALL: [Self; Self::COUNT] = [
        Self::Category,
        Self::Occupation,
        Self::ProjectType,
        Self::ProjectDuration,
        Self::ExperienceLevel,
        Self::Region,
        Self::WeeklyHours,
        Self::Country,
        Self::Industry,
        Self::CompanySize,
        Self::TalentType,
        Self::EnglishLevel,
    ];
}

/// A number of a job that is compared with bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Figure {
    Rating,
    Reviews,
    /// USD.
    TotalSpent,
    Hires,
    /// Percent.
    HireRate,
    JobsPosted,
    /// USD per hour.
    AvgHourlyRatePaid,
    JobSuccessScore,
    /// USD; 0 where the job demands nothing.
    MinimumEarnings,
    Questions,
    OpenJobs,
}

impl Figure {
    /// How many there are.
    pub const COUNT: usize = Self::OpenJobs as usize + 1;

    /// Every one, in the order of their numbers.
    pub(super) const ALL: [Self; Self::COUNT] = [
        Self::Rating,
        Self::Reviews,
        Self::TotalSpent,
        Self::Hires,
        Self::HireRate,
        Self::JobsPosted,
        Self::AvgHourlyRatePaid,
        Self::JobSuccessScore,
        Self::MinimumEarnings,
        Self::Questions,
        Self::OpenJobs,
    ];
}

/// A yes or no of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Flag {
    PaymentVerified,
    PhoneVerified,
    Enterprise,
    Featured,
}

impl Flag {
    /// How many there are.
    pub const COUNT: usize = Self::Featured as usize + 1;

    /// Every one, in the order of their numbers.
    pub(super) const ALL: [Self; Self::COUNT] = [
        Self::PaymentVerified,
        Self::PhoneVerified,
        Self::Enterprise,
        Self::Featured,
    ];
}

/// An inclusive bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// One condition of a filter. Texts are kept folded, in the form that [`list_key`](super::list_key) gives them.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// The expression holds over title, description and skills.
    Keywords(Expression),
    /// The job names at least one of the skills.
    AnySkill(Vec<String>),
    /// The job names each of the skills.
    AllSkills(Vec<String>),
    /// The job names none of the skills.
    NoSkill(Vec<String>),
    /// The value is in the list.
    OneOf {
        path: &'static str,
        attribute: Attribute,
        values: Vec<String>,
    },
    /// The value is not in the list.
    NoneOf {
        path: &'static str,
        attribute: Attribute,
        values: Vec<String>,
    },
    /// The job's kind is in the list.
    PaymentTypes(Vec<PaymentKind>),
    /// The range of an hourly job, or of one of unknown kind, overlaps the interval (USD per hour).
    HourlyRate { min: f64, max: f64 },
    /// The price of a fixed-price job, or of one of unknown kind, lies in the interval (USD).
    FixedPrice { min: f64, max: f64 },
    /// The number is within the bound.
    Within {
        path: &'static str,
        figure: Figure,
        bound: Bound,
    },
    /// The yes or no is the wanted one.
    Is {
        path: &'static str,
        flag: Flag,
        wanted: bool,
    },
}

impl Condition {
    /// The path of the filter's field, such as `client.minRating`.
    pub const fn path(&self) -> &'static str {
        match self {
            Self::Keywords(_) => "keywords",
            Self::AnySkill(_) => "skills.any",
            Self::AllSkills(_) => "skills.all",
            Self::NoSkill(_) => "skills.none",
            Self::PaymentTypes(_) => "paymentTypes",
            Self::HourlyRate { .. } => "hourlyRate",
            Self::FixedPrice { .. } => "fixedPrice",
            Self::OneOf { path, .. }
            | Self::NoneOf { path, .. }
            | Self::Within { path, .. }
            | Self::Is { path, .. } => path,
        }
    }
}
