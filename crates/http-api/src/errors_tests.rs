//! The errors that the code can produce, compared with those that the interface description has.

use std::collections::{BTreeMap, BTreeSet};

use bidloop_domain::attachment_rules::{
    ContentInspector, ContentType, FileAdmission, FileFault, FileName, MAX_FILE_BYTES, MAX_FILES,
};
use bidloop_domain::bidding::{QuotaUsage, check_bid};
use bidloop_domain::model::{
    BiddingConfig, LeadStatus, QuestionAnswerPair, Timestamp, Unauthorized, VariantArray, effective,
};
use bidloop_domain::use_case::MAX_REASON_CHARS;
use bidloop_http_server::FRAMING_BYTES;
use serde_json::json;

use super::*;
use crate::request_body::{FORM_DATA, JSON, MAX_JSON_BYTES};
use crate::{bid_body, openapi, reject_body};

const LIST: &str = "listCampaignLeads";
const BID: &str = "submitBid";
const REJECT: &str = "rejectLead";
const UPLOAD: &str = "uploadLeadAttachments";
const ALL: &[&str] = &[LIST, BID, REJECT, UPLOAD];
const ON_LEADS: &[&str] = &[BID, REJECT, UPLOAD];

const MAX_UPLOAD_BYTES: u64 = MAX_FILES as u64 * MAX_FILE_BYTES + FRAMING_BYTES;

/// Which operations are answered with the error, and the variant's number, by which the samples are known to be complete.
fn answered_with(error: &LeadError) -> (usize, &'static [&'static str]) {
    match error {
        LeadError::NotAuthorized(_) => (0, ON_LEADS),
        LeadError::CampaignUnknown => (1, ALL),
        LeadError::LeadUnknown => (2, ON_LEADS),
        LeadError::TooLarge { limit_bytes } if *limit_bytes == MAX_JSON_BYTES => (3, &[BID, REJECT]),
        LeadError::TooLarge { .. } => (3, &[UPLOAD]),
        LeadError::UnsupportedMediaType { expected, .. } if *expected == JSON => (4, &[BID, REJECT]),
        LeadError::UnsupportedMediaType { .. } => (4, &[UPLOAD]),
        LeadError::Malformed(_) => (5, ON_LEADS),
        LeadError::Rules(_) => (6, &[BID]),
        LeadError::BidTooLate(_) => (7, &[BID]),
        LeadError::NoConnectedAccount => (8, &[BID]),
        LeadError::QuotaUsedUp(_) => (9, &[BID]),
        LeadError::RejectionTooLate(_) => (10, &[REJECT]),
        LeadError::UploadTooLate(_) => (11, &[UPLOAD]),
        LeadError::UnexpectedPart { .. } => (12, &[UPLOAD]),
        LeadError::File(_) => (13, &[UPLOAD]),
        LeadError::Overloaded => (14, ALL),
        LeadError::ReceiverOverloaded => (15, &[BID]),
        LeadError::Blob(_) => (16, &[UPLOAD]),
        LeadError::Store(_) => (17, ALL),
    }
}

