//! The index against each filter by itself, over pairs that meet often: few words, phrases, prefixes, fields, Unicode,
//! unknown values, and edits while jobs are matched.

use std::fmt::Write as _;

use anyhow::{anyhow, ensure};
use bidloop_domain::matching::{CompiledFilter, FilterIndex, MatchScratch, PreparedJob, Verdict};
use bidloop_domain::model::{JobPost, SavedFilter};
use bidloop_simulator::Random;
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

/// What was compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Compared {
    pub(super) pairs: u64,
    pub(super) matching: u64,
    /// Pairs in which exactly one condition fails.
    pub(super) failing_by_one: u64,
    pub(super) edits: u64,
}

/// Compares until there are so many pairs; an error where index and filters disagree.
pub(super) fn compare(pairs: u64, seed: u64) -> anyhow::Result<Compared> {
    let mut random = Random::new(seed);
    let mut index = FilterIndex::new();
    let mut filters: Vec<Option<CompiledFilter>> = Vec::with_capacity(FILTERS);
    for key in 0..FILTERS {
        let filter = filter(&mut random)?;
        index.insert(key, &filter)?;
        filters.push(Some(filter));
    }
    let mut scratch = MatchScratch::default();
    let mut compared = Compared::default();
    let mut expected = Vec::new();
    let mut found = Vec::new();
    for number in 1_u64.. {
        let job = job(&mut random)?;
        expected.clear();
        for (key, filter) in filters.iter().enumerate() {
            let Some(filter) = filter else { continue };
            compared.pairs += 1;
            match failed_conditions(filter, &job) {
                0 => expected.push(key),
                1 => compared.failing_by_one += 1,
                _ => {}
            }
        }
        found.clear();
        index.for_each_match(&job, &mut scratch, |key| found.push(*key));
        found.sort_unstable();
        ensure!(
            found == expected,
            "the index disagrees with the filters on job {number} of seed {seed}"
        );
        compared.matching += found.len() as u64;
        if compared.pairs >= pairs {
            break;
        }
        if number % JOBS_BETWEEN_EDITS == 0 {
            index.observe(&job, &mut scratch);
            for _ in 0..EDITS {
                edit(&mut random, &mut index, &mut filters)?;
                compared.edits += 1;
            }
        }
    }
    Ok(compared)
}

fn edit(
    random: &mut Random,
    index: &mut FilterIndex<usize>,
    filters: &mut [Option<CompiledFilter>],
) -> anyhow::Result<()> {
    let key = random.index(filters.len());
    if random.chance(0.3) {
        ensure!(
            index.remove(&key) == filters[key].take().is_some(),
            "a removal is told wrong"
        );
    } else {
        let filter = filter(random)?;
        let replaced = index.insert(key, &filter)?;
        ensure!(
            replaced == filters[key].replace(filter).is_some(),
            "a replacement is told wrong"
        );
    }
    Ok(())
}

/// How many conditions keep the filter from matching; no more than two are counted.
fn failed_conditions(filter: &CompiledFilter, job: &PreparedJob) -> usize {
    let fails = |verdict| match verdict {
        Verdict::Held => false,
        Verdict::Failed => true,
        Verdict::Unknown => !filter.unknown_holds(),
    };
    let failed = filter
        .conditions()
        .iter()
        .rev()
        .filter(|condition| fails(condition.judge(job)));
    failed.take(2).count()
}

