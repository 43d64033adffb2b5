//! Connections that are slow, silent or many. The limits are short here; every test waits for an end that must come.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bidloop_domain::port::{BlobError, BlobPath, BlobStore, StagedBlob};
use bidloop_fakes::MemoryBlobStore;
use bidloop_http_server::ConnectionLimits;
use bytes::Bytes;
use futures::stream::BoxStream;
use serde_json::json;

use crate::client::{PATIENCE, Request, connect, read_answer};
use crate::upload::{Form, request};
use crate::world::{SETTINGS, ServerSettings, World, address_of, key};

const LIMITS: ConnectionLimits = ConnectionLimits {
    head: Duration::from_millis(300),
    idle: Duration::from_millis(600),
    stall: Duration::from_millis(400),
    bytes_per_second: 4_096,
    linger: Duration::from_millis(300),
    ..SETTINGS.connections
};

fn settings(connections: ConnectionLimits) -> ServerSettings {
    ServerSettings {
        connections,
        ..SETTINGS
    }
}

fn limited() -> World {
    World::with_settings(settings(LIMITS))
}

fn connected(world: &World, bytes: &[u8]) -> TcpStream {
    let mut stream = connect(world.address);
    stream.write_all(bytes).unwrap();
    stream
}

/// Reads until the connection ends; returns how long that took.
fn ends_after(mut stream: TcpStream) -> Duration {
    let started = Instant::now();
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "it stays open"),
    }
    started.elapsed()
}

/// Writing failed because the other side ended the connection, and not because it took too long.
fn assert_cut_off(error: Option<std::io::Error>) {
    let kind = error.map(|error| error.kind());
    assert!(
        matches!(kind, Some(ErrorKind::BrokenPipe | ErrorKind::ConnectionReset)),
        "{kind:?}"
    );
}

/// Sends one byte at a time until the connection ends.
fn ends_while_trickled(mut stream: TcpStream, every: Duration) -> Duration {
    let started = Instant::now();
    stream.set_read_timeout(Some(every)).unwrap();
    loop {
        assert!(started.elapsed() < PATIENCE, "it stays open");
        // The pause between two bytes is the wait for the end.
        match stream.read(&mut [0; 1024]) {
            Ok(0) => return started.elapsed(),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if stream.write_all(b"x").is_err() {
                    return started.elapsed();
                }
            }
            Err(_) => return started.elapsed(),
        }
    }
}

const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nHost: t\r\n\r\n";

#[test]
fn a_head_that_does_not_come_ends_the_connection() {
    let world = limited();
    for beginning in ["", "GET", "GET /healthz HTTP/1.1\r\nHost: t\r\n"] {
        let took = ends_after(connected(&world, beginning.as_bytes()));
        assert!(took >= LIMITS.head / 2, "{beginning:?}: {took:?}");
    }
    let trickled = connected(&world, b"GET /healthz HTTP/1.1\r\nX: ");
    let took = ends_while_trickled(trickled, Duration::from_millis(20));
    assert!(took < PATIENCE / 2, "{took:?}");
}

#[test]
fn a_head_that_stops_is_answered_and_one_that_never_began_is_not() {
    let world = limited();
    let mut after_another = connected(&world, HEALTH);
    assert_eq!(read_answer(&mut after_another).unwrap().status, 200);
    after_another.write_all(b"G").unwrap();
    let stopped = [
        connected(&world, b"GET"),
        connected(&world, b"GET /healthz HTTP/1.1\r\nX: "),
        after_another,
    ];
    for mut stream in stopped {
        let answer = read_answer(&mut stream).unwrap();
        assert_eq!((answer.status, answer.header("connection")), (408, Some("close")));
        assert_eq!(answer.json()["statusCode"], 408);
        assert_eq!(answer.header("x-request-id").unwrap().len(), 36);
        assert_eq!(stream.read(&mut [0; 10]).unwrap(), 0, "it is closed");
    }
    assert!(read_answer(&mut connect(world.address)).is_none());
    assert_eq!(
        world.metrics.seen(),
        [("healthz", 200), ("none", 408), ("none", 408), ("none", 408)]
    );
}