/// Of each variant of [`answered_with`] at least one error, made by the code that makes it where that is pure.
fn errors_on_leads() -> Vec<LeadError> {
    let media_type = |given: &str, expected| LeadError::UnsupportedMediaType {
        given: given.to_owned(),
        expected,
    };
    let mut errors = vec![
        LeadError::NotAuthorized(Unauthorized::Ended),
        LeadError::CampaignUnknown,
        LeadError::LeadUnknown,
        LeadError::TooLarge {
            limit_bytes: MAX_JSON_BYTES,
        },
        LeadError::TooLarge {
            limit_bytes: MAX_UPLOAD_BYTES,
        },
        media_type("text/plain", JSON),
        media_type("content encoding gzip", JSON),
        media_type("application/pdf", FORM_DATA),
        bid_body::parse(
            br#"{"coverLetter": " ", "questionAnswerPairs": [], "biddingConfig": {"minBoost": -1}}"#,
        )
        .unwrap_err(),
        reject_body::parse(
            json!({"reason": "x".repeat(MAX_REASON_CHARS + 1)})
                .to_string()
                .as_bytes(),
        )
        .unwrap_err(),
        LeadError::NoConnectedAccount,
        LeadError::QuotaUsedUp(QuotaUsage {
            used: 50,
            limit: Some(50),
            period_end: Timestamp::from_seconds(1_792_592_000),
        }),
        LeadError::UnexpectedPart {
            part_name: "file".to_owned(),
            file_name: Some("notes.txt".to_owned()),
        },
        LeadError::Overloaded,
        LeadError::ReceiverOverloaded,
        LeadError::Blob(BlobError::Unavailable("the disk is full".to_owned())),
        LeadError::Blob(BlobError::NotFound),
        LeadError::Store(StoreError::Unavailable("no connection".to_owned())),
        LeadError::Store(StoreError::Corrupt("a row".to_owned())),
        LeadError::Store(StoreError::Backend("a statement".to_owned())),
    ];
    for status in [LeadStatus::Queued, LeadStatus::Submitted, LeadStatus::Rejected] {
        errors.push(LeadError::BidTooLate(status));
        errors.push(LeadError::RejectionTooLate(status));
        errors.push(LeadError::UploadTooLate(status));
    }
    errors.extend(broken_rules());
    errors.extend(file_faults().into_iter().map(LeadError::File));
    errors
}

/// A bid against each bidding rule.
fn broken_rules() -> Vec<LeadError> {
    let questions = ["How many years of Rust?", "When can you begin?"].map(str::to_owned);
    let pair = |question: &str| QuestionAnswerPair {
        question: question.to_owned(),
        answer: "Eight.".to_owned(),
    };
    let layer = |strategy: &str| {
        BiddingConfig::from_value(&json!({"biddingHourlyRateStrategy": strategy}), &[""; 0]).unwrap()
    };
    let none = BiddingConfig::default();
    let by_default = effective(&none, &none, &none);
    let of_campaign = effective(&none, &none, &layer("match_job_budget"));
    let of_request = effective(&layer("fixed_rate"), &none, &none);
    [
        check_bid(
            &questions,
            &[
                pair("How many years of rust?"),
                pair(&questions[0]),
                pair(&questions[1]),
            ],
            &by_default,
        ),
        check_bid(&[], &[], &of_campaign),
        check_bid(&[], &[], &of_request),
    ]
    .map(LeadError::Rules)
    .into()
}

fn file_faults() -> Vec<FileFault> {
    let named = |name: &str| FileName::parse(name).unwrap();
    let content = |name: &str, content: &[u8]| {
        let file_name = named(name);
        let extension = file_name.extension().unwrap();
        let mut types = ContentType::VARIANTS.iter();
        let content_type = types
            .find(|known| known.extensions().contains(&extension))
            .unwrap();
        let mut inspector = ContentInspector::new(*content_type, file_name);
        inspector.push(content).unwrap();
        inspector.finish().unwrap_err()
    };
    let five: Vec<FileName> = (0..MAX_FILES).map(|n| named(&format!("{n}.txt"))).collect();
    vec![
        FileFault::NoFile,
        FileAdmission::beside(&five)
            .admit(&named("notes.txt"))
            .unwrap_err(),
        FileAdmission::beside([&named("portfolio.PDF")])
            .admit(&named("Portfolio.pdf"))
            .unwrap_err(),
        FileName::parse(" ").unwrap_err(),
        ContentType::declared(&named("setup.exe"), "application/pdf").unwrap_err(),
        ContentType::declared(&named("a.txt"), "text/html").unwrap_err(),
        ContentType::declared(&named("a.pdf"), "text/plain").unwrap_err(),
        content("photo.png", b"%PDF-1.7\n"),
        content("notes.txt", b"#!/bin/sh\n"),
        content("notes.txt", b""),
        FileFault::TooLarge {
            name: "portfolio.pdf".to_owned(),
        },
    ]
}

