//! A job's words, looked up by word and by place: what the keyword expressions of all filters are held against.

use std::hash::BuildHasher;
use std::sync::{LazyLock, OnceLock};

use hashbrown::{DefaultHashBuilder, HashTable};

use super::keywords::{Field, MAX_PHRASE_WORDS, Term};
use super::text;
use crate::JobFacts;

/// Stands between two texts in the sequence of words, so that no phrase reaches from one into the next.
const BOUNDARY: u32 = u32::MAX;
/// Ends a chain of places.
const NOWHERE: u32 = u32::MAX;

/// One for all jobs and filters, so that a word is hashed once, when the text is split. Its seed is random: posts come
/// from strangers, who must not be able to choose words that collide.
static WORD_HASHER: LazyLock<DefaultHashBuilder> = LazyLock::new(DefaultHashBuilder::default);

/// The hash of a folded word, the same throughout the process.
pub(super) fn word_hash(word: &str) -> u64 {
    WORD_HASHER.hash_one(word)
}

/// What tells most words apart without looking at their spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WordKey {
    /// The [`word_hash`].
    pub(super) hash: u64,
    /// The first eight bytes. A shorter word is followed by zeros and a last byte that tells its length and that no
    /// UTF-8 text has, so that what is equal here is the same word, or both are longer.
    pub(super) beginning: u64,
}

impl WordKey {
    pub(super) fn of(word: &str) -> Self {
        Self {
            hash: word_hash(word),
            beginning: beginning(word),
        }
    }

    /// Whether the beginning is the whole word.
    pub(super) const fn is_short(self) -> bool {
        self.beginning >> 56 >= 0xF8
    }
}

fn beginning(word: &str) -> u64 {
    let bytes = word.as_bytes();
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

/// Some of the fields of a job's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldSet(u8);

impl FieldSet {
    /// Title, description and skills.
    pub const ALL: Self = Self(0b111);

    /// `field` alone.
    pub const fn of(field: Field) -> Self {
        Self(1 << field as u8)
    }

    /// Whether `field` is among them.
    pub const fn contains(self, field: Field) -> bool {
        self.intersects(Self::of(field))
    }

    /// Whether they have a field in common.
    pub(super) const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// The words of a job's title, description and skills.
///
/// Built once per job; every filter's expression is then answered from it without reading the text again.
#[derive(Debug, Clone)]
pub struct JobText {
    /// The folded texts, one after the other.
    folded: String,
    /// The distinct words, in the order of their first places.
    words: Vec<DistinctWord>,
    /// What filters ask of each word first, and close together: its key and its fields.
    keys: Vec<WordKey>,
    fields: Vec<FieldSet>,
    by_word: HashTable<u32>,
    /// The words' numbers in alphabetical order; made when a prefix is looked for.
    alphabetical: OnceLock<Vec<u32>>,
    /// The words' numbers in reading order, with boundaries between the texts.
    sequence: Vec<u32>,
    /// For each place in `sequence`, the next place of the same word.
    next_place: Vec<u32>,
    description_from: u32,
    skills_from: u32,
}

/// Where a word of a job stands.
#[derive(Debug, Clone)]
struct DistinctWord {
    start: u32,
    end: u32,
    first_place: u32,
    last_place: u32,
    places: u32,
}

impl JobText {
    /// Splits the job's texts into words and indexes them.
    ///
    /// Texts beyond 4 GiB together are cut off there: they do not occur.
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
        // Taken out while its parts are read, so that the index can be written meanwhile.
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

    /// The distinct words with the fields in which each occurs.
    pub fn distinct_words(&self) -> impl Iterator<Item = (&str, FieldSet)> {
        self.words
            .iter()
            .map(|word| self.spelling_of(word))
            .zip(self.fields.iter().copied())
    }

    /// Whether the term stands in one of the fields.
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

    /// Whether a word with the prefix stands in one of the fields.
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

    /// The keys of the distinct words, in the order of their numbers, from 0.
    pub(super) fn keys(&self) -> &[WordKey] {
        &self.keys
    }

    /// The fields in which the word with this number occurs; at least one.
    pub(super) fn fields(&self, number: u32) -> FieldSet {
        self.fields[number as usize]
    }

    /// The word with this number.
    pub(super) fn spelling(&self, number: u32) -> &str {
        self.spelling_of(self.word(number))
    }

    /// Whether the words with these numbers, then a word beginning with `prefix` if given, stand directly after one
    /// another.
    pub(super) fn contains_sequence(&self, numbers: &[u32], prefix: Option<&str>, fields: FieldSet) -> bool {
        // The rarest of the words leads to the fewest places to compare.
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

    /// The same by one pass over the whole text (Knuth, Morris and Pratt): a text that repeats a few words, held against a
    /// phrase that does so too, would be compared word by word at nearly every place.
    fn contains_repetitive(&self, numbers: &[u32], prefix: Option<&str>, fields: FieldSet) -> bool {
        // For each beginning of the phrase, the length of the longest shorter one with which it ends.
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

    /// Whether words that stand at `start` stand in one of the fields, and before a word beginning with `prefix` if given.
    fn may_stand_at(&self, start: usize, length: usize, prefix: Option<&str>, fields: FieldSet) -> bool {
        if !fields.contains(self.field_at(start)) {
            return false;
        }
        let Some(prefix) = prefix else {
            return true;
        };
        // A text's last word is followed by a boundary, so there always is a place behind a phrase.
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
