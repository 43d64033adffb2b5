//! Saved filters and job posts drawn at random, the same on every machine: words follow Zipf's law over 50,000 words,
//! posts have 150 of them, filters draw theirs from the middle of the frequency range, as people do.

use std::fmt::Write as _;

use bidloop_domain::model::JobPost;
use bidloop_simulator::Random;
use serde_json::{Value, json};

const WORDS: u32 = 50_000;
const POST_WORDS: usize = 150;
const TITLE_WORDS: usize = 8;
const CATEGORIES: u32 = 12;

/// How much filters ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Two to four required groups: about 0.03 % of the filters match a job.
    Selective,
    /// One to three groups of more frequent words: about 2 %.
    Wide,
}

/// A filter of the workload, in terms that every contender can be given.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Filter {
    /// Of each the job has at least one word.
    pub(super) groups: Vec<Vec<String>>,
    /// In place of the first group: a phrase of two words or a prefix, as the keyword language writes it.
    pub(super) phrase: Option<String>,
    /// None of which the job has.
    pub(super) excluded: Vec<String>,
    pub(super) categories: Vec<u32>,
    /// USD per hour.
    pub(super) min_rate: Option<u32>,
    pub(super) payment_verified: bool,
    pub(super) excluded_countries: Vec<u32>,
}

/// A job of the workload.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Job {
    pub(super) words: Vec<String>,
    pub(super) category: u32,
    pub(super) country: u32,
    /// USD per hour, both ends of the range.
    pub(super) rate: u32,
    pub(super) payment_verified: bool,
}

impl Filter {
    /// The filter as stored.
    pub(super) fn stored(&self) -> String {
        let mut keywords = self.phrase.clone().unwrap_or_default();
        for group in self.groups.iter().skip(usize::from(self.phrase.is_some())) {
            let and = if keywords.is_empty() { "" } else { " AND " };
            let _ = write!(keywords, "{and}({})", group.join(" OR "));
        }
        for word in &self.excluded {
            let _ = write!(keywords, " AND NOT {word}");
        }
        let mut filter = json!({ "keywords": keywords });
        if !self.categories.is_empty() {
            filter["categories"] = self.categories.iter().map(|n| category(*n)).collect();
        }
        if let Some(rate) = self.min_rate {
            filter["hourlyRate"] = json!({ "min": rate });
        }
        if self.payment_verified {
            filter["client"]["paymentVerified"] = json!(true);
        }
        if !self.excluded_countries.is_empty() {
            let countries: Vec<String> = self.excluded_countries.iter().map(|n| country(*n)).collect();
            filter["client"]["countries"]["exclude"] = json!(countries);
        }
        filter.to_string()
    }
}

impl Job {
    /// The post as the marketplace serves it.
    pub(super) fn post(&self, number: usize) -> anyhow::Result<JobPost> {
        let post = self.served(&format!("job{number}"), 1_700_000_000_000);
        JobPost::parse(&post.to_string()).map_err(|fault| anyhow::anyhow!("a generated post: {fault}"))
    }

    /// The post's JSON under this id; its posting time is in UNIX milliseconds.
    pub(super) fn served(&self, id: &str, posted_at: i64) -> Value {
        let (title, description) = self.words.split_at(TITLE_WORDS);
        json!({
            "id": id, "ciphertext": format!("~{id}"), "url": format!("/jobs/{id}"),
            "title": title.join(" "), "description": description.join(" "), "postedAt": posted_at,
            "category": category(self.category),
            "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": self.rate, "max": self.rate}},
            "clientInfo": {"isPaymentVerified": self.payment_verified, "country": country(self.country)},
        })
    }
}

pub(super) fn category(number: u32) -> String {
    format!("category {number}")
}

pub(super) fn country(number: u32) -> String {
    format!("country {number}")
}

/// Jobs without end.
#[derive(Debug)]
pub(super) struct Jobs {
    random: Random,
    written: Zipf,
    countries: Zipf,
}

impl Jobs {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            written: Zipf::new(1, WORDS, 1.07),
            countries: Zipf::new(1, 100, 1.0),
        }
    }
}

impl Iterator for Jobs {
    type Item = Job;

    fn next(&mut self) -> Option<Job> {
        let random = &mut self.random;
        Some(Job {
            words: (0..POST_WORDS).map(|_| word(self.written.draw(random))).collect(),
            category: random.below(CATEGORIES),
            country: self.countries.draw(random),
            rate: 5 + random.below(95),
            payment_verified: random.chance(0.8),
        })
    }
}

