//! The words of a job, which can be found by spelling and by place. Keyword expressions are evaluated on it.

use std::hash::BuildHasher;
use std::sync::{LazyLock, OnceLock};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::keywords::{Field, MAX_PHRASE_WORDS, Term};
use super::text;
use crate::JobFacts;

/// Separates two texts in the sequence of words, so that no phrase reaches from one text into the next.
const BOUNDARY: u32 = u32::MAX;
/// Ends a chain of places.
const NOWHERE: u32 = u32::MAX;

/// The hasher of all words. Jobs and filters share it, so that a word of a job is hashed once. Its seed is random, since
/// posts come from strangers, who must not be able to choose words with the same hash.
static WORD_HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

/// The hash of a folded word, the same throughout the process.
pub(super) fn word_hash(word: &str) -> u64 {
    WORD_HASHER.hash_one(word)
}

/// A word's hash and first bytes. They distinguish most words without their spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WordKey {
    /// The [`word_hash`].
    pub(super) hash: u64,
    /// The first eight bytes. A shorter word is padded with zeros, and the last byte is 0xF8 plus its length, which does
    /// not occur in UTF-8. So two words with the same beginning are equal or have at least eight bytes.
    pub(super) beginning: u64,
}

impl WordKey {
    pub(super) fn of(word: &str) -> Self {
        Self {
            hash: word_hash(word),
            beginning: beginning(word),
        }
    }

    /// Whether the beginning holds the whole word.
    pub(super) const fn is_short(self) -> bool {
        self.beginning >> 56 >= 0xF8
    }
}

fn beginning(word: &str) -> u64 {
    let bytes = word.as_bytes();
    let half = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
    let short = match (bytes.first_chunk::<8>(), bytes.first_chunk(), bytes.last_chunk()) {
        (Some(bytes), _, _) => return u64::from_le_bytes(*bytes),
        // The halves have the same bits where they overlap.
        (None, Some(first), Some(last)) => half(first) | half(last) << (8 * (bytes.len() - 4)),
        _ => bytes
            .iter()
            .rev()
            .fold(0, |all, byte| all << 8 | u64::from(*byte)),
    };
    short | (0xF8 + bytes.len() as u64) << 56
}

/// A set of text fields of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldSet(u8);

impl FieldSet {
    /// The set of title, description and skills.
    pub const ALL: Self = Self(0b111);

    /// The set of `field` alone.
    pub const fn of(field: Field) -> Self {
        Self(1 << field as u8)
    }

    /// Whether `field` is in the set.
    pub const fn contains(self, field: Field) -> bool {
        self.intersects(Self::of(field))
    }

    /// Whether the sets have a field in common.
    pub(super) const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The words of a job's title, description and skills.
///
/// It is built once for each job. The expressions of all filters are evaluated on it without reading the text again.
#[derive(Debug, Clone)]
pub struct JobText {
    /// The folded texts, one after the other.
    folded: String,
    /// The distinct words in the order of their first places. A word's number is its index here.
    words: Vec<DistinctWord>,
    /// The keys of the words, apart from `words` since most look-ups need nothing else.
    keys: Vec<WordKey>,
    /// The fields in which each word occurs.
    fields: Vec<FieldSet>,
    /// Word numbers by hash.
    by_word: HashTable<u32>,
    /// Word numbers in alphabetical order. Sorted when a prefix is first looked up.
    alphabetical: OnceLock<Vec<u32>>,
    /// The words of the texts in reading order, as word numbers, with a [`BOUNDARY`] after each text.
    sequence: Vec<u32>,
    /// For each place in `sequence`, the next place of the same word.
    next_place: Vec<u32>,
    description_from: u32,
    skills_from: u32,
}

/// The spelling of a distinct word, as a range of the folded texts, and its places in the sequence.
#[derive(Debug, Clone)]
struct DistinctWord {
    start: u32,
    end: u32,
    first_place: u32,
    last_place: u32,
    /// The number of places.
    places: u32,
}

impl JobText {
    /// Splits the job's texts into words and indexes them.
    ///
    /// A text that would bring the total above 4 GiB is left out.
    pub fn new(job: &JobFacts<'_>) -> Self {
        let skills = job.skills.as_deref().unwrap_or_default();
        let bytes = job.title.len() + job.description.len() + skills.len() * 24;
        let mut this = Self {
            folded: String::with_capacity(bytes + bytes / 16),
            words: Vec::with_capacity(bytes / 9),
            keys: Vec::with_capacity(bytes / 9),
            fields: Vec::with_capacity(bytes / 9),
            by_word: HashTable::with_capacity(bytes / 9),
            alphabetical: OnceLock::new(),
            sequence: Vec::with_capacity(bytes / 5),
            next_place: Vec::with_capacity(bytes / 5),
            description_from: 0,
            skills_from: 0,
        };
        this.add(job.title, Field::Title);
        this.description_from = this.place();
        this.add(job.description, Field::Description);
        this.skills_from = this.place();
        for skill in skills {
            this.add(skill, Field::Skill);
        }
        this
    }

