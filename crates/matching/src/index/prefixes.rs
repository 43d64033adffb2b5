//! Finds the prefixes of filters with which a job's words begin.

use hashbrown::HashTable;

use super::interner::Texts;
use super::token::{IndexFull, Token};
use crate::job_text::word_hash;

/// The initial number of bits of the Bloom filter: a multiple of 64 and a power of two.
const FIRST_BITS: usize = 1 << 15;
/// The Bloom filter has at least this many bits for each prefix, so that few look-ups fail.
const BITS_PER_PREFIX: usize = 16;

/// The prefixes, by a rolling hash over their bytes. A word is read once. Only beginnings that pass the Bloom filter are
/// looked up.
#[derive(Debug, Clone)]
pub(super) struct Prefixes {
    /// A prefix's rolling hash and its token.
    tokens: HashTable<(u64, Token)>,
    bloom: Vec<u64>,
    seed: u64,
}

impl Default for Prefixes {
    fn default() -> Self {
        Self {
            tokens: HashTable::new(),
            bloom: vec![0; FIRST_BITS / 64],
            seed: word_hash(""),
        }
    }
}

impl Prefixes {
    /// The token of `prefix`, a new one if it has none.
    pub(super) fn intern(&mut self, prefix: &str, texts: &mut Texts) -> Result<Token, IndexFull> {
        let hash = prefix.bytes().fold(self.seed, roll);
        if let Some(known) = self.find(hash, prefix.as_bytes(), texts) {
            return Ok(known);
        }
        let token = texts.add(prefix)?;
        self.tokens
            .insert_unique(mixed(hash), (hash, token), |&(known, _)| mixed(known));
        if self.tokens.len() * BITS_PER_PREFIX > self.bloom.len() * 64 {
            self.bloom = vec![0; self.bloom.len() * 2];
            for &(known, _) in &self.tokens {
                set(&mut self.bloom, known);
            }
        } else {
            set(&mut self.bloom, hash);
        }
        Ok(token)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Calls `found` for every known prefix of `word`, including `word` itself.
    pub(super) fn of_word(&self, word: &str, texts: &Texts, mut found: impl FnMut(Token)) {
        let mut hash = self.seed;
        for (at, byte) in word.bytes().enumerate() {
            hash = roll(hash, byte);
            let (place, bit) = place(&self.bloom, hash);
            if self.bloom[place] & bit != 0
                && let Some(token) = self.find(hash, &word.as_bytes()[..=at], texts)
            {
                found(token);
            }
        }
    }

    fn find(&self, hash: u64, prefix: &[u8], texts: &Texts) -> Option<Token> {
        let same = |&(known, token): &(u64, Token)| known == hash && texts.get(token).as_bytes() == prefix;
        self.tokens.find(mixed(hash), same).map(|(_, token)| *token)
    }
}

const fn roll(hash: u64, byte: u8) -> u64 {
    (hash.rotate_left(5) ^ byte as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Mixes a hash for the hash table, which uses the lowest and the highest bits. The multiplication mixes only the highest.
const fn mixed(hash: u64) -> u64 {
    hash ^ (hash >> 32)
}

fn place(bloom: &[u64], hash: u64) -> (usize, u64) {
    let bit = (hash >> 36) as usize & (bloom.len() * 64 - 1);
    (bit / 64, 1 << (bit % 64))
}

fn set(bloom: &mut [u64], hash: u64) {
    let (place, bit) = place(bloom, hash);
    bloom[place] |= bit;
}
