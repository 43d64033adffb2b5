//! Keyword expressions.

use bidloop_domain::matching::keywords::Expression;
use bidloop_domain::matching::{FilterIndex, JobFacts, PreparedJob, SavedFilter};
use serde_json::json;

use crate::case::Case;
use crate::cost::bounded;

/// Parses the input as an expression. A fault has a place in the text. A filter with a valid expression gives the same
/// answer in each of the three ways to ask. The printed expression is the same, unless printing it passes a limit.
pub fn keywords(data: &[u8]) {
    let Some((choice, text)) = Case::text(data) else {
        return;
    };
    let parsed = bounded(text.len(), || Expression::parse(&text));
    let filter = bounded(text.len(), || {
        SavedFilter::from_value(&json!({ "keywords": text }))
    });
    let expression = match parsed {
        Ok(expression) => expression,
        Err(fault) => {
            assert!(
                (1..=text.chars().count() + 1).contains(&fault.position),
                "position {} of {text:?}",
                fault.position
            );
            assert!(filter.is_err(), "{text:?}");
            return;
        }
    };
    let Ok(filter) = filter else { return };
    match Expression::parse(&expression.to_string()) {
        Ok(again) => assert_eq!(again, expression),
        Err(fault) => assert!(fault.message.contains("at most"), "{fault} in {expression}"),
    }

    // The expression's own words, so that many conditions hold.
    let words = text.replace(['"', '(', ')', ':', '*', '-'], " ");
    let middle = words.floor_char_boundary(words.len() * usize::from(choice) / 255);
    let facts = JobFacts {
        title: &words[..middle],
        description: &words[middle..],
        ..JobFacts::default()
    };
    let job = PreparedJob::new(&facts);
    let held = filter.matches(&job);
    assert_eq!(filter.explain(&job).matches, held, "{text:?}");
    let mut index = FilterIndex::new();
    if index.insert(1, &filter).is_ok() {
        assert_eq!(index.matches(&job).len(), usize::from(held), "{text:?}");
    }
}
