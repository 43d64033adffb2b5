//! What a filter may say, and how each fault is reported.

use serde_json::json;

use super::*;

/// The paths of the fields that hold conditions.
fn leaves(table: &[FilterField], paths: &mut Vec<&str>) {
    for field in table {
        match field.kind {
            FieldKind::Section(inner) => leaves(inner, paths),
            _ => paths.push(field.path),
        }
    }
}

fn faults(value: &Value) -> Vec<String> {
    let faults = SavedFilter::from_value(value).unwrap_err();
    faults.iter().map(FieldError::to_string).collect()
}

#[test]
fn every_field_of_the_table_is_read_in_its_order() {
    let full = json!({
        "keywords": "rust OR \"actix web\"",
        "skills": {"any": ["Rust"], "all": ["SQL"], "atLeast": {"count": 1, "of": ["Go", "C"]}, "none": ["PHP"]},
        "categories": ["Web"], "occupations": ["Backend"], "projectTypes": ["Ongoing project"],
        "projectDurations": ["1 to 3 months"], "experienceLevels": ["Expert"], "regions": ["Worldwide"],
        "weeklyHours": ["Less than 30 hrs/week"], "paymentTypes": ["hourly", "fixed"],
        "hourlyRate": {"min": 40.0, "max": 90.5}, "fixedPrice": {"min": 500.0},
        "client": {
            "paymentVerified": true, "phoneVerified": false, "enterprise": false,
            "countries": {"include": ["A"], "exclude": ["B"]}, "industries": {"include": ["C"], "exclude": ["D"]},
            "companySizes": ["10-99"], "minRating": 4.5, "minReviews": 1.0, "minTotalSpent": 100.0,
            "maxTotalSpent": 1000.0, "minHires": 1.0, "maxHires": 50.0, "minHireRate": 40.0, "minJobsPosted": 2.0,
            "minMemberDays": 30.0, "minAvgHourlyRatePaid": 20.0, "maxAvgHourlyRatePaid": 80.0
        },
        "vendor": {"talentTypes": ["ANY"], "englishLevels": ["FLUENT"], "maxJobSuccessScore": 90.0,
                   "maxMinimumEarnings": 100.0},
        "maxQuestions": 3.0, "featured": true, "maxOpenJobs": 5.0, "whenUnknown": "match"
    });
    let filter = SavedFilter::from_value(&full).unwrap();
    assert!(filter.unknown_holds());
    let paths: Vec<&str> = filter.conditions().iter().map(Condition::path).collect();
    assert_eq!(paths.len(), 41);
    let mut documented = Vec::new();
    leaves(FILTER_FIELDS, &mut documented);
    // The one object with two numbers is one condition.
    assert_eq!(paths, documented);
}

#[test]
fn null_is_the_same_as_a_field_left_out() {
    let filter =
        json!({"keywords": null, "client": {"minRating": null}, "skills": null, "hourlyRate": {"min": null}});
    let filter = SavedFilter::from_value(&filter).unwrap();
    assert!(filter.conditions().is_empty());
}

#[test]
fn every_fault_is_reported_at_once_with_its_path() {
    let faulty = json!({
        "keywords": "rust AND", "keyword": "x", "skills": ["Rust"], "categories": ["Web", 5, null],
        "client": {"minRating": "4", "countries": {"include": "Germany", "exlude": []}, "paymentVerified": 1},
        "hourlyRate": {"min": 90, "max": 40}, "paymentTypes": ["hourly", "monthly"], "maxQuestions": -1,
        "featured": "yes", "whenUnknown": "skip", "vendor": {"talentTypes": []}
    });
    let mut reported = faults(&faulty);
    reported.sort();
    assert_eq!(
        reported,
        [
            "categories[1]: must be a string, not a number",
            "categories[2]: must be a string, not null",
            "client.countries.exlude: unknown field; did you mean `exclude`?",
            "client.countries.include: must be a list, not a string",
            "client.minRating: must be a number, not a string",
            "client.paymentVerified: must be true or false, not a number",
            "featured: must be true or false, not a string",
            "hourlyRate.min: must not be above `max`: 90 > 40",
            "keyword: unknown field; did you mean `keywords`?",
            "keywords: character 9: the expression ends where a term is expected",
            "maxQuestions: must not be negative",
            "paymentTypes[1]: must be `hourly` or `fixed`",
            "skills: must be an object, not a list",
            "vendor.talentTypes: an empty list would match no job; leave the field out, or set it to null",
            "whenUnknown: must be `match` or `reject`",
        ]
    );
}

#[test]
fn paths_are_reported_as_steps_and_can_be_put_under_an_outer_path() {
    let fault = SavedFilter::from_value(&json!({"client": {"countries": {"exclude": ["A", 5]}}}))
        .unwrap_err()
        .remove(0);
    assert_eq!(fault.path, ["client", "countries", "exclude", "1"]);
    let outer = ["filters".to_owned(), "0".to_owned()];
    assert_eq!(
        fault.under(&outer).to_string(),
        "filters[0].client.countries.exclude[1]: must be a string, not a number"
    );
}