/// Filters without end.
#[derive(Debug)]
pub(super) struct Filters<'a> {
    kind: Kind,
    random: Random,
    asked: Zipf,
    countries: Zipf,
    /// Jobs in which phrases stand; without them, neither phrases nor prefixes are asked for.
    phrases_of: &'a [Job],
}

impl<'a> Filters<'a> {
    pub(super) fn new(kind: Kind, seed: u64, phrases_of: &'a [Job]) -> Self {
        Self {
            kind,
            random: Random::new(seed),
            asked: match kind {
                Kind::Selective => Zipf::new(60, 12_000, 0.7),
                Kind::Wide => Zipf::new(20, 6_000, 0.8),
            },
            countries: Zipf::new(1, 100, 1.0),
            phrases_of,
        }
    }

    fn word(&mut self) -> String {
        word(self.asked.draw(&mut self.random))
    }

    fn phrase(&mut self) -> Option<String> {
        if self.phrases_of.is_empty() || !self.random.chance(0.1) {
            return None;
        }
        if self.random.chance(0.5) {
            let mut prefix = self.word();
            prefix.truncate(5);
            return Some(format!("{prefix}*"));
        }
        let job = &self.phrases_of[self.random.index(self.phrases_of.len())];
        let at = TITLE_WORDS + self.random.index(POST_WORDS - TITLE_WORDS - 2);
        Some(format!("\"{} {}\"", job.words[at], job.words[at + 1]))
    }
}

impl Iterator for Filters<'_> {
    type Item = Filter;

    fn next(&mut self) -> Option<Filter> {
        let fewest = if self.kind == Kind::Selective { 2 } else { 1 };
        let groups = fewest + self.random.weighted([0.4, 0.4, 0.2].into_iter());
        let groups = (0..groups)
            .map(|_| {
                let alternatives = 1 + self.random.weighted([0.4, 0.3, 0.2, 0.1].into_iter());
                let mut words: Vec<String> = (0..alternatives).map(|_| self.word()).collect();
                words.sort_unstable();
                words.dedup();
                words
            })
            .collect();
        let phrase = self.phrase();
        let excluded = self.random.weighted([0.6, 0.25, 0.15].into_iter());
        let excluded = (0..excluded).map(|_| self.word()).collect();
        let random = &mut self.random;
        let categories = if random.chance(0.6) {
            let wanted = 1 + random.index(3);
            sample(random, CATEGORIES, wanted)
        } else {
            Vec::new()
        };
        let min_rate = random.chance(0.5).then(|| 10 + 5 * random.below(14));
        let payment_verified = random.chance(0.4);
        let mut excluded_countries = Vec::new();
        if random.chance(0.3) {
            let count = 1 + random.index(5);
            excluded_countries.extend((0..count).map(|_| self.countries.draw(random)));
            excluded_countries.sort_unstable();
            excluded_countries.dedup();
        }
        Some(Filter {
            groups,
            phrase,
            excluded,
            categories,
            min_rate,
            payment_verified,
            excluded_countries,
        })
    }
}

fn word(number: u32) -> String {
    format!("w{:x}", u64::from(number) * 2_654_435_761 % (1 << 24))
}

/// Numbers from `first` on and below an end, each as likely as its `-s`th power.
#[derive(Debug)]
pub(super) struct Zipf {
    first: u32,
    cumulated: Vec<f64>,
}

impl Zipf {
    pub(super) fn new(first: u32, end: u32, s: f64) -> Self {
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

    pub(super) fn draw(&self, random: &mut Random) -> u32 {
        let most = self.cumulated.last().copied().unwrap_or(0.0);
        let drawn = random.fraction() * most;
        let place = self.cumulated.partition_point(|sum| *sum <= drawn);
        self.first + u32::try_from(place).unwrap_or(0)
    }
}

/// So many different numbers below `end`.
fn sample(random: &mut Random, end: u32, count: usize) -> Vec<u32> {
    let mut drawn: Vec<u32> = Vec::with_capacity(count);
    while drawn.len() < count {
        let number = random.below(end);
        if !drawn.contains(&number) {
            drawn.push(number);
        }
    }
    drawn
}

#[cfg(test)]
mod tests;
