//! More bodies than the service can hold: 503 for the caller who sends them, and room for the others.

use std::io::Write;
use std::net::TcpStream;
use std::time::Instant;

use bidloop_http_api::BodyLimits;
use serde_json::json;

use crate::client::{Answer, PATIENCE, Request, connect, read_answer};
use crate::upload::{Form, MB, request};
use crate::world::{SETTINGS, ServerSettings, World, address_of, api_key, key};

const SECOND_ORGANIZATION: &str = "org_b";

fn few_bytes() -> World {
    World::with_settings(ServerSettings {
        bodies: BodyLimits {
            json_bytes: 300_000,
            upload_bytes: 6_000_000,
            ..SETTINGS.bodies
        },
        ..SETTINGS
    })
}

/// Sends a request whose body stops before its end: all but the last bytes of `request` arrive. A form lacks its closing
/// boundary then.
fn stalled(world: &World, request: &Request) -> TcpStream {
    let bytes = request.bytes();
    let mut stream = connect(world.address);
    stream.write_all(&bytes[..bytes.len() - 100]).unwrap();
    stream
}

/// Takes the connection that is answered first, and its answer.
fn first_answered(streams: &mut Vec<TcpStream>) -> Answer {
    let patience = Instant::now() + PATIENCE;
    loop {
        for index in 0..streams.len() {
            streams[index].set_nonblocking(true).unwrap();
            if streams[index].peek(&mut [0]).is_ok() {
                let mut stream = streams.swap_remove(index);
                stream.set_nonblocking(false).unwrap();
                return read_answer(&mut stream).unwrap();
            }
        }
        assert!(Instant::now() < patience, "one of them is answered");
        std::thread::yield_now();
    }
}

fn bid(key: &str, letter: usize) -> Request {
    Request::new("POST", &address_of(0, "bid")).key(key).json(&json!({
        "coverLetter": "x".repeat(letter), "questionAnswerPairs": [], "dryRun": true,
    }))
}

fn assert_overloaded(answer: &Answer) {
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.header("retry-after").unwrap().parse::<u32>().is_ok());
    assert_eq!(answer.json()["error"], "Service Unavailable");
}

/// Sends requests until `world` answers one with 200: what was held before has been given back.
fn until_accepted(world: &World, request: &Request) {
    let patience = Instant::now() + PATIENCE;
    while world.send(request).status != 200 {
        assert!(Instant::now() < patience, "the bytes are free again");
    }
}

#[test]
fn a_key_that_holds_its_share_is_answered_503_and_others_are_served() {
    let world = few_bytes();
    let other = format!("lk_{}", "b2".repeat(32));
    world.provision(&[api_key(SECOND_ORGANIZATION, "key_b", &other, false)]);
    // A third of the whole is a key's share. The second body is refused when both together exceed it.
    let mut bodies = vec![
        stalled(&world, &bid(&key(), 90_000)),
        stalled(&world, &bid(&key(), 90_000)),
    ];
    assert_overloaded(&first_answered(&mut bodies));
    let list = world.get("/v1/campaigns/camp/leads");
    assert_eq!(list.status, 200, "requests without a body are not counted");
    let foreign = Request::new("POST", &address_of(0, "bid"))
        .key(&other)
        .json(&json!({
            "coverLetter": "x".repeat(50_000), "questionAnswerPairs": [],
        }));
    assert_eq!(
        world.send(&foreign).status,
        404,
        "another organization is judged as ever"
    );
    assert!(world.activities().is_empty(), "an overload is no refusal");
    drop(bodies);
    until_accepted(&world, &bid(&key(), 90_000));
}

#[test]
fn a_body_counts_as_it_arrives_and_not_as_it_declares() {
    let world = few_bytes();
    let mut waiting = Vec::new();
    for _ in 0..50 {
        let head = Request::new("POST", &address_of(0, "bid"))
            .key(&key())
            .declared(3_000_000)
            .bytes();
        let mut stream = connect(world.address);
        stream.write_all(&head).unwrap();
        waiting.push(stream);
    }
    assert_eq!(world.send(&bid(&key(), 90_000)).status, 200);
    let chunked = bid(&key(), 250_000).chunked();
    assert_overloaded(&world.send(&chunked));
}

#[test]
fn an_upload_counts_until_it_is_answered() {
    let world = few_bytes();
    let form = |name: &str| {
        Form::new()
            .file(name, "text/plain", &vec![b'a'; 3 * MB / 2])
            .bytes()
    };
    let upload = |name: &str| request(&address_of(0, "attachments"), form(name));
    let mut bodies = vec![
        stalled(&world, &upload("a.txt")),
        stalled(&world, &upload("b.txt")),
    ];
    assert_overloaded(&first_answered(&mut bodies));
    assert_eq!(
        world.send(&bid(&key(), 10_000)).status,
        200,
        "bids have room of their own"
    );
    drop(bodies);
    until_accepted(&world, &upload("c.txt"));
    assert_eq!(world.blobs.paths().len(), 1, "nothing of the others is kept");
}

#[test]
fn pages_that_are_not_read_yet_are_held_within_bounds() {
    let list = Request::new("GET", "/v1/campaigns/camp/leads").key(&key());
    let page = World::new().send(&list);
    assert_eq!(page.status, 200);
    let world_with = |pages: usize| {
        World::with_settings(ServerSettings {
            bodies: BodyLimits {
                page_bytes: (pages * page.body.len()) as u64,
                ..SETTINGS.bodies
            },
            ..SETTINGS
        })
    };
    assert_overloaded(&world_with(1).send(&list));
    // A key's share is a third. A page that was read is held no longer.
    let world = world_with(4);
    for _ in 0..20 {
        assert_eq!(world.send(&list).status, 200);
    }
}
