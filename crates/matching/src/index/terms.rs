//! Everything that filters name: words, prefixes and values, and how many jobs have each.

use hashbrown::HashMap;

use super::IndexFull;
use super::frequencies::{Frequencies, Observed};
use super::job_view::JobView;
use super::prefixes::Prefixes;
use super::token::{Token, TokenKind};
use super::vocabulary::Vocabulary;
use crate::PreparedJob;
use crate::job_values::{Attributed, FIXED_VALUES, JobValue};

/// In place of a value's number: the job does not carry a value.
pub(super) const UNKNOWN: u32 = u32::MAX;
/// In place of a value's number: the job carries one that no filter names.
pub(super) const FOREIGN: u32 = u32::MAX - 1;

/// In place of a token's number: nothing asks for the value.
const NO_TOKEN: u32 = u32::MAX;

/// The words, prefixes and values of all filters.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    pub(super) words: Vocabulary,
    pub(super) prefixes: Prefixes,
    /// Texts of lists, whatever they are values of.
    values: Vocabulary,
    /// The tokens of values, by what they are values of, and by the value's number: first that of [`UNKNOWN`].
    value_tokens: [Vec<u32>; Attributed::COUNT],
    /// How many there are.
    value_token_count: u32,
    /// Numbers of the values that are categories, in the order in which they came up.
    categories: HashMap<u32, u32>,
    frequencies: Frequencies,
    /// Of the jobs seen, those with the token, by kind and number.
    jobs: [Vec<u32>; 3],
}

impl Terms {
    pub(super) fn with_frequencies(frequencies: Frequencies) -> Self {
        Self {
            words: Vocabulary::default(),
            prefixes: Prefixes::default(),
            values: Vocabulary::of(&FIXED_VALUES),
            value_tokens: Default::default(),
            value_token_count: 0,
            categories: HashMap::new(),
            frequencies,
            jobs: Default::default(),
        }
    }

    pub(super) fn into_frequencies(self) -> Frequencies {
        self.frequencies
    }

    pub(super) fn intern_word(&mut self, word: &str) -> Result<u32, IndexFull> {
        let (number, is_new) = self.words.intern(word)?;
        if is_new {
            self.jobs[TokenKind::Word as usize].push(self.frequencies.jobs_with_word(word));
        }
        Ok(number)
    }

    pub(super) fn intern_prefix(&mut self, prefix: &str) -> Result<u32, IndexFull> {
        let (number, is_new) = self.prefixes.intern(prefix)?;
        if is_new {
            self.jobs[TokenKind::Prefix as usize].push(self.frequencies.jobs_with_prefix(prefix));
        }
        Ok(number)
    }

    pub(super) fn intern_value(&mut self, value: &str) -> Result<u32, IndexFull> {
        Ok(self.values.intern(value)?.0)
    }

    /// The token of a value; of a job that does not carry one, with [`UNKNOWN`].
    pub(super) fn intern_token(&mut self, attributed: Attributed, value: u32) -> Result<Token, IndexFull> {
        if let Some(known) = self.token(attributed, value) {
            return Ok(known);
        }
        let number = self.value_token_count;
        let tokens = &mut self.value_tokens[usize::from(attributed.number())];
        let place = place(value);
        if tokens.len() <= place {
            tokens.resize(place + 1, NO_TOKEN);
        }
        tokens[place] = number;
        self.value_token_count = number.checked_add(1).ok_or(IndexFull)?;
        let text = (value != UNKNOWN).then(|| self.values.spelling(value));
        self.jobs[TokenKind::Value as usize].push(self.frequencies.jobs_with_value(attributed, text));
        Ok(Token::new(TokenKind::Value, number))
    }

    /// The position of a category among the categories that filters name.
    pub(super) fn intern_category(&mut self, value: u32) -> Result<u32, IndexFull> {
        let next = u32::try_from(self.categories.len()).map_err(|_| IndexFull)?;
        Ok(*self.categories.entry(value).or_insert(next))
    }

    pub(super) fn category(&self, value: u32) -> Option<u32> {
        self.categories.get(&value).copied()
    }

    /// The number of a value that a job carries.
    pub(super) fn value(&self, value: JobValue<'_>) -> u32 {
        match value {
            JobValue::Unknown => UNKNOWN,
            JobValue::Fixed(number) => number,
            JobValue::Text(key, text) => self.values.find(key, text).unwrap_or(FOREIGN),
        }
    }

    pub(super) fn token(&self, attributed: Attributed, value: u32) -> Option<Token> {
        let tokens = &self.value_tokens[usize::from(attributed.number())];
        let number = *tokens.get(place(value))?;
        (number != NO_TOKEN).then(|| Token::new(TokenKind::Value, number))
    }

    /// In how many of the jobs seen the token occurred.
    pub(super) fn jobs_with(&self, token: Token) -> u32 {
        self.jobs
            .get(token.kind() as usize)
            .and_then(|jobs| jobs.get(token.number()))
            .copied()
            .unwrap_or(u32::MAX)
    }

    /// Learns from a job. `view` is asked for what it has only if it counts.
    pub(super) fn observe(&mut self, job: &PreparedJob, view: &mut JobView) {
        let observed = self.frequencies.count(job);
        if observed == Observed::Nothing {
            return;
        }
        view.look_at(job, self);
        for token in &view.tokens {
            let jobs = self.jobs.get_mut(token.kind() as usize);
            if let Some(count) = jobs.and_then(|jobs| jobs.get_mut(token.number())) {
                *count += 1;
            }
        }
        if observed == Observed::Faded {
            for count in self.jobs.iter_mut().flatten() {
                *count /= 2;
            }
        }
    }
}

/// Where a value's token stands. That of [`FOREIGN`] is beyond all.
const fn place(value: u32) -> usize {
    value.wrapping_add(1) as usize
}
