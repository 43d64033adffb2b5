//! Open pages: what their streams cost, and how they end (contract section 6, `/events`).

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use acceptance::{Kind, Service, World, document, posts};
use serde_json::json;

use crate::acme::{self, PASSWORD};
use crate::session::Session;

on_both_databases!(
    five_hundred_open_pages_cost_less_than_20_mb,
    a_stream_tells_of_matches_and_ends_when_the_service_stops,
);

/// A person may have so many sessions that these three have enough.
const PEOPLE: [&str; 3] = ["ops@acme.test", "ann@acme.test", "bob@acme.test"];
const STREAMS: usize = 500;
/// The streams that one session may have.
const OF_A_SESSION: usize = 4;

fn started(kind: Kind) -> (World, Service) {
    let world = World::new(kind);
    let mut organization = acme::organization(&world, &[world.external("camp", "rust")]);
    let people = PEOPLE.map(|email| json!({"email": email, "password": PASSWORD}));
    organization["users"] = json!(people);
    world.installation.apply(&document::document(organization));
    let service = world.installation.serve();
    (world, service)
}

/// Opens a stream and reads its first event.
fn watch(service: &Service, session: &Session<'_>) -> TcpStream {
    let mut stream = TcpStream::connect(service.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let request = format!(
        "GET /events HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
        service.address(),
        session.cookie()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let told = read_until(&mut stream, "event: activity");
    assert!(told.starts_with("HTTP/1.1 200"), "{told}");
    stream
}

/// What a stream tells until it has told this.
fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut told = String::new();
    while !told.contains(end) {
        let mut bytes = [0; 4096];
        let read = stream.read(&mut bytes).unwrap();
        assert!(read > 0, "{told}");
        told.push_str(&String::from_utf8_lossy(&bytes[..read]));
    }
    told
}

fn five_hundred_open_pages_cost_less_than_20_mb(kind: Kind) {
    let (world, hashing) = started(kind);
    let cookies: Vec<String> = (0..STREAMS / OF_A_SESSION)
        .map(|number| {
            let session = Session::of(&hashing, PEOPLE[number % PEOPLE.len()]);
            session.cookie().to_owned()
        })
        .collect();
    // Another process, which keeps nothing of what hashing passwords took.
    assert!(hashing.stop().success());
    let service = world.installation.serve();
    let sessions: Vec<Session<'_>> = cookies
        .into_iter()
        .map(|cookie| Session::with_cookie(&service, cookie))
        .collect();
    let before = service.memory().resident_kib;
    let mut streams: Vec<TcpStream> = sessions
        .iter()
        .flat_map(|session| (0..OF_A_SESSION).map(|_| watch(&service, session)))
        .collect();
    let grown = service.memory().resident_kib.saturating_sub(before);
    eprintln!("{} streams: {grown} KiB more than {before} KiB", streams.len());
    assert!(grown < 20 * 1024, "{grown} KiB");
    // A fifth stream of a session takes the place of its oldest.
    let _fifth = watch(&service, &sessions[0]);
    assert!(read_until(&mut streams[0], "0\r\n\r\n").contains("retry: 60000"));
}

fn a_stream_tells_of_matches_and_ends_when_the_service_stops(kind: Kind) {
    let (world, service) = started(kind);
    let mut stream = {
        let session = Session::of(&service, PEOPLE[0]);
        watch(&service, &session)
    };
    world.publish(&service, "camp", vec![posts::hourly("Rust service")], 1);
    read_until(&mut stream, "event: matches");
    let asked = Instant::now();
    assert!(service.stop().success());
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
}
