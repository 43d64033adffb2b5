//! The term dictionary: the tokens of all words, prefixes and values in filters, and how many jobs have them.

use super::frequencies::{Frequencies, Observed};
use super::interner::{FoundWords, Interner, Texts};
use super::prefixes::Prefixes;
use super::token::{IndexFull, Token};
use crate::PreparedJob;
use crate::job_text::WordKey;
use crate::job_values::{JobValue, ValueField};

/// The tokens, by text.
#[derive(Debug, Clone)]
pub(super) struct Dictionary {
    texts: Texts,
    words: Interner,
    prefixes: Prefixes,
    /// By field.
    values: [Interner; ValueField::COUNT],
    frequencies: Frequencies,
    /// By token: the number of observed jobs that have it.
    jobs: Vec<u32>,
}

impl Dictionary {
    pub(super) fn with_frequencies(frequencies: Frequencies) -> Self {
        let mut jobs = vec![u32::MAX; Token::WITHOUT_TEXT as usize];
        for field in ValueField::all() {
            jobs[Token::unknown(field).index()] = frequencies.jobs_with_value(field, None);
        }
        Self {
            texts: Texts::default(),
            words: Interner::default(),
            prefixes: Prefixes::default(),
            values: Default::default(),
            frequencies,
            jobs,
        }
    }

    pub(super) fn into_frequencies(self) -> Frequencies {
        self.frequencies
    }

    /// The number of tokens.
    pub(super) const fn len(&self) -> usize {
        self.texts.tokens()
    }

    pub(super) fn intern_word(&mut self, word: &str) -> Result<Token, IndexFull> {
        let token = self.words.intern(word, &mut self.texts)?;
        self.count_if_new(|frequencies| frequencies.jobs_with_word(word));
        Ok(token)
    }

    pub(super) fn intern_prefix(&mut self, prefix: &str) -> Result<Token, IndexFull> {
        let token = self.prefixes.intern(prefix, &mut self.texts)?;
        self.count_if_new(|frequencies| frequencies.jobs_with_prefix(prefix));
        Ok(token)
    }

    pub(super) fn intern_value(&mut self, field: ValueField, value: &str) -> Result<Token, IndexFull> {
        let token = self.values[usize::from(field.number())].intern(value, &mut self.texts)?;
        self.count_if_new(|frequencies| frequencies.jobs_with_value(field, Some(value)));
        Ok(token)
    }

    /// Stores how many jobs have the token interned last, if it is new.
    fn count_if_new(&mut self, jobs: impl Fn(&Frequencies) -> u32) {
        if self.jobs.len() < self.texts.tokens() {
            self.jobs.push(jobs(&self.frequencies));
        }
    }

    /// The number of observed jobs that have the token.
    pub(super) fn jobs_with(&self, token: Token) -> u32 {
        self.jobs[token.index()]
    }

    /// Finds the tokens of the job's words.
    pub(super) fn find_words(&self, job: &PreparedJob, words: &mut FoundWords) {
        self.words.find_words(job.text(), &self.texts, words);
    }

    /// Calls `found` for the job's tokens that are not words. Prefixes and skills may occur more than once.
    pub(super) fn other_tokens(&self, job: &PreparedJob, mut found: impl FnMut(Token)) {
        found(Token::ANY);
        if !self.prefixes.is_empty() {
            for (word, _) in job.text().distinct_words() {
                self.prefixes.of_word(word, &self.texts, &mut found);
            }
        }
        ValueField::of_job(job, |field, value| {
            let values = &self.values[usize::from(field.number())];
            let token = match value {
                JobValue::Unknown => Some(Token::unknown(field)),
                JobValue::Word(text) => values.find(WordKey::of(text), text, &self.texts),
                JobValue::Text(key, text) => values.find(key, text, &self.texts),
            };
            token.into_iter().for_each(&mut found);
        });
    }

    /// Learns from a job. If the job counts, calls `read` for its tokens, each once.
    pub(super) fn observe<'a>(&mut self, job: &PreparedJob, read: impl FnOnce(&Self) -> &'a [Token]) {
        let observed = self.frequencies.count(job);
        if observed == Observed::Nothing {
            return;
        }
        for token in read(self) {
            let count = &mut self.jobs[token.index()];
            *count = count.saturating_add(1);
        }
        if observed == Observed::Faded {
            for count in &mut self.jobs[Token::ANY.index() + 1..] {
                *count /= 2;
            }
        }
    }
}