    fn place(&self) -> u32 {
        u32::try_from(self.sequence.len()).unwrap_or(BOUNDARY)
    }

    fn add(&mut self, text: &str, field: Field) {
        let from = self.folded.len();
        text::fold_onto(text, &mut self.folded);
        if u32::try_from(self.folded.len()).is_err() {
            self.folded.truncate(from);
            return;
        }
        // Moved out of `self`, so that words can be added while the text is read.
        let folded = std::mem::take(&mut self.folded);
        let mut words = text::words(&folded[from..]);
        while let Some(word) = words.next() {
            let end = from + words.offset();
            self.add_word(&folded, end - word.len(), end, field);
        }
        self.folded = folded;
        self.sequence.push(BOUNDARY);
        self.next_place.push(NOWHERE);
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "add refuses texts whose offsets exceed u32"
    )]
    fn add_word(&mut self, folded: &str, start: usize, end: usize, field: Field) {
        let place = self.place();
        let word = &folded[start..end];
        let words = &mut self.words;
        let same = |n: &u32| {
            let known = &words[*n as usize];
            folded.get(known.start as usize..known.end as usize) == Some(word)
        };
        let key = WordKey::of(word);
        let hash = key.hash;
        if let Some(&number) = self.by_word.find(hash, same) {
            let known = &mut words[number as usize];
            self.next_place[known.last_place as usize] = place;
            known.last_place = place;
            known.places += 1;
            self.fields[number as usize].0 |= FieldSet::of(field).0;
            self.sequence.push(number);
        } else {
            let number = words.len() as u32;
            words.push(DistinctWord {
                start: start as u32,
                end: end as u32,
                first_place: place,
                last_place: place,
                places: 1,
            });
            self.keys.push(key);
            self.fields.push(FieldSet::of(field));
            let keys = &self.keys;
            self.by_word
                .insert_unique(hash, number, |n| keys[*n as usize].hash);
            self.sequence.push(number);
        }
        self.next_place.push(NOWHERE);
    }

    /// Returns the distinct words and the fields in which each occurs.
    pub fn distinct_words(&self) -> impl Iterator<Item = (&str, FieldSet)> {
        self.words
            .iter()
            .map(|word| self.spelling_of(word))
            .zip(self.fields.iter().copied())
    }

    /// Whether one of the fields contains the term.
    pub fn contains(&self, term: &Term, fields: FieldSet) -> bool {
        let mut numbers = [0; MAX_PHRASE_WORDS];
        let mut count = 0;
        for word in term.whole_words() {
            match (self.find(word), numbers.get_mut(count)) {
                (Some(found), Some(number)) => *number = found,
                _ => return false,
            }
            count += 1;
        }
        match (&numbers[..count], term.prefix()) {
            ([number], None) => self.fields(*number).intersects(fields),
            ([], prefix) => prefix.is_some_and(|prefix| self.has_prefix(prefix, fields)),
            (numbers, prefix) => self.contains_sequence(numbers, prefix, fields),
        }
    }

    /// Whether one of the fields contains a word with the prefix.
    fn has_prefix(&self, prefix: &str, fields: FieldSet) -> bool {
        let alphabetical = self.alphabetical.get_or_init(|| {
            let mut numbers: Vec<u32> = (0..).take(self.words.len()).collect();
            numbers.sort_unstable_by_key(|number| self.spelling(*number));
            numbers
        });
        let from = alphabetical.partition_point(|number| self.spelling(*number) < prefix);
        alphabetical[from..]
            .iter()
            .take_while(|number| self.spelling(**number).starts_with(prefix))
            .any(|number| self.fields(*number).intersects(fields))
    }

