//! Signatures never dismiss a job that matches, and dismiss nearly all that do not.

use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::reference::generated::{filters, jobs};
use super::{compiled, job};
use crate::{JobSignature, PreparedJob, SignatureQuery};

fn query(filter: &Value) -> SignatureQuery {
    SignatureQuery::of(&compiled(filter))
}

fn may_match(filter: &Value, fields: &Value) -> bool {
    query(filter).may_match(&JobSignature::of(&job(fields)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_job_that_matches_always_passes((filter, _) in filters(), jobs in prop::collection::vec(jobs(), 1..8)) {
        let (filter, query) = (compiled(&filter), query(&filter));
        for fields in jobs {
            let job = job(&fields);
            let signature = JobSignature::of(&job);
            if filter.matches(&job) {
                prop_assert!(query.may_match(&signature), "{fields}");
                prop_assert!(query.may_match(&JobSignature::ALL_SET));
            }
        }
    }
}

#[test]
fn what_a_filter_requires_is_asked_of_the_signature() {
    let post = json!({
        "title": "Rust and Actix", "category": "Web", "skills": [{"name": "Tokio"}],
        "metadata": {"paymentType": "Hourly"}, "clientInfo": {"isPaymentVerified": true},
    });
    for (filter, expected) in [
        (json!({"keywords": "rust actix"}), true),
        (json!({"keywords": "rust golang"}), false),
        (json!({"keywords": "golang OR actix"}), true),
        (json!({"keywords": "golang OR cobol"}), false),
        (json!({"keywords": "title:(golang OR cobol)"}), false),
        (json!({"keywords": "\"rust golang\""}), false),
        (json!({"keywords": "\"actix rust\""}), true),
        (json!({"keywords": "golang/ru*"}), false),
        (json!({"keywords": "NOT (NOT golang OR rust)"}), false),
        (json!({"keywords": "NOT (NOT golang AND NOT cobol)"}), false),
        (json!({"categories": ["Web", "Desktop"]}), true),
        (json!({"categories": ["Desktop"]}), false),
        (json!({"occupations": ["Baker"]}), false),
        (json!({"occupations": ["Baker"], "whenUnknown": "match"}), true),
        (json!({"skills": {"any": ["go", "tokio"]}}), true),
        (json!({"skills": {"all": ["go", "tokio"]}}), false),
        (json!({"paymentTypes": ["fixed"]}), false),
        (json!({"client": {"paymentVerified": false}}), false),
        (json!({"featured": true, "whenUnknown": "match"}), true),
    ] {
        assert_eq!(may_match(&filter, &post), expected, "{filter}");
    }
}

#[test]
fn exclusions_numbers_and_prefixes_let_every_job_pass() {
    for filter in [
        json!({}),
        json!({"keywords": "ru*"}),
        json!({"keywords": "rust OR go*"}),
        json!({"keywords": "rust OR NOT go"}),
        json!({"keywords": "-rust -go", "skills": {"none": ["php"]}}),
        json!({"hourlyRate": {"min": 50}, "client": {"minRating": 4, "countries": {"exclude": ["Lemuria"]}}}),
    ] {
        assert!(query(&filter).passes_all(), "{filter}");
    }
    assert!(!query(&json!({"keywords": "ru* go"})).passes_all());
    assert!(!query(&json!({"featured": true})).passes_all());
}

/// Words by Zipf's law, as posts have them.
struct Writer(u64);

impl Writer {
    fn number(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % below
    }

    fn word(&mut self) -> String {
        // Uniform in the logarithm: the rank of a word by Zipf's law with the exponent 1.
        let shift = self.number(16);
        format!("w{}", (1 << shift) + self.number(1 << shift))
    }

    fn text(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words).map(|_| self.word()).collect();
        words.join(" ")
    }

    fn rarer_word(&mut self) -> String {
        format!("w{}", 60 + self.number(12_000))
    }
}

#[test]
fn of_jobs_that_do_not_match_at_least_95_in_100_are_dismissed() {
    let mut writer = Writer(7);
    let jobs: Vec<PreparedJob> = (0..500)
        .map(|n| {
            job(&json!({
                "title": writer.text(8), "description": writer.text(142), "category": format!("c{}", n % 12),
                "metadata": {"paymentType": "Hourly"}, "clientInfo": {"country": format!("l{}", n % 90)},
            }))
        })
        .collect();
    let signatures: Vec<JobSignature> = jobs.iter().map(JobSignature::of).collect();
    let (mut unmatched, mut passed) = (0_u32, 0_u32);
    for _ in 0..200 {
        let mut words = || writer.rarer_word();
        let keywords = format!("({} OR {}) {} -{}", words(), words(), words(), words());
        let filter = compiled(&json!({ "keywords": keywords }));
        let query = SignatureQuery::of(&filter);
        for (job, signature) in jobs.iter().zip(&signatures) {
            if !filter.matches(job) {
                unmatched += 1;
                passed += u32::from(query.may_match(signature));
            }
        }
    }
    assert!(unmatched > 99_000, "{unmatched}");
    assert!(passed * 20 <= unmatched, "{passed} of {unmatched} passed");
}

#[test]
fn signatures_stored_by_other_versions_or_cut_short_count_as_missing() {
    let signature = JobSignature::of(&job(&json!({"title": "Rust"})));
    let bytes = signature.to_bytes();
    assert_eq!(JobSignature::from_bytes(&bytes), Some(signature));
    let mut other = bytes;
    other[0] += 1;
    assert_eq!(JobSignature::from_bytes(&other), None);
    assert_eq!(JobSignature::from_bytes(&bytes[..bytes.len() - 1]), None);
    assert_eq!(JobSignature::from_bytes(&[]), None);
}

/// If this fails, what is stored everywhere has become wrong: raise the version, then write down the new digest.
#[test]
fn a_version_of_signatures_never_changes() {
    // Something different for everything that has bits of its own: two that changed places would be noticed.
    let post = job(&json!({
        "title": "Rust, C++ & .NET", "description": "Straße 東京", "skills": [{"name": " Actix Web "}],
        "category": "Web", "occupation": "Backend", "projectType": "Ongoing", "projectDuration": "1 to 3 months",
        "region": "ÖSTERREICH", "isFeatured": true,
        "metadata": {"paymentType": "Fixed-price", "experienceLevel": "Expert", "hours": "30+ hrs/week"},
        "clientInfo": {"country": "Lemuria", "companyIndustry": "Tech", "companySize": "10", "isPaymentVerified": false,
            "isPhoneVerified": true},
        "vendorQualifications": {"talentType": "Any", "englishLevel": "Fluent"},
    }));
    let bytes = JobSignature::of(&post).to_bytes();
    let digest = hex::encode(Sha256::digest(bytes));
    assert_eq!(
        (bytes[0], digest.as_str()),
        (
            1,
            "9c3b11cb3574971921c3a7b5621ef1f1fd655cecd6ba98411ac599ddfaf97d4d"
        )
    );
}

/// If this fails, some new letters are words and fold in another way than those in stored signatures: raise the
/// version, then write down the new numbers.
#[test]
fn a_version_of_signatures_is_of_one_version_of_unicode() {
    let (folding, normalization, properties) = (
        caseless::UNICODE_VERSION.0,
        unicode_normalization::UNICODE_VERSION.0,
        unicode_properties::UNICODE_VERSION.0,
    );
    let version = JobSignature::ALL_SET.to_bytes()[0];
    assert_eq!((version, folding, normalization, properties), (1, 16, 18, 18));
}
