//! Bytes that are no request get a Standard Error, too, and one answer each.

use acceptance::document::{EXTERNAL, KEY};
use acceptance::world::{id, path};
use acceptance::{Installation, Kind, Service};

use super::wire::{Reply, exchange, replies};
use super::{list, with_leads};

const GOOD: &str = "GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n";

fn served() -> (Installation, Service) {
    let installation = Installation::new(Kind::Sqlite);
    let service = installation.serve();
    (installation, service)
}

fn sent(service: &Service, bytes: &str) -> Vec<Reply> {
    replies(&exchange(service.address(), bytes.as_bytes()), false)
}

#[track_caller]
fn assert_standard_error(reply: &Reply, status: u16) {
    assert_eq!(reply.status, status, "{reply:?}");
    let body = reply.json();
    assert_eq!(body["statusCode"], status);
    assert!(
        body["message"].as_str().is_some_and(|text| text.len() > 10),
        "{body}"
    );
    assert!(
        body["error"].as_str().is_some_and(|text| text.len() > 3),
        "{body}"
    );
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.header("connection"), Some("close"));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
    assert!(
        reply.header("x-request-id").is_some_and(|id| id.len() > 8),
        "{reply:?}"
    );
}

/// Heads that no parser takes.
fn malformed() -> Vec<(&'static str, String, u16)> {
    let many = "X-Many: 1\r\n".repeat(200);
    vec![
        ("no HTTP", "\u{16}\u{3}\u{1}\r\n\r\n".to_owned(), 400),
        ("no version", "GET /healthz\r\n\r\n".to_owned(), 400),
        ("another version", "GET /healthz HTTP/9.9\r\n\r\n".to_owned(), 400),
        (
            "no colon",
            "GET /healthz HTTP/1.1\r\nno colon\r\n\r\n".to_owned(),
            400,
        ),
        (
            "a space before the colon",
            "GET / HTTP/1.1\r\nHost : t\r\n\r\n".to_owned(),
            400,
        ),
        (
            "a wrong length",
            "GET / HTTP/1.1\r\nContent-Length: two\r\n\r\n".to_owned(),
            400,
        ),
        (
            "two lengths",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n".to_owned(),
            400,
        ),
        (
            "a length and chunks",
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
            400,
        ),
        ("many headers", format!("GET / HTTP/1.1\r\n{many}\r\n"), 431),
        (
            "a long header",
            format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(60_000)),
            431,
        ),
    ]
}

#[test]
fn a_malformed_head_is_answered_with_a_standard_error() {
    let (_installation, service) = served();
    for (what, head, status) in malformed() {
        let answers = sent(&service, &head);
        assert_eq!(answers.len(), 1, "{what}: {answers:?}");
        assert_standard_error(&answers[0], status);
    }
    let log = service.log();
    assert!(!log.contains("ERROR"), "{log}");
    let counted = service
        .api_with(None)
        .metric("bidloop_http_requests_total{operation=\"none\",status=\"400\"}");
    assert!(counted.is_some_and(|count| count >= 8.0), "{counted:?}");
}

#[test]
fn requests_before_a_malformed_head_are_answered_first() {
    let (_installation, service) = served();
    let slow = "GET /v1/openapi.json HTTP/1.1\r\nHost: t\r\n\r\n";
    for before in [
        GOOD.to_owned(),
        GOOD.repeat(3),
        slow.to_owned(),
        format!("{slow}{GOOD}"),
    ] {
        let requests = before.matches("HTTP/1.1").count();
        for (what, head, status) in malformed() {
            if status == 431 && what == "a long header" {
                continue;
            }
            let answers = sent(&service, &format!("{before}{head}"));
            assert_eq!(answers.len(), requests + 1, "{what}: {answers:?}");
            let (last, others) = answers.split_last().unwrap();
            assert!(
                others.iter().all(|answer| answer.status == 200),
                "{what}: {others:?}"
            );
            assert_standard_error(last, status);
        }
    }
}

#[test]
fn a_malformed_chunk_is_answered_once_with_a_standard_error() {
    let (_installation, service) = served();
    for rest in ["zz\r\n", "ffffffffffffffffff\r\n", "2\r\n{}XX0\r\n\r\n"] {
        for path in ["/v1/campaigns/c/leads/l/bid", "/healthz", "/nowhere"] {
            let head = format!("POST {path} HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
            let answers = sent(&service, &format!("{head}{rest}"));
            assert_eq!(answers.len(), 1, "{path} {rest:?}: {answers:?}");
            let body = answers[0].json();
            assert_eq!(body["statusCode"], answers[0].status, "{body}");
        }
    }
}

#[test]
fn a_malformed_chunk_of_a_body_that_is_read_is_answered_once_and_ends_the_connection() {
    let (_world, service) = with_leads(1);
    let leads = list(&service, &[]).json();
    let bid = path(EXTERNAL, id(&leads["data"][0]), "bid");
    let head = format!(
        "POST {bid} HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n"
    );
    for rest in [
        "zz\r\n",
        "2\r\n{}XX0\r\n\r\n",
        "2\r\n{}\r\nffffffffffffffffff\r\n",
    ] {
        for before in ["", GOOD] {
            let answers = sent(&service, &format!("{before}{head}{rest}"));
            assert_eq!(
                answers.len(),
                1 + before.matches("HTTP").count(),
                "{rest:?}: {answers:?}"
            );
            let last = answers.last().unwrap();
            assert_standard_error(last, 400);
            assert!(last.text().contains("chunks"), "{}", last.text());
        }
    }
}

#[test]
fn an_answer_reaches_a_peer_that_sends_on() {
    let (_installation, service) = served();
    let bytes = format!("GET / HTTP/1.1\r\nno colon\r\n\r\n{}", "x".repeat(300_000));
    let answers = sent(&service, &bytes);
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_standard_error(&answers[0], 400);
}

#[test]
fn every_answer_has_the_requests_id_or_a_new_one() {
    let (_installation, service) = served();
    for path in [
        "/healthz",
        "/v1/openapi.json",
        "/v1/nowhere",
        "/sign-in",
        "/assets/none",
        "/metrics",
    ] {
        let given = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nX-Request-Id: mine-1\r\nConnection: close\r\n\r\n",
            service.address()
        );
        let answers = sent(&service, &given);
        assert_eq!(answers[0].header("x-request-id"), Some("mine-1"), "{path}");
    }
    let first = sent(&service, "nonsense\r\n\r\n");
    let second = sent(&service, "nonsense\r\n\r\n");
    assert_ne!(first[0].header("x-request-id"), second[0].header("x-request-id"));
}
