//! What a request makes the service answer and store is bounded, whatever its body.

use serde_json::json;

use crate::client::Request;
use crate::upload::{MB, request};
use crate::world::{QUESTIONS, World, address_of, key};

/// The most bytes of an answer, and of an entry of the Activity record.
const BOUND: usize = 64 * 1024;

const BODY: usize = 3 * MB;

/// `unit` as often as it fits between `start` and `end` in the largest body.
fn filled(start: &str, unit: &str, end: &str) -> Vec<u8> {
    let times = (BODY - start.len() - end.len()) / unit.len();
    [start, &unit.repeat(times), end].concat().into_bytes()
}

/// Bodies of nearly 3 MB, each built to make its faults dear.
fn worst_bodies() -> Vec<(&'static str, Vec<u8>)> {
    let huge = "n".repeat(BODY - 2_000);
    let control = "\\u0001".repeat(500);
    let distinct = |entry: &dyn Fn(usize) -> String| {
        let mut body = "{".to_owned();
        for index in 0.. {
            let next = entry(index);
            if body.len() + next.len() > BODY - 10 {
                break;
            }
            body.push_str(&next);
        }
        body.push_str("\"z\":0}");
        body.into_bytes()
    };
    vec![
        (
            "members that occur twice under a huge name",
            format!("{{\"{huge}\": {{{}\"a\":0}}}}", "\"a\":0,".repeat(52)).into_bytes(),
        ),
        (
            "a huge unknown name in each pair",
            format!(
                "{{\"coverLetter\": \"x\", \"questionAnswerPairs\": [{}{{}}]}}",
                format!("{{\"{}\":0}},", "n".repeat(50_000)).repeat(60)
            )
            .into_bytes(),
        ),
        (
            "unknown names of control characters",
            distinct(&|index| format!("\"{index}{control}\":0,")),
        ),
        ("many unknown names", distinct(&|index| format!("\"{index}\":0,"))),
        (
            "unknown names in biddingConfig",
            filled("{\"biddingConfig\":{", "\"maximumBost\":{},", "\"\":0}}"),
        ),
        ("lists of objects", filled("[", "{\"\":0},", "0]")),
        (
            "pairs that are no objects",
            filled("{\"questionAnswerPairs\":[", "0,", "0]}"),
        ),
        (
            "pairs of another lead",
            filled(
                "{\"coverLetter\":\"x\",\"questionAnswerPairs\":[",
                "{\"question\":\"\",\"answer\":\"\"},",
                "{\"question\":\"\",\"answer\":\"\"}]}",
            ),
        ),
        ("lists in lists", filled("", "[", "")),
        ("objects in objects", filled("", "{\"a\":", "")),
        (
            "a huge word",
            format!("{{\"biddingConfig\":{{\"bidWithWarning\":\"{huge}\"}}}}").into_bytes(),
        ),
        (
            "a huge number",
            format!(
                "{{\"biddingConfig\":{{\"minBoost\":{}}}}}",
                huge.replace('n', "9")
            )
            .into_bytes(),
        ),
        ("a huge reason", format!("{{\"reason\":\"{huge}\"}}").into_bytes()),
        ("white space", filled("", " ", "x")),
    ]
}

fn assert_bounded(world: &World, request: &Request, what: &str) {
    let before = world.activities().len();
    let answer = world.send(request);
    assert!((400..500).contains(&answer.status), "{what}: {}", answer.status);
    assert!(
        answer.body.len() < BOUND,
        "{what}: answered {} bytes",
        answer.body.len()
    );
    for entry in world.activities().iter().rev().skip(before) {
        let stored = serde_json::to_vec(entry).unwrap().len();
        assert!(stored < BOUND, "{what}: stored {stored} bytes");
    }
}

#[test]
fn no_body_gets_an_answer_or_an_entry_of_64_kib() {
    let world = World::new();
    for (what, body) in worst_bodies() {
        for operation in ["bid", "reject"] {
            let request = Request::new("POST", &address_of(1, operation))
                .key(&key())
                .body(body.clone());
            assert_bounded(&world, &request, &format!("{what} to {operation}"));
        }
    }
}

#[test]
fn no_head_is_repeated_at_length() {
    let world = World::new();
    let long = "N".repeat(20_000);
    let list = "/v1/campaigns/camp/leads";
    for request in [
        Request::new(&long, list).key(&key()),
        Request::new(&long, "/healthz"),
        Request::new("GET", &format!("/v1/{long}")).key(&key()),
        Request::new("GET", list).key(&long),
        Request::new("POST", &address_of(1, "bid"))
            .key(&key())
            .header("Content-Type", &long),
        Request::new("POST", &address_of(1, "attachments"))
            .key(&key())
            .header("Content-Type", &format!("multipart/form-data; boundary={long}")),
    ] {
        let answer = world.send(&request);
        assert!((400..500).contains(&answer.status), "{}", answer.status);
        assert!(answer.body.len() < 1_000, "answered {} bytes", answer.body.len());
    }
}

#[test]
fn no_part_of_an_upload_gets_an_answer_or_an_entry_of_64_kib() {
    let world = World::new();
    let long = "n".repeat(60_000);
    for head in [
        format!("Content-Disposition: form-data; name=\"files\"; filename=\"{long}.txt\""),
        format!("Content-Disposition: form-data; name=\"{long}\"; filename=\"a.txt\""),
        format!("Content-Disposition: form-data; name=\"files\"; filename=\"a.txt\"\r\nContent-Type: {long}"),
        format!("Content-Disposition: {long}"),
    ] {
        let form = crate::upload::Form::new().part(&head, b"x").bytes();
        assert_bounded(&world, &request(&address_of(1, "attachments"), form), &head[..60]);
    }
}

#[test]
fn a_refused_bid_still_names_the_leads_questions() {
    let world = World::new();
    let pairs: Vec<_> = (0..500)
        .map(|index| json!({"question": format!("{index}"), "answer": ""}))
        .collect();
    let answer = world.post(
        &address_of(1, "bid"),
        &json!({"coverLetter": "x", "questionAnswerPairs": pairs}),
    );
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["errors"][0]["options"], json!(QUESTIONS));
}
