//! The index is exact where its entries are not: for tokens that share a place, and for bounds.

use serde_json::{Value, json};

use super::index::index_of;
use super::{compiled, job};
use crate::SavedFilter;

#[test]
fn words_that_share_a_place_are_not_confused() {
    let filters: Vec<Value> = (0..40_000)
        .map(|n| json!({"keywords": format!("v{n} u{n} -t{n}")}))
        .collect();
    let index = index_of(&filters);
    for n in [0, 1, 5_000, 12_345, 39_999] {
        let (v, u, t) = (format!("v{n}"), format!("u{n}"), format!("t{n}"));
        assert_eq!(index.matches(&job(&json!({"title": format!("{v} {u}")}))), [n]);
        assert!(
            index
                .matches(&job(&json!({"title": format!("{v} {u} {t}")})))
                .is_empty()
        );
        assert!(
            index
                .matches(&job(&json!({"title": format!("{v} {t}")})))
                .is_empty()
        );
    }
    // None of the job's many words may pass for another one that is forbidden or required.
    let all: Vec<String> = (0..40_000)
        .step_by(2)
        .map(|n| format!("v{n} u{n} t{}", n + 1))
        .collect();
    let expected: Vec<usize> = (0..40_000).step_by(2).collect();
    assert_eq!(
        index.matches(&job(&json!({"description": all.join(" ")}))),
        expected
    );
}

#[test]
fn values_that_share_a_place_are_not_confused() {
    const FILTERS: usize = 4_000;
    let filters: Vec<Value> = (0..FILTERS)
        .flat_map(|n| {
            let skill = format!("s{n}");
            [
                json!({"skills": {"any": [skill]}, "occupations": [format!("o{n}")]}),
                json!({"skills": {"any": [skill]}, "client": {"countries": {"exclude": [format!("c{n}")]}}}),
            ]
        })
        .collect();
    let index = index_of(&filters);
    let skills: Vec<Value> = (0..FILTERS).map(|n| json!({"name": format!("s{n}")})).collect();
    let mut fields = json!({"skills": skills});
    for n in (0..FILTERS).step_by(397) {
        fields["occupation"] = json!(format!("o{n}"));
        fields["clientInfo"] = json!({"country": format!("c{n}")});
        let expected: Vec<usize> = (0..2 * FILTERS)
            .filter(|key| if key % 2 == 0 { key / 2 == n } else { key / 2 != n })
            .collect();
        assert_eq!(index.matches(&job(&fields)), expected, "{n}");
    }
}

#[test]
fn rates_and_prices_are_within_bounds_as_exactly_as_those_say() {
    let ends = [
        0.0, 0.5, 1.0, 50.0, 50.5, 124.0, 125.0, 125.5, 126.0, 126.5, 127.0, 128.0, 1e9,
    ];
    let ranges = |in_order: bool| -> Vec<Value> {
        let both = |min: f64| {
            let upper = ends.iter().filter(move |max| !in_order || min <= **max);
            upper.map(move |max| json!({"min": min, "max": max}))
        };
        let one = ends
            .iter()
            .flat_map(|end| [json!({"min": end}), json!({"max": end})]);
        one.chain(ends.iter().flat_map(|min| both(*min))).collect()
    };
    let mut filters = Vec::new();
    for bounds in ranges(true) {
        for unknown in ["match", "reject"] {
            filters.push(json!({"hourlyRate": bounds, "whenUnknown": unknown}));
            filters.push(json!({"fixedPrice": bounds, "whenUnknown": unknown}));
        }
    }
    let index = index_of(&filters);
    let filters: Vec<SavedFilter> = filters.iter().map(compiled).collect();
    let rates = ranges(false)
        .into_iter()
        .map(|range| json!({"hourlyRate": range}));
    let prices = ends.iter().map(|price| json!({"fixedPrice": price}));
    for amounts in rates.chain(prices).chain([json!({})]) {
        for kind in [json!("Hourly"), json!("Fixed"), Value::Null] {
            let mut metadata = amounts.clone();
            metadata["paymentType"] = kind;
            let job = job(&json!({ "metadata": metadata }));
            let matching = filters
                .iter()
                .enumerate()
                .filter(|(_, filter)| filter.matches(&job));
            let expected: Vec<usize> = matching.map(|(key, _)| key).collect();
            assert_eq!(index.matches(&job), expected, "{metadata}");
        }
    }
}
