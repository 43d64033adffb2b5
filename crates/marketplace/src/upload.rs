//! A file as the one part of a `multipart/form-data` body, streamed: memory use does not grow with its size.

use std::fmt;
use std::task::{Context, Poll};

use bidloop_domain::port::{BlobError, FileUpload};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::BoxStream;
use http::HeaderValue;

/// Why a file could not be sent whole. The request is broken off, so the marketplace never has it whole either.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UploadFault {
    /// Reading it failed.
    #[error("reading the file failed: {0}")]
    Read(#[from] BlobError),
    /// The content is not as long as its record says.
    #[error("the file is {0} than the {1} bytes recorded")]
    Length(&'static str, u64),
}

/// The body of `POST /api/attachments`.
pub(crate) struct MultipartFile {
    head: Option<Bytes>,
    content: BoxStream<'static, Result<Bytes, BlobError>>,
    recorded: u64,
    /// Bytes of content still to come.
    content_left: u64,
    tail: Option<Bytes>,
}

impl MultipartFile {
    /// `boundary` must be beyond guessing, so that no file can hold it on purpose.
    pub(crate) fn new(file: FileUpload, boundary: &str) -> Self {
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{}\"\r\nContent-Type: {}\r\n\r\n",
            escaped_file_name(&file.name),
            header_safe(&file.content_type),
        );
        Self {
            head: Some(head.into()),
            content: file.content,
            recorded: file.size_bytes,
            content_left: file.size_bytes,
            tail: Some(format!("\r\n--{boundary}--\r\n").into()),
        }
    }

    /// How many bytes of the body are still to come.
    pub(crate) fn remaining(&self) -> u64 {
        let length = |bytes: &Option<Bytes>| bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        length(&self.head) + self.content_left + length(&self.tail)
    }

    /// The next piece. A content of another length than recorded is a fault: it would end the request early, or run
    /// over into the next one.
    pub(crate) fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, UploadFault>>> {
        if let Some(head) = self.head.take() {
            return Poll::Ready(Some(Ok(head)));
        }
        if self.tail.is_none() {
            return Poll::Ready(None);
        }
        loop {
            let piece = match self.content.poll_next_unpin(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(piece) => piece.transpose(),
            };
            let result = match piece {
                Err(error) => Err(UploadFault::Read(error)),
                Ok(Some(bytes)) if bytes.is_empty() => continue,
                Ok(Some(bytes)) => match self.content_left.checked_sub(bytes.len() as u64) {
                    Some(left) => {
                        self.content_left = left;
                        Ok(bytes)
                    }
                    None => Err(UploadFault::Length("longer", self.recorded)),
                },
                Ok(None) if self.content_left > 0 => Err(UploadFault::Length("shorter", self.recorded)),
                Ok(None) => return Poll::Ready(self.tail.take().map(Ok)),
            };
            return Poll::Ready(Some(result));
        }
    }
}

impl fmt::Debug for MultipartFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MultipartFile")
            .field("recorded", &self.recorded)
            .field("content_left", &self.content_left)
            .finish_non_exhaustive()
    }
}

/// The file name as browsers write it (HTML, multipart form data): UTF-8 as it is, with `"`, CR and LF
/// percent-encoded, so that no name can end the parameter or the header.
fn escaped_file_name(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for character in name.chars() {
        match character {
            '"' => escaped.push_str("%22"),
            '\r' => escaped.push_str("%0D"),
            '\n' => escaped.push_str("%0A"),
            other => escaped.push(other),
        }
    }
    escaped
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
    use futures::stream;

    fn file(name: &str, size_bytes: u64, pieces: Vec<Result<Bytes, BlobError>>) -> FileUpload {
        FileUpload {
            name: name.to_owned(),
            content_type: "text/plain".to_owned(),
            size_bytes,
            content: stream::iter(pieces).boxed(),
        }
    }

    fn drain(mut body: MultipartFile) -> Result<String, UploadFault> {
        let mut cx = Context::from_waker(std::task::Waker::noop());
        let mut text = Vec::new();
        loop {
            let promised = body.remaining();
            match body.poll_piece(&mut cx) {
                Poll::Ready(Some(piece)) => {
                    let piece = piece?;
                    assert_eq!(body.remaining(), promised - piece.len() as u64);
                    text.extend_from_slice(&piece);
                }
                Poll::Ready(None) => {
                    assert_eq!(promised, 0);
                    return Ok(String::from_utf8(text).unwrap());
                }
                Poll::Pending => panic!("every piece is there"),
            }
        }
    }

    #[test]
    fn the_body_is_one_part_named_file_of_the_length_promised() {
        let pieces = vec![Ok("he".into()), Ok(Bytes::new()), Ok("llo".into())];
        let body = drain(MultipartFile::new(file("offer.txt", 5, pieces), "XYZ")).unwrap();
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
        let longer = MultipartFile::new(file("a", 3, vec![Ok("ab".into()), Ok("cd".into())]), "XYZ");
        assert_eq!(drain(longer).unwrap_err(), UploadFault::Length("longer", 3));
        let shorter = MultipartFile::new(file("a", 3, vec![Ok("ab".into())]), "XYZ");
        assert_eq!(drain(shorter).unwrap_err(), UploadFault::Length("shorter", 3));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_a_fault() {
        let gone = MultipartFile::new(file("a", 3, vec![Err(BlobError::NotFound)]), "XYZ");
        assert_eq!(drain(gone).unwrap_err(), UploadFault::Read(BlobError::NotFound));
    }
}
