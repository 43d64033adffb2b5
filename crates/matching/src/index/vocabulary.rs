//! Texts that filters name, each stored once and known by a dense number.

use super::IndexFull;
use crate::JobText;
use crate::job_text::WordKey;

/// The most texts one vocabulary can number: encoded expressions leave this many bits to a number.
const MAX_TEXTS: usize = 1 << 26;

/// Texts and their numbers. A number stays valid for good: what no filter names any more is kept until the index is
/// built anew.
#[derive(Debug, Clone)]
pub(super) struct Vocabulary {
    spellings: String,
    /// Text `n` lies from `offsets[n]` to `offsets[n + 1]`.
    offsets: Vec<u32>,
    /// By hash, each in the first free place from its own on. A power of two of them, at most three eighths taken, so
    /// that most look-ups end in the first two.
    slots: Vec<Slot>,
}

/// Who stands here, by the beginning of the text, see [`WordKey`].
#[derive(Debug, Clone, Copy)]
struct Slot {
    beginning: u64,
    /// [`NOBODY`] where it is free.
    number: u32,
}

const NOBODY: u32 = u32::MAX;
const FREE: Slot = Slot {
    beginning: 0,
    number: NOBODY,
};

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
            slots: vec![FREE; 8],
        }
    }
}

impl Vocabulary {
    /// With texts that are numbered from 0.
    pub(super) fn of(texts: &[&str]) -> Self {
        let mut this = Self::default();
        for text in texts {
            // A few texts always have room.
            let _: Result<_, IndexFull> = this.intern(text);
        }
        this
    }

    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The numbers of those of the job's words that have one.
    ///
    /// Whether a word has a number is not to be foreseen, so a branch on it would mostly cost more than all else: the
    /// first pass has none.
    pub(super) fn find_words(&self, text: &JobText, into: &mut WordsFound) {
        let WordsFound { found, displaced } = into;
        let keys = text.keys();
        found.clear();
        found.resize(keys.len(), (0, 0));
        displaced.clear();
        displaced.resize(keys.len() + 1, 0);
        let (mut hits, mut others) = (0, 0);
        for (number, key) in (0..).zip(keys) {
            let home = self.home(key.hash);
            let [first, second] = [self.slots[home], self.slots[self.next(home)]];
            let is_first = first.is(*key);
            let is_hit = is_first | (second.is(*key) & first.is_taken());
            found[hits] = (number, if is_first { first.number } else { second.number });
            hits += usize::from(is_hit);
            displaced[others] = number;
            others += usize::from(!is_hit & first.is_taken() & second.is_taken());
        }
        found.truncate(hits);
        displaced.truncate(others);
        found.retain(|&(number, known)| {
            let is_same = keys[number as usize].is_short() || self.spelling(known) == text.spelling(number);
            if !is_same {
                displaced.push(number);
            }
            is_same
        });
        for number in displaced {
            if let Some(known) = self.find(keys[*number as usize], text.spelling(*number)) {
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
                self.take_slot(WordKey::of(self.spelling(known)), known);
            }
        }
        self.take_slot(key, number);
        self.spellings.push_str(text);
        self.offsets.push(end);
        Ok((number, true))
    }

    pub(super) fn spelling(&self, number: u32) -> &str {
        let at = number as usize;
        &self.spellings[self.offsets[at] as usize..self.offsets[at + 1] as usize]
    }

    fn home(&self, hash: u64) -> usize {
        (hash >> 32) as usize & (self.slots.len() - 1)
    }

    const fn next(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    /// The number of the text with this key.
    pub(super) fn find(&self, key: WordKey, text: &str) -> Option<u32> {
        let mut at = self.home(key.hash);
        loop {
            let slot = self.slots[at];
            if !slot.is_taken() {
                return None;
            }
            if slot.is(key) && (key.is_short() || self.spelling(slot.number) == text) {
                return Some(slot.number);
            }
            at = self.next(at);
        }
    }

    fn take_slot(&mut self, key: WordKey, number: u32) {
        let mut at = self.home(key.hash);
        while self.slots[at].is_taken() {
            at = self.next(at);
        }
        self.slots[at] = Slot {
            beginning: key.beginning,
            number,
        };
    }
}

impl Slot {
    const fn is_taken(self) -> bool {
        self.number != NOBODY
    }

    /// Whether somebody with this beginning stands here.
    const fn is(self, key: WordKey) -> bool {
        (self.beginning == key.beginning) & self.is_taken()
    }
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
