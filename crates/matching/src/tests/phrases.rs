//! Phrases over texts that repeat a few words, which are searched in another way than others, and phrases in the index.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use super::index::index_of;
use super::{compiled, job};
use crate::FilterIndex;

fn words(most: usize) -> impl Strategy<Value = Vec<&'static str>> {
    vec(select(vec!["a", "a", "a", "b", "b", "ab", "abc"]), 1..most)
}

/// Whether the phrase's words, the last of them as a prefix if it is to be one, stand side by side in the text.
fn stands_in(text: &[&str], phrase: &[&str], is_prefix: bool) -> bool {
    text.windows(phrase.len()).any(|window| {
        let (last, before) = phrase.split_last().unwrap();
        let (end, start) = window.split_last().unwrap();
        start == before
            && if is_prefix {
                end.starts_with(last)
            } else {
                end == last
            }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_phrase_of_repeated_words_is_found_where_it_stands(
        title in words(30),
        description in words(60),
        skill in words(6),
        phrase in words(9),
        is_prefix in any::<bool>(),
        field in select(vec!["", "title:", "description:", "skill:"]),
    ) {
        let job = job(&json!({
            "title": title.join(" "), "description": description.join(" "), "skills": [{"name": skill.join(" ")}],
        }));
        let star = if is_prefix { "*" } else { "" };
        let filter = compiled(&json!({"keywords": format!("{field}{}{star}", phrase.join("."))}));
        let texts = [("title:", &title), ("description:", &description), ("skill:", &skill)];
        let expected = texts
            .iter()
            .filter(|(name, _)| field.is_empty() || field == *name)
            .any(|(_, text)| stands_in(text, &phrase, is_prefix));
        prop_assert_eq!(filter.matches(&job), expected);
        let mut index = FilterIndex::new();
        index.insert(1, &filter).unwrap();
        prop_assert_eq!(index.matches(&job).len(), usize::from(expected));
    }
}

/// Some ten thousand places at which all words of the phrase but one in the middle stand.
#[test]
fn a_long_phrase_nearly_everywhere_in_a_long_text_is_not_found() {
    let text = "a b ".repeat(20_000);
    let job = job(&json!({"description": text}));
    for (phrase, expected) in [
        (format!("{}a.{}b", "a.b.".repeat(20), "a.b.".repeat(20)), false),
        (format!("{}b", "a.b.".repeat(40)), false),
        (format!("{}a.b.a.b*", "a.b.".repeat(40)), true),
        (format!("{}c*", "a.b.".repeat(40)), false),
    ] {
        let filter = compiled(&json!({"keywords": phrase}));
        assert_eq!(filter.matches(&job), expected, "{phrase}");
    }
}

/// The numbers of the expressions that the index finds for a title, a description and one skill.
fn found(expressions: &[&str], [title, description, skill]: [&str; 3]) -> Vec<usize> {
    let filters: Vec<_> = expressions
        .iter()
        .map(|keywords| json!({ "keywords": keywords }))
        .collect();
    let job = json!({"title": title, "description": description, "skills": [{"name": skill}]});
    index_of(&filters).matches(&super::job(&job))
}

#[test]
fn the_index_finds_phrases_whose_words_are_adjacent_in_their_order_within_one_text() {
    for (phrase, job, expected) in [
        ("\"a b\"", ["x a b y", "", ""], true),
        ("\"a b\"", ["", "a c a b", ""], true),
        ("\"a b\"", ["", "", "A-B"], true),
        ("\"a b\"", ["b a", "b c a", "a"], false),
        ("\"a b\"", ["a c b", "", ""], false),
        ("\"a b\"", ["x a", "b y", "b"], false),
        ("\"a b\"", ["", "x a", "b"], false),
        ("\"a b\"", ["a", "", ""], false),
        ("\"a a\"", ["a", "a b a", ""], false),
        ("\"a a\"", ["b a a", "", ""], true),
        ("\"a b a a b\"", ["a b a b a a b", "", ""], true),
        ("\"a b a a b\"", ["a b a b a b a", "", ""], false),
    ] {
        for keywords in [
            phrase.to_owned(),
            format!("(a OR x) {phrase} -z"),
            format!("(({phrase} -z) a)"),
        ] {
            assert_eq!(
                found(&[&keywords], job),
                &[0][..usize::from(expected)],
                "{keywords} {job:?}"
            );
        }
    }
}

#[test]
fn phrases_are_found_beside_other_filters_with_the_same_words() {
    let expressions = [
        "\"a b\" \"b c\"",
        "\"a b\" \"c b\"",
        "\"a b\" OR \"c b\"",
        "-\"a b\" b",
        "title:\"a b\"",
        "\"a b*\"",
        "a/b*",
        "\"a b\" \"a b\"",
        "\"a unseen\"",
        "a b",
    ];
    assert_eq!(found(&expressions, ["", "a b c", ""]), [0, 2, 5, 6, 7, 9]);
    assert_eq!(found(&expressions, ["b c b a", "", ""]), [2, 3, 9]);
    assert_eq!(found(&expressions, ["a bc", "", ""]), [6]);
}

#[test]
fn a_phrase_is_edited_and_removed_with_its_filter() {
    let filter = |keywords: &str| compiled(&json!({ "keywords": keywords }));
    let [forward, backward] = ["a b", "b a"].map(|title| job(&json!({ "title": title })));
    let mut index = FilterIndex::new();
    index.insert(1, &filter("\"a b\"")).unwrap();
    index.insert(2, &filter("\"a b\" a")).unwrap();
    assert_eq!(
        (index.matches(&forward), index.matches(&backward)),
        (vec![1, 2], vec![])
    );
    assert_eq!(index.insert(1, &filter("\"b a\"")), Ok(true));
    assert_eq!(
        (index.matches(&forward), index.matches(&backward)),
        (vec![2], vec![1])
    );
    assert!(index.remove(&2));
    assert_eq!(
        (index.matches(&forward), index.matches(&backward)),
        (vec![], vec![1])
    );
    assert!(index.remove(&1));
    assert_eq!((index.entries(), index.matches(&backward)), (0, vec![]));
}
