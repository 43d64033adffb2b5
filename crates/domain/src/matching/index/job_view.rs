//! A job in the index's numbers: built once a match, and asked by every entry and every survivor.

use super::posting::{ALWAYS, Outline, TokenBits, hashed};
use super::terms::{Terms, UNKNOWN};
use super::token::{Attributed, Token, TokenKind};
use crate::matching::condition::Attribute;
use crate::matching::{FieldSet, PreparedJob};

/// Marks a free place of the table.
const FREE: u32 = u32::MAX;

/// The job's tokens and values, as far as filters name them. Kept between jobs for its memory.
#[derive(Debug, Clone)]
pub(super) struct JobView {
    /// The tokens of the job that occur in filters.
    pub(super) tokens: Vec<Token>,
    /// The same, hashed, in 8 KiB.
    pub(super) bits: Box<TokenBits>,
    pub(super) outline: Outline,
    /// Words and prefixes by their tokens: the number of the word in the job's text and the fields, see [`packed`].
    table: Vec<(u32, u32)>,
    pub(super) attributes: [u32; Attribute::COUNT],
    pub(super) skills: Vec<u32>,
}

impl Default for JobView {
    fn default() -> Self {
        Self {
            tokens: Vec::new(),
            bits: Box::new([0; 1 << 10]),
            outline: Outline::default(),
            table: Vec::new(),
            attributes: [UNKNOWN; Attribute::COUNT],
            skills: Vec::new(),
        }
    }
}

impl JobView {
    /// Looks at `job` in the numbers of `terms`.
    pub(super) fn look_at(&mut self, job: &PreparedJob, terms: &Terms) {
        self.tokens.clear();
        self.skills.clear();
        self.bits.fill(0);
        // Two places a token at least, and prefixes are rare; should they not be, the table grows.
        let words = job.text().hashed_words().size_hint().0;
        self.table.clear();
        self.table
            .resize((words * 2).next_power_of_two().max(64), (FREE, 0));

        for (number, (hash, word, fields)) in (0..).zip(job.text().hashed_words()) {
            if let Some(known) = terms.words.number(hash, word) {
                self.add(Token::new(TokenKind::Word, known), packed(number, fields));
            }
            terms.prefixes.of_word(word, |prefix| {
                self.add(Token::new(TokenKind::Prefix, prefix), packed(number, fields));
            });
        }
        self.look_at_values(job, terms);
        for token in &self.tokens {
            let hash = hashed(*token);
            self.bits[usize::from(hash >> 6)] |= 1 << (hash & 63);
        }
        self.bits[usize::from(ALWAYS >> 6)] |= 1 << (ALWAYS & 63);
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

    fn add(&mut self, token: Token, packed: u32) {
        if (self.tokens.len() + 1) * 2 > self.table.len() {
            let entries = std::mem::take(&mut self.table);
            self.table.resize(entries.len() * 2, (FREE, 0));
            for (token, packed) in entries.into_iter().filter(|(token, _)| *token != FREE) {
                let place = self.place(token);
                self.table[place] = (token, packed);
            }
        }
        let place = self.place(token.bits());
        let entry = &mut self.table[place];
        if entry.0 == FREE {
            *entry = (token.bits(), packed);
            self.tokens.push(token);
        } else {
            // A prefix of another word of the job: of it the fields alone count.
            entry.1 |= packed & 0b111;
        }
    }

    /// Where the token stands, or would stand.
    #[inline]
    fn place(&self, token: u32) -> usize {
        let mask = self.table.len() - 1;
        let mut place = (token.wrapping_mul(0x9E37_79B1) >> 12) as usize & mask;
        while self.table[place].0 != token && self.table[place].0 != FREE {
            place = (place + 1) & mask;
        }
        place
    }

    /// Whether the job has the word or prefix in one of the fields.
    #[inline]
    pub(super) fn has(&self, token: Token, fields: u32) -> bool {
        let (known, packed) = self.table[self.place(token.bits())];
        known == token.bits() && packed & fields != 0
    }

    /// The number of the word in the job's text.
    pub(super) fn place_in_text(&self, word: u32) -> Option<u32> {
        let token = Token::new(TokenKind::Word, word).bits();
        let (known, packed) = self.table[self.place(token)];
        (known == token).then_some(packed >> 3)
    }
}

const fn packed(number: u32, fields: FieldSet) -> u32 {
    number << 3 | fields.bits()
}
