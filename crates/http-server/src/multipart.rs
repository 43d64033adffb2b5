//! Reads a `multipart/form-data` body part by part, in bounded memory and linear time. It knows no form and no file.

use std::error::Error;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use actix_web::http::header::{self, ContentDisposition, HeaderMap, HeaderValue};
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt, TryStreamExt};
use multer::{Field, Multipart};
use tokio::sync::mpsc;

/// What a body may have beyond the contents of its parts: all their heads and boundaries, in bytes.
pub const FRAMING_BYTES: u64 = 1_048_576;

/// The most bytes before a part's content: its head, and for the first part the preamble.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// The most bytes that the parser takes at a time.
const SLICE_BYTES: usize = 16 * 1024;

/// The most pieces between the connection and the parser.
const PIECES_IN_FLIGHT: usize = 2;
/// How much is read behind a form's closing boundary, and for how long: line ends, and the end of a chunked body.
const REST_BYTES: usize = 64 * 1024;
const REST_WITHIN: Duration = Duration::from_secs(1);

/// What is wrong with a body, as the end of a sentence about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormDataFault {
    /// The Content-Type has no boundary.
    NoBoundary,
    /// A part's head does not end.
    HeadTooLong,
    /// A part has no readable name.
    UnreadableHead,
    /// The last boundary is missing.
    BreaksOff,
    /// Anything else.
    Malformed,
}

impl fmt::Display for FormDataFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoBoundary => "has no usable boundary: send multipart/form-data with a boundary parameter",
            Self::HeadTooLong => "has a part whose head is too long",
            Self::UnreadableHead => {
                "has a part whose Content-Disposition is not a readable form-data with a name"
            }
            Self::BreaksOff => "breaks off before its last boundary",
            Self::Malformed => "is not well-formed multipart/form-data",
        })
    }
}

/// The headers of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormPartHead {
    /// The part's own name.
    pub name: String,
    /// The file's name, as sent; `None` for a field.
    pub file_name: Option<String>,
    /// The content's type, as sent.
    pub content_type: Option<String>,
}

/// The pieces of a body, or the fault that ended it. A closed channel ends the body, too.
pub type Pieces<E> = mpsc::Receiver<Result<Bytes, E>>;

/// A channel between the thread of a connection and the use case that parses its request's body. So memory use is constant:
/// reading is as slow as the use case.
pub fn pieces<E>() -> (mpsc::Sender<Result<Bytes, E>>, Pieces<E>) {
    mpsc::channel(PIECES_IN_FLIGHT)
}

/// Sends the pieces of a body until it ends or breaks off, or until nobody receives them.
///
/// The parser stops receiving at a form's closing boundary, and a refusal anywhere. So the rest is then read for a moment: a
/// body that was wanted is read to its end, and a refusal does not wait long for a client that pauses.
pub async fn send_pieces<E>(body: impl Stream<Item = Result<Bytes, E>>, to: mpsc::Sender<Result<Bytes, E>>) {
    let mut body = pin!(body);
    loop {
        let piece = tokio::select! {
            biased;
            piece = body.next() => piece,
            () = to.closed() => break,
        };
        let Some(piece) = piece else { return };
        if to.send(piece).await.is_err() {
            break;
        }
    }
    let rest = async {
        let mut bytes = 0;
        while let Some(Ok(piece)) = body.next().await {
            bytes += piece.len();
            if bytes > REST_BYTES {
                return;
            }
        }
    };
    // What does not end in time counts as refused.
    let _ = tokio::time::timeout(REST_WITHIN, rest).await;
}

/// The parts of a body. A fault of the body is reported as `E`.
pub struct Parts<E> {
    parser: Multipart<'static>,
    /// Bytes that the parser has taken since it last returned something.
    unparsed: Arc<AtomicUsize>,
    worded: fn(FormDataFault) -> E,
}

impl<E> fmt::Debug for Parts<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

