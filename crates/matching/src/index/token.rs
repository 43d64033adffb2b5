//! What a filter can require and a job can have, as one number: a word, a word with a prefix, or a value.

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
    /// A value of an [`Attributed`](crate::job_values::Attributed), numbered by the index.
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