/// Every error answer of each operation, with the operation's id.
fn answers() -> Vec<(&'static str, Refusal)> {
    let mut answers = Vec::new();
    for error in errors_on_leads() {
        for operation in answered_with(&error).1 {
            answers.push((*operation, Refusal::from(error.clone())));
        }
    }
    for operation in ALL {
        answers.push((operation, Refusal::from(AuthenticateError::Refused)));
        answers.push((operation, Refusal::not_ready()));
        answers.push((operation, Refusal::internal("a panic".to_owned())));
    }
    answers
}

/// The description of each operation's error answers, by operation and status.
fn described(document: &Value) -> BTreeMap<(String, u16), Value> {
    let mut described = BTreeMap::new();
    let paths = document["paths"].as_object().unwrap();
    for operation in paths.values().flat_map(|item| item.as_object().unwrap().values()) {
        for (status, response) in operation["responses"].as_object().into_iter().flatten() {
            let pointer = response["$ref"]
                .as_str()
                .map(|reference| reference.trim_start_matches('#'));
            let response = pointer.map_or(response, |pointer| document.pointer(pointer).unwrap());
            let status: u16 = status.parse().unwrap();
            if status >= 400 {
                let id = operation["operationId"].as_str().unwrap().to_owned();
                described.insert((id, status), response.clone());
            }
        }
    }
    described
}

fn body_of(refusal: Refusal) -> Value {
    serde_json::to_value(refusal.body()).unwrap()
}

#[test]
fn the_samples_are_of_every_variant() {
    let numbers: BTreeSet<usize> = errors_on_leads()
        .iter()
        .map(|error| answered_with(error).0)
        .collect();
    assert_eq!(numbers, (0..18).collect());
}

#[test]
fn every_error_is_described_and_every_described_error_is_produced() {
    let document = openapi();
    let described = described(&document);
    let mut produced = BTreeSet::new();
    for (operation, refusal) in answers() {
        let place = (operation.to_owned(), refusal.status.as_u16());
        let response = described
            .get(&place)
            .unwrap_or_else(|| panic!("{place:?} is not described"));
        let mut schema = response["content"]["application/json"]["schema"].clone();
        schema["components"] = document["components"].clone();
        let validator = jsonschema::validator_for(&schema).unwrap();

        let message = refusal.message.clone();
        let answer = refusal.into_response();
        let headers: BTreeSet<String> = answer
            .headers()
            .keys()
            .map(|name| name.as_str().to_owned())
            .filter(|name| name != "content-type")
            .collect();
        let in_description: BTreeSet<String> = response["headers"]
            .as_object()
            .unwrap()
            .keys()
            .map(|name| name.to_lowercase())
            .filter(|name| name != "x-request-id")
            .collect();
        assert_eq!(headers, in_description, "{place:?}: {message}");
        let body = answer.into_body();
        let actix_web::body::BodySize::Sized(_) = actix_web::body::MessageBody::size(&body) else {
            panic!("{place:?} has no body");
        };
        let body = actix_web::body::MessageBody::try_into_bytes(body).unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert!(validator.is_valid(&body), "{place:?}: {body}");
        produced.insert(place);
    }
    assert_eq!(produced, described.into_keys().collect());
}

#[test]
fn every_example_of_an_error_is_an_answer_of_the_code() {
    let document = openapi();
    let mut produced: BTreeMap<(String, u16), Vec<Value>> = BTreeMap::new();
    for (operation, refusal) in answers() {
        let place = (operation.to_owned(), refusal.status.as_u16());
        produced.entry(place).or_default().push(body_of(refusal));
    }
    for (place, response) in described(&document) {
        let examples = response["content"]["application/json"]["examples"]
            .as_object()
            .unwrap();
        for (name, example) in examples {
            let bodies = &produced[&place];
            assert!(
                bodies.contains(&example["value"]),
                "{place:?} {name}: {} is none of {bodies:#?}",
                example["value"]
            );
        }
    }
}
