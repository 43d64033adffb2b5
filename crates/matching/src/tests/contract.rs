//! Each sentence of the contract's section on saved filters, as a table.

use serde_json::{Value, json};

use super::{compiled, job};
use crate::{FilterIndex, Verdict};

fn matches(filter: &Value, fields: &Value) -> bool {
    compiled(filter).matches(&job(fields))
}

/// Whether a text in the description has what the expression asks.
fn finds(expression: &str, text: &str) -> bool {
    matches(&json!({"keywords": expression}), &json!({"description": text}))
}

/// The verdict on the filter's only condition.
fn verdict(filter: &Value, fields: &Value) -> Verdict {
    let explanation = compiled(filter).explain(&job(fields));
    assert_eq!(explanation.conditions.len(), 1, "{filter}");
    explanation.conditions[0].result
}

fn assert_verdicts(filter: &Value, cases: &[(Value, Verdict)]) {
    for (fields, expected) in cases {
        assert_eq!(verdict(filter, fields), *expected, "{filter} on {fields}");
    }
}

use Verdict::{Failed, Held, Unknown};

#[test]
fn a_filter_without_fields_matches_every_job() {
    assert!(matches(&json!({}), &json!({})));
    assert!(matches(
        &json!({"client": {}, "skills": {}, "whenUnknown": "reject"}),
        &json!({})
    ));
}

#[test]
fn all_fields_present_must_hold() {
    let filter = json!({"keywords": "rust", "regions": ["Worldwide"]});
    assert!(matches(&filter, &json!({"title": "Rust", "region": "Worldwide"})));
    assert!(!matches(&filter, &json!({"title": "Rust", "region": "USOnly"})));
    assert!(!matches(
        &filter,
        &json!({"title": "Java", "region": "Worldwide"})
    ));
}

#[test]
fn text_matching_ignores_case_and_finds_whole_words_only() {
    for (expression, text, found) in [
        ("rust", "RUST developer", true),
        ("rust", "trust rusty", false),
        ("java", "JavaScript", false),
        ("straße", "HAUPT STRASSE", true),
        ("c", "c++ and c#", false),
        ("c++", "C++17", true),
        ("c++", "C", false),
        ("c#", "F#, C#.", true),
        (".net", "ASP.NET Core", true),
        (".net", "dotnet, net 5, .netcore", false),
        ("net", "ASP.NET", false),
        ("asp.net", "ASP.NET", true),
        ("asp.net", "asp net", false),
        ("東京", "東京都で", true),
        ("京東", "東京都で", false),
        ("ﬁt", "FIT", true),
    ] {
        assert_eq!(finds(expression, text), found, "{expression} in {text}");
    }
}

#[test]
fn a_query_word_with_separators_inside_is_the_phrase_of_its_parts() {
    for text in ["Node.js", "node-js", "NODE JS", "(node/js)", "node\njs"] {
        assert!(finds("node.js", text), "{text}");
    }
    for text in ["node", "js node", "node and js", "nodejs"] {
        assert!(!finds("node.js", text), "{text}");
    }
}

#[test]
fn operators_combine_terms() {
    for (expression, text, found) in [
        ("a b", "b x a", true),
        ("a AND b", "a", false),
        ("a OR b", "b", true),
        ("a OR b c", "a", true),
        ("(a OR b) c", "a", false),
        ("a -b", "a", true),
        ("a -b", "a b", false),
        ("NOT (a OR b)", "c", true),
        ("NOT a", "", true),
        ("NOT NOT a", "a", true),
        ("rock and roll", "rock roll", false),
    ] {
        assert_eq!(finds(expression, text), found, "{expression} in {text}");
    }
}

#[test]
fn a_prefix_finds_words_that_begin_with_it() {
    for (expression, text, found) in [
        ("dev*", "Developer", true),
        ("dev*", "a dev", true),
        ("dev*", "undeveloped", false),
        ("c+*", "C++", true),
        ("\"x dev*\"", "x developer", false),
        ("web.dev*", "web-development", true),
        ("web.dev*", "web and development", false),
        ("web.dev*", "web", false),
    ] {
        assert_eq!(finds(expression, text), found, "{expression} in {text}");
    }
}

