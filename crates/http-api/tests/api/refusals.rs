//! A refusal is recorded with the status that it is answered with, and the interface description has that status.

use bidloop_domain::model::SubscriptionStatus;
use bidloop_http_api::openapi;
use serde_json::{Value, json};

use crate::client::{Answer, Request};
use crate::upload::{self, Form, MB};
use crate::world::{BARE_CAMPAIGN, ORG, QUESTIONS, World, address_of, key, lead_id, organization};

const LEAD_PATH: &str = "/v1/campaigns/{campaign_id}/leads/{lead_id}";

/// Sends a request on an existing lead, and checks its answer, record and description.
fn check(world: &World, operation: &str, request: &Request, status: u16, named: &str) {
    let recorded_before = world.activities().len();
    let answer = world.send(request);
    assert_eq!(answer.status, status, "{named}: {answer:?}");
    assert!(answer.message().contains(named), "{named}: {}", answer.message());
    let recorded = world.activities();
    assert_eq!(recorded.len(), recorded_before + 1, "{named}");
    assert_eq!(
        (recorded[0].outcome.as_str(), recorded[0].http_status),
        ("refused", Some(answer.status)),
        "{named}"
    );
    // The answer may add to the message, such as the first of several faults.
    assert!(answer.message().starts_with(&recorded[0].message), "{named}");
    for (name, value) in &recorded[0].details {
        if answer.json().get(name).is_some() {
            assert_eq!(answer.json()[name], *value, "{named}");
        }
    }
    let described = &openapi()["paths"][format!("{LEAD_PATH}/{operation}")]["post"]["responses"];
    assert!(described[status.to_string()].is_object(), "{operation}: {status}");
}

fn ok(answer: &Answer) {
    assert_eq!(answer.status, 200, "{answer:?}");
}

fn json_request(path: &str, body: &Value) -> Request {
    Request::new("POST", path).key(&key()).json(body)
}

fn declared(operation: &str, length: usize) -> Request {
    let request = Request::new("POST", &address_of(0, operation)).key(&key());
    request.declared(length as u64)
}

fn of_wrong_type(operation: &str) -> Request {
    let request = Request::new("POST", &address_of(0, operation)).key(&key());
    request.header("Content-Type", "text/html").body("<")
}

#[test]
fn every_refusal_of_a_bid() {
    let world = World::new();
    let bid = |job, body: &Value| json_request(&address_of(job, "bid"), body);
    let without_pairs = json!({"coverLetter": "Hi", "questionAnswerPairs": []});
    let answered = json!({
        "coverLetter": "Hi",
        "questionAnswerPairs": QUESTIONS.map(|question| json!({"question": question, "answer": "a"})),
    });
    let without_rate = json!({
        "coverLetter": "Hi", "questionAnswerPairs": [],
        "biddingConfig": {"biddingHourlyRateStrategy": "fixed_rate"},
    });
    let contradiction = json!({
        "coverLetter": "Hi", "questionAnswerPairs": [], "biddingConfig": {"minBoost": 9, "maximumBoost": 3},
    });
    let bare = format!(
        "/v1/campaigns/{BARE_CAMPAIGN}/leads/{}/bid",
        lead_id(ORG, BARE_CAMPAIGN, "job0")
    );
    for (request, status, named) in [
        (declared("bid", 3 * MB + 1), 413, "larger"),
        (of_wrong_type("bid"), 415, "text/html"),
        (bid(0, &json!({})), 400, "coverLetter"),
        (bid(0, &json!([])), 400, "not valid"),
        (bid(0, &contradiction), 400, "minBoost"),
        (bid(1, &without_pairs), 400, "rules"),
        (bid(0, &without_rate), 400, "rules"),
        (json_request(&bare, &without_pairs), 400, "account"),
    ] {
        check(&world, "bid", &request, status, named);
    }
    ok(&world.send(&bid(0, &without_pairs)));
    check(&world, "bid", &bid(0, &without_pairs), 409, "queued");
    ok(&world.post(&address_of(1, "reject"), &json!({})));
    check(&world, "bid", &bid(1, &answered), 409, "rejected");
    world.provision(&[organization(ORG, SubscriptionStatus::Active, 0)]);
    check(&world, "bid", &bid(2, &answered), 402, "limit");
}

#[test]
fn every_refusal_of_a_rejection() {
    let world = World::new();
    let reject = |body: &Value| json_request(&address_of(0, "reject"), body);
    for (request, status, named) in [
        (declared("reject", 3 * MB + 1), 413, "larger"),
        (of_wrong_type("reject"), 415, "text/html"),
        (reject(&json!({"reason": 1})), 400, "reason"),
        (reject(&json!({"reason": "x".repeat(501)})), 400, "reason"),
    ] {
        check(&world, "reject", &request, status, named);
    }
    ok(&world.send(&reject(&json!({}))));
    check(&world, "reject", &reject(&json!({})), 400, "rejected");
}

#[test]
fn every_refusal_of_an_upload() {
    let world = World::new();
    let upload = |form: Form| upload::request(&address_of(0, "attachments"), form.bytes());
    let file = |name: &str, declared: &str, content: &[u8]| upload(Form::new().file(name, declared, content));
    let many = (0..6).fold(Form::new(), |form, n| form.text(&format!("{n}.txt")));
    let other_part = Form::new().part("Content-Disposition: form-data; name=\"other\"", b"x");
    let large = vec![b'x'; 25 * MB + 1];
    let no_boundary = Request::new("POST", &address_of(0, "attachments"))
        .key(&key())
        .body("x");
    for (request, status, named) in [
        (declared("attachments", 200 * MB), 413, "larger"),
        (of_wrong_type("attachments"), 415, "text/html"),
        (no_boundary, 400, "boundary"),
        (upload(Form::new()), 400, "no file"),
        (upload(other_part), 400, "other"),
        (upload(many), 400, "too many"),
        (
            upload(Form::new().text("a.txt").text("A.TXT")),
            400,
            "already attached",
        ),
        (file("..", "text/plain", b"x"), 400, ".."),
        (file("a.exe", "text/plain", b"x"), 400, "extension"),
        (file("a.txt", "text/html", b"x"), 400, "text/html"),
        (file("a.pdf", "text/plain", b"x"), 400, "a.pdf"),
        (file("a.pdf", "application/pdf", b"x"), 400, "content"),
        (file("a.txt", "text/plain", b"#!/bin/sh"), 400, "programs"),
        (file("a.txt", "text/plain", b""), 400, "empty"),
        (file("a.txt", "text/plain", &large), 413, "25 MB"),
    ] {
        check(&world, "attachments", &request, status, named);
    }
    ok(&world.post(&address_of(0, "reject"), &json!({})));
    check(
        &world,
        "attachments",
        &upload(Form::new().text("a.txt")),
        400,
        "rejected",
    );
}