#[test]
fn a_second_head_that_does_not_come_ends_the_connection() {
    let world = limited();
    for beginning in [&b"G"[..], b"GET /healthz HTTP/1.1\r\nX: "] {
        // After the first answer.
        let mut stream = connected(&world, HEALTH);
        assert_eq!(read_answer(&mut stream).unwrap().status, 200);
        stream.write_all(beginning).unwrap();
        ends_after(stream);
        // Together with the first request, and byte by byte.
        ends_after(connected(&world, &[HEALTH, beginning].concat()));
        let trickled = connected(&world, &[HEALTH, beginning].concat());
        ends_while_trickled(trickled, Duration::from_millis(20));
    }
}

#[test]
fn an_idle_connection_is_kept_for_a_while_only() {
    let world = limited();
    let mut stream = connected(&world, HEALTH);
    assert_eq!(read_answer(&mut stream).unwrap().status, 200);
    let took = ends_after(stream);
    assert!(took >= LIMITS.idle / 2, "{took:?}");
}

#[test]
fn a_connection_in_use_is_kept_beyond_every_limit() {
    let world = limited();
    let mut stream = connect(world.address);
    let started = Instant::now();
    let mut requests = 0;
    while started.elapsed() < LIMITS.head + LIMITS.idle + LIMITS.stall {
        stream.write_all(HEALTH).unwrap();
        assert_eq!(read_answer(&mut stream).unwrap().status, 200);
        requests += 1;
    }
    assert!(requests > 10, "{requests}");
}

fn bid_head(length: usize) -> Vec<u8> {
    format!(
        "POST {} HTTP/1.1\r\nHost: t\r\nAuthorization: Bearer {}\r\nContent-Length: {length}\r\n\r\n{{",
        address_of(0, "bid"),
        key()
    )
    .into_bytes()
}

#[test]
fn a_body_that_stops_is_refused_and_its_connection_ended() {
    let world = limited();
    let mut stream = connected(&world, &bid_head(1_000));
    let answer = read_answer(&mut stream).unwrap();
    assert_eq!(answer.status, 400);
    assert!(answer.message().contains("in time"), "{}", answer.message());
    ends_after(stream);
}

#[test]
fn a_body_below_the_least_rate_is_refused_though_it_never_stops() {
    let world = limited();
    let stream = connected(&world, &bid_head(1_000_000));
    ends_while_trickled(stream, LIMITS.stall / 8);
    assert_eq!(world.activities()[0].http_status, Some(400));
}

#[test]
fn the_rest_of_a_refused_body_does_not_keep_the_connection() {
    let world = limited();
    let head = b"POST /v1/nowhere HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n";
    let mut stream = connected(&world, head);
    assert_eq!(read_answer(&mut stream).unwrap().status, 401);
    ends_while_trickled(stream, Duration::from_millis(20));
    let list = b"GET /healthz HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n";
    let mut stream = connected(&world, list);
    assert_eq!(read_answer(&mut stream).unwrap().status, 200);
    ends_while_trickled(stream, Duration::from_millis(20));
}

#[test]
fn the_rest_of_refused_bodies_is_read_on_some_connections_only() {
    let world = World::with_settings(settings(ConnectionLimits {
        linger: PATIENCE * 2,
        lingering: 1,
        ..LIMITS
    }));
    let refused = || {
        let mut stream = connected(
            &world,
            b"GET /healthz HTTP/1.1\r\nHost: t\r\nContent-Length: 9\r\n\r\nx",
        );
        assert_eq!(read_answer(&mut stream).unwrap().status, 200);
        stream
    };
    let streams = [refused(), refused()];
    let ended: Vec<bool> = streams
        .into_iter()
        .map(|mut stream| {
            let _may_be_ended = stream.write_all(b"x");
            stream.set_read_timeout(Some(LIMITS.linger)).unwrap();
            match stream.read(&mut [0]) {
                Ok(0) => true,
                Ok(_) => panic!("more than the answer"),
                Err(error) => error.kind() == ErrorKind::ConnectionReset,
            }
        })
        .collect();
    assert_eq!(ended, [false, true]);
}

