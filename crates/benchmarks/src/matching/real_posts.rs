//! Real posts, where a file of them is present: filters made of their own words and values, matched against them.
//!
//! Owns reading the file and making the filters. Of the posts only figures leave this module.

use std::collections::HashMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, anyhow, ensure};
use bidloop_domain::matching::index::Frequencies;
use bidloop_domain::matching::{
    CompiledFilter, Expression, FilterIndex, MatchScratch, PreparedJob, split_words,
};
use bidloop_domain::model::{JobPost, SavedFilter};
use bidloop_simulator::Random;
use serde_json::{Value, json};

use super::clock::{Stopwatch, median};
use super::workload::Zipf;
use crate::report::{Report, Row, progress};

const FILTERS: u32 = 100_000;
/// Posts that are matched; the index has seen others.
const MATCHED: usize = 1_000;
/// Every so many filters one is held against posts by itself.
const SAMPLED: usize = 20;
/// Posts against which it is held.
const CHECKED: usize = 200;

/// The posts of the file; without one, those that lie beside the repository, if any do.
pub(super) fn read(file: Option<&Path>) -> Result<Option<Vec<JobPost>>> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/job-posts.jsonl.gz");
    let file = match file {
        Some(file) => file,
        None if beside.is_file() => &beside,
        None => return Ok(None),
    };
    let mut bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let unpacked = Command::new("gzip").arg("-dc").arg(file).output();
        let unpacked = unpacked.context("gzip cannot be run")?;
        ensure!(unpacked.status.success(), "gzip cannot unpack {}", file.display());
        bytes = unpacked.stdout;
    }
    let posts = std::str::from_utf8(&bytes)?.lines().enumerate();
    let posts = posts.map(|(number, line)| {
        JobPost::parse(line).map_err(|fault| anyhow!("{}:{}: {fault}", file.display(), number + 1))
    });
    posts.collect::<Result<_>>().map(Some)
}

/// The time to match a post against filters without phrases and prefixes, and with them.
pub(super) fn measure(report: &mut Report, posts: &[JobPost], rounds: usize) -> Result<()> {
    let prepared: Vec<PreparedJob> = posts.iter().map(|post| PreparedJob::new(&post.facts())).collect();
    let (matched, others) = halves(&prepared);
    let vocabulary = Vocabulary::of(posts, &prepared)?;
    for (name, phrases) in [
        ("real posts, 100,000 filters of their words", false),
        ("real posts, 100,000 filters, with phrases and prefixes", true),
    ] {
        progress("making filters of the posts' words");
        report.add(row(name, &vocabulary, phrases, &matched, &others, rounds)?);
    }
    Ok(())
}

/// Posts from the whole of the file to be matched, and the others, from which the index learns.
fn halves(prepared: &[PreparedJob]) -> (Vec<&PreparedJob>, Vec<&PreparedJob>) {
    let (matched, others): (Vec<_>, Vec<_>) = prepared.iter().enumerate().partition(|(n, _)| n % 2 == 0);
    let kept = |half: Vec<(usize, _)>| -> Vec<&PreparedJob> {
        let step = half.len().div_ceil(MATCHED).max(1);
        half.into_iter().step_by(step).map(|(_, post)| post).collect()
    };
    (kept(matched), kept(others))
}

