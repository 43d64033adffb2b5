//! What a job carries beside its words: the values that lists, flags and payment types ask for.

use super::PreparedJob;
use super::conditions::{FlagField, TextField};
use super::job_text::WordKey;
use crate::PaymentKind;

/// What a job's value is the value of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueField {
    Text(TextField),
    Skill,
    Flag(FlagField),
    PaymentKind,
}

impl ValueField {
    /// How many there are.
    pub(super) const COUNT: usize = TextField::COUNT + 2 + FlagField::COUNT;

    /// Distinct for each, below [`Self::COUNT`].
    #[expect(clippy::cast_possible_truncation, reason = "a few dozen attributes")]
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Text(attribute) => attribute as u8,
            Self::Skill => TextField::COUNT as u8,
            Self::PaymentKind => TextField::COUNT as u8 + 1,
            Self::Flag(flag) => TextField::COUNT as u8 + 2 + flag as u8,
        }
    }

    /// Every one, in the order of their numbers.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let texts = TextField::ALL.into_iter().map(Self::Text);
        let flags = FlagField::ALL.into_iter().map(Self::Flag);
        texts.chain([Self::Skill, Self::PaymentKind]).chain(flags)
    }

    /// Tells every value of the job, and of what.
    pub(super) fn of_job<'a>(job: &'a PreparedJob, mut tell: impl FnMut(Self, JobValue<'a>)) {
        let value = |keyed: Option<(WordKey, &'a str)>| match keyed {
            Some((key, text)) => JobValue::Text(key, text),
            None => JobValue::Unknown,
        };
        for attribute in TextField::ALL {
            tell(Self::Text(attribute), value(job.keyed_text(attribute)));
        }
        match job.keyed_skills() {
            None => tell(Self::Skill, JobValue::Unknown),
            Some(skills) => skills.for_each(|skill| tell(Self::Skill, value(Some(skill)))),
        }
        for flag in FlagField::ALL {
            let value = job.flag(flag).map_or(JobValue::Unknown, JobValue::of_flag);
            tell(Self::Flag(flag), value);
        }
        let kind = job.payment_kind();
        tell(
            Self::PaymentKind,
            kind.map_or(JobValue::Unknown, JobValue::of_payment_kind),
        );
    }
}

/// A value of a job, or the value that a filter asks for.
#[derive(Debug, Clone, Copy)]
pub(super) enum JobValue<'a> {
    /// The job does not carry one.
    Unknown,
    /// One of [`FIXED_VALUES`], by its place there.
    Fixed(u32),
    Text(WordKey, &'a str),
}

/// The values of flags and of the payment kind.
pub(super) const FIXED_VALUES: [&str; 4] = ["no", "yes", "hourly", "fixed"];

impl<'a> JobValue<'a> {
    pub(super) const fn of_flag(flag: bool) -> Self {
        Self::Fixed(flag as u32)
    }

    pub(super) const fn of_payment_kind(kind: PaymentKind) -> Self {
        match kind {
            PaymentKind::Hourly => Self::Fixed(2),
            PaymentKind::Fixed => Self::Fixed(3),
        }
    }

    pub(super) fn text(self) -> Option<&'a str> {
        match self {
            Self::Unknown => None,
            Self::Fixed(place) => Some(FIXED_VALUES[place as usize]),
            Self::Text(_, text) => Some(text),
        }
    }
}
