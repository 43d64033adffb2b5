//! The index against each filter by itself: over generated filters and jobs, through edits, and its own corners.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::reference::generated::{filters, jobs};
use super::{compiled, job};
use crate::index::Frequencies;
use crate::{FilterIndex, MatchScratch, PreparedJob, SavedFilter};

fn brute_force(filters: &BTreeMap<u8, SavedFilter>, job: &PreparedJob) -> Vec<u8> {
    let matching = filters.iter().filter(|(_, filter)| filter.matches(job));
    matching.map(|(key, _)| *key).collect()
}

/// Keys below are those of some of the filters.
const SOME: u8 = 6;

fn matches_with<K: Ord + Copy>(
    index: &FilterIndex<K>,
    job: &PreparedJob,
    scratch: &mut MatchScratch,
) -> Vec<K> {
    let mut keys = Vec::new();
    index.for_each_match(job, scratch, |key| keys.push(*key));
    keys.sort_unstable();
    keys
}

#[derive(Debug, Clone)]
enum Step {
    Put(u8, Value),
    Remove(u8),
    Match(Value),
    Observe(Value),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..24_u8, filters()).prop_map(|(key, (filter, _))| Step::Put(key, filter)),
        2 => (0..24_u8).prop_map(Step::Remove),
        4 => jobs().prop_map(Step::Match),
        1 => jobs().prop_map(Step::Observe),
    ];
    prop::collection::vec(step, 1..48)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// A second index has some of the filters, and both are asked with the same memory.
    #[test]
    fn the_index_answers_like_each_filter_by_itself_through_edits(steps in steps(), last in jobs()) {
        let mut filters = BTreeMap::new();
        let mut index = FilterIndex::new();
        let mut of_some = FilterIndex::new();
        let mut scratch = MatchScratch::default();
        for step in steps {
            match step {
                Step::Put(key, filter) => {
                    let filter = compiled(&filter);
                    prop_assert_eq!(index.insert(key, &filter), Ok(filters.contains_key(&key)));
                    if key < SOME {
                        prop_assert_eq!(of_some.insert(key, &filter), Ok(filters.contains_key(&key)));
                    }
                    filters.insert(key, filter);
                }
                Step::Remove(key) => {
                    of_some.remove(&key);
                    prop_assert_eq!(index.remove(&key), filters.remove(&key).is_some());
                }
                Step::Match(fields) => {
                    let job = job(&fields);
                    let mut expected = brute_force(&filters, &job);
                    prop_assert_eq!(&matches_with(&index, &job, &mut scratch), &expected);
                    expected.retain(|key| *key < SOME);
                    prop_assert_eq!(matches_with(&of_some, &job, &mut scratch), expected);
                }
                Step::Observe(fields) => index.observe(&job(&fields), &mut scratch),
            }
        }
        let job = job(&last);
        prop_assert_eq!(index.matches(&job), brute_force(&filters, &job));
        prop_assert_eq!(index.len(), filters.len());
        for key in filters.keys() {
            index.remove(key);
        }
        prop_assert_eq!((index.entries(), index.matches(&job)), (0, vec![]));
    }
}

pub(super) fn index_of(filters: &[Value]) -> FilterIndex<usize> {
    let mut index = FilterIndex::new();
    for (key, filter) in filters.iter().enumerate() {
        assert_eq!(index.insert(key, &compiled(filter)), Ok(false));
    }
    index
}

/// An index of the filter alone, whose conditions were common when it was added.
fn index_of_common(filter: &Value) -> FilterIndex<usize> {
    let mut index = index_of(&[filter; 9].map(Value::clone));
    for key in 0..8 {
        index.remove(&key);
    }
    index
}

fn entries_read(index: &FilterIndex<usize>, fields: &Value) -> usize {
    index.effort(&job(fields), &mut MatchScratch::default()).entries
}