fn row(
    name: &str,
    vocabulary: &Vocabulary,
    phrases: bool,
    posts: &[&PreparedJob],
    others: &[&PreparedJob],
    rounds: usize,
) -> Result<Row> {
    let mut frequencies = Frequencies::new();
    for post in others {
        frequencies.observe(post);
    }
    let mut index = FilterIndex::with_frequencies(frequencies);
    let mut sample = Vec::new();
    let mut random = Random::new(51);
    for key in 0..FILTERS {
        let filter = vocabulary.filter(&mut random, phrases)?;
        index.insert(key, &filter)?;
        if random.index(SAMPLED) == 0 {
            sample.push((key, filter));
        }
    }
    let (pairs, matching) = compare(&index, &sample, posts)?;
    let mut scratch = MatchScratch::default();
    let times = (0..=rounds).map(|_| {
        let watch = Stopwatch::start();
        let mut found = 0;
        for post in posts {
            index.for_each_match(post, &mut scratch, |key| found ^= key);
        }
        black_box(found);
        watch.read().as_secs_f64() * 1e6 / count(posts.len())
    });
    let figure = median(times.skip(1).collect());
    let efforts = posts.iter().map(|post| index.effort(post, &mut scratch));
    let (entries, evaluated, matches) = efforts.fold((0, 0, 0), |(a, b, c), effort| {
        (a + effort.entries, b + effort.evaluated, c + effort.matched)
    });
    let mean = |sum| Some(count(sum) / count(posts.len()));
    Ok(Row::new(name, figure, "µs a job")
        .with("entries", mean(entries))
        .with("evaluated", mean(evaluated))
        .with("matches", mean(matches))
        .with("pairs equal to brute force", Some(count(pairs)))
        .with("of them matching", Some(count(matching))))
}

#[expect(clippy::cast_precision_loss, reason = "counts, shown rounded")]
fn count(count: usize) -> f64 {
    count as f64
}

/// Holds the sampled filters by themselves against posts; how many pairs there were, and how many of them match.
fn compare(
    index: &FilterIndex<u32>,
    sample: &[(u32, CompiledFilter)],
    posts: &[&PreparedJob],
) -> Result<(usize, usize)> {
    let mut scratch = MatchScratch::default();
    let (mut pairs, mut matching) = (0, 0);
    for post in posts.iter().step_by(posts.len().div_ceil(CHECKED).max(1)) {
        let mut found = Vec::new();
        index.for_each_match(post, &mut scratch, |key| found.push(*key));
        found.sort_unstable();
        for (key, filter) in sample {
            let matches = filter.matches(post);
            ensure!(
                matches == found.binary_search(key).is_ok(),
                "the index disagrees with filter {key} on a real post"
            );
            pairs += 1;
            matching += usize::from(matches);
        }
    }
    ensure!(matching > 0, "no sampled filter matches a post");
    Ok((pairs, matching))
}

/// What filters are made of.
struct Vocabulary<'p> {
    posts: &'p [JobPost],
    /// Words that more than one post has, the most frequent first.
    words: Vec<String>,
    asked: Zipf,
    /// The places in `words` of each post's words that filters ask for.
    of_posts: Vec<Vec<usize>>,
}

impl<'p> Vocabulary<'p> {
    fn of(posts: &'p [JobPost], prepared: &[PreparedJob]) -> Result<Self> {
        /// Filters ask for the words from here on: those before are everybody's.
        const FIRST: usize = 60;
        const END: usize = 12_000;
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for post in prepared {
            for (word, _) in post.text().distinct_words() {
                *seen.entry(word).or_default() += 1;
            }
        }
        let mut words: Vec<(&str, usize)> = seen
            .into_iter()
            .filter(|(word, posts)| *posts > 1 && is_a_term(word))
            .collect();
        words.sort_unstable_by(|(a, seen_a), (b, seen_b)| seen_b.cmp(seen_a).then(a.cmp(b)));
        words.truncate(END);
        ensure!(words.len() > 2 * FIRST, "the posts have too few words");
        let places: HashMap<&str, usize> = words
            .iter()
            .enumerate()
            .skip(FIRST)
            .map(|(place, (word, _))| (*word, place))
            .collect();
        let of_posts = prepared.iter().map(|post| {
            let words = post.text().distinct_words();
            words.filter_map(|(word, _)| places.get(word).copied()).collect()
        });
        Ok(Self {
            posts,
            of_posts: of_posts.collect(),
            asked: Zipf::new(u32::try_from(FIRST)?, u32::try_from(words.len())?, 0.7),
            words: words.into_iter().map(|(word, _)| word.to_owned()).collect(),
        })
    }

