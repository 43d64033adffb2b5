//! The index against each filter by itself, over pairs that meet often: few words, phrases, prefixes, fields, Unicode,
//! unknown values, and edits while jobs are matched.
//!
//! `BIDLOOP_EQUALITY_PAIRS` sets how many pairs of a filter and a job are compared, `BIDLOOP_EQUALITY_SEED` which:
//!
//! ```console
//! BIDLOOP_EQUALITY_PAIRS=100000000 cargo test --release -p bidloop-matching --test equality
//! ```

#![expect(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write as _;

use bidloop_matching::{FilterIndex, JobFacts, MatchScratch, PaymentKind, PreparedJob, SavedFilter, Verdict};
use fastrand::Rng;
use serde_json::{Value, json};

/// Filters in the index at a time.
const FILTERS: usize = 10_000;
/// Jobs between two rounds of edits.
const JOBS_BETWEEN_EDITS: u64 = 50;
/// Filters changed, removed or added in a round.
const EDITS: usize = 100;

const TEXTS: [&str; 32] = [
    "rust",
    "Rust",
    "C++",
    "c#",
    ".NET",
    "ASP.NET",
    "node.js",
    "node",
    "js",
    "Straße",
    "STRASSE",
    "café",
    "cafe\u{301}",
    "東京",
    "京",
    "ΣΊΣΥΦΟΣ",
    "ﬁnance",
    "finance",
    "go",
    "golang",
    "axum",
    "actix-web",
    "actix",
    "web",
    "web3",
    "data",
    "database",
    "api",
    "rest api",
    "İstanbul",
    "งาน",
    "senior",
];
const NAMES: [&str; 6] = ["Alpha", "alpha", "Beta", "Ω", "ß", "SS"];

#[test]
fn the_index_finds_the_filters_that_match_by_themselves() {
    let pairs = option("BIDLOOP_EQUALITY_PAIRS", 1_000_000);
    let seed = option("BIDLOOP_EQUALITY_SEED", 1);
    let mut rng = Rng::with_seed(seed);
    let mut index = FilterIndex::new();
    let mut filters: Vec<Option<SavedFilter>> = (0..FILTERS).map(|_| Some(filter(&mut rng))).collect();
    for (key, filter) in filters.iter().enumerate() {
        index.insert(key, filter.as_ref().unwrap()).unwrap();
    }
    let mut scratch = MatchScratch::default();
    let (mut compared, mut matching, mut failing_by_one) = (0, 0, 0);
    for number in 1_u64.. {
        let job = job(&mut rng);
        let mut expected = Vec::new();
        for (key, filter) in filters.iter().enumerate() {
            let Some(filter) = filter else { continue };
            compared += 1;
            match failed_conditions(filter, &job) {
                0 => expected.push(key),
                1 => failing_by_one += 1,
                _ => {}
            }
        }
        let mut found = Vec::new();
        index.for_each_match(&job, &mut scratch, |key| found.push(*key));
        found.sort_unstable();
        assert_eq!(found, expected, "job {number} of seed {seed}");
        matching += found.len() as u64;
        if compared >= pairs {
            break;
        }
        if number % JOBS_BETWEEN_EDITS == 0 {
            index.observe(&job, &mut scratch);
            for _ in 0..EDITS {
                edit(&mut rng, &mut index, &mut filters);
            }
        }
    }
    // Pairs that always fail by much would say little.
    assert!(
        matching > pairs / 100 && failing_by_one > pairs / 100,
        "{matching} match, {failing_by_one} fail by one condition"
    );
    eprintln!("{compared} pairs: {matching} match, {failing_by_one} fail by one condition");
}

