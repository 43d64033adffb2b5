//! Reads a `multipart/form-data` body part by part, in bounded memory and linear time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use actix_web::http::header::{self, ContentDisposition, HeaderMap, HeaderValue};
use bidloop_domain::use_case::{LeadError, PartHead};
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt, TryStreamExt};
use multer::{Field, Multipart};
use tokio::sync::mpsc;

use crate::request_body::malformed;

/// The most bytes before a part's content: its head, and for the first part the preamble.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The most bytes that the parser takes at a time.
const SLICE_BYTES: usize = 16 * 1024;

/// The pieces of a body, or the fault that ended it. A closed channel ends the body, too.
pub(crate) type Pieces = mpsc::Receiver<Result<Bytes, LeadError>>;

/// The parts of a body.
pub(crate) struct Parts {
    parser: Multipart<'static>,
    /// Bytes that the parser has taken since it last returned something.
    unparsed: Arc<AtomicUsize>,
}

impl Parts {
    pub(crate) fn new(boundary: String, pieces: Pieces) -> Self {
        let unparsed = Arc::new(AtomicUsize::new(0));
        Self {
            parser: Multipart::new(sliced(pieces, unparsed.clone()), boundary),
            unparsed,
        }
    }

    /// Returns the next part's head and content; `None` after the last part. The part must be dropped before the next
    /// call.
    pub(crate) async fn next(
        &mut self,
    ) -> Result<Option<(PartHead, BoxStream<'static, Result<Bytes, LeadError>>)>, LeadError> {
        let Some(field) = self.parser.next_field().await.map_err(fault_of)? else {
            return Ok(None);
        };
        let unparsed = self.unparsed.clone();
        unparsed.store(0, Ordering::Relaxed);
        let head = head_of(&field)?;
        let content = field
            .map_err(fault_of)
            .inspect_ok(move |_| unparsed.store(0, Ordering::Relaxed));
        Ok(Some((head, content.boxed())))
    }
}

/// The boundary in the request's Content-Type.
pub(crate) fn boundary_of(headers: &HeaderMap) -> Result<String, LeadError> {
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    content_type
        .and_then(|value| multer::parse_boundary(value).ok())
        .filter(|boundary| !boundary.is_empty())
        .ok_or_else(|| {
            malformed("has no usable boundary: send multipart/form-data with a boundary parameter")
        })
}

/// Cuts the body into small slices for the parser. The parser takes all that is ready before it parses any of it, so
/// there is a pause after each slice.
fn sliced(pieces: Pieces, unparsed: Arc<AtomicUsize>) -> impl Stream<Item = Result<Bytes, LeadError>> {
    let rest = Bytes::new();
    stream::unfold(
        (pieces, rest, unparsed),
        async |(mut pieces, mut rest, unparsed)| {
            tokio::task::yield_now().await;
            while rest.is_empty() {
                match pieces.recv().await? {
                    Ok(piece) => rest = piece,
                    Err(fault) => return Some((Err(fault), (pieces, rest, unparsed))),
                }
            }
            let slice = rest.split_to(rest.len().min(SLICE_BYTES));
            let is_head_too_long = unparsed.fetch_add(slice.len(), Ordering::Relaxed) > MAX_HEAD_BYTES;
            let slice = if is_head_too_long {
                Err(malformed("has a part whose head is too long"))
            } else {
                Ok(slice)
            };
            Some((slice, (pieces, rest, unparsed)))
        },
    )
}

fn head_of(part: &Field<'_>) -> Result<PartHead, LeadError> {
    let header = |name: &str| part.headers().get(name).map(|value| value.as_bytes().to_vec());
    let names = header("content-disposition").and_then(|disposition| names_in(&disposition));
    let (name, file_name) = names.ok_or_else(|| {
        malformed("has a part whose Content-Disposition is not a readable form-data with a name")
    })?;
    Ok(PartHead {
        name,
        file_name,
        content_type: header("content-type").map(|value| String::from_utf8_lossy(&value).into_owned()),
    })
}

/// The names of the part and of its file. If the file's name has two forms, the one with a character set (RFC 5987) is
/// used, since only that is exact.
fn names_in(disposition: &[u8]) -> Option<(String, Option<String>)> {
    let disposition = ContentDisposition::from_raw(&HeaderValue::from_bytes(disposition).ok()?).ok()?;
    if !disposition.is_form_data() {
        return None;
    }
    let extended = disposition
        .get_filename_ext()
        .map(|name| String::from_utf8(name.value.clone()));
    let file_name = match extended {
        Some(decoded) => Some(decoded.ok()?),
        None => disposition.get_filename().map(str::to_owned),
    };
    Some((disposition.get_name()?.to_owned(), file_name))
}

fn fault_of(error: multer::Error) -> LeadError {
    match error {
        multer::Error::StreamReadFailed(fault) => match fault.downcast() {
            Ok(fault) => *fault,
            Err(other) => malformed(&format!("cannot be read: {other}")),
        },
        multer::Error::IncompleteFieldData { .. }
        | multer::Error::IncompleteHeaders
        | multer::Error::IncompleteStream => malformed("breaks off before its last boundary"),
        _ => malformed("is not well-formed multipart/form-data"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of the file, in a part named `files`.
    fn file_name(disposition: &str) -> String {
        let (part_name, file_name) = names_in(disposition.as_bytes()).unwrap();
        assert_eq!(part_name, "files");
        file_name.unwrap()
    }

    #[test]
    fn a_file_name_is_read_in_every_form_that_clients_send() {
        for (disposition, expected) in [
            (r#"form-data; name="files"; filename="a b.pdf""#, "a b.pdf"),
            (
                r#"form-data; name="files"; filename="a\"b;c\\.pdf""#,
                r#"a"b;c\.pdf"#,
            ),
            (r#"form-data; name="files"; filename="Résumé.pdf""#, "Résumé.pdf"),
            ("form-data; name=files; filename=a.pdf", "a.pdf"),
            (
                r#"form-data; name="files"; filename="x.pdf"; filename*=UTF-8''R%C3%A9sum%C3%A9.pdf"#,
                "Résumé.pdf",
            ),
        ] {
            assert_eq!(file_name(disposition), expected, "{disposition}");
        }
    }

    #[test]
    fn a_part_without_a_readable_name_is_malformed() {
        for disposition in [
            "attachment; name=files",
            r#"form-data; filename="a.pdf""#,
            "form-data; name=\"files",
            "form-data; name=files; filename*=UTF-8''%FF.pdf",
        ] {
            assert_eq!(names_in(disposition.as_bytes()), None, "{disposition}");
        }
    }
}