    /// A filter about what some post is about: a word of each group is that post's.
    fn filter(&self, random: &mut Random, phrases: bool) -> Result<CompiledFilter> {
        let about = random.index(self.posts.len());
        let mut parts: Vec<String> = (0..2 + random.weighted([0.4, 0.4, 0.2].into_iter()))
            .map(|_| self.group(random, about))
            .collect();
        if phrases
            && random.chance(0.1)
            && let Some(phrase) = self.phrase_or_prefix(random)
        {
            parts[0] = phrase;
        }
        for _ in 0..random.weighted([0.6, 0.25, 0.15].into_iter()) {
            parts.push(format!("NOT {}", self.word(random)));
        }
        let mut filter = json!({ "keywords": parts.join(" AND ") });
        self.add_conditions(&mut filter, random);
        SavedFilter::from_value(&filter)
            .and_then(|filter| filter.check())
            .map_err(|faults| {
                // Not the fault's text, which may quote the post's.
                let paths: Vec<_> = faults.iter().map(|fault| &fault.path).collect();
                anyhow!("a filter of a post's words is refused: {paths:?}")
            })
    }

    fn word(&self, random: &mut Random) -> &str {
        &self.words[self.asked.draw(random) as usize]
    }

    fn group(&self, random: &mut Random, about: usize) -> String {
        let own = &self.of_posts[about];
        let mut group: Vec<&str> = (0..random.weighted([0.4, 0.3, 0.2, 0.1].into_iter()))
            .map(|_| self.word(random))
            .collect();
        group.push(match own.len() {
            0 => self.word(random),
            words => &self.words[own[random.index(words)]],
        });
        format!("({})", group.join(" OR "))
    }

    /// Two words that stand side by side in a post, or the beginning of a word.
    fn phrase_or_prefix(&self, random: &mut Random) -> Option<String> {
        if random.chance(0.5) {
            let prefix: String = self.word(random).chars().take(5).collect();
            let prefix = format!("{prefix}*");
            return is_a_term(&prefix).then_some(prefix);
        }
        let post = &self.posts[random.index(self.posts.len())];
        let words = split_words(&post.description);
        let at = random.index(words.len().checked_sub(1).filter(|pairs| *pairs > 0)?);
        let phrase = format!("\"{} {}\"", words[at], words[at + 1]);
        is_a_term(&phrase).then_some(phrase)
    }

    /// Conditions on values, each that of some post, so that frequent ones are asked for often.
    fn add_conditions(&self, filter: &mut Value, random: &mut Random) {
        let posts = |random: &mut Random, most: usize| -> Vec<&JobPost> {
            let count = 1 + random.index(most);
            (0..count).map(|_| random.pick(self.posts)).collect()
        };
        let listed = |posts: Vec<&JobPost>, value: fn(&JobPost) -> Option<String>| -> Option<Value> {
            let values: Vec<String> = posts.into_iter().filter_map(value).collect();
            (!values.is_empty()).then(|| json!(values))
        };
        if random.chance(0.3)
            && let Some(categories) = listed(posts(random, 3), |post| post.category.clone())
        {
            filter["categories"] = categories;
        }
        if random.chance(0.2) {
            let skills = listed(posts(random, 3), |post| {
                Some(post.skills.as_ref()?.first()?.name.clone())
            });
            if let Some(skills) = skills {
                filter["skills"] = json!({ "any": skills });
            }
        }
        if random.chance(0.3)
            && let Some(countries) = listed(posts(random, 5), |post| {
                post.client_info.as_ref()?.country.clone()
            })
        {
            filter["client"]["countries"]["exclude"] = countries;
        }
        if random.chance(0.4) {
            filter["client"]["paymentVerified"] = json!(true);
        }
        if random.chance(0.5) {
            filter["hourlyRate"] = json!({ "min": 10 + 5 * random.below(14) });
        }
        if random.chance(0.3) {
            filter["fixedPrice"] = json!({ "min": 50 * (1 + random.below(10)) });
        }
        if random.chance(0.3) {
            filter["whenUnknown"] = json!("match");
        }
    }
}

/// Whether the keyword language reads it as one term.
fn is_a_term(text: &str) -> bool {
    matches!(Expression::parse(text), Ok(Expression::Term(_)))
}