    /// The keys of the distinct words, by word number.
    pub(super) fn keys(&self) -> &[WordKey] {
        &self.keys
    }

    /// The fields in which the word with this number occurs.
    fn fields(&self, number: u32) -> FieldSet {
        self.fields[number as usize]
    }

    /// The spelling of the word with this number.
    pub(super) fn spelling(&self, number: u32) -> &str {
        self.spelling_of(self.word(number))
    }

    /// Whether one of the fields contains the words with these numbers directly after one another, and then a word with
    /// `prefix` if there is one.
    pub(super) fn contains_sequence(&self, numbers: &[u32], prefix: Option<&str>, fields: FieldSet) -> bool {
        // The rarest word has the fewest places to compare.
        let Some((offset, rarest)) = numbers
            .iter()
            .enumerate()
            .min_by_key(|(_, n)| self.word(**n).places)
        else {
            return false;
        };
        let rarest = self.word(*rarest);
        if rarest.places as usize * numbers.len() > self.sequence.len() {
            return self.contains_repetitive(numbers, prefix, fields);
        }
        let mut place = rarest.first_place;
        while place != NOWHERE {
            let start = (place as usize).checked_sub(offset);
            let stands = |start: usize| self.sequence.get(start..start + numbers.len()) == Some(numbers);
            if start
                .is_some_and(|start| stands(start) && self.may_stand_at(start, numbers.len(), prefix, fields))
            {
                return true;
            }
            place = self.next_place[place as usize];
        }
        false
    }

    /// Does the same in one pass over the sequence (Knuth-Morris-Pratt). If text and phrase repeat a few words, the
    /// comparison at each place of the rarest word would take quadratic time.
    fn contains_repetitive(&self, numbers: &[u32], prefix: Option<&str>, fields: FieldSet) -> bool {
        // For each beginning of the phrase, the length of the longest shorter beginning that is also its end.
        let mut shorter = vec![0; numbers.len()];
        let mut length = 0;
        for end in 1..numbers.len() {
            while length > 0 && numbers[length] != numbers[end] {
                length = shorter[length - 1];
            }
            length += usize::from(numbers[length] == numbers[end]);
            shorter[end] = length;
        }
        let mut length = 0;
        for (place, number) in self.sequence.iter().enumerate() {
            while length > 0 && numbers[length] != *number {
                length = shorter[length - 1];
            }
            length += usize::from(numbers[length] == *number);
            if length == numbers.len() {
                if self.may_stand_at(place + 1 - length, length, prefix, fields) {
                    return true;
                }
                length = shorter[length - 1];
            }
        }
        false
    }

    /// Whether a sequence found at `start` is in one of the fields, and is followed by a word with `prefix` if there is one.
    fn may_stand_at(&self, start: usize, length: usize, prefix: Option<&str>, fields: FieldSet) -> bool {
        if !fields.contains(self.field_at(start)) {
            return false;
        }
        let Some(prefix) = prefix else {
            return true;
        };
        // There is always a place after a phrase, since each text ends with a boundary.
        self.sequence
            .get(start + length)
            .is_some_and(|&next| next != BOUNDARY && self.spelling(next).starts_with(prefix))
    }

    fn field_at(&self, place: usize) -> Field {
        if place < self.description_from as usize {
            Field::Title
        } else if place < self.skills_from as usize {
            Field::Description
        } else {
            Field::Skill
        }
    }

    fn find(&self, word: &str) -> Option<u32> {
        let key = WordKey::of(word);
        let same = |n: &u32| self.keys[*n as usize] == key && (key.is_short() || self.spelling(*n) == word);
        self.by_word.find(key.hash, same).copied()
    }

    fn word(&self, number: u32) -> &DistinctWord {
        &self.words[number as usize]
    }

    fn spelling_of(&self, word: &DistinctWord) -> &str {
        &self.folded[word.start as usize..word.end as usize]
    }
}