#[test]
fn a_phrase_lies_within_the_title_the_description_or_one_skill() {
    let filter = json!({"keywords": "\"machine learning\""});
    for (fields, found) in [
        (json!({"title": "Machine learning"}), true),
        (json!({"title": "Machine", "description": "learning"}), false),
        (
            json!({"description": "x", "skills": [{"name": "Machine Learning"}]}),
            true,
        ),
        (
            json!({"description": "machine", "skills": [{"name": "Learning"}]}),
            false,
        ),
        (
            json!({"skills": [{"name": "Machine"}, {"name": "Learning"}]}),
            false,
        ),
        (json!({"description": "a machine machine learning"}), true),
    ] {
        assert_eq!(matches(&filter, &fields), found, "{fields}");
    }
    assert!(finds("\"a b\"", "a c b c a b"));
    assert!(!finds("\"a b\"", "a c b c a c b"));
    let prefix = json!({"keywords": "machine.learn*"});
    assert!(!matches(
        &prefix,
        &json!({"title": "machine", "description": "learning"})
    ));
}

#[test]
fn a_field_limits_a_term_or_a_parenthesis() {
    let post = json!({"title": "Rust dev", "description": "knows Java", "skills": [{"name": "Go"}, {"name": "Web UI"}]});
    for (expression, found) in [
        ("title:rust", true),
        ("title:java", false),
        ("description:java", true),
        ("skill:go", true),
        ("skill:web", true),
        ("skill:\"go web\"", false),
        ("title:(rust java)", false),
        ("title:(rust -java)", true),
        ("title:(java OR skill:go)", true),
        ("-title:java rust", true),
        ("title:de*", true),
        ("skill:de*", false),
        ("rust java go", true),
    ] {
        assert_eq!(
            matches(&json!({"keywords": expression}), &post),
            found,
            "{expression}"
        );
    }
}

#[test]
fn keywords_are_never_unknown() {
    for skills in [Value::Null, json!([])] {
        let fields = json!({"title": "a", "skills": skills});
        assert_eq!(
            verdict(
                &json!({"keywords": "skill:rust", "whenUnknown": "match"}),
                &fields
            ),
            Failed
        );
        assert_eq!(verdict(&json!({"keywords": "-skill:rust"}), &fields), Held);
    }
}

#[test]
fn skills_are_wanted_by_name_whole_and_in_any_case() {
    let skills = |names: &[&str]| json!({"skills": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()});
    assert_verdicts(
        &json!({"skills": {"any": ["rust", "GO"]}}),
        &[
            (skills(&["Rust"]), Held),
            (skills(&["Rust Programming"]), Failed),
            (skills(&[]), Failed),
            (json!({}), Unknown),
        ],
    );
    assert_verdicts(
        &json!({"skills": {"all": ["rust", "go", "Rust"]}}),
        &[
            (skills(&["Go", "Rust", "C"]), Held),
            (skills(&["Go"]), Failed),
            (skills(&[]), Failed),
            (json!({}), Unknown),
        ],
    );
    assert_verdicts(
        &json!({"skills": {"none": ["php"]}}),
        &[
            (skills(&["Go"]), Held),
            (skills(&["Go", "PHP"]), Failed),
            (skills(&[]), Held),
            (json!({"skills": null}), Unknown),
        ],
    );
}

#[test]
fn the_jobs_value_is_in_the_list() {
    for (name, job_of) in [
        (
            "categories",
            (|value| json!({"category": value})) as fn(Value) -> Value,
        ),
        ("occupations", |value| json!({"occupation": value})),
        ("projectTypes", |value| json!({"projectType": value})),
        ("projectDurations", |value| json!({"projectDuration": value})),
        (
            "experienceLevels",
            |value| json!({"metadata": {"experienceLevel": value}}),
        ),
        ("regions", |value| json!({"region": value})),
        ("weeklyHours", |value| json!({"metadata": {"hours": value}})),
    ] {
        assert_verdicts(
            &json!({name: ["Ärger", "Two"]}),
            &[
                (job_of(json!("ÄRGER")), Held),
                (job_of(json!("two")), Held),
                (job_of(json!("Two and more")), Failed),
                (job_of(json!(null)), Unknown),
                (json!({}), Unknown),
            ],
        );
    }
}

