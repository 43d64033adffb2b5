//! Stores each text once, and finds its token.

use super::token::{IndexFull, Token};
use crate::JobText;
use crate::job_text::WordKey;

/// The texts of all tokens, one after the other.
///
/// Tokens stay valid: a text that no filter uses any more is kept until a new index is built.
#[derive(Debug, Clone)]
pub(super) struct Texts {
    text: String,
    /// By token: the end of its text, which begins at the end of the text before it.
    ends: Vec<u32>,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            text: String::new(),
            ends: vec![0; Token::WITHOUT_TEXT as usize],
        }
    }
}

impl Texts {
    /// The number of tokens, including those without a text.
    pub(super) const fn tokens(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn add(&mut self, text: &str) -> Result<Token, IndexFull> {
        let end = u32::try_from(self.text.len() + text.len()).map_err(|_| IndexFull)?;
        let token = u32::try_from(self.ends.len()).map_err(|_| IndexFull)?;
        self.text.push_str(text);
        self.ends.push(end);
        Ok(Token(token))
    }

    pub(super) fn get(&self, token: Token) -> &str {
        let at = token.index();
        &self.text[self.ends[at - 1] as usize..self.ends[at] as usize]
    }
}

/// Finds tokens by their text: a hash table with linear probing.
#[derive(Debug, Clone)]
pub(super) struct Interner {
    /// Their number is a power of two. At most three eighths are taken, so that most look-ups need only two slots.
    slots: Vec<Slot>,
    taken: usize,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// The beginning of the text, see [`WordKey`].
    beginning: u64,
    /// [`EMPTY`] if the slot is free.
    token: u32,
}

const EMPTY: u32 = u32::MAX;
const FREE: Slot = Slot {
    beginning: 0,
    token: EMPTY,
};

/// The result of looking up a job's words. Its memory is reused for the next job.
#[derive(Debug, Clone, Default)]
pub(super) struct FoundWords {
    /// The words that have a token: their numbers in the job's text, and their tokens.
    pub(super) found: Vec<(u32, Token)>,
    /// The numbers of words whose first two slots are taken by other words.
    displaced: Vec<u32>,
}

impl Default for Interner {
    fn default() -> Self {
        Self {
            slots: vec![FREE; 8],
            taken: 0,
        }
    }
}

impl Interner {
    /// The token of `text`.
    pub(super) fn find(&self, key: WordKey, text: &str, texts: &Texts) -> Option<Token> {
        let mut at = self.home(key);
        while self.slots[at].is_taken() {
            let token = Token(self.slots[at].token);
            if self.slots[at].is(key) && (key.is_short() || texts.get(token) == text) {
                return Some(token);
            }
            at = self.next(at);
        }
        None
    }

    /// The token of `text`, a new one if it has none.
    pub(super) fn intern(&mut self, text: &str, texts: &mut Texts) -> Result<Token, IndexFull> {
        let key = WordKey::of(text);
        if let Some(token) = self.find(key, text, texts) {
            return Ok(token);
        }
        let token = texts.add(text)?;
        if (self.taken + 1) * 8 > self.slots.len() * 3 {
            let doubled = vec![FREE; self.slots.len() * 2];
            for slot in std::mem::replace(&mut self.slots, doubled) {
                if slot.is_taken() {
                    self.take_slot(WordKey::of(texts.get(Token(slot.token))), slot.token);
                }
            }
        }
        self.take_slot(key, token.0);
        self.taken += 1;
        Ok(token)
    }

    /// Finds the tokens of the job's words.
    ///
    /// It is unpredictable whether a word has a token, and a mispredicted branch would cost more than everything else. So
    /// the first pass has no branch. It looks into two slots, and collects the words that may be in a later slot.
    pub(super) fn find_words(&self, text: &JobText, texts: &Texts, words: &mut FoundWords) {
        let FoundWords { found, displaced } = words;
        let keys = text.keys();
        found.clear();
        found.resize(keys.len(), (0, Token::ANY));
        displaced.clear();
        displaced.resize(keys.len() + 1, 0);
        let (mut hits, mut others) = (0, 0);
        for (number, key) in (0..).zip(keys) {
            let home = self.home(*key);
            let [first, second] = [self.slots[home], self.slots[self.next(home)]];
            let is_first = first.is(*key);
            let is_hit = is_first | (second.is(*key) & first.is_taken());
            found[hits] = (number, Token(if is_first { first.token } else { second.token }));
            hits += usize::from(is_hit);
            displaced[others] = number;
            others += usize::from(!is_hit & first.is_taken() & second.is_taken());
        }
        found.truncate(hits);
        displaced.truncate(others);
        found.retain(|&(number, token)| {
            let is_same = keys[number as usize].is_short() || texts.get(token) == text.spelling(number);
            if !is_same {
                displaced.push(number);
            }
            is_same
        });
        for number in displaced {
            if let Some(token) = self.find(keys[*number as usize], text.spelling(*number), texts) {
                found.push((*number, token));
            }
        }
    }

    fn home(&self, key: WordKey) -> usize {
        (key.hash >> 32) as usize & (self.slots.len() - 1)
    }

    const fn next(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    fn take_slot(&mut self, key: WordKey, token: u32) {
        let mut at = self.home(key);
        while self.slots[at].is_taken() {
            at = self.next(at);
        }
        self.slots[at] = Slot {
            beginning: key.beginning,
            token,
        };
    }
}

impl Slot {
    const fn is_taken(self) -> bool {
        self.token != EMPTY
    }

    /// Whether a text with this beginning is here.
    const fn is(self, key: WordKey) -> bool {
        (self.beginning == key.beginning) & self.is_taken()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_begin_alike_have_different_tokens() {
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
        let (mut interner, mut known) = (Interner::default(), Texts::default());
        for _ in 0..2 {
            for (number, text) in (Token::WITHOUT_TEXT..).zip(texts) {
                assert_eq!(interner.intern(text, &mut known), Ok(Token(number)), "{text:?}");
                assert_eq!(known.get(Token(number)), text);
            }
        }
    }
}