#[test]
fn a_list_that_could_never_match_is_refused() {
    for name in [
        "categories",
        "occupations",
        "projectTypes",
        "projectDurations",
        "experienceLevels",
        "regions",
        "weeklyHours",
        "paymentTypes",
    ] {
        assert!(faults(&json!({name: []}))[0].starts_with(&format!("{name}: an empty list")));
    }
    assert_eq!(faults(&json!({"skills": {"any": []}})).len(), 1);
    assert_eq!(
        faults(&json!({"client": {"countries": {"include": []}, "companySizes": []}})).len(),
        2
    );
}

#[test]
fn an_empty_list_that_asks_nothing_is_no_condition() {
    let lists = json!({"skills": {"all": [], "none": []}, "client": {"countries": {"exclude": []}}});
    assert!(SavedFilter::from_value(&lists).unwrap().conditions().is_empty());
}

#[test]
fn bounds_must_be_in_order_finite_and_not_negative() {
    assert!(SavedFilter::from_value(&json!({"hourlyRate": {"min": 40, "max": 40}})).is_ok());
    for (faulty, path) in [
        (json!({"fixedPrice": {"min": 2, "max": 1}}), "fixedPrice.min"),
        (
            json!({"client": {"minHires": 2, "maxHires": 1}}),
            "client.minHires",
        ),
        (
            json!({"client": {"minTotalSpent": 2, "maxTotalSpent": 1}}),
            "client.minTotalSpent",
        ),
        (
            json!({"client": {"minAvgHourlyRatePaid": 2, "maxAvgHourlyRatePaid": 1}}),
            "client.minAvgHourlyRatePaid",
        ),
        (json!({"client": {"minRating": 5.5}}), "client.minRating"),
        (json!({"maxOpenJobs": 1.5}), "maxOpenJobs"),
        (json!({"client": {"minHireRate": -1}}), "client.minHireRate"),
    ] {
        let reported = faults(&faulty);
        assert_eq!(reported.len(), 1, "{faulty}");
        assert!(reported[0].starts_with(&format!("{path}: ")), "{reported:?}");
    }
}

#[test]
fn blank_long_and_too_many_values_are_refused() {
    assert_eq!(
        faults(&json!({"regions": ["USOnly", " "]})),
        ["regions[1]: must not be blank"]
    );
    assert_eq!(
        faults(&json!({"regions": ["x".repeat(MAX_VALUE_CHARS + 1)]})).len(),
        1
    );
    assert!(SavedFilter::from_value(&json!({"skills": {"none": vec!["x"; MAX_LIST_VALUES]}})).is_ok());
    assert_eq!(
        faults(&json!({"skills": {"none": vec!["x"; MAX_LIST_VALUES + 1]}})).len(),
        1
    );
}

#[test]
fn payment_types_are_read_in_any_case() {
    let filter = SavedFilter::from_value(&json!({"paymentTypes": ["Hourly", "FIXED"]})).unwrap();
    let kinds = vec![PaymentKind::Hourly, PaymentKind::Fixed];
    assert_eq!(filter.conditions(), [Condition::PaymentTypes(kinds)]);
}

#[test]
fn the_count_of_skills_is_from_1_to_as_many_as_there_are_different_ones() {
    let at_least = |count: Value, of: Value| json!({"skills": {"atLeast": {"count": count, "of": of}}});
    let skills = json!(["Rust", "rust", "Tokio"]);
    for count in [1, 2] {
        assert!(SavedFilter::from_value(&at_least(json!(count), skills.clone())).is_ok());
    }
    for (count, of, fault) in [
        (
            json!(0),
            skills.clone(),
            "skills.atLeast.count: must be from 1 to 2",
        ),
        (
            json!(3),
            skills.clone(),
            "skills.atLeast.count: must be from 1 to 2",
        ),
        (
            json!(1.5),
            skills.clone(),
            "skills.atLeast.count: must be a whole number",
        ),
        (
            json!(null),
            skills,
            "skills.atLeast.count: must be a number, not null",
        ),
        (json!(1), json!([]), "skills.atLeast.of: an empty list"),
        (json!(1), json!(null), "skills.atLeast.of: is required"),
    ] {
        let found = faults(&at_least(count, of));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(fault), "{found:?}");
    }
}

#[test]
fn a_filter_is_an_object() {
    assert_eq!(faults(&json!([])), ["must be an object, not a list"]);
}

#[test]
fn a_filter_file_may_carry_id_and_name_while_a_body_may_not() {
    let file = FilterFile::parse(r#"{"id": "f1", "name": "Rust", "keywords": "rust"}"#).unwrap();
    assert_eq!(
        (file.id.as_deref(), file.name.as_deref()),
        (Some("f1"), Some("Rust"))
    );
    assert_eq!(file.filter.conditions()[0].path(), "keywords");
    assert!(
        faults(&json!({"id": "f1"}))[0]
            .starts_with("id: unknown field; the fields here are keywords, skills")
    );
    assert_eq!(FilterFile::parse(r#"{"id": 5}"#).unwrap_err()[0].path, ["id"]);
    assert!(FilterFile::parse("{").unwrap_err()[0].path.is_empty());
}