#[test]
fn weekly_hours_are_read_from_hours_else_from_an_hours_text_in_duration() {
    assert_verdicts(
        &json!({"weeklyHours": ["Less than 30 hrs/week"]}),
        &[
            (json!({"metadata": {"hours": "Less than 30 hrs/week"}}), Held),
            (json!({"metadata": {"duration": "less than 30 hrs/week"}}), Held),
            (
                json!({"metadata": {"hours": "More than 30 hrs/week", "duration": "Less than 30 hrs/week"}}),
                Failed,
            ),
            (json!({"metadata": {"duration": "1 to 3 months"}}), Unknown),
        ],
    );
}

#[test]
fn payment_types_are_hourly_or_fixed() {
    let paid = |text: &str| json!({"metadata": {"paymentType": text}});
    assert_verdicts(
        &json!({"paymentTypes": ["fixed"]}),
        &[
            (paid("Fixed-price"), Held),
            (paid("Fixed"), Held),
            (paid("Hourly"), Failed),
            (json!({"metadata": {"fixedPrice": 5}}), Unknown),
            (paid("Barter"), Unknown),
        ],
    );
}

#[test]
fn an_hourly_jobs_range_overlaps_the_hourly_rate() {
    let hourly = |range: Value| json!({"metadata": {"paymentType": "Hourly", "hourlyRate": range}});
    assert_verdicts(
        &json!({"hourlyRate": {"min": 40, "max": 60}}),
        &[
            (hourly(json!({"min": 20, "max": 40})), Held),
            (hourly(json!({"min": 60, "max": 90})), Held),
            (hourly(json!({"min": 10, "max": 90})), Held),
            (hourly(json!({"min": 10, "max": 39.99})), Failed),
            (hourly(json!({"min": 61, "max": null})), Failed),
            (hourly(json!({"min": 20, "max": null})), Held),
            (hourly(json!({"max": 100})), Held),
            (hourly(json!({"max": 30})), Failed),
            (hourly(json!({"min": null, "max": null})), Unknown),
            (hourly(json!(null)), Unknown),
            (
                json!({"metadata": {"paymentType": "Fixed", "hourlyRate": {"min": 1, "max": 2}}}),
                Held,
            ),
            (json!({"metadata": {"hourlyRate": {"min": 50}}}), Held),
            (json!({"metadata": {"hourlyRate": {"max": 5}}}), Failed),
            (json!({"metadata": {"fixedPrice": 500}}), Unknown),
            (json!({}), Unknown),
        ],
    );
}

#[test]
fn a_fixed_price_jobs_price_lies_in_the_fixed_price() {
    let fixed = |price: Value| json!({"metadata": {"paymentType": "Fixed-price", "fixedPrice": price}});
    assert_verdicts(
        &json!({"fixedPrice": {"min": 500, "max": 1000}}),
        &[
            (fixed(json!(500)), Held),
            (fixed(json!(1000.0)), Held),
            (fixed(json!(499.99)), Failed),
            (fixed(json!(null)), Unknown),
            (
                json!({"metadata": {"paymentType": "Hourly", "fixedPrice": 5}}),
                Held,
            ),
            (json!({"metadata": {"fixedPrice": 700}}), Held),
            (json!({"metadata": {"fixedPrice": 7}}), Failed),
            (json!({"metadata": {"hourlyRate": {"min": 7}}}), Unknown),
        ],
    );
}

#[test]
fn a_filter_with_rate_and_price_means_hourly_from_so_much_or_fixed_from_so_much() {
    let filter = json!({"hourlyRate": {"min": 40}, "fixedPrice": {"min": 500}});
    for (metadata, expected) in [
        (
            json!({"paymentType": "Hourly", "hourlyRate": {"min": 30, "max": 50}}),
            true,
        ),
        (
            json!({"paymentType": "Hourly", "hourlyRate": {"min": 30, "max": 35}}),
            false,
        ),
        (json!({"paymentType": "Fixed", "fixedPrice": 600}), true),
        (json!({"paymentType": "Fixed", "fixedPrice": 400}), false),
        (json!({"hourlyRate": {"min": 50}}), false),
        (json!({"hourlyRate": {"min": 50}, "fixedPrice": 600}), true),
    ] {
        assert_eq!(
            matches(&filter, &json!({"metadata": metadata})),
            expected,
            "{metadata}"
        );
    }
    let mut lenient = filter;
    lenient["whenUnknown"] = json!("match");
    assert!(matches(
        &lenient,
        &json!({"metadata": {"hourlyRate": {"min": 50}}})
    ));
    assert!(!matches(
        &lenient,
        &json!({"metadata": {"hourlyRate": {"max": 5}}})
    ));
}

