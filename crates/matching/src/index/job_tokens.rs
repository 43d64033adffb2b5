//! A job as the index sees it: its tokens, and the common conditions that it fails.

use super::conditions::Conditions;
use super::dictionary::Dictionary;
use super::interner::FoundWords;
use super::token::Token;
use crate::keywords::MAX_PHRASE_WORDS;
use crate::{FieldSet, JobText, PreparedJob};

/// The job with which entries and records are compared. Its memory is reused for the next job.
#[derive(Debug, Clone, Default)]
pub(super) struct JobTokens {
    /// The job's tokens, each once.
    pub(super) tokens: Vec<Token>,
    /// The same tokens, for entries.
    pub(super) set: TokenSet,
    /// By token: the number of the word in the job's text, or [`OTHER`], or [`ABSENT`].
    words_by_token: Vec<u32>,
    /// The bits of the conditions that the job fails.
    pub(super) failed: u32,
    words: FoundWords,
}

/// The job does not have the token.
const ABSENT: u32 = u32::MAX;
/// The job has the token, which is not a word.
const OTHER: u32 = u32::MAX - 1;

impl JobTokens {
    pub(super) fn read(&mut self, job: &PreparedJob, dictionary: &Dictionary, conditions: &Conditions) {
        for token in self.tokens.drain(..) {
            self.words_by_token[token.index()] = ABSENT;
            self.set.0[TokenSet::place_of(token)] = 0;
        }
        if self.words_by_token.len() < dictionary.len() {
            self.words_by_token.resize(dictionary.len(), ABSENT);
        }
        dictionary.find_words(job, &mut self.words);
        for (number, token) in &self.words.found {
            self.words_by_token[token.index()] = *number;
            self.tokens.push(*token);
        }
        dictionary.other_tokens(job, |token| {
            let word = &mut self.words_by_token[token.index()];
            if *word == ABSENT {
                *word = OTHER;
                self.tokens.push(token);
            }
        });
        for token in &self.tokens {
            self.set.0[TokenSet::place_of(*token)] = 1;
        }
        self.failed = conditions.failed_bits(job);
    }

    #[inline]
    pub(super) fn has(&self, token: Token) -> bool {
        self.words_by_token[token.index()] != ABSENT
    }

    /// Whether the words with these tokens stand directly after one another in `text`, the text of this job.
    pub(super) fn has_phrase(&self, tokens: impl ExactSizeIterator<Item = Token>, text: &JobText) -> bool {
        let mut numbers = [0; MAX_PHRASE_WORDS];
        let numbers = &mut numbers[..tokens.len()];
        for (number, token) in numbers.iter_mut().zip(tokens) {
            *number = self.words_by_token[token.index()];
            if *number == ABSENT {
                return false;
            }
        }
        text.contains_sequence(numbers, None, FieldSet::ALL)
    }
}

/// A set of tokens that fits into the processor's first cache: 32 KiB, with a byte for each place. The byte is 1 if the job
/// has a token with this place.
#[derive(Debug, Clone)]
pub(super) struct TokenSet(Box<[u8; TokenSet::PLACES]>);

impl Default for TokenSet {
    #[expect(clippy::large_stack_arrays, reason = "32 KiB, once a thread")]
    fn default() -> Self {
        Self(Box::new([0; Self::PLACES]))
    }
}

impl TokenSet {
    const PLACES: usize = 1 << 15;
    /// Tokens below this one have a place of their own. The others share the upper half of the places.
    const OWN: u32 = 1 << 14;

    /// The token's place.
    #[expect(clippy::cast_possible_truncation, reason = "15 bits")]
    pub(super) const fn place(token: Token) -> u16 {
        if token.0 < Self::OWN {
            token.0 as u16
        } else {
            (token.0.wrapping_mul(0x9E37_79B1) >> 18) as u16 | 1 << 14
        }
    }

    fn place_of(token: Token) -> usize {
        usize::from(Self::place(token))
    }

    /// Whether no other token has the same place.
    pub(super) const fn has_own_place(token: Token) -> bool {
        token.0 < Self::OWN
    }

    #[inline]
    pub(super) fn has_any<const N: usize>(&self, places: [u16; N]) -> bool {
        let has = places.map(|place| self.0[usize::from(place) & (Self::PLACES - 1)]);
        has.into_iter().fold(0, |any, has| any | has) != 0
    }
}
