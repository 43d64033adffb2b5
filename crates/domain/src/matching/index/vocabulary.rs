//! Texts that filters name, each stored once and known by a dense number.

use super::IndexFull;
use crate::matching::JobText;
use crate::matching::job_text::{WordKey, word_hash};

/// The most texts one vocabulary can number: encoded expressions leave this many bits to a number.
const MAX_TEXTS: usize = 1 << 26;

/// Texts and their numbers. A number stays valid for good: what no filter names any more is kept until the index is
/// built anew.
#[derive(Debug, Clone)]
pub(super) struct Vocabulary {
    spellings: String,
    /// Text `n` lies from `offsets[n]` to `offsets[n + 1]`.
    offsets: Vec<u32>,
    beginnings: Vec<u64>,
    /// By hash, each in the first free place from its own on. A power of two of them, at most three eighths taken, so
    /// that most look-ups end where they begin.
    slots: Vec<Slot>,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Some bits of the hash; 0 where nobody is.
    tag: u32,
    number: u32,
}

const FREE: Slot = Slot { tag: 0, number: 0 };

/// Memory that looking up a job's words uses again and again.
#[derive(Debug, Clone, Default)]
pub(super) struct WordsFound {
    /// Numbers of words in the job's text and here.
    pub(super) found: Vec<(u32, u32)>,
    /// Numbers in the job's text of words whose place is another's.
    displaced: Vec<u32>,
}

impl Default for Vocabulary {
    fn default() -> Self {
        Self {
            spellings: String::new(),
            offsets: vec![0],
            beginnings: Vec::new(),
            slots: vec![FREE; 8],
        }
    }
}

impl Vocabulary {
    pub(super) fn len(&self) -> usize {
        self.beginnings.len()
    }

    /// The number of `text`.
    pub(super) fn number(&self, text: &str) -> Option<u32> {
        self.find(WordKey::of(text), text)
    }

    /// The numbers of those of the job's words that have one.
    ///
    /// Whether a word has a number is not to be foreseen, so a branch on it would mostly cost more than all else: the
    /// first pass has none.
    pub(super) fn find_words(&self, text: &JobText, into: &mut WordsFound) {
        let WordsFound { found, displaced } = into;
        let words = text.words();
        found.clear();
        found.resize(words.len(), (0, 0));
        displaced.clear();
        displaced.resize(words.len() + 1, 0);
        let (mut hits, mut others) = (0, 0);
        for (number, word) in (0..).zip(words) {
            let slot = self.slots[self.home(word.key.hash)];
            let is_hit = slot.tag == tag(word.key.hash);
            found[hits] = (number, slot.number);
            hits += usize::from(is_hit);
            displaced[others] = number;
            others += usize::from(!is_hit & (slot.tag != 0));
        }
        found.truncate(hits);
        displaced.truncate(others);
        found.retain(|(number, known)| {
            let word = &words[*number as usize];
            let is_same = self.is(*known, word.key, text.spelling(word));
            if !is_same {
                displaced.push(*number);
            }
            is_same
        });
        for number in displaced {
            let word = &words[*number as usize];
            if let Some(known) = self.find(word.key, text.spelling(word)) {
                found.push((*number, known));
            }
        }
    }

    /// The number of `text`, a new one if it has none, and whether it is new.
    pub(super) fn intern(&mut self, text: &str) -> Result<(u32, bool), IndexFull> {
        let key = WordKey::of(text);
        if let Some(number) = self.find(key, text) {
            return Ok((number, false));
        }
        let end = u32::try_from(self.spellings.len() + text.len()).map_err(|_| IndexFull)?;
        let number = match u32::try_from(self.len()) {
            Ok(number) if self.len() < MAX_TEXTS => number,
            _ => return Err(IndexFull),
        };
        if (self.len() + 1) * 8 > self.slots.len() * 3 {
            self.slots = vec![FREE; self.slots.len() * 2];
            for known in 0..number {
                let hash = word_hash(self.spelling(known));
                self.take_slot(hash, known);
            }
        }
        self.take_slot(key.hash, number);
        self.spellings.push_str(text);
        self.offsets.push(end);
        self.beginnings.push(key.beginning);
        Ok((number, true))
    }

    pub(super) fn spelling(&self, number: u32) -> &str {
        let at = number as usize;
        &self.spellings[self.offsets[at] as usize..self.offsets[at + 1] as usize]
    }

    fn home(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    fn find(&self, key: WordKey, text: &str) -> Option<u32> {
        let mut at = self.home(key.hash);
        loop {
            let slot = self.slots[at];
            if slot.tag == 0 {
                return None;
            }
            if slot.tag == tag(key.hash) && self.is(slot.number, key, text) {
                return Some(slot.number);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    fn is(&self, number: u32, key: WordKey, text: &str) -> bool {
        self.beginnings[number as usize] == key.beginning && (key.is_short() || self.spelling(number) == text)
    }

    fn take_slot(&mut self, hash: u64, number: u32) {
        let mut at = self.home(hash);
        while self.slots[at].tag != 0 {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = Slot {
            tag: tag(hash),
            number,
        };
    }
}

/// Never 0, and other bits than those that lead to the slot.
#[expect(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
const fn tag(hash: u64) -> u32 {
    hash as u32 | 1
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
