//! An upload's memory does not grow with its files (decision A9).
#![cfg(target_os = "linux")]

use std::io::Write;
use std::process::Command;
use std::sync::{Arc, Barrier};

use async_trait::async_trait;
use bidloop_domain::port::{BlobError, BlobPath, BlobStore, StagedBlob};
use bidloop_fakes::MemoryBlobStore;
use bytes::Bytes;
use futures::stream::BoxStream;

use crate::client::{connect, read_answer};
use crate::upload::{Form, MB, request};
use crate::world::{World, address_of};

const UPLOADS: usize = 5;

/// A storage that takes everything and keeps nothing.
#[derive(Debug)]
struct Nowhere;

#[async_trait]
impl BlobStore for Nowhere {
    async fn stage(&self) -> Result<Box<dyn StagedBlob>, BlobError> {
        Ok(Box::new(Self))
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
impl StagedBlob for Nowhere {
    async fn write(&mut self, _: Bytes) -> Result<(), BlobError> {
        Ok(())
    }

    async fn publish(self: Box<Self>, _: &BlobPath) -> Result<(), BlobError> {
        Ok(())
    }
}

/// A line of the process's status, in bytes.
fn status(name: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

#[test]
fn five_uploads_of_25_mb_at_once_grow_the_process_by_less_than_32_mb() {
    let measured = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::measured_alone", "--ignored", "--nocapture"])
        .output()
        .unwrap();
    assert!(
        measured.status.success(),
        "{}{}",
        String::from_utf8_lossy(&measured.stdout),
        String::from_utf8_lossy(&measured.stderr)
    );
}

#[test]
#[ignore = "measures the process it runs in, so it is run alone by the test above"]
fn measured_alone() {
    let world = World::with_blobs(Arc::new(Nowhere), MemoryBlobStore::new());
    let small = Form::new().text("small.txt").bytes();
    assert_eq!(
        world.send(&request(&address_of(0, "attachments"), small)).status,
        200
    );

    // The form of a file of 25 MB, whose content is sent from one small piece.
    let form = Form::new().file("big.txt", "text/plain", b"").bytes();
    let end = form.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let (head, tail) = (form[..end].to_vec(), form[end..].to_vec());
    let length = u64::try_from(form.len() + 25 * MB).unwrap();
    let piece = vec![b'a'; 64 * 1024];

    let before = status("VmRSS");
    let ready = Barrier::new(UPLOADS);
    std::thread::scope(|scope| {
        for _ in 0..UPLOADS {
            scope.spawn(|| {
                let head = request(&address_of(1, "attachments"), head.clone())
                    .declared(length)
                    .bytes();
                ready.wait();
                let mut stream = connect(world.address);
                stream.write_all(&head).unwrap();
                for _ in 0..25 * MB / piece.len() {
                    stream.write_all(&piece).unwrap();
                }
                stream.write_all(&tail).unwrap();
                // They have one name: the first to end is taken, the others are read to their end all the same.
                assert!(matches!(read_answer(&mut stream).unwrap().status, 200 | 400));
            });
        }
    });
    let grown = status("VmHWM").saturating_sub(before);
    println!("grown by {} KiB", grown / 1024);
    assert!(grown < 32 * MB, "grown by {grown} bytes");
}