#[test]
fn a_filter_is_listed_under_the_clause_that_fewest_jobs_meet() {
    let mut frequencies = Frequencies::new();
    for title in ["rust the", "the php", "the java axum", "the", "the actix"] {
        frequencies.observe(&job(&json!({ "title": title })));
    }
    for (keywords, met_by, not_met_by) in [
        ("the rust", "rust", "the"),
        ("the (rust OR php)", "php", "the"),
        ("(the OR unseen) rust", "rust", "the unseen"),
        ("\"the rust\"", "rust", "the"),
        ("the AND NOT (NOT rust OR php)", "rust", "the"),
        ("(the rust) OR (the php)", "php", "the"),
        ("the rus*", "rusty", "the"),
        ("th* rust", "rust", "the"),
    ] {
        let mut index = FilterIndex::with_frequencies(frequencies.clone());
        assert_eq!(
            index.insert(0, &compiled(&json!({ "keywords": keywords }))),
            Ok(false)
        );
        assert_eq!(entries_read(&index, &json!({ "title": met_by })), 1, "{keywords}");
        assert_eq!(
            entries_read(&index, &json!({ "title": not_met_by })),
            0,
            "{keywords}"
        );
    }
}

#[test]
fn a_filter_of_lists_alone_is_found_by_their_values() {
    let index = index_of(&[
        json!({"categories": ["web"]}),
        json!({"client": {"countries": {"include": ["Lemuria"]}}, "whenUnknown": "match"}),
        json!({"skills": {"all": ["Rust", "Go"]}}),
    ]);
    let entries = |fields: Value| entries_read(&index, &fields);
    assert_eq!(
        entries(json!({"category": "Web", "clientInfo": {"country": "Atlantis"}})),
        1
    );
    assert_eq!(entries(json!({"category": "Desktop"})), 1);
    assert_eq!(
        entries(json!({"category": "Desktop", "clientInfo": {"country": "Atlantis"}})),
        0
    );
    assert_eq!(
        index.matches(&job(
            &json!({"skills": [{"name": "go"}, {"name": "rust"}, {"name": "go"}]})
        )),
        [1, 2]
    );
}

#[test]
fn entries_alone_dismiss_jobs_that_fail_on_cheap_conditions() {
    let filter = json!({
        "keywords": "rust (axum OR actix) tokio -\"green field\"",
        "categories": ["web"],
        "paymentTypes": ["hourly"],
        "hourlyRate": {"min": 50, "max": 90},
        "client": {"paymentVerified": true},
    });
    let good = json!({
        "title": "rust actix tokio", "category": "web", "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 60}},
        "clientInfo": {"isPaymentVerified": true},
    });
    let index = index_of_common(&filter);
    let evaluated = |fields: &Value| index.effort(&job(fields), &mut MatchScratch::default()).evaluated;
    assert_eq!(evaluated(&good), 1);
    for (pointer, value) in [
        ("title", json!("rust tokio")),
        ("title", json!("rust axum")),
        ("category", json!("desktop")),
        ("category", Value::Null),
        (
            "metadata",
            json!({"paymentType": "Hourly", "hourlyRate": {"max": 40}}),
        ),
        (
            "metadata",
            json!({"paymentType": "Hourly", "hourlyRate": {"min": 100}}),
        ),
        ("metadata", json!({"paymentType": "Hourly"})),
        (
            "metadata",
            json!({"paymentType": "Fixed", "hourlyRate": {"min": 60}}),
        ),
        ("clientInfo", json!({"isPaymentVerified": false})),
        ("clientInfo", Value::Null),
    ] {
        let mut fields = good.clone();
        fields[pointer] = value;
        assert_eq!(evaluated(&fields), 0, "{fields}");
    }
}

