//! A file as the one part of a `multipart/form-data` body. It is streamed, so memory use does not grow with its size.

use bidloop_domain::port::{BlobError, FileUpload};
use bytes::Bytes;
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use http::HeaderValue;

/// Why a file could not be sent whole. The request is aborted, so the marketplace does not have the whole file either.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UploadFault {
    /// Reading it failed.
    #[error("reading the file failed: {0}")]
    Read(#[from] BlobError),
    /// The content is not as long as recorded.
    #[error("the file is {0} than the {1} bytes recorded")]
    Length(&'static str, u64),
}

/// The length and the pieces of the body of `POST /api/attachments`. `boundary` must be unpredictable, so that no file
/// can contain it on purpose.
pub(crate) fn multipart(
    file: FileUpload,
    boundary: &str,
) -> (u64, impl Stream<Item = Result<Bytes, UploadFault>> + Send + use<>) {
    let head = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
        escaped_file_name(&file.name),
        header_safe(&file.content_type),
    );
    let tail = format!("\r\n--{boundary}--\r\n");
    let length = file.size_bytes + (head.len() + tail.len()) as u64;
    let pieces = stream::iter([Ok(head.into())])
        .chain(content(file))
        .chain(stream::iter([Ok(tail.into())]));
    (length, pieces)
}

/// The file's content. A length other than recorded is a fault, since it would contradict the declared length of the
/// request.
fn content(file: FileUpload) -> impl Stream<Item = Result<Bytes, UploadFault>> + Send {
    let recorded = file.size_bytes;
    stream::try_unfold((file.content, recorded), move |(mut content, left)| async move {
        match content.try_next().await? {
            Some(piece) => match left.checked_sub(piece.len() as u64) {
                Some(left) => Ok(Some((piece, (content, left)))),
                None => Err(UploadFault::Length("longer", recorded)),
            },
            None if left > 0 => Err(UploadFault::Length("shorter", recorded)),
            None => Ok(None),
        }
    })
}

/// The file name as browsers write it (HTML, multipart form data): UTF-8 with `"`, CR and LF percent-encoded, so that no
/// name can end the parameter or the header.
fn escaped_file_name(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

fn header_safe(content_type: &str) -> &str {
    if HeaderValue::from_str(content_type).is_ok() {
        content_type
    } else {
        "application/octet-stream"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    fn file(name: &str, size_bytes: u64, pieces: Vec<Result<Bytes, BlobError>>) -> FileUpload {
        FileUpload {
            name: name.to_owned(),
            content_type: "text/plain".to_owned(),
            size_bytes,
            content: stream::iter(pieces).boxed(),
        }
    }

    fn body(file: FileUpload) -> Result<String, UploadFault> {
        let (length, pieces) = multipart(file, "XYZ");
        let body: Vec<Bytes> = pieces.try_collect().now_or_never().unwrap()?;
        let body = String::from_utf8(body.concat()).unwrap();
        assert_eq!(body.len() as u64, length, "the length announced");
        Ok(body)
    }

    #[test]
    fn the_body_is_one_part_named_file_of_the_length_promised() {
        let pieces = vec![Ok("he".into()), Ok(Bytes::new()), Ok("llo".into())];
        let body = body(file("offer.txt", 5, pieces)).unwrap();
        assert_eq!(
            body,
            "--XYZ\r\nContent-Disposition: form-data; name=\"file\"; filename=\"offer.txt\"\r\n\
             Content-Type: text/plain\r\n\r\nhello\r\n--XYZ--\r\n"
        );
    }

    #[test]
    fn no_file_name_ends_its_parameter_or_its_header() {
        assert_eq!(
            escaped_file_name("a\"; x=\"b\r\nEvil: 1.pdf"),
            "a%22; x=%22b%0D%0AEvil: 1.pdf"
        );
        assert_eq!(escaped_file_name("Angebot für 東京.pdf"), "Angebot für 東京.pdf");
    }

    #[test]
    fn no_content_type_ends_its_header() {
        assert_eq!(header_safe("image/png"), "image/png");
        assert_eq!(header_safe("image/png\r\nEvil: 1"), "application/octet-stream");
    }

    #[test]
    fn a_content_of_another_length_than_recorded_is_a_fault() {
        let longer = file("a", 3, vec![Ok("ab".into()), Ok("cd".into())]);
        assert_eq!(body(longer).unwrap_err(), UploadFault::Length("longer", 3));
        let shorter = file("a", 3, vec![Ok("ab".into())]);
        assert_eq!(body(shorter).unwrap_err(), UploadFault::Length("shorter", 3));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_fault() {
        let gone = file("a", 3, vec![Err(BlobError::NotFound)]);
        assert_eq!(body(gone).unwrap_err(), UploadFault::Read(BlobError::NotFound));
    }
}