#[test]
fn long_bodies_share_a_pace_and_short_ones_do_not_wait() {
    let pace = 1_000_000;
    let world = World::with_settings(settings(ConnectionLimits {
        long_bodies_per_second: pace,
        ..SETTINGS.connections
    }));
    let body = |length: usize| {
        let mut body = bid_head(length + 1);
        body.extend(vec![b' '; length]);
        body
    };
    let long = [body(500_000), body(500_000)];
    let started = Instant::now();
    let took = std::thread::scope(|scope| {
        let senders = long.each_ref().map(|body| {
            scope.spawn(|| {
                let mut stream = connected(&world, body);
                assert_eq!(read_answer(&mut stream).unwrap().status, 400);
            })
        });
        let mut short = connected(&world, &body(50_000));
        assert_eq!(read_answer(&mut short).unwrap().status, 400);
        let took = started.elapsed();
        for sender in senders {
            sender.join().unwrap();
        }
        took
    });
    let all = started.elapsed();
    // The beginning of each is free, and nobody waits after the last read.
    assert!(all >= Duration::from_millis(500), "{all:?}");
    assert!(took < all / 2, "{took:?} of {all:?}");
}

#[test]
fn an_answer_that_nobody_reads_ends_the_connection() {
    let world = limited();
    let list = Request::new("GET", "/v1/campaigns/camp/leads")
        .key(&key())
        .bytes();
    let text = String::from_utf8(list)
        .unwrap()
        .replace("Connection: close\r\n", "");
    let mut stream = connect(world.address);
    // The kernel takes a few megabytes on both sides before the server has to wait.
    assert_cut_off((0..).find_map(|_| stream.write_all(text.as_bytes()).err()));
}

#[test]
fn a_head_of_any_length_takes_no_memory_of_its_length() {
    let world = limited();
    for bytes in [
        b"GET /healthz HTTP/1.1\r\nX: ".to_vec(),
        [HEALTH, b"GET /healthz HTTP/1.1\r\nX: "].concat(),
    ] {
        let mut stream = connected(&world, &bytes);
        let piece = [b'x'; 1024];
        assert_cut_off((0..10_000).find_map(|_| stream.write_all(&piece).err()));
    }
}

#[test]
fn a_head_that_is_too_long_is_answered_and_the_connection_ends() {
    let world = World::new();
    let long = |length: usize| {
        format!(
            "GET /v1/x HTTP/1.1\r\nHost: t\r\nX-Long: {}\r\n\r\n",
            "x".repeat(length)
        )
    };
    // Whole, without an end, and far beyond the limit.
    for (length, sent) in [(40_000, 40_060), (40_000, 39_000), (400_000, 400_060)] {
        let mut stream = connect(world.address);
        let head = long(length);
        stream
            .write_all(&head.as_bytes()[..sent.min(head.len())])
            .unwrap();
        let answer = read_answer(&mut stream).unwrap();
        assert_eq!(answer.status, 431);
        assert_eq!(answer.header("connection"), Some("close"));
        let body = answer.json();
        assert_eq!(
            (&body["statusCode"], &body["error"]),
            (&json!(431), &json!("Request Header Fields Too Large"))
        );
        assert_eq!(stream.read(&mut [0; 10]).unwrap(), 0, "it is closed");
    }

    let mut stream = connect(world.address);
    stream.write_all(HEALTH).unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().status, 200);
    stream.write_all(long(40_000).as_bytes()).unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().status, 431);
    let answer = world.get("/v1/campaigns/camp/leads");
    assert_eq!(answer.status, 200);
}

#[test]
fn a_peer_that_goes_on_sending_behind_a_head_that_is_too_long_is_cut_off() {
    let world = limited();
    let mut stream = connect(world.address);
    let mut sent = 0;
    while stream.write_all(&[b'x'; 16_384]).is_ok() {
        sent += 16_384;
        assert!(sent < 64 << 20, "it reads without end");
    }
    let silent = connected(&world, &vec![b'x'; 40_000]);
    ends_after(silent);
}