fn filter(random: &mut Random) -> anyhow::Result<CompiledFilter> {
    let mut filter = json!({});
    if random.chance(0.9) {
        filter["keywords"] = Value::from(expression(random, 2));
    }
    let names = |random: &mut Random| -> Value {
        let count = 1 + random.index(3);
        (0..count).map(|_| *random.pick(&NAMES)).collect()
    };
    for _ in 0..random.index(4) {
        match random.below(12) {
            0 | 1 => filter["categories"] = names(random),
            2 => filter["experienceLevels"] = names(random),
            3 => filter["client"]["countries"]["include"] = names(random),
            4 => filter["client"]["countries"]["exclude"] = names(random),
            5 => filter["client"]["paymentVerified"] = json!(random.chance(0.5)),
            6 => filter["hourlyRate"] = json!({"min": random.below(8), "max": 8 + random.below(8)}),
            7 => filter["hourlyRate"] = json!({"min": f64::from(random.below(16)) / 2.0}),
            8 => filter["fixedPrice"] = json!({"min": 100 * random.below(8)}),
            9 => filter["paymentTypes"] = json!([*random.pick(&["hourly", "fixed"])]),
            10 => filter["client"]["minRating"] = json!(random.below(6)),
            _ => filter["skills"][*random.pick(&["any", "all", "none"])] = json!([*random.pick(&TEXTS)]),
        }
    }
    if random.chance(0.3) {
        filter["whenUnknown"] = json!("match");
    }
    SavedFilter::from_value(&filter)
        .and_then(|filter| filter.check())
        .map_err(|faults| anyhow!("a generated filter: {filter}: {faults:?}"))
}

fn expression(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.chance(0.3) {
        return term(random);
    }
    let mut text = String::new();
    for part in 0..=random.index(3) {
        if part > 0 {
            text.push_str(if random.chance(0.6) { " AND " } else { " OR " });
        }
        match random.below(10) {
            0 => text.push_str("NOT "),
            1 => {
                let _ = write!(text, "{}:", random.pick(&["title", "description", "skill"]));
            }
            _ => {}
        }
        let _ = write!(text, "({})", expression(random, depth - 1));
    }
    text
}

fn term(random: &mut Random) -> String {
    let text = *random.pick(&TEXTS);
    match random.below(8) {
        0 => format!("\"{text} {}\"", random.pick(&TEXTS)),
        1 => text
            .chars()
            .next()
            .filter(|first| first.is_alphabetic())
            .map_or_else(|| text.to_owned(), |first| format!("{first}*")),
        _ => text.to_owned(),
    }
}

fn job(random: &mut Random) -> anyhow::Result<PreparedJob> {
    let words = |random: &mut Random, most: usize| {
        let count = random.index(most);
        let words: Vec<&str> = (0..count).map(|_| *random.pick(&TEXTS)).collect();
        words.join(" ")
    };
    let title = words(random, 6);
    let description = words(random, 24);
    let mut post = json!({
        "id": "1", "ciphertext": "~1", "url": "/1", "postedAt": 1, "title": title, "description": description,
    });
    if random.chance(0.8) {
        post["category"] = json!(*random.pick(&NAMES));
    }
    if random.chance(0.7) {
        let skills = random.index(4);
        post["skills"] = (0..skills)
            .map(|_| json!({"name": *random.pick(&TEXTS)}))
            .collect();
    }
    if random.chance(0.9) {
        let kind = *random.pick(&["Hourly", "Fixed-price", "Other"]);
        post["metadata"] = json!({"paymentType": kind, "experienceLevel": *random.pick(&NAMES)});
        if random.chance(0.7) {
            let low = f64::from(random.below(20)) / 2.0;
            post["metadata"]["hourlyRate"] = json!({"min": low, "max": low + f64::from(random.below(6))});
        }
        if random.chance(0.7) {
            post["metadata"]["fixedPrice"] = json!(50 * random.below(20));
        }
    }
    if random.chance(0.9) {
        post["clientInfo"] = json!({"country": *random.pick(&NAMES), "rating": random.below(6)});
        if random.chance(0.7) {
            post["clientInfo"]["isPaymentVerified"] = json!(random.chance(0.7));
        }
    }
    let post = JobPost::parse(&post.to_string()).map_err(|fault| anyhow!("a generated post: {fault}"))?;
    Ok(PreparedJob::new(&post.facts()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_meets_matches_near_misses_and_edits() {
        let compared = compare(1_000_000, 1).unwrap();
        assert!(compared.pairs >= 1_000_000);
        assert!(compared.matching > 10_000, "{compared:?}");
        assert!(compared.failing_by_one > 10_000, "{compared:?}");
        assert!(compared.edits > 0, "{compared:?}");
    }
}
