//! Prefixes that filters name, found for a job's words without asking each of them.

use hashbrown::HashTable;

use super::IndexFull;
use super::vocabulary::Vocabulary;
use crate::job_text::word_hash;

/// Bits of the sieve at first; a multiple of 64 and a power of two.
const SIEVE_BITS: usize = 1 << 15;
/// The sieve keeps at least so many bits a prefix, so that few look-ups are in vain.
const BITS_A_PREFIX: usize = 16;

/// Prefixes by a hash that rolls over a word's bytes: each word is read once, and only where the sieve lets its
/// beginning pass is that beginning looked up.
#[derive(Debug, Clone)]
pub(super) struct Prefixes {
    texts: Vocabulary,
    /// A prefix's rolling hash and number.
    numbers: HashTable<(u64, u32)>,
    sieve: Vec<u64>,
    seed: u64,
}

impl Default for Prefixes {
    fn default() -> Self {
        Self {
            texts: Vocabulary::default(),
            numbers: HashTable::new(),
            sieve: vec![0; SIEVE_BITS / 64],
            seed: word_hash(""),
        }
    }
}

impl Prefixes {
    /// The number of `prefix`, a new one if it has none, and whether it is new.
    pub(super) fn intern(&mut self, prefix: &str) -> Result<(u32, bool), IndexFull> {
        let (number, is_new) = self.texts.intern(prefix)?;
        if is_new {
            let hash = prefix.bytes().fold(self.seed, roll);
            self.numbers
                .insert_unique(mixed(hash), (hash, number), |&(known, _)| mixed(known));
            if self.numbers.len() * BITS_A_PREFIX > self.sieve.len() * 64 {
                let bits = self.sieve.len() * 2;
                self.sieve.clear();
                self.sieve.resize(bits, 0);
                for &(known, _) in &self.numbers {
                    let_pass(&mut self.sieve, known);
                }
            } else {
                let_pass(&mut self.sieve, hash);
            }
        }
        Ok((number, is_new))
    }

    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn spelling(&self, number: u32) -> &str {
        self.texts.spelling(number)
    }

    /// Tells every known prefix of `word`, itself included.
    pub(super) fn of_word(&self, word: &str, mut tell: impl FnMut(u32)) {
        let mut hash = self.seed;
        for (at, byte) in word.bytes().enumerate() {
            hash = roll(hash, byte);
            let (place, bit) = place(&self.sieve, hash);
            if self.sieve[place] & bit == 0 {
                continue;
            }
            let same = |&(known, number): &(u64, u32)| {
                known == hash && self.texts.spelling(number).as_bytes() == &word.as_bytes()[..=at]
            };
            if let Some(&(_, number)) = self.numbers.find(mixed(hash), same) {
                tell(number);
            }
        }
    }
}

const fn roll(hash: u64, byte: u8) -> u64 {
    (hash.rotate_left(5) ^ byte as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// The table goes by the lowest and highest bits, of which multiplying makes only the highest good.
const fn mixed(hash: u64) -> u64 {
    hash ^ (hash >> 32)
}

fn place(sieve: &[u64], hash: u64) -> (usize, u64) {
    let bit = (hash >> 36) as usize & (sieve.len() * 64 - 1);
    (bit / 64, 1 << (bit % 64))
}

fn let_pass(sieve: &mut [u64], hash: u64) {
    let (place, bit) = place(sieve, hash);
    sieve[place] |= bit;
}
