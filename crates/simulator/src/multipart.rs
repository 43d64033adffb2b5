//! Reads the `multipart/form-data` body of the upload call as it arrives. Keeps only the size and digest of the file, so
//! that memory use does not grow with it.

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use http::StatusCode;
use http::header::CONTENT_TYPE;
use multer::Multipart;
use sha2::{Digest, Sha256};

use crate::answer::Refusal;

/// What the marketplace remembers of an uploaded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UploadedFile {
    pub(crate) name: Option<String>,
    pub(crate) content_type: Option<String>,
    pub(crate) size_bytes: u64,
    pub(crate) sha256: String,
}

const MAX_FILE_BYTES: u64 = 25 * 1_048_576;

/// Reads the whole body. `content_type` is the request's header, which names the boundary.
pub(crate) async fn read_upload<E>(
    content_type: Option<&str>,
    mut body: impl Stream<Item = Result<Bytes, E>> + Unpin + Send,
) -> Result<UploadedFile, Refusal>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let boundary = multer::parse_boundary(content_type.unwrap_or_default()).map_err(|_| {
        let message = "expected multipart/form-data with a boundary";
        Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            message,
        )
    })?;
    let file = read_file(Multipart::new(&mut body, boundary)).await;
    // A faulty body is still read to its end: a client whose connection is closed while it sends never sees the answer.
    while let Some(Ok(_)) = body.next().await {}
    file
}

async fn read_file(mut parts: Multipart<'_>) -> Result<UploadedFile, Refusal> {
    let Some(mut part) = parts.next_field().await.map_err(refusal)? else {
        return Err(Refusal::invalid("the body holds no part named file"));
    };
    if part.name() != Some("file") {
        return Err(Refusal::invalid("expected one part, named file"));
    }
    let name = part.file_name().map(str::to_owned);
    let content_type = part
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let content_type = content_type.map(str::to_owned);
    let mut size_bytes = 0;
    let mut digest = Sha256::new();
    while let Some(chunk) = part.chunk().await.map_err(refusal)? {
        size_bytes += chunk.len() as u64;
        if size_bytes > MAX_FILE_BYTES {
            let message = "the file is larger than 25 MB";
            return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", message));
        }
        digest.update(&chunk);
    }
    drop(part);
    if parts.next_field().await.map_err(refusal)?.is_some() {
        return Err(Refusal::invalid("expected one part named file, got several"));
    }
    Ok(UploadedFile {
        name,
        content_type,
        size_bytes,
        sha256: hex::encode(digest.finalize()),
    })
}

fn refusal(error: multer::Error) -> Refusal {
    match error {
        multer::Error::StreamReadFailed(_) => Refusal::bad_request("the body breaks off"),
        error => Refusal::invalid(format!("the multipart body is faulty: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    const TYPE: &str = "multipart/form-data; boundary=\"x y\"";

    fn read_as(content_type: &str, body: &[u8], chunk: usize) -> Result<UploadedFile, Refusal> {
        let chunks = body
            .chunks(chunk)
            .map(|chunk| Ok::<_, Infallible>(Bytes::copy_from_slice(chunk)));
        let chunks = futures::stream::iter(chunks.collect::<Vec<_>>());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(read_upload(Some(content_type), chunks))
    }

    fn body_of(content: &[u8]) -> Vec<u8> {
        let head = "--x y\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a b.pdf\"\r\ncontent-type: application/pdf\r\n\r\n";
        [head.as_bytes(), content, b"\r\n--x y--\r\n"].concat()
    }

    #[test]
    fn a_file_is_measured_whole_however_the_body_is_cut() {
        let content = b"one\r\n--x\r\n-- \r\n--x z\r\n";
        for chunk in [1, 2, 3, 7, 1_000] {
            let file = read_as(TYPE, &body_of(content), chunk).unwrap();
            assert_eq!(file.size_bytes, content.len() as u64);
            assert_eq!(file.sha256, hex::encode(Sha256::digest(content)));
            assert_eq!(file.name.as_deref(), Some("a b.pdf"));
            assert_eq!(file.content_type.as_deref(), Some("application/pdf"));
        }
    }

    #[test]
    fn faulty_bodies_are_refused() {
        let whole = body_of(b"content");
        let cut = &whole[..whole.len() - 6];
        let renamed = String::from_utf8(whole.clone())
            .unwrap()
            .replace("\"file\"", "\"files\"");
        let two = [&whole[..whole.len() - 4], b"\r\n", &whole[7..]].concat();
        for body in [
            cut,
            renamed.as_bytes(),
            &two,
            b"--x y--",
            b"",
            b"no boundary at all",
        ] {
            let refusal = read_as(TYPE, body, 5).unwrap_err();
            assert_eq!(refusal.code, "invalid", "{}", String::from_utf8_lossy(body));
        }
        for content_type in ["", "application/json", "multipart/form-data; charset=x"] {
            let refusal = read_as(content_type, &whole, 5).unwrap_err();
            assert_eq!(refusal.code, "unsupported_media_type", "{content_type}");
        }
    }

    #[test]
    fn a_file_above_25_mb_is_too_large_and_one_of_25_mb_is_not() {
        let largest = vec![b'z'; 25 * 1_048_576];
        assert!(read_as(TYPE, &body_of(&largest), 1 << 16).is_ok());
        let larger = vec![b'z'; 25 * 1_048_576 + 1];
        let refusal = read_as(TYPE, &body_of(&larger), 1 << 16).unwrap_err();
        assert_eq!(refusal.code, "too_large");
    }
}
