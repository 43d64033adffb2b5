//! A job in the index's numbers: built once a match, and asked by every entry and every survivor.

use super::posting::{Outline, TokenSieve};
use super::terms::{Terms, UNKNOWN};
use super::token::{Token, TokenKind};
use super::vocabulary::WordsFound;
use crate::condition::Attribute;
use crate::job_values::Attributed;
use crate::{FieldSet, PreparedJob};

/// The job's tokens and values, as far as filters name them. Kept between jobs for its memory.
#[derive(Debug, Clone)]
pub(super) struct JobView {
    /// The tokens of the job that occur in filters, each once.
    pub(super) tokens: Vec<Token>,
    /// The same, for entries.
    pub(super) sieve: TokenSieve,
    pub(super) outline: Outline,
    found: WordsFound,
    words: Places,
    prefixes: Places,
    pub(super) attributes: [u32; Attribute::COUNT],
    pub(super) skills: Vec<u32>,
}

/// By the number of a word or prefix: where the job has it, see [`packed`]; 0 if it has not.
#[derive(Debug, Clone, Default)]
struct Places(Vec<u32>);

impl Default for JobView {
    fn default() -> Self {
        Self {
            tokens: Vec::new(),
            sieve: TokenSieve::default(),
            outline: Outline::default(),
            found: WordsFound::default(),
            words: Places::default(),
            prefixes: Places::default(),
            attributes: [UNKNOWN; Attribute::COUNT],
            skills: Vec::new(),
        }
    }
}

impl JobView {
    /// Looks at `job` in the numbers of `terms`.
    pub(super) fn look_at(&mut self, job: &PreparedJob, terms: &Terms) {
        self.forget();
        self.words.make_room(terms.words.len());
        self.prefixes.make_room(terms.prefixes.len());
        let text = job.text();
        terms.words.find_words(text, &mut self.found);
        for (number, known) in &self.found.found {
            let packed = packed(*number, text.fields(*number));
            // A job's words are distinct.
            self.words.0[*known as usize] = packed;
            self.tokens.push(Token::new(TokenKind::Word, *known));
        }
        if terms.prefixes.len() > 0 {
            for (number, (word, fields)) in (0..).zip(text.distinct_words()) {
                let packed = packed(number, fields);
                terms.prefixes.of_word(word, |prefix| {
                    if self.prefixes.add(prefix, packed) {
                        self.tokens.push(Token::new(TokenKind::Prefix, prefix));
                    }
                });
            }
        }
        self.look_at_values(job, terms);
        for token in &self.tokens {
            self.sieve.add(*token);
        }
    }

    /// Undoes what the job before left, which is less than clearing everything.
    fn forget(&mut self) {
        for token in self.tokens.drain(..) {
            self.sieve.remove(token);
            match token.kind() {
                TokenKind::Word => self.words.0[token.number()] = 0,
                TokenKind::Prefix => self.prefixes.0[token.number()] = 0,
                TokenKind::Value | TokenKind::Any => {}
            }
        }
        self.skills.clear();
    }

    fn look_at_values(&mut self, job: &PreparedJob, terms: &Terms) {
        Attributed::of_job(job, |attributed, value| {
            let value = terms.value(value);
            match attributed {
                Attributed::Text(attribute) => self.attributes[attribute as usize] = value,
                Attributed::Skill if value != UNKNOWN => {
                    // A skill named twice must not lead to the same entries twice.
                    if self.skills.contains(&value) {
                        return;
                    }
                    self.skills.push(value);
                }
                _ => {}
            }
            if let Some(token) = terms.token(attributed, value) {
                self.tokens.push(token);
            }
        });
        self.tokens.push(Token::ANY);
        let category = self.attributes[Attribute::Category as usize];
        self.outline = Outline::new(job, category, terms.category(category));
    }

    /// Whether the job has the word in one of the fields.
    #[inline]
    pub(super) fn has_word(&self, word: u32, fields: u32) -> bool {
        self.words.0[word as usize] & fields != 0
    }

    /// Whether the job has a word with the prefix in one of the fields.
    #[inline]
    pub(super) fn has_prefix(&self, prefix: u32, fields: u32) -> bool {
        self.prefixes.0[prefix as usize] & fields != 0
    }

    /// The number of the word in the job's text.
    pub(super) fn place_in_text(&self, word: u32) -> Option<u32> {
        let packed = self.words.0[word as usize];
        (packed != 0).then_some(packed >> 3)
    }
}

impl Places {
    fn make_room(&mut self, numbers: usize) {
        if self.0.len() < numbers {
            self.0.resize(numbers, 0);
        }
    }

    /// Tells whether it is the first with this number. Of the others the fields alone count: they are other words with
    /// the same prefix.
    #[inline]
    fn add(&mut self, number: u32, packed: u32) -> bool {
        let place = &mut self.0[number as usize];
        let is_first = *place == 0;
        *place = if is_first { packed } else { *place | packed & 0b111 };
        is_first
    }
}

/// The word's number in the job's text and its fields, of which there is at least one.
const fn packed(number: u32, fields: FieldSet) -> u32 {
    number << 3 | fields.bits()
}
