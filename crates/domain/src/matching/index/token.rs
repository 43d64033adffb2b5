//! What a filter can require and a job can have, as one number: a word, a word with a prefix, or a value.

use crate::matching::PreparedJob;
use crate::matching::condition::{Attribute, Flag};
use crate::matching::job_text::WordKey;
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
    /// How many there are.
    pub(super) const COUNT: usize = Attribute::COUNT + 2 + Flag::COUNT;

    /// Distinct for each, below [`Self::COUNT`].
    #[expect(clippy::cast_possible_truncation, reason = "a few dozen attributes")]
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Text(attribute) => attribute as u8,
            Self::Skill => Attribute::COUNT as u8,
            Self::PaymentKind => Attribute::COUNT as u8 + 1,
            Self::Flag(flag) => Attribute::COUNT as u8 + 2 + flag as u8,
        }
    }

    /// Tells every value of the job, and of what.
    pub(super) fn of_job<'a>(job: &'a PreparedJob, mut tell: impl FnMut(Self, Value<'a>)) {
        let value = |keyed: Option<(WordKey, &'a str)>| match keyed {
            Some((key, text)) => Value::Text(key, text),
            None => Value::Unknown,
        };
        for attribute in Attribute::ALL {
            tell(Self::Text(attribute), value(job.keyed_attribute(attribute)));
        }
        match job.keyed_skills() {
            None => tell(Self::Skill, Value::Unknown),
            Some(skills) => skills.for_each(|skill| tell(Self::Skill, value(Some(skill)))),
        }
        for flag in Flag::ALL {
            let value = job.flag(flag).map(flag_value);
            tell(Self::Flag(flag), value.map_or(Value::Unknown, Value::Fixed));
        }
        let kind = job.payment_kind().map(kind_value);
        tell(Self::PaymentKind, kind.map_or(Value::Unknown, Value::Fixed));
    }
}

/// A value of a job.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    /// The job does not carry one.
    Unknown,
    /// One of [`FIXED_VALUES`], by its place there.
    Fixed(u32),
    Text(WordKey, &'a str),
}

impl<'a> Value<'a> {
    pub(super) fn text(self) -> Option<&'a str> {
        match self {
            Self::Unknown => None,
            Self::Fixed(place) => Some(FIXED_VALUES[place as usize]),
            Self::Text(_, text) => Some(text),
        }
    }
}

/// The values of flags and of the payment kind.
pub(super) const FIXED_VALUES: [&str; 4] = ["no", "yes", "hourly", "fixed"];

/// A yes or no as a value.
pub(super) const fn flag_value(flag: bool) -> u32 {
    flag as u32
}

/// A payment kind as a value.
pub(super) const fn kind_value(kind: PaymentKind) -> u32 {
    match kind {
        PaymentKind::Hourly => 2,
        PaymentKind::Fixed => 3,
    }
}
