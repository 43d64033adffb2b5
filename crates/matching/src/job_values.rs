//! The values of a job besides its words: texts, skills, flags and the payment kind.

use super::PreparedJob;
use super::conditions::{FlagField, TextField};
use super::job_text::WordKey;
use crate::PaymentKind;

/// A field of a job whose values filters list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueField {
    Text(TextField),
    Skill,
    Flag(FlagField),
    PaymentKind,
}

impl ValueField {
    /// The number of fields.
    pub(super) const COUNT: usize = TextField::COUNT + 2 + FlagField::COUNT;

    /// Distinct for each, below [`Self::COUNT`].
    #[expect(clippy::cast_possible_truncation, reason = "a few dozen fields")]
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Text(text) => text as u8,
            Self::Skill => TextField::COUNT as u8,
            Self::PaymentKind => TextField::COUNT as u8 + 1,
            Self::Flag(flag) => TextField::COUNT as u8 + 2 + flag as u8,
        }
    }

    /// All fields, in the order of their numbers.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let texts = TextField::ALL.into_iter().map(Self::Text);
        let flags = FlagField::ALL.into_iter().map(Self::Flag);
        texts.chain([Self::Skill, Self::PaymentKind]).chain(flags)
    }

    /// Calls `visit` with every field and value of the job. Skills are visited one by one.
    pub(super) fn of_job<'a>(job: &'a PreparedJob, mut visit: impl FnMut(Self, JobValue<'a>)) {
        let text = |(key, text)| JobValue::Text(key, text);
        for field in TextField::ALL {
            let value = job.keyed_text(field).map_or(JobValue::Unknown, text);
            visit(Self::Text(field), value);
        }
        match job.keyed_skills() {
            None => visit(Self::Skill, JobValue::Unknown),
            Some(skills) => skills.for_each(|skill| visit(Self::Skill, text(skill))),
        }
        for flag in FlagField::ALL {
            let value = job.flag(flag).map_or(JobValue::Unknown, JobValue::of_flag);
            visit(Self::Flag(flag), value);
        }
        let kind = job.payment_kind();
        let kind = kind.map_or(JobValue::Unknown, JobValue::of_payment_kind);
        visit(Self::PaymentKind, kind);
    }
}

/// A value of a job, or the value that a filter asks for.
#[derive(Debug, Clone, Copy)]
pub(super) enum JobValue<'a> {
    /// The job does not carry the value.
    Unknown,
    /// A flag or a payment kind, as a word.
    Word(&'a str),
    /// A folded text with its key.
    Text(WordKey, &'a str),
}

impl<'a> JobValue<'a> {
    pub(super) const fn of_flag(flag: bool) -> Self {
        Self::Word(if flag { "yes" } else { "no" })
    }

    pub(super) const fn of_payment_kind(kind: PaymentKind) -> Self {
        Self::Word(kind.as_str())
    }

    /// The value as a text; none if it is unknown.
    pub(super) const fn text(self) -> Option<&'a str> {
        match self {
            Self::Unknown => None,
            Self::Word(text) | Self::Text(_, text) => Some(text),
        }
    }
}
