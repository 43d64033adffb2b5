//! Requests that no proper client sends: no 5xx, no hang, no panic.

use std::io::Write;

use bidloop_domain::model::{ActivityOutcome, Timestamp};
use serde_json::json;

use crate::client::{Request, connect, exchange, exchange_half_closed, read_answer};
use crate::world::{World, address_of, key};

/// Noise that is the same in every run.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length)
            .map(|_| u8::try_from(self.next() & 0xff).unwrap())
            .collect()
    }
}

fn assert_alive(world: &World) {
    assert_eq!(world.send(&Request::new("GET", "/healthz")).status, 200);
    assert_eq!(world.get("/v1/campaigns/camp/leads").status, 200);
    assert!(
        world.metrics.seen().iter().all(|(_, status)| *status < 500),
        "{:?}",
        world.metrics.seen()
    );
}

#[test]
fn random_bytes_are_answered_400_or_closed() {
    let world = World::new();
    let mut noise = Noise(7);
    for round in 0..200 {
        let length = 1 + round * 17;
        let bytes = noise.bytes(length);
        let answer = exchange_half_closed(world.address, &bytes);
        assert!(answer.is_none_or(|answer| (400..500).contains(&answer.status)));
    }
    assert_alive(&world);
}

#[test]
fn mutated_requests_are_never_a_failure_of_ours() {
    let world = World::new();
    let mut noise = Noise(11);
    let originals = [
        Request::new("POST", &address_of(0, "bid"))
            .key(&key())
            .json(&json!({
                "coverLetter": "x", "questionAnswerPairs": [], "dryRun": true,
                "biddingConfig": {"biddingFixedHourlyRate": 12.5, "minBoost": 1},
            }))
            .bytes(),
        Request::new("POST", &address_of(1, "reject"))
            .key(&key())
            .json(&json!({"reason": "no"}))
            .bytes(),
        Request::new("GET", "/v1/campaigns/camp/leads?offset=1&limit=2")
            .key(&key())
            .bytes(),
        crate::upload::request(
            &address_of(2, "attachments"),
            crate::upload::Form::new().text("a.txt").text("b.txt").bytes(),
        )
        .bytes(),
    ];
    for round in 0..400 {
        let mut bytes = originals[round % originals.len()].clone();
        for _ in 0..=noise.next() % 4 {
            let at = usize::try_from(noise.next()).unwrap() % bytes.len();
            match noise.next() % 4 {
                0 => bytes[at] = u8::try_from(noise.next() & 0xff).unwrap(),
                1 => {
                    bytes.remove(at);
                }
                2 => bytes.insert(
                    at,
                    b"\0\r\n\"\\{}[],:%;=\xff"[usize::try_from(noise.next() % 15).unwrap()],
                ),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let answer = exchange_half_closed(world.address, &bytes);
        let status = answer.as_ref().map_or(0, |answer| answer.status);
        assert!(
            status < 500,
            "round {round}: {answer:?} to {}",
            String::from_utf8_lossy(&bytes)
        );
    }
    assert_alive(&world);
}

#[test]
fn heads_beyond_all_measure_are_refused() {
    let world = World::new();
    let huge = "x".repeat(300_000);
    let many: String = (0..500).fold(String::new(), |headers, index| {
        headers + &format!("X-{index}: 1\r\n")
    });
    for request in [
        format!("GET /v1/{huge} HTTP/1.1\r\nHost: t\r\n\r\n"),
        format!("GET /healthz HTTP/1.1\r\nHost: t\r\nX-Huge: {huge}\r\n\r\n"),
        format!("GET /healthz HTTP/1.1\r\nHost: t\r\n{many}\r\n"),
        format!("GET /v1/campaigns/camp/leads HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {huge}\r\n\r\n"),
    ] {
        let answer = exchange(world.address, request.as_bytes());
        assert!(answer.is_none_or(|answer| (400..500).contains(&answer.status)));
    }
    assert_alive(&world);
}

#[test]
fn lengths_that_lie_are_refused() {
    let world = World::new();
    let path = address_of(0, "bid");
    for headers in [
        "Content-Length: -1",
        "Content-Length: 1x",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked, identity",
        "Content-Length: 99999999999999999999999",
        "Content-Length: 10",
    ] {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {}\r\n{headers}\r\n\r\n{{}}",
            key()
        );
        let answer = exchange_half_closed(world.address, request.as_bytes());
        assert!(
            answer.is_none_or(|answer| (400..500).contains(&answer.status)),
            "{headers}"
        );
    }
    let chunks = format!(
        "POST {path} HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        key()
    );
    let answer = exchange_half_closed(world.address, chunks.as_bytes());
    assert!(answer.is_none_or(|answer| (400..500).contains(&answer.status)));
    assert_alive(&world);
}

#[test]
fn pipelined_requests_are_answered_in_their_order() {
    let world = World::new();
    let one = |path: &str, body: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{body}",
            key(),
            body.len()
        )
    };
    let mut stream = connect(world.address);
    let pipelined = [
        one(&address_of(0, "reject"), ""),
        one(&address_of(0, "reject"), "{}"),
        one(&address_of(0, "bid"), "{"),
        "GET /healthz HTTP/1.1\r\nHost: t\r\nConnection: close\r\n\r\n".to_owned(),
    ]
    .concat();
    stream.write_all(pipelined.as_bytes()).unwrap();
    let mut everything = Vec::new();
    std::io::Read::read_to_end(&mut stream, &mut everything).unwrap();
    let text = String::from_utf8(everything).unwrap();
    let statuses: Vec<&str> = text
        .match_indices("HTTP/1.1 ")
        .map(|(at, found)| &text[at + found.len()..at + found.len() + 3])
        .collect();
    assert_eq!(statuses, ["200", "400", "400", "200"]);
}

#[test]
fn a_connection_is_kept_from_request_to_request() {
    let world = World::new();
    let mut stream = connect(world.address);
    for _ in 0..3 {
        let request = format!(
            "GET /v1/campaigns/camp/leads?limit=1 HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {}\r\n\r\n",
            key()
        );
        stream.write_all(request.as_bytes()).unwrap();
        assert_eq!(read_answer(&mut stream).unwrap().status, 200);
    }
}

#[test]
fn a_sender_that_leaves_at_once_stops_nothing_half_way() {
    let world = World::new();
    let request = Request::new("POST", &address_of(0, "bid"))
        .key(&key())
        .json(&json!({"coverLetter": "x", "questionAnswerPairs": []}))
        .bytes();
    for _ in 0..20 {
        connect(world.address).write_all(&request).unwrap();
    }
    let answer = exchange(world.address, &request).unwrap();
    assert!(matches!(answer.status, 200 | 409));
    assert_eq!(
        world
            .activities()
            .iter()
            .filter(|entry| entry.outcome == ActivityOutcome::Accepted)
            .count(),
        1
    );
    world.clock.set(Timestamp::from_seconds(1_790_000_001));
    assert_alive(&world);
}
