//! Saved filters and jobs drawn at random, the same on every machine; also used by the benchmarks of the whole program.
//!
//! Words follow Zipf's law over 50,000 words, and a job has 150 of them. Filters draw their words from the middle of the
//! range, as people do.

use std::fmt::Write as _;

use fastrand::Rng;
use serde_json::{Value, json};

const WORDS: u32 = 50_000;
const JOB_WORDS: usize = 150;
const TITLE_WORDS: usize = 8;
const CATEGORIES: u32 = 12;

/// How much filters require.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Two to four groups of words: about 0.03 % of the filters match a job.
    Selective,
    /// One to three groups of more frequent words: about 2 %.
    Wide,
}

/// A job, paid by the hour.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) category: String,
    pub(crate) country: String,
    /// USD per hour, both ends of the range.
    pub(crate) rate: u32,
    pub(crate) payment_verified: bool,
}

/// Jobs without end.
#[derive(Debug)]
pub(crate) struct Jobs {
    rng: Rng,
    words: Zipf,
    countries: Zipf,
}

impl Jobs {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::with_seed(seed),
            words: Zipf::new(1, WORDS, 1.07),
            countries: Zipf::new(1, 100, 1.0),
        }
    }
}

impl Iterator for Jobs {
    type Item = Job;

    fn next(&mut self) -> Option<Job> {
        let rng = &mut self.rng;
        let words: Vec<String> = (0..JOB_WORDS).map(|_| word(self.words.draw(rng))).collect();
        let (title, description) = words.split_at(TITLE_WORDS);
        Some(Job {
            title: title.join(" "),
            description: description.join(" "),
            category: category(rng),
            country: country(self.countries.draw(rng)),
            rate: rng.u32(5..100),
            payment_verified: chance(rng, 0.8),
        })
    }
}

/// Filters without end, as they are stored.
#[derive(Debug)]
pub(crate) struct Filters<'a> {
    kind: Kind,
    rng: Rng,
    words: Zipf,
    countries: Zipf,
    /// Jobs in which phrases stand. Without them, filters have neither phrases nor prefixes.
    phrases_of: &'a [Job],
}

impl<'a> Filters<'a> {
    pub(crate) fn new(kind: Kind, seed: u64, phrases_of: &'a [Job]) -> Self {
        Self {
            kind,
            rng: Rng::with_seed(seed),
            words: match kind {
                Kind::Selective => Zipf::new(60, 12_000, 0.7),
                Kind::Wide => Zipf::new(20, 6_000, 0.8),
            },
            countries: Zipf::new(1, 100, 1.0),
            phrases_of,
        }
    }

    fn word(&mut self) -> String {
        word(self.words.draw(&mut self.rng))
    }

    fn group(&mut self) -> String {
        let alternatives = 1 + weighted(&mut self.rng, [0.4, 0.3, 0.2, 0.1]);
        let words: Vec<String> = (0..alternatives).map(|_| self.word()).collect();
        format!("({})", words.join(" OR "))
    }

    /// In a tenth of the cases two words that are adjacent in some job, or the beginning of a word.
    fn phrase(&mut self) -> Option<String> {
        if self.phrases_of.is_empty() || !chance(&mut self.rng, 0.1) {
            return None;
        }
        if self.rng.bool() {
            let mut prefix = self.word();
            prefix.truncate(5);
            return Some(format!("{prefix}*"));
        }
        let job = self.rng.choice(self.phrases_of)?;
        let words: Vec<&str> = job.description.split(' ').collect();
        let at = self.rng.usize(..words.len() - 1);
        Some(format!("\"{} {}\"", words[at], words[at + 1]))
    }
}

impl Iterator for Filters<'_> {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let fewest = if self.kind == Kind::Selective { 2 } else { 1 };
        let groups = fewest + weighted(&mut self.rng, [0.4, 0.4, 0.2]);
        let mut keywords = match self.phrase() {
            Some(phrase) => phrase,
            None => self.group(),
        };
        for _ in 1..groups {
            let _ = write!(keywords, " AND {}", self.group());
        }
        for _ in 0..weighted(&mut self.rng, [0.6, 0.25, 0.15]) {
            let _ = write!(keywords, " AND NOT {}", self.word());
        }
        let mut filter = json!({ "keywords": keywords });
        let rng = &mut self.rng;
        if chance(rng, 0.6) {
            filter["categories"] = (0..rng.usize(1..=3)).map(|_| category(rng)).collect();
        }
        if chance(rng, 0.5) {
            filter["hourlyRate"] = json!({ "min": 10 + 5 * rng.u32(..14) });
        }
        if chance(rng, 0.4) {
            filter["client"]["paymentVerified"] = json!(true);
        }
        if chance(rng, 0.3) {
            let countries = (0..rng.usize(1..=5)).map(|_| country(self.countries.draw(rng)));
            filter["client"]["countries"]["exclude"] = countries.collect();
        }
        Some(filter)
    }
}

fn category(rng: &mut Rng) -> String {
    format!("category {}", rng.u32(..CATEGORIES))
}

fn country(number: u32) -> String {
    format!("country {number}")
}

fn word(number: u32) -> String {
    format!("w{:x}", u64::from(number) * 2_654_435_761 % (1 << 24))
}

fn chance(rng: &mut Rng, probability: f64) -> bool {
    rng.f64() < probability
}

/// An index drawn by weight; the weights add up to 1.
fn weighted<const N: usize>(rng: &mut Rng, weights: [f64; N]) -> usize {
    let mut left = rng.f64();
    let drawn = weights.iter().position(|weight| {
        left -= weight;
        left < 0.0
    });
    drawn.unwrap_or(N - 1)
}

/// Numbers from `first` to below an end, each with a probability proportional to its `-s`th power.
#[derive(Debug)]
struct Zipf {
    first: u32,
    cumulated: Vec<f64>,
}

impl Zipf {
    fn new(first: u32, end: u32, s: f64) -> Self {
        let mut sum = 0.0;
        let cumulated = (first..end).map(|number| {
            sum += f64::from(number).powf(-s);
            sum
        });
        Self {
            first,
            cumulated: cumulated.collect(),
        }
    }

    fn draw(&self, rng: &mut Rng) -> u32 {
        let drawn = rng.f64() * self.cumulated.last().copied().unwrap_or(0.0);
        let place = self.cumulated.partition_point(|sum| *sum <= drawn);
        self.first + u32::try_from(place).unwrap_or(0)
    }
}