impl<E: Error + Send + Sync + 'static> Parts<E> {
    /// The parts between the boundaries. `worded` makes an error of a fault.
    pub fn new(boundary: String, pieces: Pieces<E>, worded: fn(FormDataFault) -> E) -> Self {
        let unparsed = Arc::new(AtomicUsize::new(0));
        Self {
            parser: Multipart::new(sliced(pieces, unparsed.clone(), worded), boundary),
            unparsed,
            worded,
        }
    }

    /// Returns the next part's head and content; `None` after the last part. The part must be dropped before the next
    /// call. One that was not read to its end counts to the head of the next.
    pub async fn next(&mut self) -> Result<Option<(FormPartHead, BoxStream<'static, Result<Bytes, E>>)>, E> {
        let worded = self.worded;
        let field = self.parser.next_field().await;
        let Some(field) = field.map_err(|error| fault_of(error, worded))? else {
            return Ok(None);
        };
        let unparsed = self.unparsed.clone();
        unparsed.store(0, Ordering::Relaxed);
        let head = head_of(&field).ok_or_else(|| worded(FormDataFault::UnreadableHead))?;
        let content = field
            .map_err(move |error| fault_of(error, worded))
            .inspect_ok(move |_| unparsed.store(0, Ordering::Relaxed));
        Ok(Some((head, content.boxed())))
    }
}

/// The boundary in the request's Content-Type.
///
/// # Errors
/// [`FormDataFault::NoBoundary`].
pub fn boundary_of(headers: &HeaderMap) -> Result<String, FormDataFault> {
    let content_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    content_type
        .and_then(|value| multer::parse_boundary(value).ok())
        .filter(|boundary| !boundary.is_empty())
        .ok_or(FormDataFault::NoBoundary)
}

/// Cuts the body into small slices for the parser. The parser takes all that is ready before it parses any of it, so
/// there is a pause after each slice.
fn sliced<E>(
    pieces: Pieces<E>,
    unparsed: Arc<AtomicUsize>,
    worded: fn(FormDataFault) -> E,
) -> impl Stream<Item = Result<Bytes, E>> {
    let rest = Bytes::new();
    stream::unfold(
        (pieces, rest, unparsed),
        move |(mut pieces, mut rest, unparsed)| async move {
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
                Err(worded(FormDataFault::HeadTooLong))
            } else {
                Ok(slice)
            };
            Some((slice, (pieces, rest, unparsed)))
        },
    )
}

/// `None` without a readable name.
fn head_of(part: &Field<'_>) -> Option<FormPartHead> {
    let header = |name: &str| part.headers().get(name).map(|value| value.as_bytes().to_vec());
    let (name, file_name) = names_in(&header("content-disposition")?)?;
    Some(FormPartHead {
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

fn fault_of<E: Error + 'static>(error: multer::Error, worded: fn(FormDataFault) -> E) -> E {
    match error {
        // Only the stream's own errors come so.
        multer::Error::StreamReadFailed(fault) => match fault.downcast() {
            Ok(fault) => *fault,
            Err(_) => worded(FormDataFault::Malformed),
        },
        multer::Error::IncompleteFieldData { .. }
        | multer::Error::IncompleteHeaders
        | multer::Error::IncompleteStream => worded(FormDataFault::BreaksOff),
        _ => worded(FormDataFault::Malformed),
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

    #[tokio::test]
    async fn what_follows_the_closing_boundary_is_read_though_nobody_receives_it() {
        let (sender, received) = pieces::<FormDataFault>();
        let (end, ended) = tokio::sync::oneshot::channel();
        let (read_to_end, is_read) = tokio::sync::oneshot::channel();
        let body = stream::once(async { Ok(Bytes::from_static(b"--boundary--")) })
            .chain(stream::once(async {
                ended.await.unwrap();
                Ok(Bytes::from_static(b"\r\n"))
            }))
            .chain(stream::once(async { read_to_end.send(()).unwrap() }).filter_map(async |()| None));
        let sending = tokio::spawn(send_pieces(body, sender));
        drop(received);
        end.send(()).unwrap();
        sending.await.unwrap();
        is_read.await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_pauses_is_given_up_when_nobody_receives_it() {
        let (sender, mut received) = pieces::<FormDataFault>();
        let pauses = stream::iter([Ok(Bytes::from_static(b"begun"))]).chain(stream::pending());
        let sending = tokio::spawn(send_pieces(pauses, sender));
        assert_eq!(received.recv().await, Some(Ok(Bytes::from_static(b"begun"))));
        drop(received);
        sending.await.unwrap();
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
