//! Uploads as streams: bounded memory, answers that are seen, and connections that break.

use std::io::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bidloop_domain::port::{BlobError, BlobPath, BlobStore, StagedBlob};
use bidloop_fakes::MemoryBlobStore;
use bytes::Bytes;
use futures::stream::BoxStream;
use tokio::sync::Semaphore;

use crate::client::{PATIENCE, Request, connect, read_answer};
use crate::upload::{Form, MB, request};
use crate::world::{World, address_of, key};

/// A storage that takes a piece when it is permitted to, and keeps nothing.
#[derive(Debug, Clone)]
struct GatedBlobs {
    permits: Arc<Semaphore>,
    dropped: Arc<Semaphore>,
}

impl GatedBlobs {
    fn closed() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(0)),
            dropped: Arc::new(Semaphore::new(0)),
        }
    }
}

#[derive(Debug)]
struct GatedBlob(GatedBlobs);

impl Drop for GatedBlob {
    fn drop(&mut self) {
        self.0.dropped.add_permits(1);
    }
}

#[async_trait]
impl BlobStore for GatedBlobs {
    async fn stage(&self) -> Result<Box<dyn StagedBlob>, BlobError> {
        Ok(Box::new(GatedBlob(self.clone())))
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
impl StagedBlob for GatedBlob {
    async fn write(&mut self, _: Bytes) -> Result<(), BlobError> {
        let permit = self.0.permits.acquire().await;
        permit
            .map_err(|_| BlobError::Unavailable("closed".to_owned()))?
            .forget();
        Ok(())
    }

    async fn publish(self: Box<Self>, _: &BlobPath) -> Result<(), BlobError> {
        Ok(())
    }
}

fn big_upload() -> Vec<u8> {
    let form = Form::new().file("big.txt", "text/plain", &vec![b'a'; 25 * MB]);
    request(&address_of(0, "attachments"), form.bytes()).bytes()
}

#[test]
fn a_storage_that_stalls_stalls_the_sender_instead_of_filling_memory() {
    let blobs = GatedBlobs::closed();
    let world = World::with_blobs(Arc::new(blobs.clone()), MemoryBlobStore::new());
    let bytes = big_upload();
    let mut stream = connect(world.address);
    stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut sent = 0;
    let stalled = loop {
        match stream.write(&bytes[sent..bytes.len().min(sent + 64 * 1024)]) {
            Ok(0) => break false,
            Ok(written) => sent += written,
            Err(_) => break true,
        }
    };
    // What went out lies in the kernel's buffers and a few pieces of ours.
    assert!(stalled && sent < 20 * MB, "{sent} bytes were taken in");
    blobs.permits.add_permits(1 << 20);
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&bytes[sent..]).unwrap();
    assert_eq!(read_answer(&mut stream).unwrap().status, 200);
}

#[test]
fn a_connection_that_breaks_discards_what_was_staged_and_is_recorded() {
    let blobs = GatedBlobs::closed();
    blobs.permits.add_permits(1 << 20);
    let world = World::with_blobs(Arc::new(blobs.clone()), MemoryBlobStore::new());
    let bytes = big_upload();
    let mut stream = connect(world.address);
    stream.write_all(&bytes[..MB]).unwrap();
    drop(stream);
    let patience = Instant::now() + PATIENCE;
    let recorded = loop {
        if let Some(entry) = world.activities().pop() {
            break entry;
        }
        assert!(Instant::now() < patience, "the refusal is recorded");
        std::thread::yield_now();
    };
    assert_eq!(
        (recorded.outcome.as_str(), recorded.http_status),
        ("refused", Some(400))
    );
    assert_eq!(recorded.details["files"][0]["name"], "big.txt");
    assert_eq!(
        blobs.dropped.available_permits(),
        1,
        "the staged file is discarded"
    );
    let answer = world.send(&request(
        &address_of(0, "attachments"),
        Form::new().text("big.txt").bytes(),
    ));
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn content_that_resembles_boundaries_is_read_as_fast_as_any_other() {
    let world = World::new();
    let time_of = |name: &str, content: &[u8]| {
        let form = Form::new().file(name, "text/plain", &content.repeat(8 * MB / content.len()));
        let request = request(&address_of(0, "attachments"), form.bytes());
        let started = Instant::now();
        assert_eq!(world.send(&request).status, 200);
        started.elapsed()
    };
    let plain = time_of("plain.txt", b"aaaa");
    for (name, content) in [
        ("1.txt", &b"\r\n--"[..]),
        ("2.txt", b"\r\r\r\r"),
        ("3.txt", b"\r\n------test7MA4YWx\n"),
    ] {
        let spent = time_of(name, content);
        assert!(spent < plain * 10, "{name}: {spent:?}, {plain:?} for plain text");
    }
}

#[test]
fn an_early_refusal_is_seen_by_a_sender_that_reads_only_at_the_end() {
    let world = World::new();
    let path = address_of(0, "attachments");
    let large = Form::new()
        .text("a.exe")
        .file("b.txt", "text/plain", &vec![b'a'; 24 * MB])
        .bytes();
    let declared = request(&path, large.clone());
    let chunked = request(&path, large.clone()).chunked();
    let unauthorized = Request::new("POST", &path).body(large.clone());
    let bid = Request::new("POST", &address_of(0, "bid"))
        .key(&key())
        .body(large);
    for (request, status) in [(declared, 400), (chunked, 400), (unauthorized, 401), (bid, 413)] {
        let mut stream = connect(world.address);
        stream.write_all(&request.bytes()).unwrap();
        assert_eq!(read_answer(&mut stream).unwrap().status, status);
    }
}

#[test]
fn key_campaign_and_lead_are_checked_before_the_body_comes() {
    let world = World::new();
    let typed = |path: &str| {
        Request::new("POST", path)
            .header("Content-Type", "multipart/form-data; boundary=x")
            .declared(1000)
    };
    let path = address_of(0, "attachments");
    for (request, status) in [
        (typed(&path), 401),
        (
            typed("/v1/campaigns/nowhere/leads/x/attachments").key(&key()),
            404,
        ),
        (typed("/v1/campaigns/camp/leads/x/attachments").key(&key()), 404),
    ] {
        let mut stream = connect(world.address);
        stream.write_all(&request.bytes()).unwrap();
        assert_eq!(
            read_answer(&mut stream).unwrap().status,
            status,
            "not a byte of the body was sent"
        );
    }
}