#[test]
fn a_filter_whose_entry_says_everything_matches_without_verification() {
    let good = json!({
        "title": "rust actix tokio", "category": "web", "skills": [{"name": "Rust"}],
        "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 60}}, "clientInfo": {"country": "Atlantis"},
    });
    let effort = |filter: &Value, fields: &Value| {
        let index = index_of_common(filter);
        let effort = index.effort(&job(fields), &mut MatchScratch::default());
        (effort.matched, effort.evaluated)
    };
    for said in [
        json!({"keywords": "rust (axum OR actix) tokio"}),
        json!({"keywords": "rust -php -java", "categories": ["web"], "hourlyRate": {"min": 50}}),
        json!({"keywords": "-php", "paymentTypes": ["hourly"]}),
        json!({"skills": {"any": ["go", "rust"]}, "client": {"countries": {"include": ["Atlantis"]}}}),
        json!({"keywords": "rust -a -b -c", "client": {"countries": {"exclude": ["Lemuria", "Mu"]}}}),
        json!({"keywords": "rust tokio actix", "skills": {"none": ["go"]}}),
        json!({"client": {"countries": {"exclude": ["Lemuria"]}}, "keywords": "-php"}),
    ] {
        assert_eq!(effort(&said, &good), (1, 0), "{said}");
        for bad in [
            json!({"title": "rust php java", "category": "web"}),
            json!({"title": "tokio actix", "skills": [{"name": "go"}], "clientInfo": {"country": "Lemuria"}}),
            json!({"title": "php"}),
        ] {
            assert_eq!(effort(&said, &bad).0, 0, "{said} {bad}");
        }
    }
    for unsaid in [
        json!({"keywords": "rust -a -b -c -d -e -f -g"}),
        json!({"keywords": "rust (a OR b OR c OR d OR tokio) (actix OR web OR e OR f OR g)"}),
        json!({"keywords": "title:rust"}),
        json!({"keywords": "rust \"actix tokio\""}),
        json!({"client": {"countries": {"exclude": ["A", "B", "C", "D", "E", "F"]}}}),
    ] {
        assert_eq!(effort(&unsaid, &good), (1, 1), "{unsaid}");
    }
}

#[test]
fn a_thousand_one_letter_prefixes_cost_one_look_each() {
    let prefixes: Vec<String> = ('a'..='z').cycle().take(1_000).map(|c| format!("{c}*")).collect();
    let mut filters = vec![
        json!({"keywords": prefixes.join(" AND ")}),
        json!({"keywords": prefixes.join(" OR ")}),
    ];
    filters.push(json!({"keywords": format!("NOT ({})", prefixes.join(" OR "))}));
    let index = index_of(&filters);
    assert_eq!(index.matches(&job(&json!({"title": "zebra apple 123"}))), [1]);
    assert_eq!(index.matches(&job(&json!({"title": "123"}))), [2]);
    let alphabet: Vec<String> = ('a'..='z').map(String::from).collect();
    assert_eq!(index.matches(&job(&json!({"title": alphabet.join(" ")}))), [0, 1]);
}

#[test]
fn more_prefixes_than_the_bloom_filter_first_holds_are_all_found() {
    let filters: Vec<Value> = (0..5_000)
        .map(|n| json!({"keywords": format!("p{n:04}*")}))
        .collect();
    let index = index_of(&filters);
    assert_eq!(
        index.matches(&job(&json!({"title": "p0000 p4999ü p123 p1234x"}))),
        [0, 1_234, 4_999]
    );
}

#[test]
fn loading_in_threads_is_inserting_one_by_one_and_passes_over_what_is_no_filter() {
    let keywords: Vec<String> = (0..5_000).map(|n| format!("w{} w{}", n % 97, n % 89)).collect();
    let compile = |keywords: &String| Some((keywords.clone(), compiled(&json!({ "keywords": keywords }))));
    let mut loaded = FilterIndex::new();
    let load = loaded.load(&keywords, compile);
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| load.work());
        }
    });
    assert_eq!(load.finish(), Ok(()));
    let mut inserted = FilterIndex::new();
    for keywords in &keywords {
        inserted
            .insert(keywords.clone(), &compiled(&json!({ "keywords": keywords })))
            .unwrap();
    }
    assert_eq!(loaded.len(), inserted.len());
    let post = job(&json!({"title": "w1 w2 w3 w4 w5 w6 w7 w8 w9 w10"}));
    assert!(!loaded.matches(&post).is_empty());
    assert_eq!(loaded.matches(&post), inserted.matches(&post));

    let faulty = |keywords: &String| {
        (keywords != "w1 w1").then(|| (keywords.clone(), compiled(&json!({ "keywords": keywords }))))
    };
    let mut others = FilterIndex::new();
    others.load(&keywords, faulty).finish().unwrap();
    assert_eq!(others.len(), loaded.len() - 1);
}
