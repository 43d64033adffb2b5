//! Tokens: the numbers of words, prefixes and values.

use crate::job_values::ValueField;

/// The index is full: it has 268 million filters, or more texts or entries than 32-bit numbers can count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the filter index is full")]
pub struct IndexFull;

/// The number of a word, a prefix, a value of a field, or the absence of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Token(pub(super) u32);

impl Token {
    /// The token that every job has. Filters without clauses are listed under it.
    pub(super) const ANY: Self = Self(0);

    /// The number of tokens without a text: [`Token::ANY`] and one for each field.
    #[expect(clippy::cast_possible_truncation, reason = "a few dozen fields")]
    pub(super) const WITHOUT_TEXT: u32 = 1 + ValueField::COUNT as u32;

    /// The token of jobs that do not carry a value of the field.
    pub(super) const fn unknown(field: ValueField) -> Self {
        Self(1 + field.number() as u32)
    }

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}
