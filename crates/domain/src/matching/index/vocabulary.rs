//! Texts that filters name, each stored once and known by a dense number.

use hashbrown::HashTable;

use super::IndexFull;
use crate::matching::job_text::word_hash;

/// The most texts one vocabulary can number: encoded expressions leave this many bits to a number.
const MAX_TEXTS: usize = 1 << 26;

/// Texts and their numbers. A number stays valid for good: what no filter names any more is kept until the index is
/// built anew.
#[derive(Debug, Clone)]
pub(super) struct Vocabulary {
    spellings: String,
    /// Text `n` lies from `offsets[n]` to `offsets[n + 1]`.
    offsets: Vec<u32>,
    /// The text's beginning, which mostly is all of it, and its number.
    numbers: HashTable<(u64, u32)>,
}

impl Default for Vocabulary {
    fn default() -> Self {
        Self {
            spellings: String::new(),
            offsets: vec![0],
            numbers: HashTable::new(),
        }
    }
}

impl Vocabulary {
    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The number of `text`, whose [`word_hash`] is `hash`.
    pub(super) fn number(&self, hash: u64, text: &str) -> Option<u32> {
        let start = beginning(text);
        let same = |&(known, number): &(u64, u32)| {
            known == start && (text.len() < BEGINNING || self.spelling(number) == text)
        };
        self.numbers.find(hash, same).map(|&(_, number)| number)
    }

    /// The number of `text`, a new one if it has none, and whether it is new.
    pub(super) fn intern(&mut self, text: &str) -> Result<(u32, bool), IndexFull> {
        let hash = word_hash(text);
        if let Some(number) = self.number(hash, text) {
            return Ok((number, false));
        }
        let end = u32::try_from(self.spellings.len() + text.len()).map_err(|_| IndexFull)?;
        let number = match u32::try_from(self.len()) {
            Ok(number) if self.len() < MAX_TEXTS => number,
            _ => return Err(IndexFull),
        };
        self.spellings.push_str(text);
        self.offsets.push(end);
        let (spellings, offsets) = (&self.spellings, &self.offsets);
        self.numbers
            .insert_unique(hash, (beginning(text), number), |&(_, known)| {
                word_hash(spelling(spellings, offsets, known))
            });
        Ok((number, true))
    }

    pub(super) fn spelling(&self, number: u32) -> &str {
        spelling(&self.spellings, &self.offsets, number)
    }
}

fn spelling<'a>(spellings: &'a str, offsets: &[u32], number: u32) -> &'a str {
    let at = number as usize;
    &spellings[offsets[at] as usize..offsets[at + 1] as usize]
}

/// Bytes that are compared without looking at the text itself.
const BEGINNING: usize = 8;

/// The first bytes of `text`. A shorter text is followed by zeros and a last byte that tells its length and that no
/// UTF-8 text has, so that what is equal here is the same text, or both are longer.
fn beginning(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let half = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
    let short = match (bytes.first_chunk::<8>(), bytes.first_chunk(), bytes.last_chunk()) {
        (Some(bytes), _, _) => return u64::from_le_bytes(*bytes),
        // The halves overlap, and agree where they do.
        (None, Some(first), Some(last)) => half(first) | half(last) << (8 * (bytes.len() - 4)),
        _ => bytes
            .iter()
            .rev()
            .fold(0, |all, byte| all << 8 | u64::from(*byte)),
    };
    short | (0xF8 + bytes.len() as u64) << 56
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_begin_alike_are_told_apart() {
        let texts = [
            "",
            "\0",
            "a",
            "a\0",
            "ab",
            "abc",
            "abcd",
            "abcde",
            "abcdef",
            "abcdefg",
            "abcdefg\0",
            "abcdefgh",
            "abcdefghi",
            "abcdefgh\0",
            "é",
            "东京",
            "\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}",
        ];
        let mut vocabulary = Vocabulary::default();
        for (number, text) in (0..).zip(texts) {
            assert_eq!(vocabulary.intern(text), Ok((number, true)), "{text:?}");
        }
        for (number, text) in (0..).zip(texts) {
            assert_eq!(vocabulary.intern(text), Ok((number, false)), "{text:?}");
            assert_eq!(vocabulary.spelling(number), text);
        }
    }
}