#[test]
fn the_clients_flags_are_as_wanted() {
    for (name, carried) in [
        ("paymentVerified", "isPaymentVerified"),
        ("phoneVerified", "isPhoneVerified"),
        ("enterprise", "enterpriseClient"),
    ] {
        for wanted in [true, false] {
            assert_verdicts(
                &json!({"client": {name: wanted}}),
                &[
                    (json!({"clientInfo": {carried: wanted}}), Held),
                    (json!({"clientInfo": {carried: !wanted}}), Failed),
                    (json!({"clientInfo": {}}), Unknown),
                    (json!({}), Unknown),
                ],
            );
        }
    }
}

#[test]
fn countries_and_industries_are_included_or_excluded() {
    for (name, carried) in [("countries", "country"), ("industries", "companyIndustry")] {
        assert_verdicts(
            &json!({"client": {name: {"include": ["Austria"]}}}),
            &[
                (json!({"clientInfo": {carried: "AUSTRIA"}}), Held),
                (json!({"clientInfo": {carried: "Australia"}}), Failed),
                (json!({"clientInfo": null}), Unknown),
            ],
        );
        assert_verdicts(
            &json!({"client": {name: {"exclude": ["Austria"]}}}),
            &[
                (json!({"clientInfo": {carried: "austria"}}), Failed),
                (json!({"clientInfo": {carried: "Australia"}}), Held),
                (json!({"clientInfo": {carried: null}}), Unknown),
            ],
        );
    }
    assert_verdicts(
        &json!({"client": {"companySizes": ["10-99"]}}),
        &[
            (json!({"clientInfo": {"companySize": "10-99"}}), Held),
            (json!({"clientInfo": {"companySize": "1"}}), Failed),
            (json!({"clientInfo": {}}), Unknown),
        ],
    );
}

#[test]
fn the_clients_figures_are_within_inclusive_bounds() {
    for (name, carried) in [
        ("minRating", "rating"),
        ("minReviews", "numberOfReviews"),
        ("minTotalSpent", "totalSpent"),
        ("minHires", "numberOfHires"),
        ("minHireRate", "hireRate"),
        ("minJobsPosted", "jobsPosted"),
        ("minAvgHourlyRatePaid", "avgHourlyRatePaid"),
        ("maxTotalSpent", "totalSpent"),
        ("maxHires", "numberOfHires"),
        ("maxAvgHourlyRatePaid", "avgHourlyRatePaid"),
    ] {
        let (below, above) = if name.starts_with("min") {
            (Failed, Held)
        } else {
            (Held, Failed)
        };
        assert_verdicts(
            &json!({"client": {name: 4}}),
            &[
                (json!({"clientInfo": {carried: 3}}), below),
                (json!({"clientInfo": {carried: 4.0}}), Held),
                (json!({"clientInfo": {carried: 5}}), above),
                (json!({"clientInfo": {carried: null}}), Unknown),
            ],
        );
    }
}

#[test]
fn the_vendor_conditions_ask_what_the_job_demands_of_the_bidder() {
    let demands = |name: &str, value: Value| json!({"vendorQualifications": {name: value}});
    for (name, carried) in [("talentTypes", "talentType"), ("englishLevels", "englishLevel")] {
        assert_verdicts(
            &json!({"vendor": {name: ["any", "Fluent"]}}),
            &[
                (demands(carried, json!("ANY")), Held),
                (demands(carried, json!("BASIC")), Failed),
                (demands(carried, json!(null)), Unknown),
                (json!({}), Unknown),
            ],
        );
    }
    assert_verdicts(
        &json!({"vendor": {"maxJobSuccessScore": 90}}),
        &[
            (demands("jobSuccessScore", json!(90)), Held),
            (demands("jobSuccessScore", json!(91)), Failed),
            (demands("jobSuccessScore", json!(null)), Unknown),
        ],
    );
}

