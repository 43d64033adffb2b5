//! Phrases over texts that repeat a few words, by which phrases are found in another way than over others.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

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
