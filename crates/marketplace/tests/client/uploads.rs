//! Uploads: the body on the wire, and files that cannot be read.

use bidloop_domain::port::{BlobError, FileUpload, Marketplace as _, MarketplaceError};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;

use crate::fixtures::{TOKEN, client, file};
use crate::scripted_server::{ScriptedServer, answer};

const BOUNDARY: &str = "bidloop-abababababababababababababababab";

#[tokio::test]
async fn a_file_is_one_part_with_its_name_escaped_and_its_length_announced() {
    let server = ScriptedServer::start(vec![answer(201, "", r#"{"id":"att_1"}"#)]).await;
    let offer = file(
        "of\"fer\r\n für 東京.txt",
        vec![Ok("hel".into()), Ok("lo".into())],
    );
    assert_eq!(
        client(&server.base_url).upload(&TOKEN, offer).await,
        Ok("att_1".to_owned())
    );

    let request = server.only();
    assert_eq!(request.line(), "POST /api/attachments HTTP/1.1");
    assert_eq!(
        request.header("content-type"),
        Some(format!("multipart/form-data; boundary={BOUNDARY}").as_str())
    );
    assert_eq!(
        request.header("content-length"),
        Some(request.body.len().to_string().as_str())
    );
    assert_eq!(request.header("transfer-encoding"), None);
    assert_eq!(
        String::from_utf8(request.body).unwrap(),
        format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; \
             filename=\"of%22fer%0D%0A für 東京.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--{BOUNDARY}--\r\n"
        )
    );
}

#[tokio::test]
async fn a_file_of_25_mb_arrives_whole() {
    let server = ScriptedServer::start(vec![answer(201, "", r#"{"id":"att_1"}"#)]).await;
    let piece = Bytes::from(vec![b'x'; 64 * 1024]);
    let pieces: Vec<_> = std::iter::repeat_n(Ok(piece), 400).collect();
    client(&server.base_url)
        .upload(&TOKEN, file("large.txt", pieces))
        .await
        .unwrap();
    let body = server.only().body;
    let begin = body.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let end = body.len() - format!("\r\n--{BOUNDARY}--\r\n").len();
    assert_eq!(end - begin, 25 * 1_048_576);
    assert!(body[begin..end].iter().all(|byte| *byte == b'x'));
}

#[tokio::test]
async fn an_empty_id_is_malformed() {
    let server = ScriptedServer::start(vec![answer(201, "", r#"{"id":""}"#)]).await;
    let uploaded = client(&server.base_url)
        .upload(&TOKEN, file("a.txt", vec![Ok("a".into())]))
        .await;
    assert!(
        matches!(uploaded, Err(MarketplaceError::Malformed(_))),
        "{uploaded:?}"
    );
}

#[tokio::test]
async fn a_file_that_cannot_be_read_to_its_end_breaks_the_request_off_and_says_why() {
    let short = FileUpload {
        size_bytes: 9,
        ..file("a.txt", vec![Ok("hello".into())])
    };
    let gone = FileUpload {
        size_bytes: 9,
        content: stream::iter(vec![Ok("hello".into()), Err(BlobError::NotFound)]).boxed(),
        ..file("a.txt", vec![])
    };
    for (upload, why) in [
        (short, "the file is shorter than the 9 bytes recorded"),
        (gone, "reading the file failed: no such blob"),
    ] {
        let server = ScriptedServer::start(vec![]).await;
        let uploaded = client(&server.base_url).upload(&TOKEN, upload).await;
        assert_eq!(uploaded, Err(MarketplaceError::NoAnswer(why.to_owned())));
        assert!(server.received().is_empty(), "no whole request arrived");
    }
}
