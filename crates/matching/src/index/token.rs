//! Tokens: what a filter can require and a job can have, as dense numbers.

use crate::job_values::ValueField;

/// The index cannot take the filter: it has 268 million filters already, or too many texts or entries for 32-bit numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the filter index is full")]
pub struct IndexFull;

/// The number of a word, a word with a prefix, a value of a field, or the absence of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Token(pub(super) u32);

impl Token {
    /// Every job has it. Filters that require no other token are listed under it.
    pub(super) const ANY: Self = Self(0);

    /// The first tokens need no text: [`Token::ANY`] and one for each field.
    #[expect(clippy::cast_possible_truncation, reason = "a few dozen fields")]
    pub(super) const WITHOUT_TEXT: u32 = 1 + ValueField::COUNT as u32;

    /// The job does not carry a value of the field.
    pub(super) const fn unknown(field: ValueField) -> Self {
        Self(1 + field.number() as u32)
    }

    pub(super) const fn index(self) -> usize {
        self.0 as usize
    }
}
