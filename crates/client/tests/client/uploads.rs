//! Uploads: how files are sent, how much of them is in memory, and when an upload is repeated.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bidloop_client::{ErrorKind, LeadAttachment, Upload};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, ReadBuf};

use crate::server::{Received, Server, Step};
use crate::{LEAD, client, run, standard};

const MB: u64 = 1_048_576;

fn list() -> Value {
    json!([{"id": "a1", "originalName": "a.txt", "contentType": "text/plain", "sizeBytes": 3, "sha256": "00"}])
}

/// An answer before the body is read that invites another attempt.
fn refused_early() -> Step {
    Step::Early(
        503,
        vec![("retry-after", "0")],
        standard(503, "later").to_string(),
    )
}

/// The file names, types and contents of a request.
async fn parts(request: &Received) -> Vec<(String, String, String)> {
    let boundary = multer::parse_boundary(request.header("content-type").unwrap()).unwrap();
    let body = request.body.clone();
    let pieces = futures::stream::iter([Ok::<_, std::io::Error>(body)]);
    let mut form = multer::Multipart::new(pieces, boundary);
    let mut parts = Vec::new();
    while let Some(field) = form.next_field().await.unwrap() {
        assert_eq!(field.name(), Some("files"));
        let name = field.file_name().unwrap().to_owned();
        let kind = field.content_type().unwrap().to_string();
        parts.push((name, kind, field.text().await.unwrap()));
    }
    parts
}

#[test]
fn files_from_memory_disk_and_readers_are_parts_of_one_request() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("Angebot für 東京.txt");
        std::fs::write(&path, "two").unwrap();
        let server = Server::start(vec![Step::json(200, &list())]);
        let files = vec![
            Upload::from_bytes("a \"quoted\".txt", "text/plain", "one"),
            Upload::from_path(&path, "text/plain").await.unwrap(),
            Upload::from_reader("c.pdf", "application/pdf", &b"three"[..]),
        ];
        let all: Vec<LeadAttachment> = client(&server).upload(LEAD, files).await.unwrap();
        assert_eq!((all[0].id.as_str(), all[0].size_bytes), ("a1", 3));
        let request = &server.requests()[0];
        assert_eq!(request.target, "/v1/campaigns/camp/leads/ld_1/attachments");
        let sent = parts(request).await;
        let contents: Vec<&str> = sent.iter().map(|(_, _, content)| content.as_str()).collect();
        assert_eq!(contents, ["one", "two", "three"]);
        assert_eq!(sent[1].0, "Angebot für 東京.txt");
        assert_eq!(sent[2].1, "application/pdf");
        assert_eq!(
            request.header("content-length"),
            None,
            "a reader's length is not known"
        );
    });
}

#[test]
fn the_length_is_declared_if_every_size_is_known() {
    run(async {
        let server = Server::start(vec![Step::json(200, &list())]);
        let files = vec![
            Upload::from_bytes("a.txt", "text/plain", "one"),
            Upload::from_reader("b.txt", "text/plain", &b"two"[..]).with_size(3),
        ];
        client(&server).upload(LEAD, files).await.unwrap();
        let request = &server.requests()[0];
        assert_eq!(
            request.header("content-length"),
            Some(request.body.len().to_string().as_str())
        );
    });
}

/// Yields zeros, and notes how far it is ahead of what the server received.
struct Ahead<F> {
    left: u64,
    read: u64,
    received: Arc<F>,
    furthest: Arc<AtomicU64>,
}

impl<F: Fn() -> u64> AsyncRead for Ahead<F> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let taken = (buffer.remaining() as u64).min(self.left);
        buffer.put_slice(&vec![0; usize::try_from(taken).unwrap()]);
        self.left -= taken;
        self.read += taken;
        let ahead = self.read.saturating_sub((self.received)());
        self.furthest.fetch_max(ahead, Ordering::SeqCst);
        Poll::Ready(Ok(()))
    }
}

