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
    /// A part of the text's hash, so that few texts are compared in vain, and its number.
    numbers: HashTable<(u32, u32)>,
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
        let part = part_of(hash);
        self.numbers
            .find(hash, |&(known, number)| {
                known == part && self.spelling(number) == text
            })
            .map(|&(_, number)| number)
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
            .insert_unique(hash, (part_of(hash), number), |&(_, known)| {
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

#[expect(clippy::cast_possible_truncation, reason = "a part of the hash is wanted")]
fn part_of(hash: u64) -> u32 {
    // The table itself goes by the lowest and the highest bits.
    (hash >> 20) as u32
}
