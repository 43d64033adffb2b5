//! A second, naive reading of the contract, and that matching agrees with it on generated filters and jobs.
//!
//! The reference works on the JSON of filter and job, scans every text anew for every term, and evaluates expressions
//! as they were generated, not as they were parsed. It shares no code with the matching.

mod asked;
pub(super) mod generated;
mod verdicts;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use self::asked::{Asked, expressions, folded, reference_words, texts};
use self::generated::{filters, jobs};
use self::verdicts::reference;
use super::{compiled, job};
use crate::SavedFilter;
use crate::{Expression, FilterIndex, Verdict, split_words};

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn words_are_those_of_the_reference(text in texts(), any in "\\PC{0,12}") {
        prop_assert_eq!(split_words(&text), reference_words(&text));
        if !any.chars().chain(folded(&any).chars()).any(|c| u32::from(c) >= 0x0E80) {
            prop_assert_eq!(split_words(&any), reference_words(&any));
        }
    }

    #[test]
    fn phrases_of_recurring_words_are_found_where_the_reference_finds_them(
        phrase in prop::collection::vec(select(vec!["a", "b"]), 1..5),
        title in prop::collection::vec(select(vec!["a", "b", "bb"]), 0..4),
        description in prop::collection::vec(select(vec!["a", "a", "b", "bb"]), 0..16),
        prefix in any::<bool>(),
    ) {
        let phrase = phrase.join("-");
        let asked = if prefix { Asked::Prefix(phrase) } else { Asked::Word(phrase) };
        let texts = [("title", reference_words(&title.join(" "))), ("description", reference_words(&description.join(" ")))];
        let job = job(&json!({"title": title.join(" "), "description": description.join(" ")}));
        for field in [None, Some("title"), Some("description")] {
            let text = field.map_or_else(|| asked.text(), |field| format!("{field}:{}", asked.text()));
            let found = compiled(&json!({"keywords": text})).matches(&job);
            prop_assert_eq!(found, asked.holds(&texts, field), "{}", text);
        }
    }

    #[test]
    fn generated_expressions_are_read_and_printed_faithfully(asked in expressions()) {
        let parsed = Expression::parse(&asked.text()).map_err(|fault| TestCaseError::fail(fault.to_string()))?;
        prop_assert_eq!(Expression::parse(&parsed.to_string()), Ok(parsed));
    }

    #[test]
    fn matching_and_explaining_and_the_set_agree_with_the_reference((filter, asked) in filters(), fields in jobs()) {
        let (expected, mut verdicts) = reference(&filter, asked.as_ref(), &fields);
        let (compiled, job) = (compiled(&filter), job(&fields));
        prop_assert_eq!(SavedFilter::parse(&filter.to_string()), Ok(compiled.clone()));
        prop_assert_eq!(compiled.matches(&job), expected);

        let explanation = compiled.explain(&job);
        prop_assert_eq!(explanation.matches, expected);
        let mut explained: Vec<(&str, Option<bool>)> = explanation
            .conditions
            .iter()
            .map(|condition| (condition.path, match condition.result {
                Verdict::Held => Some(true),
                Verdict::Failed => Some(false),
                Verdict::Unknown => None,
            }))
            .collect();
        explained.sort_unstable();
        verdicts.sort_unstable();
        prop_assert_eq!(explained, verdicts);

        let mut set = FilterIndex::new();
        set.insert((), &compiled).map_err(|fault| TestCaseError::fail(fault.to_string()))?;
        prop_assert_eq!(set.matches(&job).len(), usize::from(expected));
    }
}