#[test]
fn of_a_large_file_only_what_is_on_its_way_was_read() {
    run(async {
        let server = Server::counting(vec![Step::json(200, &list())]);
        let furthest = Arc::new(AtomicU64::new(0));
        let reader = Ahead {
            left: 200 * MB,
            read: 0,
            received: server.received(),
            furthest: Arc::clone(&furthest),
        };
        let file = Upload::from_reader("large.zip", "application/zip", reader).with_size(200 * MB);
        client(&server).upload(LEAD, vec![file]).await.unwrap();
        assert!(server.received()() > 200 * MB);
        let furthest = furthest.load(Ordering::SeqCst);
        // Most of it is the system's send buffer.
        assert!(furthest < 16 * MB, "{furthest} bytes were read ahead");
    });
}

/// A file that does not fit into the buffers of the sockets.
async fn large_file(folder: &tempfile::TempDir) -> Upload {
    let path = folder.path().join("large.zip");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(40 * MB).unwrap();
    Upload::from_path(&path, "application/zip").await.unwrap()
}

#[test]
fn an_upload_refused_before_its_body_was_sent_is_repeated() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::counting(vec![refused_early(), Step::json(200, &list())]);
        client(&server)
            .upload(LEAD, vec![large_file(&folder).await])
            .await
            .unwrap();
        assert_eq!(server.requests().len(), 2);
        assert!(server.received()() > 40 * MB);
    });
}

#[test]
fn an_upload_from_a_reader_is_not_repeated() {
    run(async {
        let server = Server::counting(vec![refused_early()]);
        let reader = tokio::io::AsyncReadExt::take(tokio::io::repeat(0), 40 * MB);
        let file = Upload::from_reader("large.zip", "application/zip", reader);
        let error = client(&server).upload(LEAD, vec![file]).await.unwrap_err();
        assert_eq!((error.status(), error.attempts()), (Some(503), 1));
        assert!(!error.may_have_taken_effect(), "the service cannot have the file");
    });
}

#[test]
fn an_upload_that_was_sent_whole_is_not_repeated() {
    run(async {
        for step in [Step::unavailable(), Step::Cut, Step::CutBody] {
            let server = Server::start(vec![step]);
            let files = vec![Upload::from_bytes("a.txt", "text/plain", "one")];
            let error = client(&server).upload(LEAD, files).await.unwrap_err();
            assert_eq!(
                (error.attempts(), error.may_have_taken_effect()),
                (1, true),
                "{error:?}"
            );
        }
    });
}

#[test]
fn a_refused_file_is_not_sent_again() {
    run(async {
        let refusal = standard(400, "a.exe: this type is not accepted");
        let server = Server::start(vec![Step::json(400, &refusal)]);
        let files = vec![Upload::from_bytes("a.exe", "text/plain", "MZ")];
        let error = client(&server).upload(LEAD, files).await.unwrap_err();
        assert_eq!(error.to_string(), "400: a.exe: this type is not accepted");
        assert!(!error.may_have_taken_effect());
    });
}

#[test]
fn a_file_that_shrank_or_vanished_is_named_and_nothing_is_uploaded() {
    run(async {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(vec![Step::json(200, &list()), Step::json(200, &list())]);
        for vanishes in [false, true] {
            let path = folder.path().join("notes.txt");
            std::fs::write(&path, "some notes").unwrap();
            let file = Upload::from_path(&path, "text/plain").await.unwrap();
            if vanishes {
                std::fs::remove_file(&path).unwrap();
            } else {
                std::fs::write(&path, "some").unwrap();
            }
            let error = client(&server).upload(LEAD, vec![file]).await.unwrap_err();
            let ErrorKind::File(message) = error.kind() else {
                panic!("{error:?}")
            };
            assert!(message.starts_with("notes.txt: "), "{message}");
            assert!(!error.may_have_taken_effect());
        }
    });
}