#[expect(clippy::disallowed_methods, reason = "options of a test")]
fn option(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

fn edit(rng: &mut Rng, index: &mut FilterIndex<usize>, filters: &mut [Option<SavedFilter>]) {
    let key = rng.usize(..filters.len());
    if chance(rng, 0.3) {
        assert_eq!(index.remove(&key), filters[key].take().is_some());
    } else {
        let filter = filter(rng);
        let replaced = index.insert(key, &filter).unwrap();
        assert_eq!(replaced, filters[key].replace(filter).is_some());
    }
}

/// How many conditions keep the filter from matching; no more than two are counted.
fn failed_conditions(filter: &SavedFilter, job: &PreparedJob) -> usize {
    let fails = |verdict| match verdict {
        Verdict::Held => false,
        Verdict::Failed => true,
        Verdict::Unknown => !filter.unknown_holds(),
    };
    let conditions = filter.conditions().iter().rev();
    let failed = conditions.filter(|condition| fails(condition.judge(job)));
    failed.take(2).count()
}

fn filter(rng: &mut Rng) -> SavedFilter {
    let mut filter = json!({});
    if chance(rng, 0.9) {
        filter["keywords"] = Value::from(expression(rng, 2));
    }
    let names = |rng: &mut Rng| -> Value { (0..rng.usize(1..=3)).map(|_| pick(rng, &NAMES)).collect() };
    for _ in 0..rng.usize(..4) {
        match rng.u32(..14) {
            0 | 1 => filter["categories"] = names(rng),
            2 => filter["experienceLevels"] = names(rng),
            3 => filter["client"]["countries"]["include"] = names(rng),
            4 => filter["client"]["countries"]["exclude"] = names(rng),
            5 => filter["client"]["paymentVerified"] = json!(rng.bool()),
            6 => filter["hourlyRate"] = json!({"min": rng.u32(..8), "max": rng.u32(8..16)}),
            7 => filter["hourlyRate"] = json!({"min": f64::from(rng.u32(..16)) / 2.0}),
            8 => filter["fixedPrice"] = json!({"min": 100 * rng.u32(..8)}),
            9 => filter["paymentTypes"] = json!([pick(rng, &["hourly", "fixed"])]),
            11 => filter["client"]["minMemberDays"] = json!(rng.u32(..4)),
            12 => filter["skills"]["atLeast"] = json!({"count": 2, "of": ["rust", "go", "axum"]}),
            10 => filter["client"]["minRating"] = json!(rng.u32(..6)),
            _ => filter["skills"][pick(rng, &["any", "all", "none"])] = json!([pick(rng, &TEXTS)]),
        }
    }
    if chance(rng, 0.3) {
        filter["whenUnknown"] = json!("match");
    }
    SavedFilter::parse(&filter.to_string()).unwrap()
}

fn expression(rng: &mut Rng, depth: usize) -> String {
    if depth == 0 || chance(rng, 0.3) {
        return term(rng);
    }
    let mut text = String::new();
    for part in 0..=rng.usize(..3) {
        if part > 0 {
            text.push_str(if chance(rng, 0.6) { " AND " } else { " OR " });
        }
        match rng.u32(..10) {
            0 => text.push_str("NOT "),
            1 => {
                let _ = write!(text, "{}:", pick(rng, &["title", "description", "skill"]));
            }
            _ => {}
        }
        let _ = write!(text, "({})", expression(rng, depth - 1));
    }
    text
}

fn term(rng: &mut Rng) -> String {
    let text = pick(rng, &TEXTS);
    match rng.u32(..8) {
        0 => format!("\"{text} {}\"", pick(rng, &TEXTS)),
        1 => match text.chars().next().filter(|first| first.is_alphabetic()) {
            Some(first) => format!("{first}*"),
            None => text.to_owned(),
        },
        _ => text.to_owned(),
    }
}

fn job(rng: &mut Rng) -> PreparedJob {
    let words = |rng: &mut Rng, most: usize| {
        let words: Vec<&str> = (0..rng.usize(..most)).map(|_| pick(rng, &TEXTS)).collect();
        words.join(" ")
    };
    let (title, description) = (words(rng, 6), words(rng, 24));
    let has_metadata = chance(rng, 0.9);
    let has_client = chance(rng, 0.9);
    let low = f64::from(rng.u32(..20)) / 2.0;
    PreparedJob::new(&JobFacts {
        title: &title,
        description: &description,
        category: some(rng, 0.8, |rng| pick(rng, &NAMES)),
        skills: some(rng, 0.7, |rng| {
            (0..rng.usize(..4)).map(|_| pick(rng, &TEXTS)).collect()
        }),
        payment_kind: [Some(PaymentKind::Hourly), Some(PaymentKind::Fixed), None][rng.usize(..3)]
            .filter(|_| has_metadata),
        experience_level: has_metadata.then(|| pick(rng, &NAMES)),
        hourly_range: some(rng, 0.7, |rng| (low, low + f64::from(rng.u32(..6)))),
        fixed_price: some(rng, 0.7, |rng| f64::from(50 * rng.u32(..20))),
        client_country: has_client.then(|| pick(rng, &NAMES)),
        client_rating: has_client.then(|| f64::from(rng.u32(..6))),
        client_member_days: some(rng, 0.6, |rng| f64::from(rng.u32(..4))),
        is_payment_verified: some(rng, 0.6, |rng| chance(rng, 0.7)),
        ..JobFacts::default()
    })
}

fn some<T>(rng: &mut Rng, probability: f64, value: impl FnOnce(&mut Rng) -> T) -> Option<T> {
    chance(rng, probability).then(|| value(rng))
}

fn chance(rng: &mut Rng, probability: f64) -> bool {
    rng.f64() < probability
}

fn pick(rng: &mut Rng, texts: &'static [&'static str]) -> &'static str {
    texts[rng.usize(..texts.len())]
}