#[test]
fn a_body_that_follows_its_head_at_once_is_no_long_head() {
    let world = limited();
    let mut body = bid_head(200_001);
    body.extend(vec![b' '; 200_000]);
    let mut stream = connected(&world, &body);
    let answer = read_answer(&mut stream).unwrap();
    assert_eq!(answer.status, 400);
    assert!(
        answer.message().contains("not valid JSON"),
        "{}",
        answer.message()
    );
}

/// A storage that takes nothing until it is told to.
#[derive(Debug, Clone, Default)]
struct SlowBlobs(Arc<AtomicBool>);

#[async_trait]
impl BlobStore for SlowBlobs {
    async fn stage(&self) -> Result<Box<dyn StagedBlob>, BlobError> {
        while !self.0.load(Ordering::SeqCst) {
            tokio::task::yield_now().await;
        }
        Ok(Box::new(self.clone()))
    }

    async fn read(&self, _: &BlobPath) -> Result<BoxStream<'static, Result<Bytes, BlobError>>, BlobError> {
        Err(BlobError::NotFound)
    }

    async fn delete(&self, _: &BlobPath) -> Result<(), BlobError> {
        Ok(())
    }

    fn list(&self, _: &BlobPath) -> BoxStream<'static, Result<BlobPath, BlobError>> {
        Box::pin(futures::stream::empty())
    }
}

#[async_trait]
impl StagedBlob for SlowBlobs {
    async fn write(&mut self, _: Bytes) -> Result<(), BlobError> {
        Ok(())
    }

    async fn publish(self: Box<Self>, _: &BlobPath) -> Result<(), BlobError> {
        Ok(())
    }
}

#[test]
fn a_request_that_the_service_delays_is_not_cut_off() {
    let blobs = SlowBlobs::default();
    let world = World::build(Arc::new(blobs.clone()), MemoryBlobStore::new(), settings(LIMITS));
    let form = Form::new()
        .file("a.txt", "text/plain", &vec![b'a'; 1_000_000])
        .bytes();
    let upload = request(&address_of(0, "attachments"), form).bytes();
    std::thread::scope(|scope| {
        let answered = scope.spawn(|| {
            let mut stream = connected(&world, &upload);
            read_answer(&mut stream).map(|answer| answer.status)
        });
        // Longer than every limit: an idle connection, a head and a body come to their ends one after the other.
        let mut idle = connected(&world, HEALTH);
        read_answer(&mut idle).unwrap();
        ends_after(idle);
        ends_after(connected(&world, b"GET"));
        ends_after(connected(&world, &bid_head(10)));
        blobs.0.store(true, Ordering::SeqCst);
        assert_eq!(answered.join().unwrap(), Some(200));
    });
}

#[test]
fn an_address_has_a_limited_number_of_connections() {
    let world = World::with_settings(settings(ConnectionLimits {
        per_address: Some(2),
        ..SETTINGS.connections
    }));
    let mut held = [connected(&world, HEALTH), connected(&world, HEALTH)];
    for stream in &mut held {
        assert_eq!(read_answer(stream).unwrap().status, 200);
    }
    let mut third = connect(world.address);
    let _refused = third.write_all(HEALTH);
    assert!(read_answer(&mut third).is_none());
    drop(held);
    let patience = Instant::now() + PATIENCE;
    while crate::client::exchange(world.address, HEALTH).is_none() {
        assert!(Instant::now() < patience, "a place is free again");
    }
}

#[test]
fn a_connection_beyond_the_most_waits_for_a_place() {
    let world = World::with_settings(settings(ConnectionLimits {
        connections: 2,
        ..LIMITS
    }));
    let held = [connected(&world, b"GET"), connected(&world, b"GET")];
    let mut waiting = connected(&world, HEALTH);
    assert_eq!(
        read_answer(&mut waiting).unwrap().status,
        200,
        "once the slow ones are ended"
    );
    drop(held);
}
