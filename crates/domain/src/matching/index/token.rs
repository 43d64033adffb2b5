//! What a filter can require and a job can have, as one number: a word, a word with a prefix, or a value.

use crate::matching::PreparedJob;
use crate::matching::condition::{Attribute, Flag};
use crate::model::PaymentKind;

const KIND_SHIFT: u32 = 30;

/// A word, a prefix or a value that occurs in filters, by its kind and its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Token(u32);

/// The kinds of tokens, each with numbers of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Numbered by the vocabulary of words.
    Word,
    /// Numbered by the vocabulary of prefixes.
    Prefix,
    /// A value of an [`Attributed`], numbered by the index.
    Value,
    /// The one token that every job has.
    Any,
}

impl Token {
    /// What every job has: where filters without a required group are registered.
    pub(super) const ANY: Self = Self((TokenKind::Any as u32) << KIND_SHIFT);

    pub(super) const fn new(kind: TokenKind, number: u32) -> Self {
        Self((kind as u32) << KIND_SHIFT | number)
    }

    pub(super) const fn kind(self) -> TokenKind {
        match self.0 >> KIND_SHIFT {
            0 => TokenKind::Word,
            1 => TokenKind::Prefix,
            2 => TokenKind::Value,
            _ => TokenKind::Any,
        }
    }

    pub(super) const fn number(self) -> usize {
        (self.0 & ((1 << KIND_SHIFT) - 1)) as usize
    }

    pub(super) const fn bits(self) -> u32 {
        self.0
    }

    pub(super) const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}

/// What a job's value is the value of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attributed {
    Text(Attribute),
    Skill,
    Flag(Flag),
    PaymentKind,
}

impl Attributed {
    /// Distinct for each.
    #[expect(clippy::cast_possible_truncation, reason = "a few dozen attributes")]
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Text(attribute) => attribute as u8,
            Self::Skill => Attribute::COUNT as u8,
            Self::PaymentKind => Attribute::COUNT as u8 + 1,
            Self::Flag(flag) => Attribute::COUNT as u8 + 2 + flag as u8,
        }
    }

    /// Tells every value of the job, and of what; `None` where the job does not carry one.
    pub(super) fn of_job<'a>(job: &'a PreparedJob, mut tell: impl FnMut(Self, Option<&'a str>)) {
        for attribute in Attribute::ALL {
            tell(Self::Text(attribute), job.attribute(attribute));
        }
        match job.skills() {
            None => tell(Self::Skill, None),
            Some(skills) => skills.iter().for_each(|skill| tell(Self::Skill, Some(skill))),
        }
        for flag in Flag::ALL {
            tell(Self::Flag(flag), job.flag(flag).map(flag_value));
        }
        tell(Self::PaymentKind, job.payment_kind().map(kind_value));
    }
}

/// A yes or no as a value's text.
pub(super) const fn flag_value(flag: bool) -> &'static str {
    if flag { "yes" } else { "no" }
}

/// A payment kind as a value's text.
pub(super) const fn kind_value(kind: PaymentKind) -> &'static str {
    match kind {
        PaymentKind::Hourly => "hourly",
        PaymentKind::Fixed => "fixed",
    }
}