#[test]
fn minimum_earnings_null_demands_nothing_but_missing_qualifications_are_unknown() {
    assert_verdicts(
        &json!({"vendor": {"maxMinimumEarnings": 0}}),
        &[
            (json!({"vendorQualifications": {"minimumEarnings": null}}), Held),
            (json!({"vendorQualifications": {"minimumEarnings": 100}}), Failed),
            (json!({"vendorQualifications": null}), Unknown),
        ],
    );
}

#[test]
fn questions_featuring_and_open_jobs_are_asked() {
    assert_verdicts(
        &json!({"maxQuestions": 1}),
        &[
            (json!({"questions": ["a?"]}), Held),
            (json!({"questions": []}), Held),
            (json!({"questions": ["a?", "b?"]}), Failed),
            (json!({"questions": null}), Unknown),
        ],
    );
    assert_verdicts(
        &json!({"featured": false}),
        &[
            (json!({"isFeatured": false}), Held),
            (json!({"isFeatured": true}), Failed),
            (json!({}), Unknown),
        ],
    );
    assert_verdicts(
        &json!({"maxOpenJobs": 1}),
        &[
            (json!({"clientInfo": {"openJobs": 1}, "openJobs": [{}, {}]}), Held),
            (json!({"clientInfo": {"openJobs": 2}, "openJobs": []}), Failed),
            (json!({"openJobs": [{}, {}]}), Failed),
            (json!({"clientInfo": {"openJobs": null}, "openJobs": [{}]}), Held),
            (json!({"openJobs": null}), Unknown),
        ],
    );
}

#[test]
fn when_unknown_says_what_a_condition_on_a_missing_value_amounts_to() {
    for (when_unknown, expected) in [
        (json!("match"), true),
        (json!("reject"), false),
        (json!(null), false),
    ] {
        let filter = json!({"client": {"countries": {"exclude": ["A"]}}, "whenUnknown": when_unknown});
        assert_eq!(matches(&filter, &json!({})), expected, "{when_unknown}");
    }
}

#[test]
fn an_explanation_names_each_condition_in_order_with_its_detail() {
    let filter = compiled(&json!({
        "keywords": "title:rust (axum OR \"actix web\") -java", "skills": {"any": ["Rust", "Go"]},
        "hourlyRate": {"min": 40}, "client": {"minRating": 4.5, "countries": {"exclude": ["Atlantis"]}},
        "whenUnknown": "match"
    }));
    let explanation = filter.explain(&job(&json!({
        "title": "Rust", "description": "Axum", "skills": [{"name": "Go"}],
        "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 20, "max": 30}},
        "clientInfo": {"country": "Lemuria"}
    })));
    let told: Vec<String> = explanation
        .conditions
        .iter()
        .map(|condition| {
            format!(
                "{} {}: {}",
                condition.path,
                condition.result.as_str(),
                condition.detail
            )
        })
        .collect();
    assert!(!explanation.matches);
    assert_eq!(
        told,
        [
            "keywords held: found: title:rust, axum; not found: \"actix web\", java",
            "skills.any held: the job names: go; does not name: rust",
            "hourlyRate failed: an hourly job, 20 to 30 USD an hour; asked for 40 or more",
            "client.countries.exclude held: the job says `lemuria`, which is not listed",
            "client.minRating unknown: the job does not say; asked for at least 4.5; unknown counts as held",
        ]
    );
}

#[test]
fn the_index_answers_with_the_keys_of_the_matching_filters() {
    let mut filters = FilterIndex::new();
    assert!(filters.is_empty());
    assert_eq!(
        filters.insert(2, &compiled(&json!({"keywords": "rust"}))),
        Ok(false)
    );
    assert_eq!(filters.insert(1, &compiled(&json!({}))), Ok(false));
    assert_eq!(
        filters.insert(3, &compiled(&json!({"keywords": "java"}))),
        Ok(false)
    );
    let post = job(&json!({"title": "Rust"}));
    assert_eq!(filters.matches(&post), [1, 2]);

    assert_eq!(
        filters.insert(3, &compiled(&json!({"keywords": "rust"}))),
        Ok(true)
    );
    assert!(filters.remove(&1));
    assert_eq!(filters.matches(&post), [2, 3]);
    assert_eq!((filters.len(), filters.remove(&1)), (2, false));
}
